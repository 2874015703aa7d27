/* SPDX-License-Identifier: Apache-2.0 */
/* A save that is going on, for the files that share the work. */
#ifndef ONNX_SAVING_H
#define ONNX_SAVING_H

#include "onnx/model_write.h"
#include "onnx/placement.h"

typedef struct saving {
    placement place;
    const char *path;
    char *folder;      /* of the target, as given */
    char *real_folder; /* NULL where it does not exist yet */
    char *data_name;
    encoder *encoder;
    data_files data;
    file_writer *file;
} saving;

/* Decides anew where everything goes, by the settings of `place`. */
pgy_status saving_measure(saving *s, pgy_error *err) PGY_MUST_CHECK;
/* Writes the model as it was measured; *out is to be committed. */
pgy_status saving_write_model(file_writer **out, saving *s, pgy_error *err) PGY_MUST_CHECK;

/* save_pair.c: is there a model with which the data must change together? Then this does it. */
bool pair_can_be_replaced(const saving *s);
pgy_status pair_replace(saving *s, pgy_error *err) PGY_MUST_CHECK;

#endif
