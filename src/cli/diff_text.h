/* SPDX-License-Identifier: Apache-2.0 */
/* The differences of two models as text for a screen, and as a JSON file. */
#ifndef CLI_DIFF_TEXT_H
#define CLI_DIFF_TEXT_H

#include <polygraphy/diff.h>

#include "base/str.h"

typedef struct diff_names {
    const char *before, *after; /* paths */
} diff_names;

/* `all`: every difference, not only the first ones of each kind. */
pgy_status diff_print(str *out, const pgy_diff *d, diff_names names, bool all,
                      pgy_error *err) PGY_MUST_CHECK;
pgy_status diff_save_json(const char *path, const pgy_diff *d, diff_names names, bool equal,
                          pgy_error *err) PGY_MUST_CHECK;

#endif
