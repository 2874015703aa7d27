/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and outputs that may be sequences or optionals. They are passed as named tensors, as
 * pgy_form describes. */
#ifndef BACKENDS_ONNXRUNTIME_SEQUENCE_H
#define BACKENDS_ONNXRUNTIME_SEQUENCE_H

#include "backends/onnxruntime/value.h"

typedef struct ort_form {
    pgy_form form;
    pgy_dtype element; /* element type of a sequence of tensors, else NONE */
} ort_form;

pgy_status ort_form_read(ort_form *out, const ort_api *api, const ort_type_info *type,
                         const char *name, pgy_error *err) PGY_MUST_CHECK;
/* A value that borrows the memory of the input's tensors, which must outlive it. */
pgy_status ort_feed(ort_value **out, const ort_api *api, const char *name, const ort_form *form,
                    const pgy_tensor_map *feed, pgy_error *err) PGY_MUST_CHECK;
/* Adds the tensors of an output. Takes over the value, also on failure. */
pgy_status ort_take(pgy_tensor_map *out, const ort_api *api, const char *name, ort_value *value,
                    pgy_dtype element, pgy_error *err) PGY_MUST_CHECK;

#endif
