/* SPDX-License-Identifier: Apache-2.0 */
/* Collects what was measured of both graphs, by the pairs of their nodes; times are judged by the
 * test of `trace diff`. */
#include "viewer/diff_units.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "trace/summary.h"

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while comparing results");
}

void diff_units_deinit(diff_units *u)
{
    arena_deinit(&u->memory);
    *u = (diff_units){0};
}

/* ---- Units ---------------------------------------------------------------------------------- */

static uint32_t *filled(arena *memory, uint32_t count)
{
    uint32_t *items = arena_alloc_array(memory, (size_t)count + 1, sizeof *items);
    if (items) memset(items, 0xFF, ((size_t)count + 1) * sizeof *items);
    return items;
}

static uint32_t unit_for(diff_units *u, uint32_t *const of[2], const uint32_t node[2])
{
    for (int side = 0; side < 2; side++)
        if (node[side] != VIEW_NONE && of[side][node[side]] != VIEW_NONE)
            return of[side][node[side]];
    u->items[u->count] = (diff_unit){
        .node = {VIEW_NONE, VIEW_NONE}, .merged = VIEW_NONE, .us = {NAN, NAN}, .p = NAN};
    return u->count++;
}

/* The time of a node joins that of its unit. */
static pgy_status take_time(diff_units *u, diff_unit *d, int side, uint32_t node,
                            const view_quantity *time, const view_samples *samples, pgy_error *err)
{
    if (!time || !time->is_measured[node]) return PGY_OK;
    d->us[side] = isnan(d->us[side]) ? time->values[node] : d->us[side] + time->values[node];
    const view_samples *s = samples ? &samples[node] : NULL;
    const size_t count = s && s->is_known ? s->count : 0;
    if (d->is_started[side]) {
        if (count != d->sample_count[side]) d->sample_count[side] = 0;
        for (size_t i = 0; i < d->sample_count[side]; i++) d->samples[side][i] += s->us[i];
        return PGY_OK;
    }
    d->is_started[side] = true;
    d->samples[side] = arena_alloc_array(&u->memory, count + 1, sizeof(double));
    if (!d->samples[side]) return no_memory(err);
    if (count) memcpy(d->samples[side], s->us, count * sizeof(double));
    d->sample_count[side] = count;
    return PGY_OK;
}

static void take_error(diff_unit *d, int side, const view_node *n, const view_quantity *q)
{
    for (uint32_t k = 0; q && k < n->output_count; k++) {
        const uint32_t t = n->outputs[k];
        if (t == VIEW_NONE || !q->is_measured[t]) continue;
        const double v = q->values[t], known = d->error[side];
        const bool worse = isnan(v) || (!isnan(known) && v > known);
        if (!d->has_error[side] || worse) d->error[side] = v;
        d->has_error[side] = true;
    }
}

/* Errors that both sides have. */
static void find_errors(const view_quantity *errors[2], const view_results *r)
{
    static const char *const IDS[] = {"maxabs", "error"};
    for (size_t i = 0; i < sizeof IDS / sizeof *IDS; i++) {
        for (uint32_t side = 0; side < 2; side++)
            errors[side] = view_quantity_find(r, IDS[i], side);
        if (errors[0] && errors[1]) return;
    }
    errors[0] = errors[1] = NULL;
}

static pgy_status collect(diff_units *u, const pgy_page *p, uint32_t *const of[2], pgy_error *err)
{
    const view_results *r = &p->results;
    const view_samples *samples[2] = {r->samples, p->own[1] ? p->own[1]->samples : NULL};
    const view_quantity *times[2], *errors[2];
    for (uint32_t side = 0; side < 2; side++) times[side] = view_quantity_find(r, "time", side);
    find_errors(errors, r);
    u->have_times = times[0] && times[1];
    u->error_label = errors[0] ? errors[0]->label : NULL;
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < r->pair_count && !st; i++) {
        const uint32_t node[2] = {r->pairs[0][i], r->pairs[1][i]};
        const uint32_t at = unit_for(u, of, node);
        diff_unit *d = &u->items[at];
        if (d->merged == VIEW_NONE) d->merged = r->pairs[2][i];
        u->of_merged[r->pairs[2][i]] = at;
        for (int side = 0; side < 2 && !st; side++) {
            if (node[side] == VIEW_NONE || of[side][node[side]] != VIEW_NONE) continue;
            of[side][node[side]] = at;
            if (d->node[side] == VIEW_NONE) d->node[side] = node[side];
            st = take_time(u, d, side, node[side], times[side], samples[side], err);
            take_error(d, side, &p->graphs[side]->nodes[node[side]], errors[side]);
        }
    }
    return st;
}

/* ---- The test ------------------------------------------------------------------------------- */

static pgy_status judge(diff_units *u, pgy_error *err)
{
    pgy_trace_diff_row *rows = arena_alloc_array(&u->memory, u->count + 1ull, sizeof *rows);
    pgy_trace_times *times = arena_alloc_array(&u->memory, 2ull * u->count + 2, sizeof *times);
    size_t count = 0;
    if (!rows || !times) return no_memory(err);
    for (uint32_t i = 0; i < u->count; i++) {
        const diff_unit *d = &u->items[i];
        if (!diff_unit_has_both(d)) continue;
        for (int side = 0; side < 2; side++)
            times[2 * count + side] = (pgy_trace_times){.samples = d->samples[side],
                                                        .sample_count = d->sample_count[side],
                                                        .median_us = d->us[side],
                                                        .mean_us = d->us[side]};
        rows[count] = (pgy_trace_diff_row){.a = &times[2 * count], .b = &times[2 * count + 1]};
        count++;
    }
    pgy_status st = trace_judge_rows(rows, count, err);
    for (uint32_t i = 0, row = 0; i < u->count && !st; i++) {
        diff_unit *d = &u->items[i];
        if (!diff_unit_has_both(d)) continue;
        d->is_judged = true;
        d->verdict = rows[row].verdict;
        d->p = d->verdict == PGY_TRACE_TOO_FEW ? NAN : rows[row].p;
        row++;
    }
    return st;
}

pgy_status diff_units_make(diff_units *u, const pgy_page *p, pgy_error *err)
{
    *u = (diff_units){0};
    uint32_t *const of[2] = {filled(&u->memory, p->graphs[0]->node_count),
                             filled(&u->memory, p->graphs[1]->node_count)};
    u->of_merged = filled(&u->memory, p->graphs[VIEW_MERGED]->node_count);
    u->items = arena_alloc_array(&u->memory, p->results.pair_count + 1, sizeof *u->items);
    if (!of[0] || !of[1] || !u->of_merged || !u->items) return no_memory(err);
    pgy_status st = collect(u, p, of, err);
    return st || !u->have_times ? st : judge(u, err);
}
