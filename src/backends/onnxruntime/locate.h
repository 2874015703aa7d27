/* SPDX-License-Identifier: Apache-2.0 */
/* Where ONNX Runtime's shared library may be. */
#ifndef BACKENDS_ONNXRUNTIME_LOCATE_H
#define BACKENDS_ONNXRUNTIME_LOCATE_H

#include <polygraphy/base.h>

/* The library's handle, the first that opens of: POLYGRAPHY_ONNXRUNTIME (alone, if set), the
 * loader's path, folders beside this library and program, the onnxruntime package of the Python on
 * PATH. *path is owned. */
pgy_status ort_locate(void **handle, char **path, pgy_error *err) PGY_MUST_CHECK;

#endif
