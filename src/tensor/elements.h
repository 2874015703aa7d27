/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences among named tensors: the elements of `s` are named `s[0]`, `s[1]`, ..., those of a
 * nested sequence `s[0][1]`. `s[]` stands for an empty sequence. */
#ifndef TENSOR_ELEMENTS_H
#define TENSOR_ELEMENTS_H

#include <polygraphy/tensor.h>

#include "base/str.h"

/* True for names like "stem[]", "stem[3]" and "stem[3][0]". */
bool elements_belongs(const char *name, const char *stem);
/* True if the map has any element of the sequence `stem`, or its mark `stem[]`. */
bool elements_given(const pgy_tensor_map *m, const char *stem);
/* Gives the length of the sequence; its elements, stem[0] to stem[*out - 1], are tensors or nested
 * sequences. PGY_E_ARGUMENT if the map has no name of the stem, if an index is missing, or if
 * `stem[]` stands beside elements. */
pgy_status elements_count(size_t *out, const pgy_tensor_map *m, const char *stem,
                          pgy_error *err) PGY_MUST_CHECK;
/* Adds a tensor under a new name and takes over the reference, also on failure. PGY_E_UNSUPPORTED
 * if the name exists. */
pgy_status elements_adopt(pgy_tensor_map *m, const char *name, pgy_tensor *t,
                          pgy_error *err) PGY_MUST_CHECK;
/* Adds `stem[]`, the mark of an empty sequence. */
pgy_status elements_adopt_none(pgy_tensor_map *m, const char *stem, pgy_dtype dtype,
                               pgy_error *err) PGY_MUST_CHECK;

#endif
