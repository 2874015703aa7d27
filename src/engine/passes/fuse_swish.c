/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the rule of transform/fuse/swish.c, with the engine's own operators where the standard
 * has none. */
#include "engine/passes/pass.h"
#include "transform/fuse/fuse.h"

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {fuse_swish_like, NULL};
    return pattern_run(g, "fuse_swish", RULES, changes, err);
}

const pass PASS_fuse_swish = {
    .name = "fuse_swish", .summary = "Swish, HardSwish and Mish written out", .run = run};
