/* SPDX-License-Identifier: Apache-2.0 */
/* Loop: runs a body graph at most M times while its condition holds and carries values between
 * iterations; further outputs of the body are collected along a new first axis.
 *
 *     body(iteration, condition, carried...) -> condition, carried..., collected... */
#include "base/alloc.h"
#include "ops/class_loop.h"

static const op_attr_def ATTRS[] = {
    {"body", OP_ATTR_GRAPH, true, NULL},
    {0},
};

static size_t carried_count(const op_node *n)
{
    return n->input_count > 2 ? n->input_count - 2 : 0;
}

static pgy_status check_outputs(const op_node *n, pgy_error *err)
{
    if (n->output_count >= carried_count(n)) return PGY_OK;
    return op_error(n, err, PGY_E_FORMAT,
                    "the node has %zu outputs, fewer than its %zu loop-carried values",
                    n->output_count, carried_count(n));
}

static bool has_truth(const op_value *v, bool truth)
{
    if (v->elements)
        return v->element_count == 1 && dim_is_const(v->elements[0]) &&
               (v->elements[0].value != 0) == truth;
    return v->data && pgy_tensor_dtype(v->data) == PGY_BOOL && pgy_tensor_count(v->data) == 1 &&
           (*(const uint8_t *)pgy_tensor_data(v->data) != 0) == truth;
}

/* Number of iterations; exactly M if the condition never ends the loop. */
static dim trip_count(op_infer *c, const op_value *condition_out)
{
    static const char WHY[] = "the number of iterations is not known";
    const dim *most;
    size_t count;
    if (rule_values(c, 0, &most, &count) && count == 1 && dim_is_const(*most) && most->value <= 0)
        return dim_const(0);
    if (op_has_input(c, 1) && has_truth(&c->inputs[1], false)) return dim_const(0);
    const bool endless =
        (!op_has_input(c, 1) || has_truth(&c->inputs[1], true)) && has_truth(condition_out, true);
    if (!rule_values(c, 0, &most, &count) || count != 1) return dim_unknown(c->dims, WHY);
    if (!endless) /* exporters write a huge M for "no limit", which says nothing about the count */
        return dim_is_const(*most) && most->value >= INT32_MAX
                   ? dim_unknown(c->dims, WHY)
                   : dim_unknown_upto(c->dims, WHY, *most);
    return rule_is_natural(c->dims, *most) ? *most : dim_max(c->dims, dim_const(0), *most);
}

static pgy_status set_collected(op_infer *c, size_t i, const op_value *item, dim trips,
                                pgy_error *err)
{
    if (item->rank < 0) {
        op_set_unknown(c, i, item->dtype, -1,
                       "the shape of a value that the loop collects is not known");
        return PGY_OK;
    }
    dim *dims = op_dims(c, (size_t)item->rank + 1);
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = trips;
    for (int32_t d = 0; d < item->rank; d++) dims[d + 1] = item->dims[d];
    op_set_output(c, i, item->dtype, item->rank + 1, dims);
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    static const dim nothing[1];
    const op_node *n = c->node;
    const size_t carried = carried_count(n), out_count = n->output_count + 1;
    bool known;
    pgy_status st = check_outputs(n, err);
    op_value *in = arena_alloc_array(c->memory, carried + 2, sizeof *in);
    op_value *out = arena_alloc_array(c->memory, out_count, sizeof *out);
    if (st) return st;
    if (!in || !out) return rule_no_memory(n, err);
    in[0] = (op_value){.dtype = PGY_I64, .dims = nothing};
    in[1] = (op_value){.dtype = PGY_BOOL, .dims = nothing};
    for (size_t k = 0; k < carried; k++) in[k + 2] = c->inputs[k + 2];
    st = loop_infer_body(c, in, carried + 2, 2, out, out_count, 1, carried, &known, err);
    if (st || !known) return st;
    const dim trips = trip_count(c, &out[0]);
    for (size_t i = 0; i < n->output_count && !st; i++) {
        if (i < carried)
            c->outputs[i] =
                loop_varying(&in[i + 2]); /* widened to what holds after any number of iterations */
        else
            st = set_collected(c, i, &out[i + 1], trips, err);
    }
    return st;
}

/* State of a running loop: the inputs and outputs of its body, and the outputs collected so far. */
typedef struct loop_state {
    op_tensor *in, *out;
    loop_stack *collected;
    size_t in_count, out_count, carried;
    int64_t most;
    bool condition;
} loop_state;

