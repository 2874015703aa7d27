/* SPDX-License-Identifier: Apache-2.0 */
/* The typed objects of Polygraphy's JSON that hold arrays: ndarray, LazyArray, Tensor,
 * FormattedArray, read and written without a second copy of the elements:
 * base64 is decoded straight into the tensor and encoded straight from it. */
#ifndef DATA_ARRAY_JSON_H
#define DATA_ARRAY_JSON_H

#include <polygraphy/tensor.h>

#include "base/json.h"

/* The class of a typed object, with legacy markers and aliases resolved ("LazyNumpyArray" is
 * "LazyArray"); NULL for a plain object. */
const char *typed_json_class(const json_value *v);
/* Checks that v is a `wanted` object. PGY_E_FORMAT: "...: cannot be decoded into an 'X'" */
pgy_status typed_json_expect(const json_value *v, const char *wanted, const char *where,
                             pgy_error *err) PGY_MUST_CHECK;
/* Reads an ndarray, LazyArray, Tensor (torch) or FormattedArray. `where` (file and place) begins
 * messages. If `map` is given, the pages of the text are released after decoding. */
pgy_status array_json_read(pgy_tensor **out, const json_value *v, const file_map *map,
                           const char *where, pgy_error *err) PGY_MUST_CHECK;
/* Writes {"array": ..., "polygraphy_class": "ndarray"}. PGY_E_TYPE for types NumPy lacks. */
pgy_status array_json_write(json_writer *w, pgy_view v, pgy_error *err) PGY_MUST_CHECK;
/* {"values": <ndarray>, "polygraphy_class": "LazyArray"} */
pgy_status lazy_array_json_write(json_writer *w, pgy_view v, pgy_error *err) PGY_MUST_CHECK;

#endif
