/* SPDX-License-Identifier: Apache-2.0 */
/* The library's errors and warnings name fields of its structs ("config.workspace_bytes") and
 * options of backends ("onnxrt.onnxrt_threads"); who uses the program knows options. */
#ifndef CLI_FIELDS_H
#define CLI_FIELDS_H

#include <stdbool.h>

#include "base/str.h"

/* The text with options in place of fields, but for what stands in quotes; false: it has none. */
bool fields_to_options(str *out, const char *text);

#endif
