/* SPDX-License-Identifier: Apache-2.0 */
/* CastMap: the values of a map with integer keys as a row, in ascending order of the keys (DENSE)
 * or at the positions that the keys give (SPARSE). A text counts as the number that it begins with.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "ops/class_check.h"
#include "ops/class_map.h"

static const op_attr_def ATTRS[] = {
    {"cast_to", OP_ATTR_STRING, false, "TO_FLOAT", .choices = "TO_FLOAT TO_STRING TO_INT64"},
    {"map_form", OP_ATTR_STRING, false, "DENSE", .choices = "DENSE SPARSE"},
    {"max_map", OP_ATTR_INT, false, "1", .range = "1.."},
    {NULL},
};

static pgy_dtype target_of(const op_node *n)
{
    if (op_attr_is(n, "cast_to", "TO_STRING", "TO_FLOAT")) return PGY_STRING;
    return op_attr_is(n, "cast_to", "TO_INT64", "TO_FLOAT") ? PGY_I64 : PGY_F32;
}

static bool is_sparse(const op_node *n)
{
    return op_attr_is(n, "map_form", "SPARSE", "DENSE");
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const pgy_status st = map_infer(c, PGY_I64, err);
    if (st) return st;
    dim *dims = op_dims(c, 2);
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = dim_const(1);
    dims[1] = is_sparse(c->node) ? dim_const(op_attr_int(c->node, "max_map", 1))
                                 : dim_unknown(c->dims, "it depends on the keys of the map");
    op_set_output(c, 0, target_of(c->node), 2, dims);
    return PGY_OK;
}

static pgy_status put_float(op_eval *c, size_t i, double x, pgy_error *err)
{
    const pgy_dtype to = target_of(c->node);
    if (to == PGY_F32) out_f64(c, 0)[i] = x;
    if (to == PGY_I64) out_i64(c, 0)[i] = rule_truncate(x);
    if (to != PGY_STRING) return PGY_OK;
    str text = {0};
    str_printf(&text, "%f", x);
    const pgy_status st = text.failed ? rule_no_memory(c->node, err)
                                      : pgy_tensor_set_string(c->outputs[0].value, i,
                                                              str_text(&text), text.size, err);
    str_deinit(&text);
    return st;
}

static pgy_status put_text(op_eval *c, size_t i, const pgy_string *s, pgy_error *err)
{
    const pgy_dtype to = target_of(c->node);
    if (to == PGY_STRING)
        return pgy_tensor_set_string(c->outputs[0].value, i, s->data, s->size, err);
    char *text = mem_strndup(s->data ? s->data : "", s->size), *end;
    if (!text) return rule_no_memory(c->node, err);
    errno = 0;
    if (to == PGY_F32)
        out_f64(c, 0)[i] = (double)strtof(text, &end);
    else
        out_i64(c, 0)[i] = strtoll(text, &end, 10);
    const pgy_status st = end > text && !errno
                              ? PGY_OK
                              : op_error(c->node, err, PGY_E_ARGUMENT,
                                         "a value of the map is '%.64s', which is no number", text);
    mem_free(text);
    return st;
}

static pgy_status put(op_eval *c, size_t i, const map_parts *m, size_t at, pgy_error *err)
{
    if (pgy_tensor_dtype(m->values) == PGY_F64) return put_float(c, i, op_f64(m->values)[at], err);
    return put_text(c, i, (const pgy_string *)pgy_tensor_data(m->values) + at, err);
}

typedef struct entry {
    int64_t key;
    size_t at;
} entry;

static int compare(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

static pgy_status sorted_entries(entry **out, const op_eval *c, const map_parts *m, pgy_error *err)
{
    const pgy_status st = workspace_alloc((void **)out, c, m->count, sizeof **out, err);
    if (st) return st;
    for (size_t i = 0; i < m->count; i++) (*out)[i] = (entry){op_i64(m->keys)[i], i};
    qsort(*out, m->count, sizeof **out, compare);
    for (size_t i = 1; i < m->count; i++)
        if ((*out)[i].key == (*out)[i - 1].key)
            return op_error(c->node, err, PGY_E_ARGUMENT, "key %" PRId64 " of the map occurs twice",
                            (*out)[i].key);
    return PGY_OK;
}

static pgy_status write_sparse(op_eval *c, const map_parts *m, const entry *entries, pgy_error *err)
{
    pgy_status st = PGY_OK;
    const size_t size = out_count(c, 0);
    if (m->count && entries[0].key < 0)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "key %" PRId64 " of the map is negative, which SPARSE does not allow",
                        entries[0].key);
    for (size_t i = 0; !st && target_of(c->node) == PGY_STRING && i < size; i++)
        st = pgy_tensor_set_string(c->outputs[0].value, i, "0.f", 3, err);
    for (size_t i = 0; !st && i < m->count && (uint64_t)entries[i].key < size; i++)
        st = put(c, (size_t)entries[i].key, m, entries[i].at, err);
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    map_parts m;
    entry *entries = NULL;
    pgy_status st = map_input(&m, c, PGY_I64, err);
    const pgy_dtype held = st ? PGY_F64 : pgy_tensor_dtype(m.values);
    if (!st && held != PGY_F64 && held != PGY_STRING)
        st = op_error(c->node, err, PGY_E_TYPE,
                      "the values of the map have type %s, but must be float32 or string",
                      pgy_dtype_name(m.value_type));
    const int64_t shape[] = {1, st || is_sparse(c->node) ? op_attr_int(c->node, "max_map", 1)
                                                         : (int64_t)m.count};
    if (!st) st = op_output(c, 0, PGY_DTYPE_NONE, 2, shape, err);
    if (!st) st = sorted_entries(&entries, c, &m, err);
    if (!st && is_sparse(c->node)) st = write_sparse(c, &m, entries, err);
    for (size_t i = 0; !st && !is_sparse(c->node) && i < m.count; i++)
        st = put(c, i, &m, entries[i].at, err);
    mem_free(entries);
    return st;
}

const op_def OP_cast_map[] = {
    {"CastMap", "ai.onnx.ml", 1, 0, 1, 1, 1, 1, OP_SEQUENCES, ATTRS, "", infer, eval, rule_no_flops,
     .signature = "T2 = float32 int64 string; X:float32 string -> Y:T2"},
    {NULL},
};
