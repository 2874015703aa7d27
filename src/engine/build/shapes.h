/* SPDX-License-Identifier: Apache-2.0 */
/* Types and shapes of all inputs: the key by which an engine and its contexts find programs. */
#ifndef ENGINE_BUILD_SHAPES_H
#define ENGINE_BUILD_SHAPES_H

#include <polygraphy/tensor.h>

/* Both must describe inputs of the same model: names are not compared. */
bool shapes_equal(const pgy_metadata *a, const pgy_metadata *b);
/* Does the feed have these types and shapes? */
bool shapes_fit(const pgy_metadata *shapes, const pgy_tensor_map *feed);
/* Are all inputs tensors that programs support? */
bool shapes_are_numeric(const pgy_metadata *inputs);
pgy_status shapes_add(pgy_metadata *out, const pgy_metadata *from, pgy_error *err) PGY_MUST_CHECK;
pgy_status shapes_copy(pgy_metadata **out, const pgy_metadata *from, pgy_error *err) PGY_MUST_CHECK;
/* Types and shapes of the feed's tensors, in the order of the model's inputs. *out NULL: an input
 * is not a single numeric tensor. */
pgy_status shapes_of(pgy_metadata **out, const pgy_metadata *inputs, const pgy_tensor_map *feed,
                     pgy_error *err) PGY_MUST_CHECK;
/* The declared inputs, with shapes replaced by those in `given` (may be NULL). PGY_E_SHAPE: an
 * input has no fixed shape. */
pgy_status shapes_complete(pgy_metadata **out, const pgy_metadata *inputs,
                           const pgy_metadata *given, pgy_error *err) PGY_MUST_CHECK;

#endif
