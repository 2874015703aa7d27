/* SPDX-License-Identifier: Apache-2.0 */
/* Splits weights. A rank's part is a TensorProto without elements; these are copied from the whole
 * weight when the model is saved, so memory holds one part at a time. Types below 8 bits are split
 * in packed form. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gs/graph/gs.h"
#include "gs/shard/shard.h"
#include "onnx/elements.h"
#include "onnx/model.h"

static const char LOG_PATH[] = "tools/multi_device/subtool/shard.py";

enum {
    MAX_STEPS = 16, /* limit of the number of nodes between a weight and its MatMul */
    LARGE_BYTES = 1 << 20
};

/* The part of an initializer that this rank keeps. Allocated in the document's memory. */
typedef struct slice {
    const pgy_onnx_tensor *whole;
    pgy_model *store;
    size_t outer, row_bytes, offset, part_bytes;
    int64_t *dims;
} slice;

typedef struct cut_record {
    pgy_gs_tensor *tensor;
    size_t axis, readers; /* number of nodes that read the weight and accept its split */
} cut_record;

void shard_cut_deinit(shard_cut *c)
{
    for (size_t i = 0; i < c->done.count; i++) mem_free(c->done.entries[i].value);
    strmap_deinit(&c->done);
}

/* Releases the mapped file's pages of this tensor, after a part of it was copied. */
static void forget(const slice *s, const pgy_tensor *t)
{
    const bool inside = s->whole->raw_data.size > 0;
    const size_t size = inside ? s->whole->raw_data.size : t ? pgy_tensor_size_bytes(t) : 0;
    size_t offset;
    if (!t || size < LARGE_BYTES) return;
    const void *data = inside ? s->whole->raw_data.data : pgy_tensor_data(t);
    const file_map *map = model_find_map(s->store, data, size, &offset);
    if (map) file_map_forget(map, offset, size);
}

static pgy_status make_slice(pgy_tensor **out, void *user, pgy_error *err)
{
    const slice *s = user;
    pgy_tensor *whole = NULL, *part = NULL;
    pgy_status st = onnx_tensor_load_anywhere(&whole, s->store, s->whole, err);
    if (!st)
        st = pgy_tensor_create(&part, pgy_tensor_dtype(whole), s->whole->dim_count, s->dims, err);
    if (!st) {
        const char *from = (const char *)pgy_tensor_data(whole) + s->offset;
        char *to = pgy_tensor_data(part);
        for (size_t i = 0; i < s->outer; i++)
            memcpy(to + i * s->part_bytes, from + i * s->row_bytes, s->part_bytes);
        *out = part;
    }
    forget(s, whole);
    pgy_tensor_release(whole);
    return st;
}

static pgy_status bad_size(const pgy_gs_tensor *t, size_t axis, int64_t ranks, pgy_error *err)
{
    char *text = pgy_gs_tensor_text(t);
    pgy_status st =
        pgy_error_set(err, PGY_E_SHAPE, "%s cannot be split into %lld parts along axis %zu",
                      text ? text : t->name, (long long)ranks, axis);
    pgy_text_free(text);
    return st;
}

/* Computes where the part's bytes are in the whole weight. */
static pgy_status plan_slice(slice *s, const shard_cut *c, const pgy_gs_tensor *t, size_t axis,
                             pgy_error *err)
{
    const pgy_dtype_info *type = pgy_dtype_describe(t->dtype);
    size_t inner_bits = type ? type->bits : 0, outer = 1, row_bits, part_bits;
    if (!inner_bits || t->dtype == PGY_STRING || axis >= (size_t)t->rank ||
        t->dims[axis].value % c->ranks)
        return bad_size(t, axis, c->ranks, err);
    bool fits = true;
    for (size_t i = axis + 1; i < (size_t)t->rank; i++)
        fits &= size_mul(&inner_bits, inner_bits, (size_t)t->dims[i].value);
    for (size_t i = 0; i < axis; i++) fits &= size_mul(&outer, outer, (size_t)t->dims[i].value);
    fits &= size_mul(&row_bits, inner_bits, (size_t)t->dims[axis].value);
    if (!fits) return bad_size(t, axis, c->ranks, err);
    part_bits = row_bits / (size_t)c->ranks;
    if (part_bits % 8) return bad_size(t, axis, c->ranks, err);
    s->outer = outer;
    s->row_bytes = row_bits / 8;
    s->part_bytes = part_bits / 8;
    s->offset = s->part_bytes * (size_t)c->rank;
    for (size_t i = 0; i < (size_t)t->rank; i++) s->dims[i] = t->dims[i].value;
    s->dims[axis] /= c->ranks;
    return PGY_OK;
}

