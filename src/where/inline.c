/* SPDX-License-Identifier: Apache-2.0 */
/* Inlines calls of local functions, so that their tensors are compared like others. Nodes and
 * tensors get the path of the call: "layer_1/attention/MatMul_0". */
#include "graph/inline.h"

#include "where/where.h"

pgy_status where_inline(pgy_model **io, pgy_error *err)
{
    const inline_choice choice = {.paths = true};
    pgy_graph *g = NULL;
    pgy_model *made = NULL;
    size_t calls = 0;
    if (!pgy_model_proto(*io)->function_count) return PGY_OK;
    pgy_status st = pgy_graph_import(&g, *io, err);
    if (!st) graph_set_newer(g, NEWER_TAKEN);
    if (!st) st = graph_inline_calls(g, &choice, &calls, err);
    if (!st && calls) st = pgy_graph_export(&made, g, err);
    pgy_graph_destroy(g);
    if (st || !calls) return st;
    pgy_model_destroy(*io);
    *io = made;
    return PGY_OK;
}
