/* SPDX-License-Identifier: Apache-2.0 */
/* Merges weights of one level that are equal in type, shape and every byte. A hash of samples rules
 * out nearly all unequal pairs, so large weights are compared, in pieces, only if they are likely
 * to be equal. */
#include <string.h>

#include "base/alloc.h"
#include "onnx/reader.h"
#include "transform/fold.h"

/* Few samples, because each may page in much of the file. */
enum { SAMPLES = 3, SAMPLE_BYTES = 256, PIECE = 256 * 1024 };

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

/* Hashes type, shape and a few samples of the elements. */
static pgy_status hash_of(uint64_t *hash, const pgy_onnx_tensor *t, element_reader *r,
                          pgy_error *err)
{
    char sample[SAMPLES * SAMPLE_BYTES];
    const size_t bytes = r->size_bytes, all = sizeof sample;
    pgy_status st = PGY_OK;
    uint64_t h = mix(0, &t->data_type, sizeof t->data_type);
    h = mix(h, t->dims, t->dim_count * sizeof *t->dims);
    if (bytes <= all) {
        st = element_reader_get(r, sample, 0, bytes, err);
        *hash = bytes ? mix(h, sample, bytes) : h;
        return st;
    }
    for (size_t i = 0; !st && i < SAMPLES; i++)
        st = element_reader_get(r, sample + i * SAMPLE_BYTES,
                                (bytes - SAMPLE_BYTES) / (SAMPLES - 1) * i, SAMPLE_BYTES, err);
    *hash = mix(h, sample, all);
    return st;
}

static bool same_kind(const pgy_onnx_tensor *a, const pgy_onnx_tensor *b)
{
    return a->data_type == b->data_type && a->dim_count == b->dim_count &&
           (!a->dim_count || memcmp(a->dims, b->dims, a->dim_count * sizeof *a->dims) == 0);
}

static pgy_status same_elements(bool *out, element_reader *a, element_reader *b, pgy_error *err)
{
    const size_t size = a->size_bytes < PIECE ? a->size_bytes : PIECE;
    char *pieces = mem_alloc_aligned(64, 2 * size);
    pgy_status st = pieces ? PGY_OK : graph_no_memory(err);
    *out = true;
    for (size_t at = 0; !st && *out && at < a->size_bytes; at += PIECE) {
        const size_t left = a->size_bytes - at, n = left < PIECE ? left : PIECE;
        st = element_reader_get(a, pieces, at, n, err);
        if (!st) st = element_reader_get(b, pieces + size, at, n, err);
        *out = !st && memcmp(pieces, pieces + size, n) == 0;
    }
    mem_free(pieces);
    return st;
}

static pgy_status same(bool *out, element_reader *r, const pgy_value *v, const pgy_value *other,
                       pgy_error *err)
{
    element_reader with = {0};
    *out = false;
    if (!same_kind(v->initializer, other->initializer)) return PGY_OK;
    pgy_status st = element_reader_open(&with, other->graph->model, other->initializer, err);
    if (!st) st = same_elements(out, r, &with, err);
    element_reader_close(&with);
    return st;
}

static bool takes_part(const folder *f, const pgy_value *v)
{
    return v->initializer && fold_is_constant(f, v) && !v->is_output && !v->is_input &&
           v->dtype != PGY_STRING && v->initializer->data_type != 0;
}

/* *out: set to an equal weight from the table; if there is none, v is added to the table. */
static pgy_status look_up(pgy_value **out, table *t, pgy_value *v, element_reader *r,
                          pgy_error *err)
{
    uint64_t hash;
    bool equal = false;
    pgy_status st = hash_of(&hash, v->initializer, r, err);
    if (st) return st;
    size_t at = hash & t->mask;
    for (; t->slots[at]; at = (at + 1) & t->mask) {
        if (t->hashes[at] != hash) continue;
        st = same(&equal, r, v, t->slots[at], err);
        if (!st && equal) *out = t->slots[at];
        if (st || equal) return st;
    }
    t->slots[at] = v;
    t->hashes[at] = hash;
    return PGY_OK;
}

static pgy_status merge(folder *f, table *t, pgy_value *v, pgy_error *err)
{
    element_reader r = {0};
    pgy_value *equal = NULL;
    if (element_reader_open(&r, v->graph->model, v->initializer, NULL))
        return PGY_OK; /* weights without elements are not merged */
    pgy_status st = look_up(&equal, t, v, &r, err);
    element_reader_close(&r);
    if (st || !equal) return st;
    st = value_replace_uses(v, equal, err);
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
