/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of `inspect capability`. */
#ifndef CLI_CAPABILITY_H
#define CLI_CAPABILITY_H

#include <polygraphy/capability.h>

#include "base/arena.h"
#include "base/str.h"

/* Neighbouring top-level nodes [first, end) that are all supported, or all not. */
typedef struct capability_part {
    size_t first, end;
    bool supported;
    const char *op_type; /* of the first node */
    const char *reason;  /* of unsupported ones: all that is wrong, joined */
} capability_part;

/* The graph as parts, in order. */
pgy_status capability_parts(capability_part **out, size_t *count, const pgy_graph *g,
                            const pgy_unsupported *rows, size_t row_count, arena *memory,
                            pgy_error *err) PGY_MUST_CHECK;
/* One row for each node that cannot be run, by call stack. */
void capability_text(str *out, const pgy_unsupported *rows, size_t count);
/* One row for each operator and reason, with the node ranges. */
void capability_parts_text(str *out, const capability_part *parts, size_t count);
/* All operators, as a markdown table. */
void capability_operators(str *out);

#endif
