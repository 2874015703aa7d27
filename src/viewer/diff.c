/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the two graphs of a page and puts both into one. */
#include "viewer/diff.h"

#include "base/arena.h"

pgy_status view_diff_make(pgy_page *p, pgy_error *err)
{
    if (p->graph_count != VIEW_COMPARED) return PGY_OK;
    view_match m;
    uint32_t *nodes[2] = {NULL, NULL};
    pgy_status st = view_match_make(&m, p->graphs[0], p->graphs[1], err);
    for (int side = 0; !st && side < 2; side++) {
        nodes[side] = arena_alloc_array(&m.memory, (size_t)p->graphs[side]->node_count + 1,
                                        sizeof *nodes[side]);
        p->merged_tensor[side] = arena_alloc_array(
            &p->memory, (size_t)p->graphs[side]->tensor_count + 1, sizeof(uint32_t));
        if (!nodes[side] || !p->merged_tensor[side])
            st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while comparing two graphs");
    }
    if (!st) st = view_merge(&p->graphs[2], &m, nodes, p->merged_tensor, err);
    if (!st) {
        p->graphs[1]->role = "b";
        p->graph_count = 3;
        st = view_diff_report(p, &m, nodes, err);
    }
    view_match_deinit(&m);
    return st;
}
