/* SPDX-License-Identifier: Apache-2.0 */
/* The file that each trial makes for its check. */
#ifndef DEBUG_CANDIDATE_FILE_H
#define DEBUG_CANDIDATE_FILE_H

#include <polygraphy/onnx.h>

#include "onnx/rewriter.h"

/* Zeroed: trials make no file. */
typedef struct candidate_file {
    const char *path;
    char *data_path; /* weights beside a large candidate; NULL: a file that is not ours is there */
    model_rewriter *rewriter; /* NULL until a model is saved */
} candidate_file;

/* `path` is borrowed. */
pgy_status candidate_file_init(candidate_file *f, const char *path, pgy_error *err) PGY_MUST_CHECK;
void candidate_file_deinit(candidate_file *f);
/* From now on until candidate_file_remove the file is removed if the process ends. */
void candidate_file_begin(candidate_file *f);
/* Saves a part of `whole`, fast if that is the same model in all calls. With `keep` the file stays
 * after the check. */
pgy_status candidate_file_save(candidate_file *f, pgy_model *part, pgy_model *whole, bool keep,
                               pgy_error *err) PGY_MUST_CHECK;
void candidate_file_remove(candidate_file *f);

#endif
