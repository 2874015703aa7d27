/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the precision that the configuration asks for. Runs after the passes that change weights,
 * since weights are rounded here, and before the passes that fuse layers. */
#include "engine/precision/precision.h"

#include "engine/passes/pass.h"

static pgy_status run(pgy_graph *g, const pass_target *target, size_t *changes, pgy_error *err)
{
    static const pgy_build_config DEFAULTS = {.size = sizeof DEFAULTS};
    const size_t before = g->node_count;
    const pgy_status st =
        precision_apply(g, target->config ? target->config : &DEFAULTS, target->runner, err);
    if (!st) *changes = g->node_count - before;
    return st;
}

const pass PASS_precision = {
    .name = "precision", .summary = "types that layers were asked to have", .run_for = run};
