/* SPDX-License-Identifier: Apache-2.0 */
/* Operators around classifiers, without their definitions: LabelEncoder of texts, Gather of constant
 * texts, which lower_classic makes of text labels, and ZipMap. Texts and keys are shared, not copied. */
#include <string.h>

#include "base/alloc.h"
#include "engine/program/interpret_parts.h"
#include "ops/class_map.h"
#include "tensor/tensor.h"

/* ---- Labels --------------------------------------------------------------------------------- */

/* Only of constants: a result that holds on to the texts of another one could grow in a loop. */
static bool is_label_gather(const call *c)
{
    const op_tensor *texts = c->inputs, *places = c->inputs + 1;
    const int64_t axis = op_attr_int(c->node, "axis", 0);
    return c->node->input_count == 2 && texts->value && texts->dtype == PGY_STRING &&
           places->value && places->dtype == PGY_I64 &&
           pgy_tensor_dtype(places->value) == PGY_I64 && pgy_tensor_rank(texts->value) == 1 &&
           (axis == 0 || axis == -1) && interpret_is_constant(c->n->inputs[0]) &&
           node_is(c->n, "Gather");
}

/* *done stays false if a place is out of range; the definition says so. */
static pgy_status gather_labels(bool *done, call *c, op_tensor *outputs, pgy_error *err)
{
    const pgy_tensor *texts = c->inputs[0].value, *places = c->inputs[1].value;
    const int64_t *at = pgy_tensor_data(places), size = (int64_t)pgy_tensor_count(texts);
    const size_t count = pgy_tensor_count(places);
    const uint64_t limit = c->host->max_bytes;
    const pgy_string *from = pgy_tensor_data(texts);
    pgy_tensor *made = NULL;
    bool inside = true;
    for (size_t i = 0; i < count; i++) inside &= at[i] >= -size && at[i] < size;
    if (!inside || (limit && count > limit / sizeof *from)) return PGY_OK;
    const pgy_status st = pgy_tensor_create(&made, PGY_STRING, pgy_tensor_rank(places),
                                            pgy_tensor_shape(places), err);
    if (st) return pgy_error_prefix(err, st, "%s '%s': ", c->n->op_type, c->node->name);
    pgy_string *to = pgy_tensor_data(made);
    tensor_share_texts(made, texts);
    for (size_t i = 0; i < count; i++) to[i] = from[at[i] < 0 ? at[i] + size : at[i]];
    outputs[0] = (op_tensor){.dtype = PGY_STRING, .value = made};
    *done = true;
    return PGY_OK;
}

/* ---- Maps ----------------------------------------------------------------------------------- */

/* The keys of a ZipMap. */
typedef struct zip_keys {
    const pgy_node *n;
    map_keys keys;
    struct zip_keys *next;
} zip_keys;

void interpret_forget_maps(interpreter *it)
{
    for (zip_keys *z = it->zips, *next; z; z = next) {
        next = z->next;
        map_keys_deinit(&z->keys);
        mem_free(z);
    }
    it->zips = NULL;
}

/* Maps that only the caller reads need not be values one by one: the caller gets the keys and a
 * matrix. */
static bool is_last_zip(const call *c)
{
    const op_tensor *x = c->inputs;
    const pgy_value *z = c->n->output_count == 1 ? c->n->outputs[0] : NULL;
    return z && z->is_output && !z->consumer_count && !z->graph->parent && x->value &&
           x->dtype == PGY_F32 && pgy_tensor_dtype(x->value) == PGY_F32 &&
           pgy_tensor_count(x->value) && strcmp(c->n->op_type, "ZipMap") == 0 &&
           strcmp(c->n->domain, "ai.onnx.ml") == 0 && !node_box_of(c->n)->has_refs;
}

static pgy_status keys_of(const map_keys **out, call *c, pgy_error *err)
{
    zip_keys *z = c->it->zips;
    while (z && z->n != c->n) z = z->next;
    if (!z) {
        z = mem_calloc(1, sizeof *z);
        if (!z) return interpret_no_memory(err);
        const pgy_status st = map_keys_init(&z->keys, c->node, err);
        if (st) {
            mem_free(z);
            return st;
        }
        z->n = c->n;
        z->next = c->it->zips;
        c->it->zips = z;
    }
    *out = &z->keys;
    return PGY_OK;
}

/* The values, row by row, in the order of the keys. Memory of others is not shared: it may change.
 */
static pgy_status take_values(pgy_tensor **out, const map_keys *k, pgy_tensor *x, size_t rows,
                              size_t columns, pgy_error *err)
{
    const int64_t shape[] = {(int64_t)rows, (int64_t)k->count};
    const float *from = pgy_tensor_data(x);
    if (k->in_order && !tensor_is_borrowed(x)) return pgy_tensor_reshape(out, x, 2, shape, err);
    const pgy_status st = tensor_create_raw(out, PGY_F32, 2, shape, err);
    if (st) return st;
    float *to = pgy_tensor_data(*out);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < k->count; j++) *to++ = from[i * columns + k->columns[j]];
    return PGY_OK;
}

static pgy_status zip(bool *done, call *c, op_tensor *outputs, pgy_error *err)
{
    pgy_tensor *x = c->inputs[0].value, *values = NULL;
    const size_t rank = pgy_tensor_rank(x);
    const size_t columns = rank ? (size_t)pgy_tensor_shape(x)[rank - 1] : 0;
    const op_attr *texts = op_attr_find(c->node, "classlabels_strings");
    const op_attr *ints = op_attr_find(c->node, "classlabels_int64s");
    const map_keys *keys = NULL;
    if (rank < 1 || rank > 2 || (texts && texts->count) == (ints && ints->count) ||
        columns != (texts && texts->count ? texts->count : ints->count))
        return PGY_OK;
    op_sequence *maps = op_sequence_create(2);
    if (!maps) return interpret_no_memory(err);
    pgy_status st = keys_of(&keys, c, err);
    if (!st) st = take_values(&values, keys, x, pgy_tensor_count(x) / columns, columns, err);
    if (st) {
        op_sequence_release(maps);
        return st;
    }
    maps->map = true;
    maps->items[0] =
        (op_tensor){.dtype = pgy_tensor_dtype(keys->keys), .value = pgy_tensor_retain(keys->keys)};
    maps->items[1] = (op_tensor){.dtype = PGY_F32, .value = values};
    outputs[0] = (op_tensor){.sequence = maps};
    *done = true;
    return PGY_OK;
}

pgy_status interpret_try_direct(bool *done, call *c, op_tensor *outputs, pgy_error *err)
{
    if (!c->node->input_count || c->node->output_count != 1 || !c->wanted[0]) return PGY_OK;
    if (interpret_is_text_encoder(c)) return interpret_encode_texts(done, c, outputs, err);
    if (is_label_gather(c)) return gather_labels(done, c, outputs, err);
    return is_last_zip(c) ? zip(done, c, outputs, err) : PGY_OK;
}
