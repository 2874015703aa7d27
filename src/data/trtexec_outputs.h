/* SPDX-License-Identifier: Apache-2.0 */
/* Files of outputs in trtexec's JSON (--exportOutput). */
#ifndef DATA_TRTEXEC_OUTPUTS_H
#define DATA_TRTEXEC_OUTPUTS_H

#include <polygraphy/tensor.h>

#include "base/json.h"

/* A json_body; `user` is a pgy_tensor_map. */
pgy_status trtexec_outputs_write(json_writer *w, const void *user, pgy_error *err) PGY_MUST_CHECK;
/* `types`: of tensors for which the file names none; others there, and all with NULL, are float32.
 * `path` is the name in errors. */
pgy_status trtexec_outputs_parse(pgy_tensor_map **out, span text, const char *path,
                                 const pgy_metadata *types, pgy_error *err) PGY_MUST_CHECK;
pgy_status trtexec_outputs_load(pgy_tensor_map **out, const char *path, const pgy_metadata *types,
                                pgy_error *err) PGY_MUST_CHECK;

#endif
