/* SPDX-License-Identifier: Apache-2.0 */
/* One walk computes each node exactly, then once per draw with that draw's operands and random
 * rounding errors, and compares. Nodes with subgraphs run as a whole: first exactly, keeping the
 * values inside as far as memory allows, then per draw. If the draws' values together exceed the
 * limit, the walk is repeated with fewer draws at a time; the first walk has one draw and finds the
 * number. */
#include <polygraphy/noise.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/sized.h"
#include "where/floor_draws.h"
#include "where/floor_round.h"
#include "where/floor_rules.h"
#include "where/noise_walk.h"

static const char LOG_PATH[] = "where/floor.c";

enum { DEFAULT_DRAWS = 16, MAX_DRAWS = 4096 };

typedef struct row {
    pgy_floor_tensor shown;
    double squares, value_squares;
    uint64_t finite, values;
} row;

/* A value inside the node with subgraphs that runs, from its exact run. */
typedef struct inner_value {
    const pgy_node *node;
    size_t output;
    pgy_tensor *value;
    row *row;
} inner_value;

typedef enum mode { MODE_ALL, MODE_INNER_EXACT, MODE_INNER_DRAW } mode;

struct pgy_floor {
    noise_walk walk;
    pgy_floor_options options;
    strmap rows; /* path -> row */
    arena memory;
    floor_draws draws;
    mode mode;
    uint32_t first, count; /* draws of this walk */
    uint32_t draw;         /* the draw that runs, with MODE_INNER_DRAW */
    uint64_t sample, step; /* number of the sample, and of the node run in this walk */
    uint64_t inner_step;
    inner_value *inner;
    size_t inner_count, inner_capacity, inner_bytes, inner_at;
    bool inner_full;
};

/* ---- Rows ----------------------------------------------------------------------------------- */

static row *row_of(pgy_floor *f, const pgy_node *n, const pgy_value *v, pgy_dtype type)
{
    str path = {0};
    noise_walk_path(&path, &f->walk, v->name, false);
    row *r = path.failed ? NULL : strmap_get(&f->rows, str_text(&path));
    if (!r && !path.failed && (r = arena_alloc(&f->memory, sizeof *r))) {
        r->shown = (pgy_floor_tensor){.name = arena_strdup(&f->memory, str_text(&path)),
                                      .node = node_label(n),
                                      .op_type = n->op_type,
                                      .dtype = noise_assumed(type, f->options.assume)};
        if (!r->shown.name || !strmap_put(&f->rows, r->shown.name, r)) r = NULL;
    }
    str_deinit(&path);
    return r;
}

static void add_values(row *r, const pgy_tensor *exact)
{
    for (size_t i = 0; i < pgy_tensor_count(exact); i++) {
        const double a = fabs(op_f64(exact)[i]);
        if (!isfinite(a)) continue;
        r->value_squares += a * a;
        r->values++;
        if (a > r->shown.value_max) r->shown.value_max = a;
    }
}

static void add_errors(row *r, const pgy_tensor *exact, const pgy_tensor *drawn)
{
    for (size_t i = 0; i < pgy_tensor_count(exact); i++) {
        const double x = op_f64(exact)[i], y = op_f64(drawn)[i];
        r->shown.count++;
        if (!isfinite(x)) continue;
        if (!isfinite(y)) {
            r->shown.overflows++;
            r->shown.max_abs = INFINITY;
            continue;
        }
        const double e = fabs(y - x);
        r->squares += e * e;
        r->finite++;
        if (e > r->shown.max_abs) r->shown.max_abs = e;
    }
}

static bool same_shape(const pgy_tensor *a, const pgy_tensor *b)
{
    const size_t rank = pgy_tensor_rank(a);
    return rank == pgy_tensor_rank(b) && pgy_tensor_dtype(a) == pgy_tensor_dtype(b) &&
           !memcmp(pgy_tensor_shape(a), pgy_tensor_shape(b), rank * sizeof(int64_t));
}

