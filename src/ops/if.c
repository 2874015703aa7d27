/* SPDX-License-Identifier: Apache-2.0 */
/* If: the outputs of one of two graphs. If the condition is unknown, shape inference keeps only
 * what is the same in both graphs. */
#include "base/alloc.h"
#include "ops/class_loop.h"

static const op_attr_def ATTRS[] = {
    {"then_branch", OP_ATTR_GRAPH, true, NULL},
    {"else_branch", OP_ATTR_GRAPH, true, NULL},
    {0},
};

static const char *branch(bool condition)
{
    return condition ? "then_branch" : "else_branch";
}

static const char WHY[] = "the branches of If give different shapes";

/* Bounds each dim that differs between the branches by the larger one. */
static void limit(op_infer *c, op_value *v, const op_value *a, const op_value *b)
{
    if (v->rank < 1 || a->rank != v->rank || b->rank != v->rank) return;
    dim *dims = rule_copy_dims(c, v);
    for (int32_t d = 0; dims && d < v->rank; d++)
        if (dim_is_unknown(v->dims[d]) && !dim_equal(a->dims[d], b->dims[d]))
            dims[d] = dim_unknown_upto(c->dims, WHY, dim_max(c->dims, a->dims[d], b->dims[d]));
    if (dims) v->dims = dims;
}

static pgy_status check_types(const op_infer *c, const op_value *yes, const op_value *no,
                              size_t count, pgy_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (yes[i].dtype && no[i].dtype && yes[i].dtype != no[i].dtype)
            return op_error(c->node, err, PGY_E_TYPE,
                            "output %zu is %s in the then_branch and %s in the else_branch", i,
                            pgy_dtype_name(yes[i].dtype), pgy_dtype_name(no[i].dtype));
    return PGY_OK;
}

static pgy_status infer_both(op_infer *c, pgy_error *err)
{
    const size_t count = c->node->output_count;
    bool known;
    op_value *other = arena_alloc_array(c->memory, count, sizeof *other);
    if (!other) return rule_no_memory(c->node, err);
    pgy_status st = loop_infer_graph(c, branch(true), NULL, 0, c->outputs, count, &known, err);
    if (!st && known) st = loop_infer_graph(c, branch(false), NULL, 0, other, count, &known, err);
    if (!st && known) st = check_types(c, c->outputs, other, count, err);
    for (size_t i = 0; !st && known && i < count; i++) {
        const op_value first = c->outputs[i];
        loop_merge(c, &c->outputs[i], &other[i], WHY);
        limit(c, &c->outputs[i], &first, &other[i]);
    }
    return st;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const dim *condition;
    size_t count;
    bool known;
    if (!rule_values(c, 0, &condition, &count) || count != 1 || !dim_is_const(*condition))
        return infer_both(c, err);
    return loop_infer_graph(c, branch(condition->value != 0), NULL, 0, c->outputs,
                            c->node->output_count, &known, err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const size_t count = c->node->output_count;
    pgy_tensor *condition;
    pgy_status st = rule_input(c, 0, &condition, err);
    if (st) return st;
    if (pgy_tensor_count(condition) != 1 || pgy_tensor_dtype(condition) != PGY_BOOL)
        return op_error(c->node, err, PGY_E_SHAPE, "the condition must be one bool");
    op_tensor *results = mem_calloc(count + 1, sizeof *results);
    if (!results) return rule_no_memory(c->node, err);
    const bool chosen = *(const uint8_t *)pgy_tensor_data(condition) != 0;
    st = loop_run_graph(c, branch(chosen), NULL, 0, results, count, err);
    for (size_t i = 0; !st && i < count; i++) loop_set_output(c, i, &results[i]);
    mem_free(results);
    return st;
}

const op_def OP_if[] = {
    {.name = "If",
     .domain = "",
     .since = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 255,
     .flags = OP_VARIADIC_OUTPUTS | OP_HAS_GRAPHS,
     .attrs = ATTRS,
     .types = "bool",
     .infer = infer,
     .eval = eval,
     .flops = rule_no_flops},
    {0},
};
