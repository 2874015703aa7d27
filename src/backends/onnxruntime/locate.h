/* SPDX-License-Identifier: Apache-2.0 */
/* Finds ONNX Runtime's shared library. */
#ifndef BACKENDS_ONNXRUNTIME_LOCATE_H
#define BACKENDS_ONNXRUNTIME_LOCATE_H

#include <polygraphy/base.h>

/* Opens the first library that works from: POLYGRAPHY_ONNXRUNTIME (alone, if set), the loader's
 * path, folders beside this library and program, the onnxruntime package of the Python on PATH. The
 * caller owns *path. */
pgy_status ort_locate(void **handle, char **path, pgy_error *err) PGY_MUST_CHECK;

#endif
