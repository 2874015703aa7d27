/* SPDX-License-Identifier: Apache-2.0 */
/* Fuses elementwise nodes in floats of up to 32 bits into one Elementwise of domain pgy, with the
 * nodes as its program (ops/class_chain.h). An intermediate result must have the final shape and
 * one user; 16-bit floats are no longer rounded in between. */
#include <math.h>

#include "engine/passes/pass.h"
#include "ops/class_chain.h"
#include "transform/pattern.h"

enum { MOST_INPUTS = 30 };

static const char FUSED[] = "pgy:Elementwise";

/* The steps of an Elementwise node, and the values that they read. */
typedef struct piece {
    chain program;
    pgy_value *inputs[MOST_INPUTS];
} piece;

static bool read_clip(chain_step *s, pattern *p, const pgy_node *n)
{
    double low = -INFINITY, high = INFINITY;
    if ((pattern_input(n, 1) && !pattern_scalar(p, pattern_input(n, 1), &low)) ||
        (pattern_input(n, 2) && !pattern_scalar(p, pattern_input(n, 2), &high)) || low > high)
        return false;
    s->args[0] = (float)low;
    s->args[1] = (float)high;
    return true;
}

/* Converts an operator that has one step of the same meaning; Clip is read elsewhere. */
static bool read_plain(chain_step *s, const pgy_node *n)
{
    static const uint32_t SAME[] = {
        CHAIN_ADD,      CHAIN_SUB,        CHAIN_MUL,   CHAIN_DIV,   CHAIN_RELU,  CHAIN_HARD_SWISH,
        CHAIN_ABS,      CHAIN_NEG,        CHAIN_SQRT,  CHAIN_EXP,   CHAIN_LOG,   CHAIN_TANH,
        CHAIN_SIGMOID,  CHAIN_RECIPROCAL, CHAIN_ERF,   CHAIN_MISH,  CHAIN_MIN,   CHAIN_MAX,
        CHAIN_SOFTPLUS, CHAIN_SIN,        CHAIN_COS,   CHAIN_TAN,   CHAIN_ASIN,  CHAIN_ACOS,
        CHAIN_ATAN,     CHAIN_SINH,       CHAIN_COSH,  CHAIN_ASINH, CHAIN_ACOSH, CHAIN_ATANH,
        CHAIN_FLOOR,    CHAIN_CEIL,       CHAIN_ROUND, CHAIN_SIGN};
    for (size_t i = 0; i < sizeof SAME / sizeof *SAME; i++) {
        s->op = SAME[i];
        if (pattern_is(n, chain_op_name(s->op))) return n->input_count == chain_op_operands(s->op);
    }
    return false;
}

static bool read_step(chain_step *s, pattern *p, const pgy_node *n)
{
    *s = (chain_step){.at = {0, 1}};
    if (read_plain(s, n)) return true;
    if (pattern_is(n, "Clip") && n->input_count) {
        s->op = CHAIN_CLIP;
        return read_clip(s, p, n);
    }
    if (pattern_is(n, "LeakyRelu")) {
        s->op = CHAIN_LEAKY_RELU;
        s->args[0] = (float)pattern_float(n, "alpha", 0.01);
    } else if (pattern_is(n, "HardSigmoid")) {
        s->op = CHAIN_HARD_SIGMOID;
        s->args[0] = (float)pattern_float(n, "alpha", 0.2);
        s->args[1] = (float)pattern_float(n, "beta", 0.5);
    } else if (pattern_is(n, "Gelu")) {
        s->op = pattern_text_is(n, "approximate", "tanh", "none") ? CHAIN_FAST_GELU : CHAIN_GELU;
    } else if (pattern_is(n, "com.microsoft:QuickGelu") || pattern_is(n, "Swish")) {
        s->op = CHAIN_SWISH;
        s->args[0] = (float)pattern_float(n, "alpha", *n->domain ? 1.702 : 1);
    } else {
        return false;
    }
    return true;
}