static void log_cut(const pgy_gs_tensor *t, const slice *s)
{
    str text = {0};
    for (int part = 0; part < 2; part++) {
        str_append(&text, part ? ") -> (" : "(");
        for (int32_t i = 0; i < t->rank; i++)
            str_printf(&text, "%s%lld", i ? ", " : "",
                       (long long)(part ? s->dims[i] : t->dims[i].value));
    }
    LOG(INFO, "%s going from %s)", t->name, str_text(&text));
    str_deinit(&text);
}

static pgy_status cut_values(const shard_cut *c, pgy_gs_tensor *t, size_t axis, pgy_error *err)
{
    gs_document *d = tensor_box(t)->document;
    pgy_onnx_tensor *made = NULL;
    if (!t->stored)
        return pgy_error_set(err, PGY_E_UNSUPPORTED, "weight '%s' is sparse and cannot be split",
                             t->name);
    slice *s = gs_alloc(d, 1, sizeof *s);
    int64_t *dims = gs_alloc(d, t->rank > 0 ? (size_t)t->rank : 1, sizeof *dims);
    if (!s || !dims) return gs_no_memory(err);
    *s = (slice){.whole = t->stored, .store = d->store, .dims = dims};
    pgy_status st = plan_slice(s, c, t, axis, err);
    if (st) return st;
    if (!c->rank) log_cut(t, s); /* logged for rank 0 only, because all ranks split alike */
    pgy_onnx_tensor like = *t->stored;
    like.dims = dims;
    st = pgy_model_computed_tensor(&made, d->store, &like, make_slice, s, err);
    if (!st) st = gs_set_stored(t, made, err);
    if (!st) gs_touch_tensor(t);
    return st;
}

/* Splits a constant once, even if several nodes ask for it. */
static pgy_status cut_constant(shard_cut *c, pgy_gs_tensor *t, size_t axis, pgy_error *err)
{
    cut_record *r = strmap_get(&c->done, t->name);
    if (r && r->axis != axis)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "weight '%s' would have to be split along axis %zu and along axis "
                             "%zu; only one axis is possible",
                             t->name, r->axis, axis);
    if (r) {
        r->readers++;
        return PGY_OK;
    }
    r = mem_calloc(1, sizeof *r);
    if (!r || !strmap_put(&c->done, t->name, r)) {
        mem_free(r);
        return gs_no_memory(err);
    }
    *r = (cut_record){t, axis, 1};
    return cut_values(c, t, axis, err);
}

/* If a Constant node makes t, makes t a constant instead. */
static pgy_status take_constant(pgy_gs_tensor *t, pgy_error *err)
{
    pgy_gs_node *n = t->producer_count == 1 ? t->producers[0] : NULL;
    const pgy_gs_attribute *a =
        n && !strcmp(n->op, "Constant") ? pgy_gs_find_attr(n, "value") : NULL;
    if (t->kind == PGY_GS_CONSTANT || !a || !a->value || !a->value->t) return PGY_OK;
    const pgy_status st = gs_set_stored(t, a->value->t, err);
    if (!st) pgy_gs_clear_producers(t);
    return st;
}

static pgy_gs_node *maker(const pgy_gs_tensor *t)
{
    return t->producer_count == 1 ? t->producers[0] : NULL;
}

/* The constant that t is, or from which DequantizeLinear and Cast make t; *out NULL: none. */
static pgy_status find_constant(pgy_gs_tensor **out, pgy_gs_tensor *t, pgy_error *err)
{
    pgy_status st = PGY_OK;
    *out = NULL;
    for (int i = 0; !st && i < MAX_STEPS; i++) {
        st = take_constant(t, err);
        const pgy_gs_node *n = maker(t);
        if (st || t->kind == PGY_GS_CONSTANT) {
            *out = st ? NULL : t;
            break;
        }
        if (!n || (strcmp(n->op, "DequantizeLinear") && strcmp(n->op, "Cast")) || !n->input_count)
            break;
        t = n->inputs[0];
    }
    return st;
}

