/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes inside a node with subgraphs. The whole node runs exactly, which keeps the values inside as
 * far as memory allows, and then in each draw, which compares with them. */
#include "base/alloc.h"
#include "base/memory.h"
#include "where/floor_round.h"
#include "where/floor_rules.h"
#include "where/floor_run.h"

uint64_t floor_limit(const pgy_floor *f)
{
    const uint64_t memory = memory_limit_bytes();
    return f->options.max_bytes ? f->options.max_bytes : memory ? memory / 4 : UINT64_C(1) << 31;
}

static pgy_status keep_inner(pgy_floor *f, const pgy_node *n, size_t i, const op_tensor *t,
                             pgy_error *err)
{
    if (!noise_is_float(t) || !n->outputs[i]) return PGY_OK;
    floor_row *r = floor_row_of(f, n, n->outputs[i], t->dtype);
    if (!r) return graph_no_memory(err);
    if (f->first == 0) floor_row_add_values(r, t->value);
    const size_t bytes = pgy_tensor_size_bytes(t->value);
    if (f->inner_full || f->inner_bytes + bytes > floor_limit(f)) {
        f->inner_full = true;
        r->shown.unknown_why = "its values in all iterations exceed the memory limit";
        return PGY_OK;
    }
    if (!mem_grow((void **)&f->inner, &f->inner_capacity, f->inner_count + 1, sizeof *f->inner))
        return graph_no_memory(err);
    f->inner[f->inner_count++] = (floor_inner_value){n, i, pgy_tensor_retain(t->value), r};
    f->inner_bytes += bytes;
    return PGY_OK;
}

/* A draw may take another branch or number of iterations; values are matched while it does not. */
static void compare_inner(pgy_floor *f, const pgy_node *n, size_t i, const op_tensor *t)
{
    if (!noise_is_float(t) || !n->outputs[i] || f->inner_at >= f->inner_count) return;
    const floor_inner_value *v = &f->inner[f->inner_at];
    if (v->node != n || v->output != i || !floor_same_shape(v->value, t->value)) {
        f->inner_at = f->inner_count;
        return;
    }
    f->inner_at++;
    floor_row_add_errors(v->row, v->value, t->value);
}

void floor_forget_inner(pgy_floor *f)
{
    for (size_t i = 0; i < f->inner_count; i++) pgy_tensor_release(f->inner[i].value);
    f->inner_count = f->inner_bytes = f->inner_at = 0;
    f->inner_full = false;
}

pgy_status floor_run_inner(pgy_floor *f, pgy_node *n, const op_node *node, const op_tensor *inputs,
                           op_tensor *outputs, const bool *wanted, const op_host *host,
                           pgy_error *err)
{
    floor_operands o = {0};
    pgy_tensor *sums = NULL;
    pgy_status st = PGY_OK;
    f->inner_step++;
    if (f->mode == FLOOR_MODE_INNER_EXACT) {
        st = op_run(node, inputs, outputs, wanted, host, err);
        for (size_t i = 0; !st && i < n->output_count; i++)
            st = keep_inner(f, n, i, &outputs[i], err);
        return st;
    }
    st = floor_operands_init(&o, f, n, inputs, err);
    if (!st) st = floor_operands_draw(&o, f, f->draw - f->first, err);
    const floor_rule rule = floor_rule_of(n);
    op_tensor result = {0};
    const bool first[1] = {true};
    if (!st && (rule == FLOOR_SUM || rule == FLOOR_MEAN)) {
        st = op_run(node, o.drawn, &result, first, host, err);
        if (!st)
            st = floor_sum_errors(&sums, rule, node, o.drawn, &result,
                                  floor_unit(floor_sums_type(f, result.dtype)), host, err);
        op_tensor_release(&result);
    }
    if (!st) st = floor_run_draw(outputs, f, n, node, &o, sums, f->draw, wanted, host, err);
    for (size_t i = 0; !st && i < n->output_count; i++) compare_inner(f, n, i, &outputs[i]);
    floor_operands_undraw(&o);
    floor_operands_deinit(&o);
    pgy_tensor_release(sums);
    return st;
}
