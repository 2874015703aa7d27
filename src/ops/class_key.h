/* SPDX-License-Identifier: Apache-2.0 */
/* Order-preserving 64-bit keys of elements in storage type, so that one code sorts and searches all
 * types. */
#ifndef OPS_CLASS_KEY_H
#define OPS_CLASS_KEY_H

#include <polygraphy/tensor.h>

/* Key of element i: smaller is better, better being larger values or, with `largest` false, smaller
 * ones. Zeros of both signs are equal; NaN is the largest value of all when looking for large ones,
 * and comes first among small ones too, as NumPy's argmin has it. */
uint64_t key_of(pgy_dtype dtype, const void *data, size_t i, bool largest);

#endif
