/* SPDX-License-Identifier: Apache-2.0 */
/* Types of tensors: of inputs and outputs (formats.c), and of the outputs of layers
 * (output_types.c). */
#ifndef CLI_TRTEXEC_FORMATS_H
#define CLI_TRTEXEC_FORMATS_H

#include "cli/trtexec/trtexec.h"

pgy_dtype formats_type(span name); /* "fp16"; NONE: unknown */
/* Adds what --inputIOFormats and --outputIOFormats say to the configuration. */
pgy_status formats_set(pgy_build_config *c, trtexec_session *s, pgy_model *model,
                       pgy_error *err) PGY_MUST_CHECK;
/* Makes the model in which outputs of layers have the types of --layerOutputTypes; NULL in *out: it
 * needs no change. May add to the configuration's layer types. */
pgy_status output_types_apply(pgy_model **out, pgy_build_config *c, trtexec_session *s,
                              pgy_model *model, pgy_error *err) PGY_MUST_CHECK;

#endif
