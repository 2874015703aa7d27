/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the rule of transform/fuse/group_norm.c, with the engine's own operators where the
 * standard has none. */
#include "engine/passes/pass.h"
#include "transform/fuse/fuse.h"

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {fuse_group_norm, NULL};
    return pattern_run(g, "fuse_group_norm", RULES, changes, err);
}

const pass PASS_fuse_group_norm = {
    .name = "fuse_group_norm", .summary = "GroupNormalization written out", .run = run};
