/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces calls of model-local functions by their bodies, so that the other passes see them. A
 * function of other opset versions stays a call. */
#include "engine/passes/pass.h"
#include "graph/inline.h"

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    size_t calls = 0;
    pgy_status st = graph_inline_calls(g, NULL, &calls, err);
    if (!st && calls) st = pgy_graph_sort(g, err);
    if (!st && calls) st = pgy_graph_infer_shapes(g, NULL, err);
    *changes = calls;
    return st;
}

const pass PASS_inline_functions = {
    .name = "inline_functions", .summary = "calls of functions of the model", .run = run};
