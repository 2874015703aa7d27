/* SPDX-License-Identifier: Apache-2.0 */
/* Large weights that are only cast or transposed become weights that are computed when they are
 * written, a part at a time. Their elements are exactly those that the node would compute. */
#include <string.h>

#include "onnx/computed.h"
#include "onnx/elements.h"
#include "ops/move.h"
#include "transform/fold.h"

enum {
    LATER_BYTES = 1 << 20, /* results smaller than this are computed at once */
    PIECE_BYTES = 4096,    /* wanted size of contiguous reads from the source of a Transpose */
    LEAST_BYTES = 512,     /* least size of these reads */
    SLAB_BYTES = 8 << 20,  /* wanted limit for the part of a transposed result made at once */
    LEAST_SLABS = 2,       /* least number of parts of one that needs more for its reads */
    STRING = 8             /* code of STRING in TensorProto.DataType */
};

/* ---- Cast ----------------------------------------------------------------------------------- */

typedef struct casting {
    pgy_dtype from, to;
    size_t from_bytes, to_bytes; /* bytes of one element, before and after the Cast */
} casting;

static bool is_plain_float(pgy_dtype dtype)
{
    return dtype == PGY_F16 || dtype == PGY_BF16 || dtype == PGY_F32 || dtype == PGY_F64;
}

/* Casts through float64, as the operator does. */
static pgy_status cast_part(const tensor_part *p, void *user, pgy_error *err)
{
    const casting *c = user;
    const size_t count = p->size_bytes / c->to_bytes;
    const int64_t shape[1] = {(int64_t)count};
    pgy_tensor *x = NULL, *wide = NULL, *own = NULL, *y = NULL;
    pgy_status st = pgy_tensor_create(&x, c->from, 1, shape, err);
    if (!st)
        st =
            element_reader_get(p->source, pgy_tensor_data(x),
                               p->offset / c->to_bytes * c->from_bytes, count * c->from_bytes, err);
    if (!st) st = op_to_storage(&wide, x, err);
    if (!st) st = pgy_tensor_copy(&own, pgy_tensor_view(wide), err);
    if (!st) {
        if (c->to_bytes <= c->from_bytes) op_conform(own, c->to, true);
        st = op_from_storage(&y, own, c->to, err);
    }
    if (!st) memcpy(p->to, pgy_tensor_data(y), p->size_bytes);
    pgy_tensor_release(y);
    pgy_tensor_release(own);
    pgy_tensor_release(wide);
    pgy_tensor_release(x);
    return st;
}

static bool plan_cast(parts_maker *maker, pgy_onnx_tensor *like, pgy_model *m, const pgy_node *n)
{
    const pgy_onnx_attribute *a = node_attribute(n, "to");
    const pgy_dtype from = pgy_dtype_from_onnx(like->data_type);
    const pgy_dtype to = a && a->i > 0 && a->i < 1000 ? pgy_dtype_from_onnx((int)a->i) : 0;
    if (!node_is(n, "Cast") || !is_plain_float(from) || !is_plain_float(to)) return false;
    casting *c = pgy_model_alloc(m, 1, sizeof *c);
    if (!c) return false;
    *c = (casting){from, to, pgy_dtype_describe(from)->bits / 8, pgy_dtype_describe(to)->bits / 8};
    like->data_type = (int32_t)a->i;
    maker->make = cast_part;
    maker->user = c;
    maker->by_types = true;
    maker->unit_bytes = c->to_bytes;
    return true;
}

/* ---- Transpose ------------------------------------------------------------------------------ */

/* The result is made in slabs, each a range of its first axis, which is axis `axis` of the source.
 * In the source, a slab is one piece of that range for each index of the axes before `axis`. */
typedef struct turning {
    size_t rank, width;                      /* width: bytes of one element */
    size_t axis, outer, length, inner_bytes; /* of the source: number of index tuples before `axis`,
                                                size of `axis`, bytes of all later axes together */
    size_t slab_bytes; /* bytes of the result for one index of its first axis */
    int64_t from[PGY_MAX_RANK];
    size_t perm[PGY_MAX_RANK];
} turning;

static pgy_status turn_part(const tensor_part *p, void *user, pgy_error *err)
{
    const turning *t = user;
    const size_t first = p->offset / t->slab_bytes, count = p->size_bytes / t->slab_bytes;
    const size_t piece = count * t->inner_bytes;
    int64_t from[PGY_MAX_RANK], to[PGY_MAX_RANK];
    ptrdiff_t strides[PGY_MAX_RANK];
    move_box box;
    const pgy_status st = element_reader_gather(p->source, p->memory, first * t->inner_bytes, piece,
                                                t->length * t->inner_bytes, t->outer, err);
    if (st) return st;
    memcpy(from, t->from, t->rank * sizeof *from);
    from[t->axis] = (int64_t)count;
    for (size_t i = 0; i < t->rank; i++) to[i] = from[t->perm[i]];
    move_strides(strides, t->rank, from);
    move_box_init(&box, t->rank, to);
    for (size_t i = 0; i < t->rank; i++) box.from[i] = strides[t->perm[i]];
    move_copy(p->to, p->memory, t->width, &box);
    return PGY_OK;
}

