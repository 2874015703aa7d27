/* SPDX-License-Identifier: Apache-2.0 */
/* What can be read of a damaged ONNX file: for pictures, not for runs. */
#ifndef VIEWER_SOURCES_SALVAGE_H
#define VIEWER_SOURCES_SALVAGE_H

#include <polygraphy/onnx.h>

#include "base/str.h"

/* Makes a model of the undamaged parts of a file that pgy_model_load refused as malformed. Large
 * weights lose their values. The model is from memory: it has no path.
 * @param note  gets how many nodes are left and how many parts were left out
 * @return PGY_E_FORMAT: no node can be read */
pgy_status model_salvage(pgy_model **out, str *note, const char *path,
                         pgy_error *err) PGY_MUST_CHECK;

#endif
