/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences among named tensors: the elements of `s` are named `s[0]`, `s[1]`, ..., those of a
 * nested sequence `s[0][1]`. `s[]` stands for an empty sequence. A map `m` is `m[keys]` and
 * `m[values]`. */
#ifndef TENSOR_ELEMENTS_H
#define TENSOR_ELEMENTS_H

#include <polygraphy/tensor.h>

#include "base/str.h"

/* True for names like "stem[]", "stem[3]", "stem[3][0]" and "stem[keys]". */
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
/* Finds the keys and values of map `stem`, two vectors of equal length. *keys is NULL if the feed has
 * neither. PGY_E_ARGUMENT: one of them is missing, or their shapes differ. */
pgy_status elements_map(pgy_tensor **keys, pgy_tensor **values, const pgy_tensor_map *m,
                        const char *stem, pgy_error *err) PGY_MUST_CHECK;
/* Adds keys and values as those of map `stem`. Takes over both references, also on failure. */
pgy_status elements_adopt_map(pgy_tensor_map *m, const char *stem, pgy_tensor *keys,
                              pgy_tensor *values, pgy_error *err) PGY_MUST_CHECK;

#endif
