/* SPDX-License-Identifier: Apache-2.0 */
/* One node in all draws of a walk: the draws' results are compared with the exact ones and kept for
 * the nodes that read them. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "where/floor_round.h"
#include "where/floor_rules.h"
#include "where/floor_run.h"

/* Puts the draws' tensors beside an exact tensor, unless they are equal in all draws. */
static pgy_status put(pgy_floor *f, pgy_tensor **exact, pgy_tensor **draws, pgy_error *err)
{
    const size_t bytes = pgy_tensor_size_bytes(*exact);
    bool differs = false, fits = pgy_tensor_dtype(*exact) != PGY_STRING && !f->options.own;
    for (uint32_t k = 0; fits && k < f->count; k++) {
        if (draws[k] && pgy_tensor_data(draws[k]) == pgy_tensor_data(*exact)) {
            pgy_tensor_release(draws[k]);
            draws[k] = NULL;
        }
        if (!draws[k]) continue;
        fits = floor_same_shape(*exact, draws[k]);
        differs |= fits && memcmp(pgy_tensor_data(*exact), pgy_tensor_data(draws[k]), bytes);
    }
    if (fits && differs && bytes && !floor_draws_has(&f->draws, *exact))
        return floor_draws_put(&f->draws, exact, draws, f->count, err);
    for (uint32_t k = 0; k < f->count; k++) pgy_tensor_release(draws[k]);
    return PGY_OK;
}

static pgy_status put_sequence(pgy_floor *f, op_sequence *exact, op_tensor *const *results,
                               size_t output, pgy_tensor **draws, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < exact->count; i++) {
        if (!exact->items[i].value) continue;
        for (uint32_t k = 0; k < f->count; k++) {
            const op_sequence *s = results[k][output].sequence;
            pgy_tensor *t = s && s->count == exact->count ? s->items[i].value : NULL;
            draws[k] = t ? pgy_tensor_retain(t) : NULL;
        }
        st = put(f, &exact->items[i].value, draws, err);
    }
    return st;
}

static bool is_changed(const pgy_floor *f, const op_tensor *exact, op_tensor *const *results,
                       size_t i)
{
    const size_t bytes = pgy_tensor_size_bytes(exact->value);
    for (uint32_t k = 0; k < f->count; k++) {
        const pgy_tensor *t = results[k][i].value;
        if (t && floor_same_shape(exact->value, t) &&
            memcmp(pgy_tensor_data(exact->value), pgy_tensor_data(t), bytes))
            return true;
    }
    return false;
}

/* Integers have a row from the first draw on that changes them. */
static bool has_row(const pgy_floor *f, const op_tensor *exact, op_tensor *const *results, size_t i)
{
    const pgy_dtype held = pgy_tensor_dtype(exact->value);
    return noise_is_float(exact) ||
           ((held == PGY_I64 || held == PGY_U64) && is_changed(f, exact, results, i));
}

/* Merges output i of all draws into its row, and keeps the draws' values for the nodes that read
 * it. */
static pgy_status take_output(pgy_floor *f, const pgy_node *n, size_t i, op_tensor *exact,
                              op_tensor *const *results, pgy_tensor **draws, pgy_error *err)
{
    if (!n->outputs[i]) return PGY_OK;
    if (exact->sequence) return put_sequence(f, exact->sequence, results, i, draws, err);
    if (!exact->value) return PGY_OK;
    const bool shown = has_row(f, exact, results, i);
    floor_row *r = shown ? floor_row_of(f, n, n->outputs[i], exact->dtype) : NULL;
    if (shown && !r) return graph_no_memory(err);
    if (r && f->first == 0) floor_row_add_values(r, exact->value);
    for (uint32_t k = 0; k < f->count; k++) {
        pgy_tensor *t = results[k][i].value;
        if (r && t && floor_same_shape(exact->value, t)) {
            floor_row_add_errors(r, exact->value, t);
        } else if (r) {
            r->shown.unknown_why = "its shape depends on rounding errors";
        }
        draws[k] = t ? pgy_tensor_retain(t) : NULL;
    }
    return put(f, &exact->value, draws, err);
}

static bool needs_draws(const pgy_floor *f, const pgy_node *n, const op_tensor *inputs,
                        const op_tensor *outputs)
{
    if (node_box_of(n)->def && node_box_of(n)->def->flags & OP_RANDOM) return false;
    for (size_t i = 0; i < n->output_count; i++)
        if (noise_is_float(&outputs[i])) return true;
    for (size_t i = 0; i < n->input_count; i++)
        if (inputs[i].sequence || (inputs[i].value && floor_draws_has(&f->draws, inputs[i].value)))
            return true;
    return n->subgraph_count > 0;
}