/* The source index of an element of the result. */
static size_t turned_from(const turning *t, size_t element)
{
    ptrdiff_t strides[PGY_MAX_RANK];
    size_t at = 0;
    move_strides(strides, t->rank, t->from);
    for (size_t i = t->rank; i-- > 0;) {
        const size_t length = (size_t)t->from[t->perm[i]];
        at += element % length * (size_t)strides[t->perm[i]];
        element /= length;
    }
    return at;
}

/* Copies elements of a transposed result one by one, for small parts; a part may start or end
 * inside an element. */
static pgy_status pick_turned(const tensor_part *p, void *user, pgy_error *err)
{
    const turning *t = user;
    pgy_status st = PGY_OK;
    for (size_t done = 0, n; !st && done < p->size_bytes; done += n) {
        const size_t at = p->offset + done, inside = at % t->width;
        n = t->width - inside;
        if (n > p->size_bytes - done) n = p->size_bytes - done;
        st = element_reader_get(p->source, (char *)p->to + done,
                                turned_from(t, at / t->width) * t->width + inside, n, err);
    }
    return st;
}

static bool plan_transpose(parts_maker *maker, pgy_onnx_tensor *like, pgy_model *m,
                           const pgy_node *n)
{
    const unsigned bits = pgy_dtype_describe(pgy_dtype_from_onnx(like->data_type))->bits;
    turning t = {.rank = like->dim_count, .width = bits / 8, .outer = 1};
    if (!node_is(n, "Transpose") || like->data_type == STRING || t.rank < 2 ||
        t.rank > PGY_MAX_RANK || !bits || bits % 8 || !fold_permutation(t.perm, n, t.rank))
        return false;
    t.axis = t.perm[0];
    t.inner_bytes = t.width;
    memcpy(t.from, like->dims, t.rank * sizeof *t.from);
    for (size_t i = 0; i < t.rank; i++) {
        if (i < t.axis) t.outer *= (size_t)t.from[i];
        if (i > t.axis) t.inner_bytes *= (size_t)t.from[i];
    }
    t.length = (size_t)t.from[t.axis];
    t.slab_bytes = t.outer * t.inner_bytes;
    size_t places = (PIECE_BYTES + t.inner_bytes - 1) / t.inner_bytes;
    if (places > SLAB_BYTES / t.slab_bytes) places = SLAB_BYTES / t.slab_bytes;
    if (places * t.inner_bytes < LEAST_BYTES)
        places = (LEAST_BYTES + t.inner_bytes - 1) / t.inner_bytes;
    if (places > t.length) places = t.length;
    if (t.slab_bytes > SLAB_BYTES / places && places > t.length / LEAST_SLABS) return false;
    turning *kept = pgy_model_alloc(m, 1, sizeof *kept);
    int64_t *dims = pgy_model_alloc(m, t.rank, sizeof *dims);
    if (!kept || !dims) return false;
    *kept = t;
    for (size_t i = 0; i < t.rank; i++) dims[i] = t.from[t.perm[i]];
    like->dims = dims;
    maker->make = turn_part;
    maker->pick = pick_turned;
    maker->user = kept;
    maker->unit_bytes = places * t.slab_bytes;
    maker->memory_bytes = maker->unit_bytes > PART_BYTES ? maker->unit_bytes : PART_BYTES;
    return true;
}

bool fold_is_turned(pgy_model *m, const pgy_onnx_tensor *t)
{
    parts_maker made;
    for (; computed_maker(&made, m, t->raw_data); t = made.source) {
        const turning *turn = made.make == turn_part ? made.user : NULL;
        if (turn) return turn->rank == 2 && turn->perm[0] == 1;
        if (!made.by_types) return false;
    }
    return false;
}

bool fold_is_turned_from(pgy_model *m, const pgy_onnx_tensor *t, const pgy_onnx_tensor *of)
{
    parts_maker made, other;
    for (; computed_maker(&made, m, t->raw_data); t = made.source, of = other.source) {
        if (made.make == turn_part) return made.source == of;
        if (t->data_type != of->data_type || !computed_maker(&other, m, of->raw_data) ||
            other.make != made.make)
            return false;
    }
    return false;
}

/* ---- Both ----------------------------------------------------------------------------------- */

pgy_status fold_later(const pgy_onnx_tensor **out, folder *f, pgy_node *n,
                      const pgy_onnx_tensor *source, pgy_error *err)
{
    pgy_model *m = f->graph->model;
    pgy_onnx_tensor *made = NULL;
    *out = NULL;
    if (n->input_count != 1 || n->output_count != 1 || !n->outputs[0] ||
        level_of(n->graph)->is_function || node_box_of(n)->has_refs ||
        weight_bytes(source) < LATER_BYTES / 4)
        return PGY_OK;
    pgy_onnx_tensor like = {.doc_string = "",
                            .dims = source->dims,
                            .dim_count = source->dim_count,
                            .data_type = source->data_type};
    parts_maker maker = {.source = source};
    if (!plan_cast(&maker, &like, m, n) && !plan_transpose(&maker, &like, m, n)) return PGY_OK;
    if (weight_bytes(&like) < LATER_BYTES) return PGY_OK;
    like.name = pgy_model_strdup(m, n->outputs[0]->name);
    if (!like.name) return graph_no_memory(err);
    const pgy_status st = computed_parts_tensor(&made, m, &like, &maker, err);
    if (!st) *out = made;
    return st;
}
