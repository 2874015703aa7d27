/* SPDX-License-Identifier: Apache-2.0 */
/* Gates of com.microsoft in float32 as elementwise operators, which fuse_elementwise makes one
 * program: GatedAdd, ScaledSiLU and LinearAttentionGate. In 16 bits their definitions round once,
 * so they stay. */
#include "engine/passes/pass.h"
#include "transform/pattern.h"

static bool are_float32(const pgy_node *n)
{
    for (size_t i = 0; i < n->input_count; i++)
        if (n->inputs[i] && pattern_dtype(n->inputs[i]) != PGY_F32) return false;
    return n->input_count && n->outputs[0];
}

static pgy_value *gate_value(pattern *p, pgy_node *n, const char *op, pgy_value *a, pgy_value *b)
{
    return pattern_make(p, n, NULL, op, (pgy_value *const[]){a, b}, b ? 2 : 1);
}

/* x + y * gate */
static bool lower_gated_add(pattern *p, pgy_node *n)
{
    if (!pattern_is(n, "com.microsoft:GatedAdd") || n->input_count != 3 || !are_float32(n))
        return false;
    pgy_value *const inputs[] = {n->inputs[0], gate_value(p, n, "Mul", n->inputs[1], n->inputs[2])};
    return inputs[1] && pattern_put(p, n, "Add", inputs, 2);
}

/* z * sigmoid(z), z = x * scale */
static bool lower_scaled_silu(pattern *p, pgy_node *n)
{
    if (!pattern_is(n, "com.microsoft:ScaledSiLU") || !are_float32(n) ||
        pattern_rank(n->inputs[0]) < 1)
        return false;
    const double alpha = pattern_float(n, "alpha", 1);
    pgy_value *z = n->inputs[0], *scale = pattern_input(n, 1);
    if (scale && pattern_rank(scale) > 1) return false;
    if (!scale && alpha != 1)
        scale = pattern_weight(p, n->graph, n->outputs[0]->name, PGY_F32, 0, NULL, &alpha);
    if (scale) z = gate_value(p, n, "Mul", z, scale);
    pgy_node *made = z ? pattern_put(p, n, "com.microsoft:QuickGelu", &z, 1) : NULL;
    if (made) pattern_set_float(p, made, "alpha", 1);
    return made != NULL;
}

/* decay_scale * softplus(a + dt_bias), and sigmoid(b) */
static bool lower_linear_attention_gate(pattern *p, pgy_node *n)
{
    if (!pattern_is(n, "com.microsoft:LinearAttentionGate") || n->input_count < 3 ||
        !are_float32(n))
        return false;
    pgy_value *beta = n->output_count > 1 ? n->outputs[1] : NULL, *b = pattern_input(n, 3);
    if (beta && !b) return false;
    pgy_value *sum = gate_value(p, n, "Add", n->inputs[0], n->inputs[1]);
    pgy_value *const inputs[] = {sum ? gate_value(p, n, "Softplus", sum, NULL) : NULL,
                                 n->inputs[2]};
    if (!inputs[0]) return false;
    if (!beta) return pattern_put(p, n, "Mul", inputs, 2);
    if (!pattern_add(p, n, "Mul", inputs, 2, n->outputs[0]) ||
        !pattern_add(p, n, "Sigmoid", &b, 1, beta))
        return false;
    pattern_drop(p, n);
    return true;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {lower_gated_add, lower_scaled_silu,
                                         lower_linear_attention_gate, NULL};
    return pattern_run(g, "lower_gates", RULES, changes, err);
}

const pass PASS_lower_gates = {
    .name = "lower_gates",
    .summary = "GatedAdd, ScaledSiLU and LinearAttentionGate as elementwise operators",
    .run = run};
