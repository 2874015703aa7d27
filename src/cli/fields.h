/* SPDX-License-Identifier: Apache-2.0 */
/* The library's errors and warnings name fields of its structs ("config.workspace_bytes") and
 * options of backends ("onnxrt.onnxrt_threads"). Users of the program only know the command line's
 * options. */
#ifndef CLI_FIELDS_H
#define CLI_FIELDS_H

#include <stdbool.h>

#include "base/str.h"

/* Appends the text with fields replaced by options, except inside quotes. False: the text has no
 * fields. */
bool fields_to_options(str *out, const char *text);

#endif
