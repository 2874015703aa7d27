/* SPDX-License-Identifier: Apache-2.0 */
/* Order-preserving 64-bit keys of elements in storage type, so that the same code sorts and
 * searches elements of all types. */
#ifndef OPS_CLASS_KEY_H
#define OPS_CLASS_KEY_H

#include <polygraphy/tensor.h>

/* Key of element i. Smaller keys come first: larger values if `largest`, else smaller values. Zeros
 * of both signs are equal. NaN comes first in both orders, like in NumPy's argmax and argmin. */
uint64_t key_of(pgy_dtype dtype, const void *data, size_t i, bool largest);

#endif
