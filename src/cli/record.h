/* SPDX-License-Identifier: Apache-2.0 */
/* Running a model once to see what its tensors hold. */
#ifndef CLI_RECORD_H
#define CLI_RECORD_H

#include <polygraphy/data.h>
#include <polygraphy/onnx.h>

#include "cli/command.h"

typedef struct record_request {
    const char *const *names; /* of tensors that nodes of the top graph make */
    size_t count;
    bool all;             /* every tensor instead of the named ones */
    const char *announce; /* shown with the metadata of the inputs before the run; NULL: nothing */
    const char *backend;  /* NULL: ONNX Runtime or, without it, the reference */
    const pgy_metadata *shapes; /* of generated input data; NULL: as the model says */
} record_request;

/* Runs the model on the first input data that the data options of this line describe. *out has the
 * inputs, then the tensors that were asked for. */
pgy_status record_tensors(pgy_tensor_map **out, pgy_model *model, const record_request *request,
                          const args *line, pgy_error *err) PGY_MUST_CHECK;

#endif
