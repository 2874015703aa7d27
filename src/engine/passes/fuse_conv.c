/* SPDX-License-Identifier: Apache-2.0 */
/* Fuses Conv, an Add of a tensor of the same shape, and an activation into FusedConv of
 * com.microsoft, or of pgy if com.microsoft's does not support the activation. */
#include "engine/passes/pass.h"
#include "transform/pattern.h"

static const char FUSED[] = "com.microsoft:FusedConv", OWN[] = "pgy:FusedConv";

static const char *const KEPT[] = {"auto_pad", "dilations", "group",      "kernel_shape",
                                   "pads",     "strides",   "activation", "activation_params"};

/* Replaces `last` by a FusedConv with the inputs and attributes of n, and with `residual` if not
 * NULL. */
static pgy_node *extend(pattern *p, pgy_node *n, pgy_node *last, const char *op,
                        pgy_value *residual)
{
    pgy_value *inputs[4] = {n->inputs[0], n->inputs[1], pattern_input(n, 2), pattern_input(n, 3)};
    if (residual) inputs[3] = residual;
    pgy_node *made = pattern_put(p, last, op, inputs, 4);
    for (size_t i = 0; i < sizeof KEPT / sizeof *KEPT; i++) pattern_copy(p, made, n, KEPT[i]);
    return made;
}

static bool is_open(const pgy_node *n)
{
    return (pattern_is(n, "Conv") || pattern_is(n, FUSED) || pattern_is(n, OWN)) &&
           !node_attribute(n, "activation") && pattern_is_float(n->outputs[0]);
}

/* FusedConv of com.microsoft does not support bfloat16. */
static const char *fused_for(const pgy_node *n)
{
    return pattern_dtype(n->outputs[0]) == PGY_BF16 ? OWN : FUSED;
}

static bool add_residual(pattern *p, pgy_node *n)
{
    pgy_node *add = pattern_user(n);
    if (!is_open(n) || pattern_input(n, 3) || !pattern_is(add, "Add")) return false;
    pgy_value *other = pattern_other(add, n->outputs[0]);
    if (!other || !pattern_same_shape(other, n->outputs[0]) ||
        pattern_dtype(other) != pattern_dtype(n->outputs[0]))
        return false;
    extend(p, n, add, fused_for(n), other);
    return true;
}

/* Reads the activation's parameters; false: FusedConv does not support it. */
static bool read_activation(pattern *p, const pgy_node *f, double *params, size_t *count)
{
    *count = 0;
    if (pattern_is(f, "Relu") || pattern_is(f, "Sigmoid") || pattern_is(f, "Tanh")) return true;
    if (pattern_is(f, "LeakyRelu")) {
        params[(*count)++] = pattern_float(f, "alpha", 0.01);
        return true;
    }
    if (pattern_is(f, "HardSigmoid")) {
        params[0] = pattern_float(f, "alpha", 0.2);
        params[1] = pattern_float(f, "beta", 0.5);
        *count = 2;
        return true;
    }
    if (!pattern_is(f, "Clip") || !pattern_scalar(p, pattern_input(f, 1), &params[0]) ||
        !pattern_scalar(p, pattern_input(f, 2), &params[1]) || params[0] > params[1])
        return false;
    *count = 2;
    return true;
}

/* An activation that only pgy's FusedConv supports, or NULL. */
static const char *own_activation(const pgy_node *f)
{
    if (pattern_is(f, "HardSwish")) return "HardSwish";
    if (pattern_is(f, "Gelu"))
        return pattern_text_is(f, "approximate", "tanh", "none") ? "FastGelu" : "Gelu";
    if (pattern_is(f, "com.microsoft:Gelu")) return "Gelu";
    if (pattern_is(f, "com.microsoft:FastGelu") && !pattern_input(f, 1)) return "FastGelu";
    const bool swish = pattern_is(f, "Swish");
    if ((swish || pattern_is(f, "com.microsoft:QuickGelu")) &&
        pattern_float(f, "alpha", swish ? 1 : 1.702) == 1)
        return "Silu";
    return NULL;
}

static bool add_activation(pattern *p, pgy_node *n)
{
    double params[2];
    size_t count;
    pgy_node *f = pattern_user(n);
    if (!is_open(n) || !f) return false;
    const char *own = own_activation(f), *name = own ? own : f->op_type;
    if (!own && !read_activation(p, f, params, &count)) return false;
    pgy_node *made = extend(p, n, f, own ? OWN : fused_for(n), NULL);
    pattern_set_text(p, made, "activation", name);
    if (!own && count) pattern_set_floats(p, made, "activation_params", params, count);
    return true;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {add_residual, add_activation, NULL};
    return pattern_run(g, "fuse_conv", RULES, changes, err);
}

const pass PASS_fuse_conv = {
    .name = "fuse_conv", .summary = "convolutions with residual and activation", .run = run};