/* ---- Operands of a draw --------------------------------------------------------------------- */

/* The operands of a node: as the executor gives them, and with sources rounded to their types. */
typedef struct operands {
    const op_tensor *given;
    op_tensor *rounded; /* retained; what a draw without a value of its own uses */
    op_tensor *drawn;
    size_t count;
} operands;

static void operands_deinit(operands *o)
{
    for (size_t i = 0; o->rounded && i < o->count; i++) op_tensor_release(&o->rounded[i]);
    mem_free(o->rounded);
    mem_free(o->drawn);
}

/* Float weights and inputs are rounded once, to nearest, as a converter rounds them. */
static pgy_status operands_init(operands *o, const pgy_floor *f, const pgy_node *n,
                                const op_tensor *inputs, pgy_error *err)
{
    pgy_status st = PGY_OK;
    *o = (operands){.given = inputs, .count = n->input_count};
    o->rounded = mem_calloc(n->input_count + 1, sizeof *o->rounded);
    o->drawn = mem_calloc(n->input_count + 1, sizeof *o->drawn);
    if (!o->rounded || !o->drawn) return graph_no_memory(err);
    for (size_t i = 0; !st && i < n->input_count; i++) {
        const pgy_dtype type = noise_assumed(inputs[i].dtype, f->options.assume);
        pgy_tensor *rounded = NULL;
        o->rounded[i] = op_tensor_retain(&inputs[i]);
        if (!inputs[i].value || type == inputs[i].dtype || noise_keeps_input(n, i) ||
            floor_draws_has(&f->draws, inputs[i].value))
            continue;
        st = noise_round_nearest(&rounded, inputs[i].value, type, err);
        if (st) break;
        pgy_tensor_release(o->rounded[i].value);
        o->rounded[i].value = rounded;
    }
    return st;
}

static pgy_status draw_sequence(op_tensor *out, const pgy_floor *f, const op_sequence *s, size_t k,
                                pgy_error *err)
{
    pgy_status st = PGY_OK;
    op_sequence *made = op_sequence_create(s->count);
    if (!made) return graph_no_memory(err);
    made->none = s->none;
    for (size_t i = 0; !st && i < s->count; i++) {
        pgy_tensor *own = NULL;
        made->items[i] = op_tensor_retain(&s->items[i]);
        if (!s->items[i].value) continue;
        st = floor_draws_get(&own, &f->draws, s->items[i].value, k, err);
        if (!own) continue;
        pgy_tensor_release(made->items[i].value);
        made->items[i].value = own;
    }
    *out = (op_tensor){.sequence = made};
    return st;
}

/* The operands of draw k of this walk, all retained. */
static pgy_status operands_draw(operands *o, const pgy_floor *f, size_t k, pgy_error *err)
{
    pgy_status st = PGY_OK;
    memset(o->drawn, 0, o->count * sizeof *o->drawn);
    for (size_t i = 0; !st && i < o->count; i++) {
        pgy_tensor *own = NULL;
        const op_tensor *given = &o->given[i];
        if (given->sequence) {
            st = draw_sequence(&o->drawn[i], f, given->sequence, k, err);
            continue;
        }
        if (given->value) st = floor_draws_get(&own, &f->draws, given->value, k, err);
        o->drawn[i] = own ? (op_tensor){.dtype = given->dtype, .value = own}
                          : op_tensor_retain(&o->rounded[i]);
    }
    return st;
}

static void operands_undraw(operands *o)
{
    for (size_t i = 0; o->drawn && i < o->count; i++) op_tensor_release(&o->drawn[i]);
}

/* ---- One node in one draw ------------------------------------------------------------------- */

static pgy_dtype sums_type(const pgy_floor *f, pgy_dtype made)
{
    if (f->options.sums) return f->options.sums;
    return noise_assumed(made, f->options.assume) == PGY_F64 ? PGY_F64 : PGY_F32;
}

