/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/finder.h"

#include <string.h>

#include "base/alloc.h"

const finder *finder_for(const char *domain, const char *op)
{
    static const finder *const ALL[] = {&FINDER_nonzero, &FINDER_compress, &FINDER_unique,
                                        &FINDER_boxes};
    for (size_t i = 0; !*domain && i < sizeof ALL / sizeof *ALL; i++)
        if (strcmp(ALL[i]->op, op) == 0) return ALL[i];
    return NULL;
}

pgy_status finder_memory(void **out, const finder_call *c, size_t count, size_t item_bytes,
                         pgy_error *err)
{
    size_t bytes;
    if (!size_mul(&bytes, count, item_bytes))
        return op_error(c->node, err, PGY_E_MEMORY, "out of memory");
    return c->memory(out, c->user, bytes, err);
}
