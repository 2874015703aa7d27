/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the rule of transform/fuse/batch_norm.c, with the engine's own operators where the
 * standard has none. */
#include "engine/passes/pass.h"
#include "transform/fuse/fuse.h"

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {fuse_channels, fuse_batch_norm_product, NULL};
    return pattern_run(g, "fold_batch_norm", RULES, changes, err);
}

const pass PASS_fold_batch_norm = {
    .name = "fold_batch_norm", .summary = "scale and shift of channels into weights", .run = run};
