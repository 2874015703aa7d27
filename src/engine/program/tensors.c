/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors of a program being built, and the map from graph values to tensors. */
#include <string.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "engine/program/range_parts.h"
#include "onnx/computed.h"
#include "onnx/elements.h"
#include "onnx/model.h"
#include "onnx/reader.h"

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while building the program");
}

pgy_status build_bind(builder *b, const pgy_value *v, uint32_t tensor, pgy_error *err)
{
    size_t *place = id_places_at(&b->bound, value_id(v));
    if (!place) return no_memory(err);
    *place = (size_t)tensor + 1;
    return PGY_OK;
}

uint32_t build_bound(const builder *b, const pgy_value *v)
{
    const size_t place = id_places_get(&b->bound, value_id(v));
    return place ? (uint32_t)(place - 1) : PROGRAM_NO_TENSOR;
}

bool build_is_constant(const builder *b, pgy_value *v)
{
    if (b->options->range && range_knows_elements(b->options->range, v)) return true;
    return v->initializer || v->sparse || box_of(v)->known.data ||
           (v->producer && node_is(v->producer, "Constant"));
}

static pgy_status add(uint32_t *out, builder *b, const build_tensor *t, pgy_error *err)
{
    if (!mem_grow((void **)&b->tensors, &b->tensor_capacity, b->tensor_count + 1,
                  sizeof *b->tensors))
        return no_memory(err);
    b->tensors[b->tensor_count] = *t;
    b->tensors[b->tensor_count].root = (uint32_t)b->tensor_count;
    *out = (uint32_t)b->tensor_count++;
    return PGY_OK;
}

static uint64_t size_of(const program_tensor *t)
{
    const kernel_tensor k = {
        .dtype = t->dtype, .rank = t->rank, .shape = t->shape, .layout = t->layout};
    return kernel_size_bytes(&k);
}

static pgy_status check_size(const pgy_value *v, const int64_t *shape, pgy_error *err)
{
    size_t count, bytes;
    pgy_status st = pgy_shape_count(&count, (size_t)v->rank, shape, err);
    if (!st) st = pgy_dtype_size_bytes(&bytes, v->dtype, count, err);
    if (!st && bytes > memory_limit_bytes())
        st = pgy_error_set(err, PGY_E_MEMORY, "its %zu bytes exceed %s", bytes,
                           memory_limit_describe().text);
    return st ? pgy_error_prefix(err, st, "tensor '%s': ", v->name) : PGY_OK;
}

static pgy_status find_shape(build_tensor *t, int64_t *shape, builder *b, const pgy_value *v,
                             pgy_error *err)
{
    const range *r = b->options->range;
    const pgy_status st = r ? range_dims(&t->dims, r, v, err) : PGY_OK;
    for (int32_t i = 0; !st && i < v->rank; i++) {
        if (r) {
            (void)sizes_value(&shape[i], &r->sizes, t->dims[i]); /* range_dims has tried it */
            continue;
        }
        shape[i] = v->dims[i].value;
        if (shape[i] < 0)
            return pgy_error_set(
                err, PGY_E_UNSUPPORTED,
                "dimension %d of '%s' is unknown before the run: it is data-dependent", i, v->name);
    }
    return st;
}

pgy_status build_tensor_add(uint32_t *out, builder *b, const pgy_value *v, program_place place,
                            pgy_error *err)
{
    if (v->kind != PGY_VALUE_TENSOR || !v->dtype || v->rank < 0 || v->dtype == PGY_STRING)
        return pgy_error_set(
            err, PGY_E_UNSUPPORTED,
            "the type or rank of '%s' is unknown before the run, or it is not a numeric tensor",
            v->name);
    int64_t *shape = arena_alloc_array(&b->p->memory, (size_t)v->rank, sizeof *shape);
    const char *name = arena_strdup(&b->p->memory, v->name);
    if (!shape || !name) return no_memory(err);
    build_tensor t = {
        .t = {.name = name, .dtype = v->dtype, .rank = v->rank, .shape = shape, .place = place}};
    pgy_status st = find_shape(&t, shape, b, v, err);
    if (!st) st = check_size(v, shape, err);
    if (st) return st;
    t.t.size_bytes = size_of(&t.t);
    return add(out, b, &t, err);
}

