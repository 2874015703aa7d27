/* SPDX-License-Identifier: Apache-2.0 */
/* Third-party libraries, opened by a list of names, never closed while the process lives. */
#ifndef BASE_DL_H
#define BASE_DL_H

#include <polygraphy/base.h>

#include "base/str.h"

typedef struct dl_symbol {
    const char *name;
    void **store;
    bool required;
} dl_symbol;

/* Tries the names in order (RTLD_NOW | RTLD_LOCAL). A name without a slash is searched in the
 * loader's folders, but never in the current folder (base/child_start.h). `tried` (may be NULL)
 * collects "name: reason" for each name that failed. */
pgy_status dl_open(void **out, const char *const *names, size_t count, str *tried,
                   pgy_error *err) PGY_MUST_CHECK;
/* Resolves a table of symbols. The error lists every missing required name. */
pgy_status dl_resolve(void *handle, const dl_symbol *symbols, size_t count,
                      pgy_error *err) PGY_MUST_CHECK;

#endif
