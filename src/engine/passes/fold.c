/* SPDX-License-Identifier: Apache-2.0 */
/* Constant folding and dead-code elimination. */
#include <polygraphy/transform.h>

#include "engine/passes/pass.h"

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    pgy_fold_options o = pgy_fold_options_default();
    pgy_fold_report report = {0};
    o.keep_separate = true;        /* the fusing passes of the engine merge nodes instead */
    o.max_copy_bytes = UINT64_MAX; /* tied weights are copied, too: kernels repack weights in their
                                      own order anyway */
    const pgy_status st = pgy_graph_fold_constants(g, &o, &report, err);
    if (!st) *changes = report.nodes_before - report.nodes_after;
    return st;
}

const pass PASS_fold = {
    .name = "fold", .summary = "constant folding and dead-code elimination", .run = run};