static pgy_status disturb_operands(operands *o, double rms, floor_random *r, pgy_error *err)
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

static bool shares_elements(const op_tensor *t, const op_tensor *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].value && pgy_tensor_data(list[i].value) == pgy_tensor_data(t->value))
            return true;
    return false;
}

/* Runs the node on o->drawn and adds its rounding errors. `sums` may be NULL. */
static pgy_status run_draw(op_tensor *outputs, pgy_floor *f, const pgy_node *n, const op_node *node,
                           operands *o, const pgy_tensor *sums, uint32_t draw, const bool *wanted,
                           const op_host *host, pgy_error *err)
{
    const floor_rule rule = floor_rule_of(n);
    const pgy_dtype made = n->output_count && n->outputs[0] ? n->outputs[0]->dtype : PGY_F32;
    const double unit = floor_unit(sums_type(f, made));
    const uint64_t key = f->sample * 0x10000000000u + f->step * 0x10000u + f->inner_step;
    floor_random r = floor_random_start(f->options.seed, draw, key);
    pgy_status st = PGY_OK;
    if (rule == FLOOR_INNER) st = disturb_operands(o, FLOOR_NEAREST_RMS * unit, &r, err);
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

static void release_outputs(op_tensor *outputs, size_t count)
{
    for (size_t i = 0; i < count; i++) op_tensor_release(&outputs[i]);
}

/* ---- Inside nodes with subgraphs ------------------------------------------------------------ */

static uint64_t limit_of(const pgy_floor *f)
{
    const uint64_t memory = memory_limit_bytes();
    return f->options.max_bytes ? f->options.max_bytes : memory ? memory / 4 : UINT64_C(1) << 31;
}

static pgy_status keep_inner(pgy_floor *f, const pgy_node *n, size_t i, const op_tensor *t,
                             pgy_error *err)
{
    if (!noise_is_float(t) || !n->outputs[i]) return PGY_OK;
    row *r = row_of(f, n, n->outputs[i], t->dtype);
    if (!r) return graph_no_memory(err);
    if (f->first == 0) add_values(r, t->value);
    const size_t bytes = pgy_tensor_size_bytes(t->value);
    if (f->inner_full || f->inner_bytes + bytes > limit_of(f)) {
        f->inner_full = true;
        r->shown.unknown_why = "its values in all iterations exceed the memory limit";
        return PGY_OK;
    }
    if (!mem_grow((void **)&f->inner, &f->inner_capacity, f->inner_count + 1, sizeof *f->inner))
        return graph_no_memory(err);
    f->inner[f->inner_count++] = (inner_value){n, i, pgy_tensor_retain(t->value), r};
    f->inner_bytes += bytes;
    return PGY_OK;
}

/* A draw may take another branch or number of iterations; values are matched while it does not. */
static void compare_inner(pgy_floor *f, const pgy_node *n, size_t i, const op_tensor *t)
{
    if (!noise_is_float(t) || !n->outputs[i] || f->inner_at >= f->inner_count) return;
    const inner_value *v = &f->inner[f->inner_at];
    if (v->node != n || v->output != i || !same_shape(v->value, t->value)) {
        f->inner_at = f->inner_count;
        return;
    }
    f->inner_at++;
    add_errors(v->row, v->value, t->value);
}

static void forget_inner(pgy_floor *f)
{
    for (size_t i = 0; i < f->inner_count; i++) pgy_tensor_release(f->inner[i].value);
    f->inner_count = f->inner_bytes = f->inner_at = 0;
    f->inner_full = false;
}

static pgy_status run_inner(pgy_floor *f, pgy_node *n, const op_node *node, const op_tensor *inputs,
                            op_tensor *outputs, const bool *wanted, const op_host *host,
                            pgy_error *err)
{
    operands o = {0};
    pgy_tensor *sums = NULL;
    pgy_status st = PGY_OK;
    f->inner_step++;
    if (f->mode == MODE_INNER_EXACT) {
        st = op_run(node, inputs, outputs, wanted, host, err);
        for (size_t i = 0; !st && i < n->output_count; i++)
            st = keep_inner(f, n, i, &outputs[i], err);
        return st;
    }
    st = operands_init(&o, f, n, inputs, err);
    if (!st) st = operands_draw(&o, f, f->draw - f->first, err);
    const floor_rule rule = floor_rule_of(n);
    op_tensor result = {0};
    const bool first[1] = {true};
    if (!st && (rule == FLOOR_SUM || rule == FLOOR_MEAN)) {
        st = op_run(node, o.drawn, &result, first, host, err);
        if (!st)
            st = floor_sum_errors(&sums, rule, node, o.drawn, &result,
                                  floor_unit(sums_type(f, result.dtype)), host, err);
        op_tensor_release(&result);
    }
    if (!st) st = run_draw(outputs, f, n, node, &o, sums, f->draw, wanted, host, err);
    for (size_t i = 0; !st && i < n->output_count; i++) compare_inner(f, n, i, &outputs[i]);
    operands_undraw(&o);
    operands_deinit(&o);
    pgy_tensor_release(sums);
    return st;
}

/* ---- One node in all draws ------------------------------------------------------------------ */

/* Puts the draws' tensors beside an exact tensor, unless they are equal in all draws. */
static pgy_status put(pgy_floor *f, pgy_tensor **exact, pgy_tensor **draws, pgy_error *err)
{
    const size_t bytes = pgy_tensor_size_bytes(*exact);
    bool differs = false, fits = pgy_tensor_dtype(*exact) != PGY_STRING;
    for (uint32_t k = 0; fits && k < f->count; k++) {
        if (draws[k] && pgy_tensor_data(draws[k]) == pgy_tensor_data(*exact)) {
            pgy_tensor_release(draws[k]);
            draws[k] = NULL;
        }
        if (!draws[k]) continue;
        fits = same_shape(*exact, draws[k]);
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

/* Merges output i of all draws into its row, and keeps the draws' values for the nodes that read
 * it. */
static pgy_status take_output(pgy_floor *f, const pgy_node *n, size_t i, op_tensor *exact,
                              op_tensor *const *results, pgy_tensor **draws, pgy_error *err)
{
    if (!n->outputs[i]) return PGY_OK;
    if (exact->sequence) return put_sequence(f, exact->sequence, results, i, draws, err);
    if (!exact->value) return PGY_OK;
    row *r = noise_is_float(exact) ? row_of(f, n, n->outputs[i], exact->dtype) : NULL;
    if (noise_is_float(exact) && !r) return graph_no_memory(err);
    if (r && f->first == 0) add_values(r, exact->value);
    for (uint32_t k = 0; k < f->count; k++) {
        pgy_tensor *t = results[k][i].value;
        if (r && t && same_shape(exact->value, t)) {
            add_errors(r, exact->value, t);
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
        if (inputs[i].sequence ||
            (inputs[i].value && floor_draws_has(&f->draws, inputs[i].value)))
            return true;
    return n->subgraph_count > 0;
}

/* Runs the node in each draw. *why is set if a draw fails, which ends no other node. */
static pgy_status run_draws(pgy_floor *f, pgy_node *n, const op_node *node, operands *o,
                            const op_tensor *exact, op_tensor *const *results, const char **why,
                            const bool *wanted, const op_host *host, pgy_error *err)
{
    const floor_rule rule = floor_rule_of(n);
    pgy_tensor *sums = NULL;
    pgy_status st = PGY_OK;
    if ((rule == FLOOR_SUM || rule == FLOOR_MEAN) && noise_is_float(exact))
        st = floor_sum_errors(&sums, rule, node, o->given, exact,
                              floor_unit(sums_type(f, exact->dtype)), host, err);
    for (uint32_t k = 0; !st && k < f->count; k++) {
        pgy_error failure = {0};
        f->draw = f->first + k;
        f->inner_step = f->inner_at = 0;
        f->mode = n->subgraph_count ? MODE_INNER_DRAW : MODE_ALL;
        st = operands_draw(o, f, k, &failure);
        if (!st)
            st = run_draw(results[k], f, n, node, o, sums, f->draw, wanted, host, &failure);
        operands_undraw(o);
        if (!st) continue;
        release_outputs(results[k], n->output_count);
        if (status_ends_all(st)) {
            pgy_error_set(err, st, "%s", failure.text);
            break;
        }
        *why = arena_printf(&f->memory, "with rounding errors the node fails: %s", failure.text);
        if (!*why) *why = "with rounding errors the node fails";
        st = PGY_OK;
    }
    f->mode = MODE_ALL;
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
            row *r = row_of(f, n, n->outputs[i], outputs[i].dtype);
            if (r) r->shown.unknown_why = why;
            st = r ? PGY_OK : graph_no_memory(err);
        } else if (!why) {
            st = take_output(f, n, i, &outputs[i], results, draws, err);
        }
    }
    mem_free(draws);
    return st;
}

static pgy_status run_all(pgy_floor *f, pgy_node *n, const op_node *node, const op_tensor *inputs,
                          op_tensor *outputs, const bool *wanted, const op_host *host,
                          pgy_error *err)
{
    operands o = {0};
    const char *why = NULL;
    op_tensor **results = NULL;
    arena memory = {0};
    f->step++;
    f->inner_step = 0;
    f->mode = n->subgraph_count ? MODE_INNER_EXACT : MODE_ALL;
    pgy_status st = op_run(node, inputs, outputs, wanted, host, err);
    f->mode = MODE_ALL;
    if (st) return st;
    if (needs_draws(f, n, inputs, outputs)) {
        results = arena_alloc_array(&memory, f->count, sizeof *results);
        for (uint32_t k = 0; results && k < f->count; k++)
            if (!(results[k] = arena_alloc_array(&memory, n->output_count + 1, sizeof **results)))
                results = NULL;
        if (!results) st = graph_no_memory(err);
        if (!st) st = operands_init(&o, f, n, inputs, err);
        if (!st) st = run_draws(f, n, node, &o, outputs, results, &why, wanted, host, err);
        if (!st) st = take_outputs(f, n, outputs, results, why, err);
        for (uint32_t k = 0; results && k < f->count; k++)
            release_outputs(results[k], n->output_count);
        operands_deinit(&o);
    }
    forget_inner(f);
    arena_deinit(&memory);
    if (st) release_outputs(outputs, n->output_count);
    return st;
}

static pgy_status run_node(pgy_node *n, const op_node *node, const op_tensor *inputs,
                           op_tensor *outputs, const bool *wanted, const op_host *host, void *user,
                           pgy_error *err)
{
    pgy_floor *f = user;
    if (f->mode != MODE_ALL) return run_inner(f, n, node, inputs, outputs, wanted, host, err);
    return run_all(f, n, node, inputs, outputs, wanted, host, err);
}

static pgy_status starts(pgy_node *n, void *user, pgy_error *err)
{
    pgy_floor *f = user;
    return noise_walk_starts(&f->walk, n, err);
}

static pgy_status ran(pgy_node *n, const op_tensor *inputs, const op_tensor *outputs, void *user,
                      pgy_error *err)
{
    pgy_floor *f = user;
    (void)n, (void)inputs, (void)outputs, (void)err;
    noise_walk_ran(&f->walk);
    return PGY_OK;
}

/* ---- The floor ------------------------------------------------------------------------------ */

pgy_status pgy_floor_create(pgy_floor **out, pgy_model *model, const pgy_floor_options *options,
                            pgy_error *err)
{
    pgy_floor_options o = {0};
    pgy_status st = SIZED_TAKE(pgy_floor_options, &o, options, err);
    if (!st) st = noise_check_type(o.assume, "floor_options.assume", err);
    if (!st) st = noise_check_type(o.sums, "floor_options.sums", err);
    if (!st && o.draws > MAX_DRAWS)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "floor_options.draws is %u; expected 0 to %d",
                           o.draws, MAX_DRAWS);
    if (st) return st;
    if (!o.draws) o.draws = DEFAULT_DRAWS;
    pgy_floor *f = mem_calloc(1, sizeof *f);
    if (!f) return graph_no_memory(err);
    f->options = o;
    st = floor_draws_init(&f->draws) ? PGY_OK : graph_no_memory(err);
    if (!st) st = noise_walk_init(&f->walk, model, err);
    if (st)
        pgy_floor_destroy(f);
    else
        *out = f;
    return st;
}

void pgy_floor_destroy(pgy_floor *f)
{
    if (!f) return;
    noise_walk_deinit(&f->walk);
    floor_draws_deinit(&f->draws);
    forget_inner(f);
    mem_free(f->inner);
    strmap_deinit(&f->rows);
    arena_deinit(&f->memory);
    mem_free(f);
}

static uint32_t draws_that_fit(const pgy_floor *f, uint32_t left)
{
    const uint64_t bytes = f->draws.peak_bytes / f->count;
    const uint64_t fit = bytes ? limit_of(f) / bytes : left;
    return fit >= left ? left : fit ? (uint32_t)fit : 1;
}

static void publish(pgy_floor *f)
{
    for (size_t i = 0; i < f->rows.count; i++) {
        row *r = f->rows.entries[i].value;
        r->shown.rms = r->finite ? sqrt(r->squares / (double)r->finite) : 0;
        r->shown.value_rms = r->values ? sqrt(r->value_squares / (double)r->values) : 0;
    }
}

pgy_status pgy_floor_add(pgy_floor *f, const pgy_tensor_map *feed, pgy_error *err)
{
    const execute_operators operators = {.run = run_node, .user = f, .storage = true};
    const execute_watch watch = {.ran = ran, .user = f, .starts = starts};
    pgy_status st = PGY_OK;
    progress_begin("Sampling rounding errors", f->options.draws);
    for (f->first = 0, f->count = 1; !st && f->first < f->options.draws;) {
        f->step = 0;
        f->draws.peak_bytes = 0;
        st = noise_walk_run(&f->walk, feed, false, &operators, &watch, err);
        forget_inner(f);
        f->first += f->count;
        progress_advance(f->first);
        if (!st && f->first < f->options.draws) {
            f->count = draws_that_fit(f, f->options.draws - f->first);
            LOG(VERBOSE, "%u of %u draws run together", f->count, f->options.draws);
        }
    }
    progress_end();
    f->sample++;
    publish(f);
    return st;
}

size_t pgy_floor_count(const pgy_floor *f)
{
    return f->rows.count;
}

const pgy_floor_tensor *pgy_floor_at(const pgy_floor *f, size_t i)
{
    const row *r = i < f->rows.count ? f->rows.entries[i].value : NULL;
    return r ? &r->shown : NULL;
}

/* Removes every "iter_12/" of a path. */
static void without_iterations(str *out, const char *path)
{
    for (const char *at = path; *at;) {
        const size_t digits = strncmp(at, "iter_", 5) ? 0 : strspn(at + 5, "0123456789");
        if ((at == path || at[-1] == '/') && digits && at[5 + digits] == '/')
            at += 6 + digits;
        else
            str_append_char(out, *at++);
    }
}

const pgy_floor_tensor *pgy_floor_find(const pgy_floor *f, const char *name)
{
    str plain = {0};
    const row *r = strmap_get(&f->rows, name);
    if (!r) {
        without_iterations(&plain, name);
        r = plain.failed ? NULL : strmap_get(&f->rows, str_text(&plain));
        str_deinit(&plain);
    }
    return r ? &r->shown : NULL;
}
