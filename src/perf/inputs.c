/* SPDX-License-Identifier: Apache-2.0 */
/* Generated inputs in the ranges of trtexec. The seed has the input's name in it, so that two
 * inputs of the same shape differ. */
#include <string.h>

#include "base/hash.h"
#include "perf/perf.h"

/* The generator SplitMix64. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static double draw_value(uint64_t *state, const pgy_dtype_info *type)
{
    const uint64_t bits = draw(state) >> 11;
    if (type->kind == PGY_KIND_BOOL) return (double)(bits & 1);
    if (type->dtype == PGY_U8) return (double)(bits & 255);
    if (type->kind == PGY_KIND_UNSIGNED) return (double)(bits & (type->bits < 8 ? 3 : 127));
    if (type->kind == PGY_KIND_SIGNED)
        return type->bits < 8 ? (double)(bits & 3) - 2 : (double)(bits & 255) - 128;
    return (double)bits * 0x1p-52 - 1;
}

static pgy_status draw_tensor(pgy_tensor **out, const char *name, pgy_dtype dtype, size_t rank,
                              const int64_t *shape, uint64_t seed, pgy_error *err)
{
    const pgy_dtype_info *type = pgy_dtype_describe(dtype);
    pgy_tensor *wide = NULL;
    uint64_t state = hash_xxh64(name, strlen(name), seed);
    if (type->kind == PGY_KIND_STRING || type->kind == PGY_KIND_COMPLEX)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "input '%s' is %s; data are generated for real numbers only", name,
                             type->name);
    pgy_status st = pgy_tensor_create(&wide, PGY_F64, rank, shape, err);
    for (size_t i = 0; !st && i < pgy_tensor_count(wide); i++)
        ((double *)pgy_tensor_data(wide))[i] = draw_value(&state, type);
    if (!st) st = pgy_tensor_cast(out, pgy_tensor_view(wide), dtype, err);
    pgy_tensor_release(wide);
    return st;
}

/* The elements of an input that is a shape. */
static pgy_status shape_tensor(pgy_tensor **out, const pgy_tensor_info *info, size_t count,
                               const int64_t *elements, pgy_error *err)
{
    const int64_t dims[1] = {(int64_t)count};
    const size_t rank = info->rank == 0 ? 0 : 1;
    pgy_tensor *wide = NULL;
    if (!rank && count != 1)
        return pgy_error_set(err, PGY_E_SHAPE, "input '%s' is a scalar, but %zu elements are given",
                             info->name, count);
    pgy_status st = pgy_tensor_create(&wide, PGY_I64, rank, dims, err);
    if (!st && count) memcpy(pgy_tensor_data(wide), elements, count * sizeof *elements);
    if (!st) st = pgy_tensor_cast(out, pgy_tensor_view(wide), info->dtype, err);
    pgy_tensor_release(wide);
    return st;
}

static pgy_status make_input(pgy_tensor **out, const pgy_engine *e, size_t profile, size_t i,
                             const pgy_metadata *shapes, uint64_t seed, pgy_error *err)
{
    const pgy_tensor_info *info = pgy_metadata_at(pgy_engine_inputs(e), i);
    const pgy_tensor_info *given = shapes ? pgy_metadata_find(shapes, info->name) : NULL;
    pgy_profile_range range = {0};
    const pgy_bound_kind kind = pgy_engine_range(&range, e, profile, i);
    const bool fits = kind == PGY_BOUND_SHAPE || kind == PGY_BOUND_ANY;
    if (kind == PGY_BOUND_ELEMENTS)
        return shape_tensor(out, info, given ? (size_t)given->rank : range.count,
                            given ? given->shape : range.opt, err);
    if (given)
        return draw_tensor(out, info->name, info->dtype, (size_t)given->rank, given->shape, seed,
                           err);
    if (!fits)
        return pgy_error_set(
            err, PGY_E_UNSUPPORTED,
            "input '%s' is not a tensor of known rank, so no data can be generated", info->name);
    return draw_tensor(out, info->name, info->dtype, range.count, range.opt, seed, err);
}

pgy_status pgy_perf_inputs(pgy_tensor_map **out, const pgy_engine *engine, size_t profile,
                           const pgy_metadata *shapes, uint64_t seed, pgy_error *err)
{
    pgy_tensor_map *map = NULL;
    if (profile >= pgy_engine_profile_count(engine))
        return pgy_error_set(err, PGY_E_ARGUMENT, "there is no profile %zu; the engine has %zu",
                             profile, pgy_engine_profile_count(engine));
    const pgy_metadata *inputs = pgy_engine_inputs(engine);
    for (size_t i = 0; shapes && i < pgy_metadata_count(shapes); i++)
        if (!pgy_metadata_find(inputs, pgy_metadata_at(shapes, i)->name))
            return pgy_error_set(err, PGY_E_NOT_FOUND, "the engine has no input '%s'",
                                 pgy_metadata_at(shapes, i)->name);
    pgy_status st = pgy_tensor_map_create(&map, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(inputs); i++) {
        pgy_tensor *t = NULL;
        st = make_input(&t, engine, profile, i, shapes, seed, err);
        if (!st) st = pgy_tensor_map_adopt(map, pgy_metadata_at(inputs, i)->name, t, err);
    }
    if (st)
        pgy_tensor_map_destroy(map);
    else
        *out = map;
    return st;
}
