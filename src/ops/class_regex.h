/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions of RE2's syntax, for questions of the form "does the whole text match?". */
#ifndef OPS_CLASS_REGEX_H
#define OPS_CLASS_REGEX_H

#include <polygraphy/base.h>

#include "base/str.h"

typedef struct regex regex;
/* PGY_E_ARGUMENT naming the place in the pattern; PGY_E_UNSUPPORTED for Unicode classes (\pL). */
pgy_status regex_compile(regex **out, span pattern, pgy_error *err) PGY_MUST_CHECK;
void regex_destroy(regex *r); /* NULL is fine */
/* Whether the whole text matches. Takes time proportional to text length times pattern size at
 * most. PGY_E_MEMORY */
pgy_status regex_matches(bool *out, const regex *r, span text, pgy_error *err) PGY_MUST_CHECK;

#endif
