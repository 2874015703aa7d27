/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of one level that are equal in type, shape and every byte become one. A hash of samples
 * sorts out nearly all others, so the bytes of large weights are read only where they are likely to
 * be equal. They are read where they lie in the file, and their pages are given back. */
#include <string.h>

#include "base/alloc.h"
#include "onnx/elements.h"
#include "onnx/model.h"
#include "transform/fold.h"

/* Few samples: each may bring in many pages. */
enum { SAMPLES = 3, SAMPLE_BYTES = 256 };

typedef struct table {
    pgy_value **slots;
    uint64_t *hashes;
    size_t mask;
} table;

static uint64_t mix(uint64_t h, const void *data, size_t size)
{
    const uint64_t part = span_hash((span){data, size});
    return (h ^ part) * 0x9E3779B97F4A7C15u + (part >> 29);
}

static pgy_status load(pgy_tensor **out, pgy_value *v, pgy_error *err)
{
    return onnx_tensor_load_anywhere(out, v->graph->model, v->initializer, err);
}

static uint64_t hash_of(const pgy_tensor *t)
{
    const size_t bytes = pgy_tensor_size_bytes(t);
    const char *data = pgy_tensor_data(t);
    const pgy_dtype dtype = pgy_tensor_dtype(t);
    uint64_t h = mix(0, &dtype, sizeof dtype);
    h = mix(h, pgy_tensor_shape(t), pgy_tensor_rank(t) * sizeof(int64_t));
    if (bytes <= SAMPLES * SAMPLE_BYTES) return bytes ? mix(h, data, bytes) : h;
    for (size_t i = 0; i < SAMPLES; i++)
        h = mix(h, data + (bytes - SAMPLE_BYTES) / (SAMPLES - 1) * i, SAMPLE_BYTES);
    return h;
}

static bool same(const pgy_tensor *a, const pgy_tensor *b)
{
    return pgy_tensor_dtype(a) == pgy_tensor_dtype(b) &&
           pgy_view_same_shape(pgy_tensor_view(a), pgy_tensor_view(b)) &&
           pgy_tensor_size_bytes(a) == pgy_tensor_size_bytes(b) &&
           (pgy_tensor_size_bytes(a) == 0 ||
            memcmp(pgy_tensor_data(a), pgy_tensor_data(b), pgy_tensor_size_bytes(a)) == 0);
}

static bool takes_part(const folder *f, const pgy_value *v)
{
    return v->initializer && fold_is_constant(f, v) && !v->is_output && !v->is_input &&
           v->dtype != PGY_STRING && v->initializer->data_type != 0;
}

/* Finds an equal weight, or puts v in the table. */
static pgy_status look_up(pgy_value **out, table *t, pgy_value *v, const pgy_tensor *elements,
                          pgy_error *err)
{
    const uint64_t hash = hash_of(elements);
    pgy_status st = PGY_OK;
    size_t at = hash & t->mask;
    *out = NULL;
    for (; !st && !*out && t->slots[at]; at = (at + 1) & t->mask) {
        pgy_tensor *other = NULL;
        if (t->hashes[at] != hash) continue;
        st = load(&other, t->slots[at], err);
        if (!st && same(elements, other)) *out = t->slots[at];
        if (!st) fold_release(other, v->graph->model);
    }
    if (st || *out) return st;
    t->slots[at] = v;
    t->hashes[at] = hash;
    return PGY_OK;
}

static pgy_status merge(folder *f, table *t, pgy_value *v, pgy_error *err)
{
    pgy_tensor *elements = NULL;
    pgy_value *equal = NULL;
    if (load(&elements, v, NULL)) return PGY_OK; /* no elements, no merging */
    pgy_status st = look_up(&equal, t, v, elements, err);
    fold_release(elements, v->graph->model);
    if (st || !equal) return st;
    st = fold_replace_uses(v, equal, err);
    if (!st) f->changes++;
    return st;
}

pgy_status fold_weights(folder *f, pgy_graph *level, pgy_error *err)
{
    size_t size = 16;
    pgy_status st = PGY_OK;
    while (size < 2 * level->initializer_count) size *= 2;
    table t = {.slots = arena_alloc_array(&f->memory, size, sizeof *t.slots),
               .hashes = arena_alloc_array(&f->memory, size, sizeof *t.hashes),
               .mask = size - 1};
    if (!t.slots || !t.hashes) return graph_no_memory(err);
    for (size_t i = 0; !st && i < level->initializer_count; i++) {
        pgy_value *v = level->initializers[i];
        if (takes_part(f, v) && v->consumer_count) st = merge(f, &t, v, err);
    }
    return st;
}
