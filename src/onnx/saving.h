/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a save, shared by save.c and save_pair.c. */
#ifndef ONNX_SAVING_H
#define ONNX_SAVING_H

#include "onnx/model_write.h"
#include "onnx/placement.h"

typedef struct saving {
    placement place;
    const char *path;
    char *folder;      /* folder of the target, as given */
    char *real_folder; /* NULL if it does not exist yet */
    char *data_name;
    encoder *encoder;
    data_files data;
    file_writer *file;
} saving;

/* Calls placement_replace only if a weight may move; otherwise bytes are copied without looking at
 * tensors. */
encode_options saving_options(placement *p);
/* Decides again where all weights go, by the settings of `place`, and measures the model. */
pgy_status saving_measure(saving *s, pgy_error *err) PGY_MUST_CHECK;
/* Writes the model as it was measured; the caller commits *out. */
pgy_status saving_write_model(file_writer **out, saving *s, pgy_error *err) PGY_MUST_CHECK;

/* In save_pair.c: true if an older model exists, which must be replaced together with its data.
 * pair_replace does that. */
bool pair_can_be_replaced(const saving *s);
pgy_status pair_replace(saving *s, pgy_error *err) PGY_MUST_CHECK;

#endif
