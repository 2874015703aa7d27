/* SPDX-License-Identifier: Apache-2.0 */
/* A pointwise convolution and the depthwise convolution of its result, as in inverted residual
 * blocks: ExpandedConv of pgy. Its kernels need not write the tensor between them to memory. Small
 * images keep both nodes, because their kernels also compute linear tensors, and nothing is gained
 * within the caches. */
#include "engine/passes/pass.h"
#include "transform/pattern.h"

/* LEAST_BYTES: of the tensor between the convolutions, for one image */
enum { LEAST_BYTES = 64 << 10, LEAST_WIDTH = 12 };

static const char *const KEPT[] = {"activation", "activation_params", "auto_pad", "dilations",
                                   "group",      "kernel_shape",      "pads",     "strides"};

/* A convolution in float32, float16 or bfloat16 with constant weights, without residual. */
static bool is_conv(pattern *p, const pgy_node *n)
{
    if (!pattern_is(n, "Conv") && !pattern_is(n, "com.microsoft:FusedConv") &&
        !pattern_is(n, "pgy:FusedConv"))
        return false;
    const pgy_value *bias = pattern_input(n, 2);
    const pgy_dtype dtype = pattern_dtype(n->outputs[0]);
    return (dtype == PGY_F32 || dtype == PGY_F16 || dtype == PGY_BF16) && !pattern_input(n, 3) &&
           pattern_is_constant(p, n->inputs[1]) && (!bias || pattern_is_constant(p, bias));
}

static bool is_list_of(const pgy_node *n, const char *name, int64_t wanted)
{
    const pgy_onnx_attribute *a = node_attribute(n, name);
    for (size_t i = 0; a && i < a->int_count; i++)
        if (a->ints[i] != wanted) return false;
    return true;
}

static bool is_pointwise(pattern *p, const pgy_node *n)
{
    return is_conv(p, n) && pattern_int(n, "group", 1) == 1 && pattern_size(n->inputs[1], 2) == 1 &&
           pattern_size(n->inputs[1], 3) == 1 && is_list_of(n, "strides", 1) &&
           is_list_of(n, "pads", 0);
}

/* Is the window so small that the kernels accept it? */
static bool has_usual_window(const pgy_node *n)
{
    enum { MOST = 32 };
    static const char *const LISTS[] = {"strides", "dilations", "pads"};
    for (size_t i = 0; i < sizeof LISTS / sizeof *LISTS; i++) {
        const pgy_onnx_attribute *a = node_attribute(n, LISTS[i]);
        for (size_t k = 0; a && k < a->int_count; k++)
            if (a->ints[k] < 0 || a->ints[k] > MOST) return false;
    }
    return pattern_size(n->inputs[1], 2) <= MOST && pattern_size(n->inputs[1], 3) <= MOST;
}

static bool is_depthwise(pattern *p, const pgy_node *n)
{
    const int64_t channels = pattern_size(n->outputs[0], 1);
    return is_conv(p, n) && pattern_rank(n->outputs[0]) == 4 && channels > 1 &&
           pattern_size(n->inputs[0], 1) == channels && pattern_int(n, "group", 1) == channels &&
           has_usual_window(n);
}

static bool is_large(const pgy_value *v)
{
    double bytes = sizeof(float); /* kernels compute in float32 */
    for (int32_t d = 1; d < 4; d++) bytes *= (double)pattern_size(v, d);
    return pattern_size(v, 2) >= LEAST_WIDTH && pattern_size(v, 3) >= LEAST_WIDTH &&
           bytes >= LEAST_BYTES;
}

static bool expand(pattern *p, pgy_node *n)
{
    pgy_node *deep = is_pointwise(p, n) ? pattern_user(n) : NULL;
    if (!deep || !is_depthwise(p, deep) || deep->inputs[0] != n->outputs[0] ||
        !is_large(n->outputs[0]))
        return false;
    pgy_value *inputs[] = {n->inputs[0], n->inputs[1], deep->inputs[1], pattern_input(n, 2),
                           pattern_input(deep, 2)};
    pgy_node *made = pattern_put(p, deep, "pgy:ExpandedConv", inputs, 5);
    for (size_t i = 0; i < sizeof KEPT / sizeof *KEPT; i++) pattern_copy(p, made, deep, KEPT[i]);
    pattern_copy_as(p, made, "inner_activation", n, "activation");
    pattern_copy_as(p, made, "inner_activation_params", n, "activation_params");
    return true;
}

/* Both kernels need more memory than the convolutions alone: bands for each thread, or a place for
 * the tensor between them. */
static bool may_lack_memory(const pass_target *t)
{
    enum { ENOUGH_BYTES = 1 << 30 };
    return t->config && t->config->has_workspace_limit && t->config->workspace_bytes < ENOUGH_BYTES;
}

static pgy_status run(pgy_graph *g, const pass_target *target, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {expand, NULL};
    if (pass_is_for_cuda(target) || may_lack_memory(target)) return PGY_OK;
    return pattern_run(g, "fuse_expanded_conv", RULES, changes, err);
}

const pass PASS_fuse_expanded_conv = {
    .name = "fuse_expanded_conv",
    .summary = "pointwise and depthwise convolutions of inverted residual blocks",
    .run_for = run};
