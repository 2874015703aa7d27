/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/class_paged_cache.h"

#include <string.h>

#include "base/alloc.h"
#include "ops/class_quantize.h"
#include "tensor/convert.h"

/* Logical element types, and the type of the tensor that holds them. */
static const struct {
    const char *name;
    pgy_dtype logical, held;
    bool quantised;
} TYPES[] = {
    {"float16", PGY_F16, PGY_F16, false}, {"bfloat16", PGY_BF16, PGY_BF16, false},
    {"int8", PGY_I8, PGY_I8, true},       {"float8e4m3fn", PGY_F8E4M3FN, PGY_F8E4M3FN, true},
    {"int4", PGY_I4, PGY_U8, true},       {"float4e2m1", PGY_F4E2M1, PGY_U8, true}};
enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

/* The row of TYPES for a node's cache; TYPE_COUNT: none. An empty name means the tensor's type. */
static size_t type_of(const op_node *n, const paged_names *names, pgy_dtype held)
{
    for (size_t i = 0; i < TYPE_COUNT; i++)
        if (TYPES[i].held == held && (op_attr_is(n, names->dtype, TYPES[i].name, "") ||
                                      (op_attr_is(n, names->dtype, "", "") && held != PGY_U8)))
            return i;
    return TYPE_COUNT;
}

/* ---- Shapes --------------------------------------------------------------------------------- */

static pgy_status check_scale(const op_infer *c, const paged_names *names, bool quantised,
                              dim heads, dim size, pgy_error *err)
{
    const bool none = op_attr_is(c->node, names->quant, "NONE", "NONE");
    const bool by_channel = op_attr_is(c->node, names->quant, "PER_CHANNEL", "NONE");
    if (none == quantised || quantised != op_has_input(c, names->scale))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "the cache of input %zu is%s quantised, so %s must%s be NONE and input %zu "
                        "(its scale) must%s be given",
                        names->cache, quantised ? "" : " not", names->quant,
                        quantised ? " not" : "", names->scale, quantised ? "" : " not");
    if (!quantised || !rank_known(c, names->scale)) return PGY_OK;
    const dim wanted[] = {heads, dim_const(1), size};
    pgy_status st = rank_check(c, names->scale, by_channel ? 3 : 1, by_channel ? 3 : 1, err);
    for (size_t d = 0; !st && d < (by_channel ? 3 : 1); d++)
        st = dim_check(c, names->scale, d, by_channel ? wanted[d] : dim_const(1),
                       "the shape of its granularity", err);
    return st;
}

pgy_status paged_cache_infer(op_infer *c, const paged_names *names, dim heads, dim size,
                             pgy_error *err)
{
    const op_value *cache = &c->inputs[names->cache];
    pgy_status st = rank_check(c, names->cache, 4, 4, err);
    if (st) return st;
    const size_t type = type_of(c->node, names, cache->dtype);
    if (cache->dtype && type == TYPE_COUNT)
        return op_error(c->node, err, PGY_E_TYPE,
                        "attribute %s does not name a type that the cache of input %zu, %s, holds",
                        names->dtype, names->cache, pgy_dtype_name(cache->dtype));
    if (cache->dtype) st = check_scale(c, names, TYPES[type].quantised, heads, size, err);
    if (!st && rank_known(c, names->cache)) {
        const dim stored =
            cache->dtype == PGY_U8 ? dim_div_ceil(c->dims, size, dim_const(2)) : size;
        st = dim_check(c, names->cache, 2, heads, "kv_num_heads", err);
        if (!st) st = dim_check(c, names->cache, 3, stored, "the size of a head", err);
    }
    if (!st && names->output < c->node->output_count) op_set_like(c, names->output, names->cache);
    return st;
}

/* ---- Access --------------------------------------------------------------------------------- */

pgy_status paged_cache_open(paged_cache *p, const op_eval *c, const paged_names *names, size_t size,
                            pgy_error *err)
{
    const int64_t *shape = in_shape(c, names->cache);
    const size_t type = type_of(c->node, names, c->inputs[names->cache].dtype);
    const size_t count = in_count(c, names->cache);
    void *copy = NULL;
    *p = (paged_cache){.c = c, .names = names};
    if (type == TYPE_COUNT)
        return op_error(c->node, err, PGY_E_TYPE, "input %zu has a type that no cache has",
                        names->cache);
    p->blocks = (size_t)shape[0];
    p->tokens = (size_t)shape[1];
    p->heads = (size_t)shape[2];
    p->stored = (size_t)shape[3];
    p->size = size;
    p->logical = TYPES[type].logical;
    p->scaled = TYPES[type].quantised;
    p->by_channel = in_count(c, names->scale) > 1;
    const pgy_status st = workspace_alloc(&copy, c, count, sizeof(double), err);
    if (st) return st;
    if (count) memcpy(copy, in_data(c, names->cache), count * sizeof(double));
    if (pgy_dtype_is_float(TYPES[type].held))
        p->floats = copy;
    else
        p->codes = copy;
    return PGY_OK;
}

static double scale_of(const paged_cache *p, size_t head, size_t i)
{
    const double *scale = in_f64(p->c, p->names->scale);
    if (!p->scaled) return 1;
    return scale[p->by_channel ? head * p->size + i : 0];
}

static uint8_t nibble_of(const paged_cache *p, double x)
{
    if (p->logical == PGY_F4E2M1) return f8_from_f64(PGY_F4E2M1, x, true) & 15;
    return (uint8_t)(quantize_int(x, 0, PGY_I4) & 15);
}

static double nibble_value(const paged_cache *p, unsigned code)
{
    if (p->logical == PGY_F4E2M1) return f8_to_f64(PGY_F4E2M1, (uint8_t)code);
    return code < 8 ? code : (double)code - 16;
}

void paged_cache_put(paged_cache *p, size_t slot, size_t head, const double *x)
{
    const size_t at = (slot * p->heads + head) * p->stored;
    for (size_t i = 0; i < p->size; i++) {
        const double v = x[i] / scale_of(p, head, i);
        if (p->floats)
            p->floats[at + i] = float_round(p->logical, v, p->scaled);
        else if (p->logical == PGY_I8)
            p->codes[at + i] = quantize_int(v, 0, PGY_I8);
        else if (i % 2)
            p->codes[at + i / 2] = (p->codes[at + i / 2] & 15) | nibble_of(p, v) << 4;
        else
            p->codes[at + i / 2] = nibble_of(p, v);
    }
}

double paged_cache_get(const paged_cache *p, size_t slot, size_t head, size_t i)
{
    const size_t at = (slot * p->heads + head) * p->stored;
    const double scale = scale_of(p, head, i);
    if (p->floats) return p->floats[at + i] * scale;
    if (p->logical == PGY_I8) return (double)p->codes[at + i] * scale;
    return nibble_value(p, (unsigned)(p->codes[at + i / 2] >> (i % 2 ? 4 : 0)) & 15) * scale;
}

void paged_cache_store(const paged_cache *p)
{
    void *to = out_data(p->c, p->names->output);
    const void *from = p->floats ? (const void *)p->floats : p->codes;
    const size_t count = out_count(p->c, p->names->output);
    if (to && count) memcpy(to, from, count * sizeof(double));
}

void paged_cache_deinit(paged_cache *p)
{
    mem_free(p->floats);
    mem_free(p->codes);
}
