/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions of RE2's syntax: does the whole text match, and where is the first match? */
#ifndef OPS_CLASS_REGEX_H
#define OPS_CLASS_REGEX_H

#include <polygraphy/base.h>

#include "base/str.h"

/* It learns while it reads (class_regex_dfa.h), so it is for one thread at a time. */
typedef struct regex regex;
/* PGY_E_ARGUMENT naming the place in the pattern; PGY_E_UNSUPPORTED for Unicode classes (\pL). */
pgy_status regex_compile(regex **out, span pattern, pgy_error *err) PGY_MUST_CHECK;
void regex_destroy(regex *r); /* NULL is fine */
/* Whether the whole text matches. Takes time proportional to text length times pattern size at
 * most. A cancelled call gives false. */
bool regex_matches(regex *r, span text);
/* Finds the match that begins first at or behind `from`, and of those the longest; false: there is
 * none. Assertions see the whole text. A cancelled search gives false. */
bool regex_search(size_t *begin, size_t *end, regex *r, span text, size_t from);

#endif