pgy_status build_tensor_copy(uint32_t *out, builder *b, uint32_t of, kernel_layout layout,
                             uint32_t space, pgy_error *err)
{
    const build_tensor *root = &b->tensors[build_root(b, of)];
    build_tensor t = {.t = b->tensors[of].t, .dims = b->tensors[of].dims};
    t.t.layout = layout;
    t.t.space = space;
    t.t.place = root->constant && space ? PROGRAM_CONSTANT : PROGRAM_ARENA;
    t.t.offset = 0;
    t.t.size_bytes = size_of(&t.t);
    t.constant = root->constant && space ? pgy_tensor_retain(root->constant) : NULL;
    t.source = t.constant ? root->source : NULL;
    t.stays = t.constant && root->stays;
    t.elsewhere = t.constant && root->elsewhere;
    const pgy_status st = add(out, b, &t, err);
    if (st) pgy_tensor_release(t.constant);
    return st;
}

uint32_t build_root(const builder *b, uint32_t tensor)
{
    while (b->tensors[tensor].root != tensor) tensor = b->tensors[tensor].root;
    return tensor;
}

uint64_t build_within(const builder *b, uint32_t tensor)
{
    uint64_t within = 0;
    for (; b->tensors[tensor].root != tensor; tensor = b->tensors[tensor].root)
        within += b->tensors[tensor].within;
    return within;
}

kernel_tensor build_describe(const builder *b, uint32_t tensor)
{
    if (tensor == PROGRAM_NO_TENSOR) return (kernel_tensor){0};
    const build_tensor *t = &b->tensors[tensor], *root = &b->tensors[t->root];
    return (kernel_tensor){.dtype = t->t.dtype,
                           .rank = t->t.rank,
                           .shape = t->t.shape,
                           .layout = t->t.layout,
                           .space = t->t.space,
                           .data = root->constant ? pgy_tensor_data(root->constant) : NULL,
                           .source = root->source,
                           .elsewhere = root->elsewhere};
}

/* kernel_problem.load */
static bool load_elements(void *to, size_t offset, size_t size_bytes, const void *source,
                          void *user)
{
    const builder *b = user;
    element_reader r = {0};
    const bool loaded = !element_reader_open(&r, b->graph->model, source, NULL) &&
                        offset <= r.size_bytes && size_bytes <= r.size_bytes - offset &&
                        !element_reader_get(&r, to, offset, size_bytes, NULL);
    element_reader_close(&r);
    return loaded;
}

static void forget_pages(void *user)
{
    model_forget_pages(user);
}

kernel_problem build_problem(builder *b)
{
    return (kernel_problem){.packed = b->packed,
                            .load = load_elements,
                            .load_user = b,
                            .passed = forget_pages,
                            .passed_user = b->graph->model};
}

/* ---- Constants ------------------------------------------------------------------------------ */

/* Of a range, elements that are sizes are those of the base. */
static pgy_status load_constant(pgy_tensor **out, build_tensor *made, const builder *b,
                                pgy_value *v, pgy_error *err)
{
    const op_value *known = &box_of(v)->known;
    if (b->options->range && !known->data && !v->initializer &&
        range_knows_elements(b->options->range, v)) {
        made->elements = known->elements;
        made->element_count = known->element_count;
        return range_elements(out, b->options->range, v, err);
    }
    if (v->initializer || v->sparse || !known->data) return pgy_graph_value_data(out, v, err);
    return op_from_storage(out, (pgy_tensor *)known->data, known->dtype, err);
}

/* Large weights stay where they are, at any address or not even computed yet: a program for other
 * shapes finds them packed and never reads them. */
static pgy_status find_weight(pgy_tensor **out, bool *elsewhere, pgy_value *v, pgy_error *err)
{
    pgy_model *m = v->graph->model;
    const pgy_onnx_tensor *t = v->initializer;
    *elsewhere = computed_has(m, t->raw_data);
    if (!*elsewhere) return onnx_tensor_load_anywhere(out, m, t, err);
    return pgy_tensor_wrap(out, (void *)t->raw_data.data, pgy_dtype_from_onnx(t->data_type),
                           t->dim_count, t->dims, NULL, NULL, err);
}

