/* SPDX-License-Identifier: Apache-2.0 */
/* Advice for trtexec's options: how to write them in this program. */
#ifndef CLI_ARGS_TRTEXEC_H
#define CLI_ARGS_TRTEXEC_H

#include "base/str.h"

/* Appends trtexec's "a:1x3,b:2" as shapes of this program, "'a:[1,3]' 'b:[2]'". False if the text
 * has another syntax. */
bool trtexec_shapes(str *out, const char *text);
/* Appends advice for an option like "--minShapes=a:1x3". False if it is not an option of trtexec.
 */
bool trtexec_advice(str *out, const char *word);

#endif
