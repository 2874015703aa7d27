/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the rule of transform/fuse/pad_into_conv.c, with the engine's own operators where the
 * standard has none. */
#include "engine/passes/pass.h"
#include "transform/fuse/fuse.h"

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {fuse_pad_into_conv, NULL};
    return pattern_run(g, "pad_into_conv", RULES, changes, err);
}

const pass PASS_pad_into_conv = {
    .name = "pad_into_conv", .summary = "zeros around an image into the pads behind", .run = run};
