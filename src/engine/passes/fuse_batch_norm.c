/* SPDX-License-Identifier: Apache-2.0 */
/* BatchNormalization and Relu in front of a convolution, as in DenseNet, become one FusedConv of
 * com.microsoft: a depthwise convolution of single pixels, which reads and writes its tensor once.
 */
#include "engine/passes/pass.h"
#include "transform/fuse/fuse.h"

static pgy_status run(pgy_graph *g, const pass_target *target, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {fuse_batch_norm_relu, NULL};
    return pass_is_for_cuda(target) ? PGY_OK
                                    : pattern_run(g, "fuse_batch_norm", RULES, changes, err);
}

const pass PASS_fuse_batch_norm = {.name = "fuse_batch_norm",
                                   .summary = "BatchNormalization and Relu, without CUDA devices",
                                   .run_for = run};
