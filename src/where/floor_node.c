/* SPDX-License-Identifier: Apache-2.0 */
/* One node in one draw: runs it on the draw's operands and adds the errors by its rule. */
#include <math.h>

#include "base/cancel.h"
#include "where/floor_round.h"
#include "where/floor_rules.h"
#include "where/floor_run.h"

/* RMS of the error that is added before a step, in units of the RMS of the error that is there. */
#define WIDER 2.0

pgy_dtype floor_sums_type(const pgy_floor *f, pgy_dtype made)
{
    if (f->options.sums) return f->options.sums;
    return noise_assumed(made, f->options.assume) == PGY_F64 ? PGY_F64 : PGY_F32;
}

static pgy_status disturb_operands(floor_operands *o, double rms, floor_random *r, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < o->count; i++) {
        pgy_tensor *own = NULL;
        op_tensor *t = &o->drawn[i];
        if (!t->value || !pgy_dtype_is_float(t->dtype) || t->sequence) continue;
        st = noise_round_nearest(&own, t->value, PGY_F64, err);
        if (st) break;
        floor_scale_randomly(op_f64(own), pgy_tensor_count(own), rms, r);
        pgy_tensor_release(t->value);
        t->value = own;
    }
    return st;
}

static double rms_of_difference(const pgy_tensor *a, const pgy_tensor *b)
{
    const size_t count = pgy_tensor_count(a);
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        const double d = op_f64(a)[i] - op_f64(b)[i];
        if (isfinite(d)) squares += d * d;
    }
    return count ? sqrt(squares / (double)count) : 0;
}

/* A value that lies almost between two steps may take either, but perhaps does so in none of the
 * draws, and in one real run. So the error of what is quantized is made larger: every step then
 * happens in some draw that has a fair chance in a real run. */
static pgy_status widen_before_step(floor_operands *o, floor_random *r, pgy_error *err)
{
    const op_tensor *exact = &o->given[0];
    op_tensor *t = &o->drawn[0];
    pgy_tensor *own = NULL;
    if (!noise_is_float(exact) || !noise_is_float(t) || !floor_same_shape(exact->value, t->value))
        return PGY_OK;
    const double rms = rms_of_difference(exact->value, t->value);
    if (!(rms > 0)) return PGY_OK;
    const pgy_status st = noise_round_nearest(&own, t->value, PGY_F64, err);
    if (st) return st;
    floor_shift_randomly(op_f64(own), WIDER * rms, pgy_tensor_count(own), r);
    pgy_tensor_release(t->value);
    t->value = own;
    return PGY_OK;
}

static bool shares_elements(const op_tensor *t, const op_tensor *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].value && pgy_tensor_data(list[i].value) == pgy_tensor_data(t->value))
            return true;
    return false;
}

pgy_status floor_run_draw(op_tensor *outputs, pgy_floor *f, const pgy_node *n, const op_node *node,
                          floor_operands *o, const pgy_tensor *sums, uint32_t draw,
                          const bool *wanted, const op_host *host, pgy_error *err)
{
    const floor_rule rule = floor_rule_of(n);
    const pgy_dtype made = n->output_count && n->outputs[0] ? n->outputs[0]->dtype : PGY_F32;
    const double unit = floor_unit(floor_sums_type(f, made));
    const uint64_t key = f->sample * 0x10000000000u + f->step * 0x10000u + f->inner_step;
    floor_random r = floor_random_start(f->options.seed, draw, key);
    pgy_status st = PGY_OK;
    if (rule == FLOOR_INNER) st = disturb_operands(o, FLOOR_NEAREST_RMS * unit, &r, err);
    if (!st && (node_is(n, "QuantizeLinear") || node_is(n, "DynamicQuantizeLinear")))
        st = widen_before_step(o, &r, err);
    if (!st) st = op_run(node, o->drawn, outputs, wanted, host, err);
    for (size_t i = 0; !st && i < n->output_count; i++) {
        op_tensor *t = &outputs[i];
        if (!noise_is_float(t) || shares_elements(t, o->drawn, o->count) || n->subgraph_count)
            continue;
        const size_t count = pgy_tensor_count(t->value);
        if (sums && i == 0 && count == pgy_tensor_count(sums))
            floor_add_randomly(op_f64(t->value), op_f64(sums), count, &r);
        else if (rule != FLOOR_RESULT)
            floor_scale_randomly(op_f64(t->value), count, unit, &r);
        floor_round_randomly(op_f64(t->value), count, noise_assumed(t->dtype, f->options.assume),
                             &r);
    }
    return st ? st : cancel_check(err);
}

void floor_release_outputs(op_tensor *outputs, size_t count)
{
    for (size_t i = 0; i < count; i++) op_tensor_release(&outputs[i]);
}
