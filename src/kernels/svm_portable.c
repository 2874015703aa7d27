/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of support vector machines for any processor. */
#include "kernels/svm.h"

#include <string.h>

#include "kernels/vector_portable.h"

static inline VEC svm_first(const float *p, size_t n)
{
    float some[LANES] = {0};
    memcpy(some, p, n * sizeof *some);
    return LOAD(some);
}
#define SOME(p, n) svm_first(p, n)
static inline float svm_total(VEC v)
{
    float sum = 0;
    for (size_t i = 0; i < LANES; i++) sum += v[i];
    return sum;
}
#define TOTAL(v) svm_total(v)

#include "kernels/svm.inc"

const svm_loops svm_loops_portable = {svm_tile_run, svm_power_run, svm_dot};
