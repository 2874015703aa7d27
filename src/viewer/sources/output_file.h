/* SPDX-License-Identifier: Apache-2.0 */
/* Files of outputs: of `run --save-outputs`, and arrays of NumPy by the names of their tensors. */
#ifndef VIEWER_SOURCES_OUTPUT_FILE_H
#define VIEWER_SOURCES_OUTPUT_FILE_H

#include <polygraphy/compare.h>

#include "base/str.h"

/* Does a file begin as an archive of NumPy arrays? */
bool output_file_is_npz(const char *path, span start);
/* Reads the first iteration of a file. *reader gives the others; NULL: an archive, which has one,
 * of a runner that is called like the file. */
pgy_status output_file_open(pgy_results_reader **reader, pgy_results **first, const char *path,
                            pgy_error *err) PGY_MUST_CHECK;

#endif
