/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the rule of transform/fuse/gelu.c, with the engine's own operators where the standard has
 * none. */
#include "engine/passes/pass.h"
#include "transform/fuse/fuse.h"

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {fuse_gelu, NULL};
    return pattern_run(g, "fuse_gelu", RULES, changes, err);
}

const pass PASS_fuse_gelu = {
    .name = "fuse_gelu", .summary = "Gelu written out, with erf or tanh", .run = run};
