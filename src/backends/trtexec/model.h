/* SPDX-License-Identifier: Apache-2.0 */
/* The model as a file that trtexec can read. */
#ifndef BACKENDS_TRTEXEC_MODEL_H
#define BACKENDS_TRTEXEC_MODEL_H

#include <polygraphy/backend.h>

typedef struct trtexec_model {
    char *path;
    bool is_plan;
    pgy_metadata *inputs, *outputs; /* NULL: unknown */
} trtexec_model;

/* Close the model also after a failure. `folder` is for a model that has no file. */
pgy_status trtexec_model_open(trtexec_model *m, const pgy_backend_model *source, const char *folder,
                              pgy_error *err) PGY_MUST_CHECK;
void trtexec_model_close(trtexec_model *m); /* a zeroed model is fine */

#endif
