/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and opens CUDA's libraries. */
#ifndef DEVICE_CUDA_LIBRARIES_H
#define DEVICE_CUDA_LIBRARIES_H

#include "base/dl.h"

/* Opens the first of the files `names` (NULL-ended) that opens: in the folders of
 * POLYGRAPHY_CUDA_PATH alone if it is set, where the entry "default" stands for the usual places;
 * else in the usual places: the loader's path, $CUDA_HOME, $CUDA_PATH, /usr/local/cuda, the
 * driver's folders, and the nvidia packages of the Python environment $VIRTUAL_ENV. PGY_E_NOT_FOUND
 * with the names, and with the reason if a file is there but does not open. */
pgy_status cuda_library_open(void **out, const char *const *names, pgy_error *err) PGY_MUST_CHECK;

#endif
