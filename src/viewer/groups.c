/* SPDX-License-Identifier: Apache-2.0 */
/* Groups the nodes of a graph, one step after the other. */
#include "viewer/groups.h"

#include "base/cancel.h"

pgy_status view_graph_group(view_graph *g, pgy_error *err)
{
    grouping s = {.g = g};
    bool opened = false;
    pgy_status st = group_index(&s, err);
    if (!st) st = group_open_cycles(&s, &opened, err);
    if (!st && opened) st = group_index(&s, err);
    if (!st) st = group_paths(&s, err);
    if (!st) st = group_scopes(&s, err);
    if (!st) st = group_repeats(&s, err);
    if (!st) group_states(g);
    arena_deinit(&s.memory);
    return cancel_check_after(st, err);
}
