/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of a model on their way to the page. */
#ifndef VIEWER_GRAPH_TEXT_H
#define VIEWER_GRAPH_TEXT_H

#include "base/str.h"

bool graph_text_is_valid(const char *text); /* UTF-8 */
/* Appends text as valid UTF-8: each byte that is not becomes U+FFFD, and so does NUL. */
void graph_append_valid(str *out, const char *text, size_t size);

#endif
