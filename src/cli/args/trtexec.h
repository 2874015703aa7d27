/* SPDX-License-Identifier: Apache-2.0 */
/* Advice for words that are trtexec's: how to write them here. */
#ifndef CLI_ARGS_TRTEXEC_H
#define CLI_ARGS_TRTEXEC_H

#include "base/str.h"

/* Appends "a:1x3,b:2" as shapes of this program, "'a:[1,3]' 'b:[2]'"; false if the text is not of
 * that form. */
bool trtexec_shapes(str *out, const char *text);
/* Appends what to write for an option such as "--minShapes=a:1x3"; false if it is none of
 * trtexec's. */
bool trtexec_advice(str *out, const char *word);

#endif
