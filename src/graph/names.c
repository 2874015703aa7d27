/* SPDX-License-Identifier: Apache-2.0 */
/* Makes free names by counting. The caller keeps the counter, so no number is tried twice: a
 * thousand new values with one stem need a thousand look-ups and not half a million. */
#include "graph/names.h"

#include <inttypes.h>

void name_number(str *name, uint64_t *next, name_is_taken taken, const void *user)
{
    const size_t size = name->size;
    do {
        name->size = size;
        str_printf(name, "_%" PRIu64, (*next)++);
    } while (!name->failed && taken(str_text(name), user));
}

void name_make_free(str *name, uint64_t *next, name_is_taken taken, const void *user)
{
    if (!name->failed && taken(str_text(name), user)) name_number(name, next, taken, user);
}
