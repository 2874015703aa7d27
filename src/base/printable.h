/* SPDX-License-Identifier: Apache-2.0 */
/* Text from outside (names in models and files, arguments, messages of runtimes) on its way to a
 * person: what a terminal or viewer would obey instead of showing becomes visible. */
#ifndef BASE_PRINTABLE_H
#define BASE_PRINTABLE_H

#include "base/str.h"

/* Appends `size` bytes. Control characters (C0, DEL, C1) and bytes that are not UTF-8 become \xNN,
 * or \n, \r and \t; characters that change the direction of text or take no space become \uNNNN.
 * The control characters of `kept` stay ("\n\t" for blocks of lines, "" for a name). A backslash
 * stays, so printable text is not changed, and doing it twice changes nothing. */
void str_append_printable(str *out, const char *text, size_t size, const char *kept);
bool is_printable(const char *text, size_t size, const char *kept);
/* A name for a line of a table, newlines escaped, too: the name itself if it is printable, else a
 * text that is valid until the eighth further call in this thread, cut (with "...") at 2000 bytes.
 */
const char *printable_name(const char *name);

#endif