static pgy_status state_init(loop_state *s, const op_eval *c, pgy_error *err)
{
    const op_node *n = c->node;
    const int64_t *most;
    size_t count;
    s->carried = carried_count(n);
    s->in_count = s->carried + 2;
    s->out_count = n->output_count + 1;
    s->most = INT64_MAX;
    s->condition = op_eval_scalar(c, 1, 1) != 0;
    s->in = mem_calloc(s->in_count, sizeof *s->in);
    s->out = mem_calloc(s->out_count, sizeof *s->out);
    s->collected = mem_calloc(s->out_count, sizeof *s->collected);
    if (!s->in || !s->out || !s->collected) return rule_no_memory(n, err);
    for (size_t k = 0; k < s->carried; k++) {
        if (!op_has_value(c, k + 2))
            return op_error(n, err, PGY_E_ARGUMENT, "input %zu is missing", k + 2);
        s->in[k + 2] = op_tensor_retain(&c->inputs[k + 2]);
    }
    if (!op_has_value(c, 0)) return PGY_OK;
    pgy_status st = op_eval_ints(c, 0, &most, &count, err);
    if (st) return st;
    if (count != 1)
        return op_error(n, err, PGY_E_SHAPE, "input 0 (M) has %zu elements, but must have one",
                        count);
    s->most = *most;
    return PGY_OK;
}

static void state_deinit(loop_state *s)
{
    for (size_t i = 0; s->in && i < s->in_count; i++) op_tensor_release(&s->in[i]);
    for (size_t i = 0; s->out && i < s->out_count; i++) op_tensor_release(&s->out[i]);
    for (size_t i = 0; s->collected && i < s->out_count; i++) loop_stack_deinit(&s->collected[i]);
    mem_free(s->in);
    mem_free(s->out);
    mem_free(s->collected);
}

static pgy_status set_scalars(loop_state *s, int64_t iteration, pgy_error *err)
{
    op_tensor_release(&s->in[0]);
    op_tensor_release(&s->in[1]);
    s->in[0].dtype = PGY_I64;
    s->in[1].dtype = PGY_BOOL;
    pgy_status st = pgy_tensor_create(&s->in[0].value, PGY_I64, 0, NULL, err);
    if (!st) st = pgy_tensor_create(&s->in[1].value, PGY_BOOL, 0, NULL, err);
    if (st) return st;
    *(int64_t *)pgy_tensor_data(s->in[0].value) = iteration;
    *(uint8_t *)pgy_tensor_data(s->in[1].value) = s->condition;
    return PGY_OK;
}

static pgy_status iterate(loop_state *s, const op_eval *c, int64_t iteration, pgy_error *err)
{
    pgy_status st = set_scalars(s, iteration, err);
    if (!st) st = loop_run_graph(c, "body", s->in, s->in_count, s->out, s->out_count, err);
    if (st) return st;
    const pgy_tensor *condition = s->out[0].value;
    if (!condition || pgy_tensor_dtype(condition) != PGY_BOOL || pgy_tensor_count(condition) != 1)
        return op_error(c->node, err, PGY_E_TYPE,
                        "the first output of the body (the condition) must be one bool");
    s->condition = *(const uint8_t *)pgy_tensor_data(condition) != 0;
    for (size_t i = 1; i < s->out_count && !st; i++) {
        if (i <= s->carried) {
            op_tensor_release(&s->in[i + 1]);
            s->in[i + 1] = s->out[i];
            s->out[i] = (op_tensor){0};
        } else {
            st = loop_stack_push(&s->collected[i], c, &s->out[i], err);
        }
    }
    for (size_t i = 0; i < s->out_count; i++) op_tensor_release(&s->out[i]);
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    loop_state s = {0};
    pgy_status st = check_outputs(c->node, err);
    if (!st) st = state_init(&s, c, err);
    for (int64_t i = 0; !st && i < s.most && s.condition; i++) st = iterate(&s, c, i, err);
    for (size_t i = 0; !st && i < c->node->output_count; i++) {
        if (i < s.carried)
            loop_set_output(c, i, &s.in[i + 2]);
        else
            st = loop_stack_join(&s.collected[i + 1], c, i, 0, false, err);
    }
    state_deinit(&s);
    return st;
}

#define ROW(version, inputs_least)                                                         \
    {                                                                                      \
        .name = "Loop", .domain = "", .since = version, .min_inputs = inputs_least,        \
        .max_inputs = 255, .min_outputs = 1, .max_outputs = 255,                           \
        .flags = OP_VARIADIC_INPUTS | OP_VARIADIC_OUTPUTS | OP_HAS_GRAPHS, .attrs = ATTRS, \
        .types = "", .infer = infer, .eval = eval, .flops = rule_no_flops                  \
    }

const op_def OP_loop[] = {
    ROW(1, 3),
    ROW(11, 2),
    {0},
};
