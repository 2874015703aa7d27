/* SPDX-License-Identifier: Apache-2.0 */
/* The table of element types (dtypes.def) and the look-ups in it, by the code and width of a type.
 * Names of other tools (ONNX's, a few aliases) are accepted when reading, never written. */
#include <polygraphy/tensor.h>

#include "base/alloc.h"
#include "base/str.h"

static const pgy_dtype_info DTYPES[] = {
#define DTYPE(value, name, onnx, onnx_name, npy, safetensors, bits, kind) \
    {value, name, onnx, onnx_name, npy, safetensors, bits, kind},
#include "tensor/dtypes.def"
#undef DTYPE
};
enum { DTYPE_COUNT = sizeof DTYPES / sizeof DTYPES[0] };

enum {
#define DTYPE(value, name, onnx, onnx_name, npy, safetensors, bits, kind) ROW_##value,
#include "tensor/dtypes.def"
#undef DTYPE
};

/* Maps a type's code and width to a small index, at which a table holds the type's row number. */
#define PLACE(dtype) (((dtype)&31u) + 32u * (unsigned)__builtin_ctz(((dtype) >> 8 & 255u) | 256u))
static const uint8_t ROW_AT[32 * 9] = {
#define DTYPE(value, name, onnx, onnx_name, npy, safetensors, bits, kind) \
    [PLACE(value)] = ROW_##value + 1,
#include "tensor/dtypes.def"
#undef DTYPE
};

static const pgy_dtype_info NONE = {.name = "none", .onnx_name = "UNDEFINED"};

static const struct {
    const char *name;
    pgy_dtype dtype;
} ALIASES[] = {
    {"half", PGY_F16},          {"double", PGY_F64},           {"boolean", PGY_BOOL},
    {"float4e2m1", PGY_F4E2M1}, {"float8e8m0fnu", PGY_F8E8M0}, {"str", PGY_STRING},
};

size_t pgy_dtype_list(const pgy_dtype_info **out)
{
    *out = DTYPES;
    return DTYPE_COUNT;
}

const pgy_dtype_info *pgy_dtype_describe(pgy_dtype dtype)
{
    const unsigned row = ROW_AT[PLACE((unsigned)dtype)];
    return row && DTYPES[row - 1].dtype == dtype ? &DTYPES[row - 1] : &NONE;
}

const char *pgy_dtype_name(pgy_dtype dtype)
{
    return pgy_dtype_describe(dtype)->name;
}

pgy_dtype pgy_dtype_from_name(const char *name)
{
    if (!name) return PGY_DTYPE_NONE;
    for (size_t i = 0; i < DTYPE_COUNT; i++)
        if (str_equal_nocase(DTYPES[i].name, name)) return DTYPES[i].dtype;
    for (size_t i = 0; i < DTYPE_COUNT; i++)
        if (str_equal_nocase(DTYPES[i].onnx_name, name)) return DTYPES[i].dtype;
    for (size_t i = 0; i < sizeof ALIASES / sizeof ALIASES[0]; i++)
        if (str_equal_nocase(ALIASES[i].name, name)) return ALIASES[i].dtype;
    return PGY_DTYPE_NONE;
}

pgy_dtype pgy_dtype_from_onnx(int onnx)
{
    for (size_t i = 0; i < DTYPE_COUNT; i++)
        if (DTYPES[i].onnx == onnx) return DTYPES[i].dtype;
    return PGY_DTYPE_NONE;
}

bool pgy_dtype_is_float(pgy_dtype dtype)
{
    const pgy_dtype_info *info = pgy_dtype_describe(dtype);
    return info->bits && info->kind == PGY_KIND_FLOAT;
}

bool pgy_dtype_is_integer(pgy_dtype dtype)
{
    const pgy_dtype_info *info = pgy_dtype_describe(dtype);
    return info->kind == PGY_KIND_SIGNED || info->kind == PGY_KIND_UNSIGNED;
}

pgy_status pgy_dtype_size_bytes(size_t *out, pgy_dtype dtype, size_t count, pgy_error *err)
{
    size_t bits = pgy_dtype_describe(dtype)->bits;
    size_t bytes;
    if (bits < 8)
        bytes = count / 8 * bits + (count % 8 * bits + 7) / 8;
    else if (!size_mul(&bytes, count, bits / 8))
        return pgy_error_set(err, PGY_E_SHAPE,
                             "%zu elements of type %s do not fit in the address space", count,
                             pgy_dtype_name(dtype));
    *out = bytes;
    return PGY_OK;
}
