/* SPDX-License-Identifier: Apache-2.0 */
/* The library's errors and warnings name fields of its structs ("config.workspace_bytes"), options
 * of backends ("onnxrt.onnxrt_threads") and functions ("pgy_set_max_memory"). Users of the program
 * only know the command line's options. */
#ifndef CLI_FIELDS_H
#define CLI_FIELDS_H

#include <stdbool.h>

#include "base/str.h"

/* Appends the text with these names replaced by options, except inside quotes. False: the text has
 * none of them. */
bool fields_to_options(str *out, const char *text);

#endif