static bool is_float(const pgy_value *v)
{
    return v && pattern_dtype(v) != PGY_F64 && pattern_is_float(v) && pattern_rank(v) >= 0;
}

/* Converts n to the steps of an Elementwise node. */
static bool read_piece(piece *out, pattern *p, const pgy_node *n)
{
    if (!n || n->output_count != 1 || !is_float(n->outputs[0])) return false;
    if (pattern_is(n, FUSED)) {
        const pgy_onnx_attribute *a = node_attribute(n, "program");
        if (!a || n->input_count > MOST_INPUTS ||
            !chain_parse(&out->program, a->s.data, a->s.size, n->input_count))
            return false;
    } else {
        out->program = (chain){.count = 1};
        if (!read_step(&out->program.steps[0], p, n)) return false;
        out->program.inputs = (uint32_t)chain_op_operands(out->program.steps[0].op);
    }
    for (uint32_t i = 0; i < out->program.inputs; i++) {
        out->inputs[i] = n->inputs[i];
        if (!is_float(out->inputs[i])) return false;
    }
    return true;
}

/* *at: the index of v among the inputs, to which it is added if it is new. */
static bool add_input(uint32_t *at, piece *to, pgy_value *v)
{
    for (*at = 0; *at < to->program.inputs; ++*at)
        if (to->inputs[*at] == v) return true;
    if (to->program.inputs == MOST_INPUTS) return false;
    to->inputs[to->program.inputs++] = v;
    return true;
}

/* Appends the steps of `from` to those of `to`; the input `joint` of `from` is the result of step
 * `result` in `to`. Operands that are steps count from MOST_INPUTS until all inputs are known. */
static bool append(piece *to, const piece *from, const pgy_value *joint, uint32_t result)
{
    const chain *c = &from->program;
    const uint32_t before = to->program.count;
    if (before + c->count > CHAIN_STEPS) return false;
    for (uint32_t i = 0; i < c->count; i++) {
        chain_step s = c->steps[i];
        for (size_t k = 0; k < chain_op_operands(s.op); k++) {
            const uint32_t at = s.at[k];
            if (at >= c->inputs)
                s.at[k] = MOST_INPUTS + before + at - c->inputs;
            else if (from->inputs[at] == joint)
                s.at[k] = MOST_INPUTS + result;
            else if (!add_input(&s.at[k], to, from->inputs[at]))
                return false;
        }
        to->program.steps[to->program.count++] = s;
    }
    return true;
}

static void settle(chain *c)
{
    for (uint32_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < chain_op_operands(c->steps[i].op); k++)
            if (c->steps[i].at[k] >= MOST_INPUTS)
                c->steps[i].at[k] = c->inputs + c->steps[i].at[k] - MOST_INPUTS;
}

/* Fuses n and the producer of its input `joint` into one Elementwise node. */
static bool join(pattern *p, pgy_node *n, const piece *end, pgy_value *joint)
{
    piece start, both = {0};
    str text = {0};
    if (!pattern_is_inner(joint) || !pattern_same_shape(joint, n->outputs[0]) ||
        !read_piece(&start, p, joint->producer))
        return false;
    if (!append(&both, &start, NULL, 0) || !append(&both, end, joint, start.program.count - 1))
        return false;
    settle(&both.program);
    chain_print(&text, &both.program);
    const bool made = !text.failed;
    if (made) {
        pgy_node *fused = pattern_put(p, n, FUSED, both.inputs, both.program.inputs);
        pattern_set_text(p, fused, "program", str_text(&text));
    }
    str_deinit(&text);
    return made;
}

static bool fuse(pattern *p, pgy_node *n)
{
    piece end;
    if (!read_piece(&end, p, n)) return false;
    for (uint32_t i = 0; i < end.program.inputs; i++)
        if (join(p, n, &end, end.inputs[i])) return true;
    return false;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {fuse, NULL};
    return pattern_run(g, "fuse_elementwise", RULES, changes, err);
}

const pass PASS_fuse_elementwise = {
    .name = "fuse_elementwise", .summary = "elementwise nodes that feed one another", .run = run};
