/* SPDX-License-Identifier: Apache-2.0 */
/* The outputs that trtexec wrote. */
#ifndef BACKENDS_TRTEXEC_OUTPUTS_H
#define BACKENDS_TRTEXEC_OUTPUTS_H

#include <polygraphy/tensor.h>

/* Adds the outputs in a file to `out`: those that the model declares first, in its order. Fails if
 * one of these is missing or has another type or shape. `declared` NULL: unknown. */
pgy_status trtexec_read_outputs(pgy_tensor_map *out, const char *path, const pgy_metadata *declared,
                                pgy_error *err) PGY_MUST_CHECK;

#endif