/* What identifies the elements in all copies of the graph; NULL: inference made them for this one.
 */
static const void *source_of(const pgy_value *v)
{
    if (v->initializer) return v->initializer;
    if (v->sparse) return v->sparse;
    return v->producer ? node_constant(v->producer) : NULL;
}

/* Kernels may read integers, such as indices, when they are asked. */
static bool is_large_weight(const pgy_value *v, const program_tensor *t)
{
    const kernel_tensor shape = {.rank = t->rank, .shape = t->shape};
    const bool is_weight = pgy_dtype_is_float(t->dtype) || pgy_dtype_describe(t->dtype)->bits <= 8;
    return v->initializer && is_weight && kernel_count(&shape) > KERNEL_READABLE;
}

static pgy_status add_constant(uint32_t *out, builder *b, pgy_value *v, pgy_error *err)
{
    pgy_tensor *t = NULL;
    pgy_status st = build_tensor_add(out, b, v, PROGRAM_CONSTANT, err);
    if (st) return st;
    build_tensor *made = &b->tensors[*out];
    st = is_large_weight(v, &made->t) ? find_weight(&t, &made->elsewhere, v, err)
                                      : load_constant(&t, made, b, v, err);
    if (st) return st;
    if (pgy_tensor_dtype(t) != made->t.dtype || pgy_tensor_size_bytes(t) != made->t.size_bytes) {
        pgy_tensor_release(t);
        return pgy_error_set(err, PGY_E_FORMAT,
                             "the type or size of constant '%s' differs from its declaration",
                             v->name);
    }
    made->constant = t;
    made->source = source_of(v);
    made->stays = v->initializer && !made->elsewhere &&
                  pgy_tensor_data(t) == (const void *)v->initializer->raw_data.data;
    return build_bind(b, v, *out, err);
}

pgy_status build_tensor_of(uint32_t *out, builder *b, pgy_value *v, pgy_error *err)
{
    *out = PROGRAM_NO_TENSOR;
    if (!v) return PGY_OK;
    *out = build_bound(b, v);
    if (*out != PROGRAM_NO_TENSOR) return PGY_OK;
    if (build_is_constant(b, v)) return add_constant(out, b, v, err);
    return pgy_error_set(err, PGY_E_INTERNAL, "nothing computes '%s'", v->name);
}

/* ---- Releasing ------------------------------------------------------------------------------ */

/* After this many bytes the allocator gives memory back, which takes longer than a release. */
static const uint64_t GIVE_BACK_BYTES = 64 << 20;

static build_tensor *constant_root(builder *b, uint32_t tensor)
{
    build_tensor *t = tensor == PROGRAM_NO_TENSOR ? NULL : &b->tensors[build_root(b, tensor)];
    return t && t->constant ? t : NULL;
}

void build_count_use(builder *b, uint32_t tensor)
{
    build_tensor *t = constant_root(b, tensor);
    if (t) t->uses++;
}

/* Pages of the model's file that were read stay in memory otherwise. */
void build_give_back(builder *b)
{
    b->released_bytes = 0;
    model_forget_pages(b->graph->model);
    mem_give_back();
}

void build_drop_use(builder *b, uint32_t tensor)
{
    build_tensor *t = constant_root(b, tensor);
    if (!t || --t->uses) return;
    b->released_bytes += t->t.size_bytes;
    pgy_tensor_release(t->constant);
    t->constant = NULL;
    if (b->released_bytes >= GIVE_BACK_BYTES) build_give_back(b);
}

pgy_status build_store_constant(builder *b, uint32_t tensor, pgy_error *err)
{
    build_tensor *t = &b->tensors[build_root(b, tensor)];
    packed_piece *piece = NULL;
    if (!t->constant || t->stored) return PGY_OK;
    kernel_problem u = build_problem(b);
    u.input_count = 1;
    u.inputs[0] = build_describe(b, build_root(b, tensor));
    pgy_status st = packed_table_keep(&piece, &u, t->stays, forget_pages, b->graph->model, err);
    if (st) return st;
    t->t.data = packed_piece_data(piece);
    st = program_add_piece(&t->t.offset, b->p, t->t.space, piece, err);
    t->stored = !st;
    return st;
}
