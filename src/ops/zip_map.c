/* SPDX-License-Identifier: Apache-2.0 */
/* ZipMap: one map per row, from the labels to the numbers of the row. The keys are in ascending
 * order; of a label that occurs twice the last number counts. */
#include "ops/class_map.h"
#include "ops/class_scores.h"
#include "ops/class_sequence.h"

static const op_attr_def ATTRS[] = {
    {"classlabels_int64s", OP_ATTR_INTS, false, NULL},
    {"classlabels_strings", OP_ATTR_STRINGS, false, NULL},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_attr *texts = op_attr_find(c->node, "classlabels_strings");
    const op_attr *ints = op_attr_find(c->node, "classlabels_int64s");
    const size_t text_count = texts ? texts->count : 0, int_count = ints ? ints->count : 0;
    dim rows, columns;
    if (!text_count == !int_count)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attributes classlabels_strings and classlabels_int64s have %zu and %zu "
                        "labels, but exactly one must have some",
                        text_count, int_count);
    const pgy_status st = scores_infer_rows(c, &rows, &columns, err);
    if (st) return st;
    if (dim_differ(columns, dim_const((int64_t)(text_count + int_count))))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the rows of input 0 must have a number for each of the %zu labels",
                        text_count + int_count);
    const op_value map = {
        .rank = -1, .map_key = text_count ? PGY_STRING : PGY_I64, .map_value = PGY_F32};
    return sequence_set(c, 0, &map, err);
}

static pgy_status make_map(op_tensor *out, const map_keys *k, const double *row, const op_node *n,
                           pgy_error *err)
{
    const int64_t shape[] = {(int64_t)k->count};
    pgy_tensor *values = NULL;
    const pgy_status st = pgy_tensor_create(&values, PGY_F64, 1, shape, err);
    if (st) return st;
    for (size_t i = 0; i < k->count; i++) op_f64(values)[i] = row[k->columns[i]];
    op_sequence *map = op_sequence_create(2);
    if (!map) {
        pgy_tensor_release(values);
        return rule_no_memory(n, err);
    }
    map->map = true;
    map->items[0] =
        (op_tensor){.dtype = pgy_tensor_dtype(k->keys), .value = pgy_tensor_retain(k->keys)};
    map->items[1] = (op_tensor){.dtype = PGY_F32, .value = values};
    *out = (op_tensor){.sequence = map};
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    size_t rows, columns;
    map_keys keys = {0};
    op_sequence *made = NULL;
    pgy_status st = inputs_check(c, "F", err);
    if (!st) st = scores_rows(&rows, &columns, c, err);
    if (!st) st = map_keys_init(&keys, c->node, err);
    if (!st && !(made = op_sequence_create(rows))) st = rule_no_memory(c->node, err);
    for (size_t i = 0; !st && i < rows; i++)
        st = make_map(&made->items[i], &keys, in_f64(c, 0) + i * columns, c->node, err);
    if (st)
        op_sequence_release(made);
    else
        sequence_output(c, 0, made);
    map_keys_deinit(&keys);
    return st;
}

const op_def OP_zip_map[] = {
    {"ZipMap", "ai.onnx.ml", 1, 0, 1, 1, 1, 1, 0, ATTRS, "float32", infer, eval, rule_no_flops,
     .signature = "X:float32 -> Z:float32"},
    {NULL},
};