/* Runs the node in each draw. *why is set if a draw fails, which ends no other node. */
static pgy_status run_draws(pgy_floor *f, pgy_node *n, const op_node *node, floor_operands *o,
                            const op_tensor *exact, op_tensor *const *results, const char **why,
                            const bool *wanted, const op_host *host, pgy_error *err)
{
    const floor_rule rule = floor_rule_of(n);
    pgy_tensor *sums = NULL;
    pgy_status st = PGY_OK;
    if ((rule == FLOOR_SUM || rule == FLOOR_MEAN) && noise_is_float(exact))
        st = floor_sum_errors(&sums, rule, node, o->given, exact,
                              floor_unit(floor_sums_type(f, exact->dtype)), host, err);
    for (uint32_t k = 0; !st && k < f->count; k++) {
        pgy_error failure = {0};
        f->draw = f->first + k;
        f->inner_step = f->inner_at = 0;
        f->mode = n->subgraph_count ? FLOOR_MODE_INNER_DRAW : FLOOR_MODE_ALL;
        st = floor_operands_draw(o, f, k, &failure);
        if (!st)
            st = floor_run_draw(results[k], f, n, node, o, sums, f->draw, wanted, host, &failure);
        floor_operands_undraw(o);
        if (!st) continue;
        floor_release_outputs(results[k], n->output_count);
        if (status_ends_all(st)) {
            pgy_error_set(err, st, "%s", failure.text);
            break;
        }
        *why = arena_printf(&f->memory, "with rounding errors the node fails: %s", failure.text);
        if (!*why) *why = "with rounding errors the node fails";
        st = PGY_OK;
    }
    f->mode = FLOOR_MODE_ALL;
    pgy_tensor_release(sums);
    return st;
}

static pgy_status take_outputs(pgy_floor *f, pgy_node *n, op_tensor *outputs,
                               op_tensor *const *results, const char *why, pgy_error *err)
{
    pgy_status st = PGY_OK;
    pgy_tensor **draws = mem_calloc(f->count + 1, sizeof *draws);
    if (!draws) return graph_no_memory(err);
    for (size_t i = 0; !st && i < n->output_count; i++) {
        if (why && n->outputs[i] && noise_is_float(&outputs[i])) {
            floor_row *r = floor_row_of(f, n, n->outputs[i], outputs[i].dtype);
            if (r) r->shown.unknown_why = why;
            st = r ? PGY_OK : graph_no_memory(err);
        } else if (!why) {
            st = take_output(f, n, i, &outputs[i], results, draws, err);
        }
    }
    mem_free(draws);
    return st;
}

pgy_status floor_run_all(pgy_floor *f, pgy_node *n, const op_node *node, const op_tensor *inputs,
                         op_tensor *outputs, const bool *wanted, const op_host *host,
                         pgy_error *err)
{
    floor_operands o = {0};
    const char *why = NULL;
    op_tensor **results = NULL;
    arena memory = {0};
    f->step++;
    f->inner_step = 0;
    f->mode = n->subgraph_count ? FLOOR_MODE_INNER_EXACT : FLOOR_MODE_ALL;
    pgy_status st = op_run(node, inputs, outputs, wanted, host, err);
    f->mode = FLOOR_MODE_ALL;
    if (st) return st;
    if (needs_draws(f, n, inputs, outputs)) {
        results = arena_alloc_array(&memory, f->count, sizeof *results);
        for (uint32_t k = 0; results && k < f->count; k++)
            if (!(results[k] = arena_alloc_array(&memory, n->output_count + 1, sizeof **results)))
                results = NULL;
        if (!results) st = graph_no_memory(err);
        if (!st) st = floor_operands_init(&o, f, n, inputs, err);
        if (!st) st = run_draws(f, n, node, &o, outputs, results, &why, wanted, host, err);
        if (!st) st = take_outputs(f, n, outputs, results, why, err);
        for (uint32_t k = 0; results && k < f->count; k++)
            floor_release_outputs(results[k], n->output_count);
        floor_operands_deinit(&o);
    }
    floor_forget_inner(f);
    arena_deinit(&memory);
    if (st) floor_release_outputs(outputs, n->output_count);
    return st;
}
