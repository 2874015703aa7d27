/* SPDX-License-Identifier: Apache-2.0 */
/* Element types of comparisons: which type arithmetic is done in, elements widened to it, and views
 * that are converted first. */
#include "compare/arith.h"

#include <math.h>
#include <string.h>

#include "base/system.h"
#include "tensor/convert.h"

#define T float
#define NAME(x) x##_f32
#include "compare/widen.inc"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
#include "compare/widen.inc"
#undef T
#undef NAME
#define T int64_t
#define NAME(x) x##_i64
#include "compare/widen.inc"
#undef T
#undef NAME
#define T uint64_t
#define NAME(x) x##_u64
#include "compare/widen.inc"
#undef T
#undef NAME

const block_kernels *block_kernels_best(void)
{
    return cpu_features() >= CPU_AVX2 ? &block_kernels_avx2 : &block_kernels_portable;
}

void arith_widen(work_type work, void *to, pgy_dtype dtype, const void *from, size_t start,
                 size_t n)
{
    switch (work) {
    case WORK_F32: widen_f32(to, dtype, from, start, n); return;
    case WORK_F64: widen_f64(to, dtype, from, start, n); return;
    case WORK_I64: widen_i64(to, dtype, from, start, n); return;
    case WORK_U64: widen_u64(to, dtype, from, start, n); return;
    }
}

work_type arith_work_type(pgy_dtype dtype)
{
    switch (dtype) {
    case PGY_F16:
    case PGY_F32:
    case PGY_C64: return WORK_F32;
    case PGY_F64:
    case PGY_C128: return WORK_F64;
    case PGY_U64: return WORK_U64;
    default: return WORK_I64;
    }
}

static bool is_single(pgy_dtype dtype)
{
    return dtype == PGY_F16 || dtype == PGY_F32 || dtype == PGY_C64;
}

bool arith_is_floating(pgy_dtype dtype)
{
    return is_single(dtype) || dtype == PGY_F64 || dtype == PGY_C128;
}

bool arith_is_int32(pgy_dtype dtype)
{
    return dtype == PGY_I8 || dtype == PGY_U8 || dtype == PGY_I16 || dtype == PGY_U16 ||
           dtype == PGY_I32;
}

work_type arith_common_float(pgy_dtype a, pgy_dtype b)
{
    bool single_a = is_single(a) || a == PGY_BOOL, single_b = is_single(b) || b == PGY_BOOL;
    return single_a && single_b ? WORK_F32 : WORK_F64;
}

static bool is_i64(pgy_dtype dtype)
{
    return dtype == PGY_I64 || dtype == PGY_U64;
}

bool arith_float_meets_i64(pgy_dtype a, pgy_dtype b)
{
    return (is_i64(a) && arith_is_floating(b)) || (arith_is_floating(a) && is_i64(b));
}

static __int128 whole_element(pgy_dtype dtype, const void *data, size_t i)
{
    return dtype == PGY_U64 ? (__int128)((const uint64_t *)data)[i] : ((const int64_t *)data)[i];
}

/* Beyond 2^65 rounding the integer does not change the difference; NaN and infinities take this
 * path, too. */
double arith_mixed_difference(pgy_dtype a_dtype, const void *a, pgy_dtype b_dtype, const void *b,
                              size_t i)
{
    bool a_whole = is_i64(a_dtype);
    __int128 whole = whole_element(a_whole ? a_dtype : b_dtype, a_whole ? a : b, i);
    double real;
    arith_widen(WORK_F64, &real, a_whole ? b_dtype : a_dtype, a_whole ? b : a, i, 1);
    if (!(fabs(real) < 0x1p65)) return fabs(real - (double)whole);
    __int128 floor_part = (__int128)real;
    return fabs((double)(floor_part - whole) + (real - (double)floor_part));
}

float arith_float_not_above(double v)
{
    float f = (float)v;
    return (double)f > v ? nextafterf(f, -INFINITY) : f;
}

bool arith_is_complex(pgy_dtype dtype)
{
    return dtype == PGY_C64 || dtype == PGY_C128;
}

/* ---- Conversion of views to types that comparisons read ---------------------------------------
 */

static pgy_dtype simple_dtype(pgy_dtype dtype)
{
    switch (dtype) {
    case PGY_I2:
    case PGY_I4: return PGY_I8;
    case PGY_U2:
    case PGY_U4: return PGY_U8;
    case PGY_BF16:
    case PGY_F8E4M3FN:
    case PGY_F8E4M3FNUZ:
    case PGY_F8E5M2:
    case PGY_F8E5M2FNUZ:
    case PGY_F8E8M0:
    case PGY_F6E2M3:
    case PGY_F6E3M2:
    case PGY_F4E2M1: return PGY_F32;
    default: return dtype;
    }
}

pgy_status arith_compact_view(pgy_tensor **out, pgy_view v, pgy_error *err)
{
    pgy_dtype dtype = simple_dtype(v.dtype);
    return dtype == v.dtype ? pgy_tensor_copy(out, v, err) : pgy_tensor_cast(out, v, dtype, err);
}

pgy_status arith_compact(pgy_tensor **out, pgy_tensor *t, pgy_error *err)
{
    pgy_view v = pgy_tensor_view(t);
    if (simple_dtype(v.dtype) != v.dtype) return arith_compact_view(out, v, err);
    *out = pgy_tensor_retain(t);
    return PGY_OK;
}
