/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the rule of transform/fuse/attention.c, with the engine's own operators where the
 * standard has none. */
#include "engine/passes/pass.h"
#include "transform/fuse/fuse.h"

/* Devices have no kernels for caches and shared heads. */
static pgy_status run(pgy_graph *g, const pass_target *target, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {fuse_attention_own, fuse_attention, NULL};
    return pattern_run(g, "fuse_attention", RULES + pass_is_for_cuda(target), changes, err);
}

const pass PASS_fuse_attention = {
    .name = "fuse_attention", .summary = "attention written out", .run_for = run};
