/* SPDX-License-Identifier: Apache-2.0 */
/* Divides a graph into groups of consecutive nodes, alternately those that the library can run and
 * those that it cannot. */
#include <polygraphy/capability.h>

#include <string.h>

#include "graph/graph.h"

/* The distinct reasons of the unsupported nodes [from, to), joined by " | ". */
static const char *join_reasons(const pgy_unsupported *rows, size_t from, size_t to, arena *memory)
{
    str text = {0};
    for (size_t i = from; i < to; i++) {
        bool known = false;
        for (size_t k = from; k < i && !known; k++) known = !strcmp(rows[k].reason, rows[i].reason);
        if (!known) str_printf(&text, text.size ? " | %s" : "%s", rows[i].reason);
    }
    const char *kept = text.failed ? NULL : arena_strdup(memory, str_text(&text));
    str_deinit(&text);
    return kept;
}

pgy_status pgy_graph_partition(const pgy_capability_part **out, size_t *count, pgy_graph *g,
                               const pgy_unsupported *rows, size_t row_count, pgy_error *err)
{
    arena *memory = &state_of(g)->memory;
    pgy_capability_part *parts = arena_alloc_array(memory, g->node_count, sizeof *parts);
    size_t made = 0, row = 0;
    if (!parts) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < g->node_count;) {
        const size_t first_row = row;
        pgy_capability_part part = {.first = i, .op_type = g->nodes[i]->op_type};
        part.supported = row == row_count || rows[row].index != i;
        while (i < g->node_count && (row == row_count || rows[row].index != i) == part.supported) {
            while (row < row_count && rows[row].index == i) row++;
            i++;
        }
        part.end = i;
        part.reason = part.supported ? "" : join_reasons(rows, first_row, row, memory);
        if (!part.reason) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        parts[made++] = part;
    }
    *out = parts;
    *count = made;
    return PGY_OK;
}
