/* SPDX-License-Identifier: Apache-2.0 */
/* Order-preserving keys: flipping the sign bit orders signed integers and positive floats like
 * unsigned integers; negative floats need all bits flipped. */
#include "ops/class_key.h"

#include <math.h>
#include <string.h>

static const uint64_t SIGN = UINT64_C(1) << 63;

static uint64_t ascending(pgy_dtype dtype, const void *data, size_t i)
{
    uint64_t bits;
    if (dtype == PGY_BOOL) return ((const uint8_t *)data)[i];
    if (dtype == PGY_U64) return ((const uint64_t *)data)[i];
    if (dtype == PGY_I64) return (uint64_t)((const int64_t *)data)[i] ^ SIGN;
    double v = ((const double *)data)[i] + 0.0; /* -0 becomes 0 */
    memcpy(&bits, &v, sizeof bits);
    return bits & SIGN ? ~bits : bits | SIGN;
}

uint64_t key_of(pgy_dtype dtype, const void *data, size_t i, bool largest)
{
    if (dtype == PGY_F64 && isnan(((const double *)data)[i])) return 0;
    uint64_t key = ascending(dtype, data, i);
    return largest ? ~key : key;
}