static pgy_status cut_tensor(shard_cut *c, pgy_gs_tensor *t, size_t axis, int depth,
                             pgy_error *err);

/* Splits scales or zero points of a weight that is split along `axis`, if they differ along it:
 * per-tensor ones stay, per-axis and per-block ones are split. */
static pgy_status cut_scales(shard_cut *c, const pgy_gs_node *n, size_t slot, size_t axis,
                             int depth, pgy_error *err)
{
    pgy_gs_tensor *values;
    if (slot >= n->input_count || pgy_gs_is_omitted(n->inputs[slot])) return PGY_OK;
    pgy_status st = find_constant(&values, n->inputs[slot], err);
    if (st) return st;
    if (!values)
        return gs_node_error(n, err, PGY_E_UNSUPPORTED, "its input '%s' is not a weight",
                             n->inputs[slot]->name);
    if (values->rank == 0 || (values->rank == 1 && values->dims[0].value == 1)) return PGY_OK;
    if (values->rank == 1 && !pgy_gs_attr_as_int(n, "block_size", 0)) {
        const int64_t quantised = pgy_gs_attr_as_int(n, "axis", 1);
        const bool same = quantised == (int64_t)axis || quantised + 2 == (int64_t)axis;
        return same ? cut_tensor(c, n->inputs[slot], 0, depth + 1, err) : PGY_OK;
    }
    if (axis < (size_t)values->rank && values->dims[axis].value == 1) return PGY_OK;
    return cut_tensor(c, n->inputs[slot], axis, depth + 1, err);
}

static pgy_status cut_quantized(shard_cut *c, const pgy_gs_node *n, size_t axis, int depth,
                                pgy_error *err)
{
    pgy_status st = cut_scales(c, n, 1, axis, depth, err);
    if (!st) st = cut_scales(c, n, 2, axis, depth, err);
    return st ? st : cut_tensor(c, n->inputs[0], axis, depth + 1, err);
}

static pgy_status cut_tensor(shard_cut *c, pgy_gs_tensor *t, size_t axis, int depth, pgy_error *err)
{
    pgy_status st = take_constant(t, err);
    if (st) return st;
    if (t->kind == PGY_GS_CONSTANT) return cut_constant(c, t, axis, err);
    const pgy_gs_node *n = maker(t);
    if (!n || !n->input_count || depth >= MAX_STEPS)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "tensor '%s' is not a weight that can be split", t->name);
    if (!strcmp(n->op, "Cast") || !strcmp(n->op, "Identity"))
        return cut_tensor(c, n->inputs[0], axis, depth + 1, err);
    if (!strcmp(n->op, "Transpose") && axis < 2)
        return cut_tensor(c, n->inputs[0], 1 - axis, depth + 1, err);
    if (!strcmp(n->op, "DequantizeLinear")) return cut_quantized(c, n, axis, depth, err);
    return gs_node_error(
        n, err, PGY_E_UNSUPPORTED,
        "it computes the weight '%s', and a weight cannot be split behind this operator", t->name);
}

pgy_status shard_cut_weight(shard_cut *c, pgy_gs_node *product, size_t axis, pgy_error *err)
{
    if (product->input_count < 2)
        return gs_node_error(product, err, PGY_E_FORMAT, "it has no second input");
    const pgy_status st = cut_tensor(c, product->inputs[1], axis, 0, err);
    return st ? pgy_error_prefix(err, st, "node '%s': ", product->name) : PGY_OK;
}

pgy_status shard_cut_bias(shard_cut *c, pgy_gs_tensor *t, pgy_error *err)
{
    return t->rank > 0 ? cut_tensor(c, t, (size_t)t->rank - 1, 0, err) : PGY_OK;
}

pgy_status shard_check_cuts(const shard_cut *c, const pgy_gs_graph *g, pgy_error *err)
{
    for (size_t i = 0; i < c->done.count; i++) {
        const cut_record *r = c->done.entries[i].value;
        if (gs_is_graph_output(g, r->tensor) || r->tensor->consumer_count > r->readers)
            return pgy_error_set(err, PGY_E_UNSUPPORTED,
                                 "weight '%s' cannot be split: another node, or the graph as "
                                 "output, needs the whole weight",
                                 r->tensor->name);
    }
    return PGY_OK;
}
