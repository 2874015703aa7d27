/* SPDX-License-Identifier: Apache-2.0 */
/* Types and shapes of all inputs, by which programs are found. */
#ifndef ENGINE_BUILD_SHAPES_H
#define ENGINE_BUILD_SHAPES_H

#include <polygraphy/tensor.h>

/* Of one model, so the names are the same. */
bool shapes_equal(const pgy_metadata *a, const pgy_metadata *b);
/* Is the feed of these types and shapes? */
bool shapes_fit(const pgy_metadata *shapes, const pgy_tensor_map *feed);
/* Are all inputs tensors that a program can take? */
bool shapes_are_numeric(const pgy_metadata *inputs);
pgy_status shapes_add(pgy_metadata *out, const pgy_metadata *from, pgy_error *err) PGY_MUST_CHECK;
pgy_status shapes_copy(pgy_metadata **out, const pgy_metadata *from, pgy_error *err) PGY_MUST_CHECK;
/* What feeds the model, in its order; *out NULL: an input is not one tensor of numbers. */
pgy_status shapes_of(pgy_metadata **out, const pgy_metadata *inputs, const pgy_tensor_map *feed,
                     pgy_error *err) PGY_MUST_CHECK;
/* What is declared, with the shapes that are given (NULL: none). An input without fixed shape is
 * PGY_E_SHAPE. */
pgy_status shapes_complete(pgy_metadata **out, const pgy_metadata *inputs,
                           const pgy_metadata *given, pgy_error *err) PGY_MUST_CHECK;

#endif
