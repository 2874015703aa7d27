/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the rule of transform/fuse/layer_norm.c, with the engine's own operators where the
 * standard has none. */
#include "engine/passes/pass.h"
#include "transform/fuse/fuse.h"

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {fuse_layer_norm, NULL};
    return pattern_run(g, "fuse_layer_norm", RULES, changes, err);
}

const pass PASS_fuse_layer_norm = {
    .name = "fuse_layer_norm", .summary = "LayerNormalization written out", .run = run};
