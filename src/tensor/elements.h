/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences among named tensors: the elements of `s` are `s[0]`, `s[1]`, ..., those of a nested
 * one `s[0][1]`; `s[]` stands for a sequence without elements. */
#ifndef TENSOR_ELEMENTS_H
#define TENSOR_ELEMENTS_H

#include <polygraphy/tensor.h>

#include "base/str.h"

/* "stem[]", "stem[3]", "stem[3][0]"... */
bool elements_belongs(const char *name, const char *stem);
/* Does any name of the map belong to the stem? */
bool elements_given(const pgy_tensor_map *m, const char *stem);
/* Length of the sequence; its elements are stem[0] to stem[*out - 1], tensors or sequences again.
 * PGY_E_ARGUMENT if none is given, one is missing in between, or `stem[]` stands beside others. */
pgy_status elements_count(size_t *out, const pgy_tensor_map *m, const char *stem,
                          pgy_error *err) PGY_MUST_CHECK;
/* Adds a tensor under a name that is not there yet; the reference moves in, also on failure. */
pgy_status elements_adopt(pgy_tensor_map *m, const char *name, pgy_tensor *t,
                          pgy_error *err) PGY_MUST_CHECK;
/* Adds `stem[]`. */
pgy_status elements_adopt_none(pgy_tensor_map *m, const char *stem, pgy_dtype dtype,
                               pgy_error *err) PGY_MUST_CHECK;

#endif
