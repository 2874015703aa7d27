/* SPDX-License-Identifier: Apache-2.0 */
/* Makes text from outside (names in models and files, arguments, messages of runtimes) safe to
 * show: characters that a terminal or viewer would obey instead of displaying become visible
 * escapes. */
#ifndef BASE_PRINTABLE_H
#define BASE_PRINTABLE_H

#include "base/str.h"

/* Appends `size` bytes. Control characters (C0, DEL, C1) and bytes that are not UTF-8 become \xNN,
 * or \n, \r and \t; characters that change the direction of text or take no space become \uNNNN.
 * The control characters of `kept` stay ("\n\t" for blocks of lines, "" for a name). A backslash
 * stays, so printable text is unchanged and a second pass changes nothing. */
void str_append_printable(str *out, const char *text, size_t size, const char *kept);
bool is_printable(const char *text, size_t size, const char *kept);
/* A name for one line of a table, with newlines escaped. Returns the name itself if it is
 * printable, else a text of at most 2000 bytes (a longer one ends in "..."), valid until the eighth
 * further call in this thread.
 */
const char *printable_name(const char *name);

#endif
