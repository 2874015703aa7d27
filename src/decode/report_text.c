/* SPDX-License-Identifier: Apache-2.0 */
/* The report as text: a table of steps for each pair of runners, the first step that differs, where
 * texts part, and the times. */
#include <math.h>

#include "base/alloc.h"
#include "decode/decode.h"

enum { SHOWN_STEPS = 20, SHOWN_IDS = 32 };

static void put_number(str *out, int width, double v)
{
    if (isinf(v))
        str_printf(out, "%*s", width, "NaN/inf");
    else
        str_printf(out, "%*.3g", width, v);
}

static void put_difference(str *out, const pgy_decode_difference *d)
{
    if (!d->tensor) {
        str_printf(out, "%12s%12s", "-", "-");
        return;
    }
    put_number(out, 12, d->max_abs);
    put_number(out, 12, d->max_rel);
}

/* Long runs show the first steps, powers of two, the last, and the first that differs. */
static bool is_shown(const pgy_decode_report *r, const pgy_decode_comparison *first, size_t step,
                     bool all)
{
    if (all || r->step_count <= SHOWN_STEPS) return true;
    if (first && first->step == step) return true;
    return step < 4 || !(step & (step - 1)) || step + 1 == r->step_count;
}

static void put_step(str *out, const pgy_decode_report *r, const pgy_decode_comparison *c)
{
    const pgy_decode_step *s = pgy_decode_report_step(r, c->step);
    str_printf(out, "    %6zu%8lld%8lld", c->step, (long long)s->past, (long long)s->length);
    if (!c->compared) {
        str_append(out, "  not compared: the texts had parted\n");
        return;
    }
    put_difference(out, &c->logits);
    put_difference(out, &c->caches);
    str_printf(out, "%7llu/%-3llu", (unsigned long long)c->same_top1,
               (unsigned long long)c->positions);
    str_printf(out, "%6.0f%%", 100 * c->same_top5);
    str_append(out, c->differs ? "  differs\n" : "\n");
}

static void put_table(str *out, const pgy_decode_report *r, size_t pair, bool all)
{
    str_printf(out, "    %6s%8s%8s%12s%12s%12s%12s%11s%7s\n", "step", "past", "tokens",
               "logits abs", "logits rel", "caches abs", "caches rel", "top-1", "top-5");
    const pgy_decode_comparison *first = pgy_decode_report_first(r, pair);
    size_t hidden = 0;
    for (size_t i = 0; i < r->step_count; i++) {
        if (!is_shown(r, first, i, all)) {
            hidden++;
            continue;
        }
        put_step(out, r, pgy_decode_report_at(r, pair, i));
    }
    if (hidden) str_printf(out, "    %zu more steps are not shown\n", hidden);
}

/* ---- The first step that differs ---------------------------------------------------------------
 */

/* The group whose tensor is farthest beyond what is allowed. */
static const pgy_decode_difference *worst_of(const pgy_decode_comparison *c)
{
    const pgy_decode_difference *groups[] = {&c->logits, &c->caches, &c->others};
    const pgy_decode_difference *best = NULL;
    for (size_t i = 0; i < 3; i++) {
        if (!groups[i]->differs) continue;
        const double ratio = groups[i]->error / groups[i]->allowed;
        if (!best || ratio > best->error / best->allowed) best = groups[i];
    }
    return best;
}

static void put_first(str *out, const pgy_decode_report *r, size_t pair)
{
    const pgy_decode_comparison *c = pgy_decode_report_first(r, pair);
    const pgy_decode_difference *worst = c ? worst_of(c) : NULL;
    if (!worst) {
        str_append(out, "No step differs beyond its noise\n");
        return;
    }
    const pgy_decode_step *s = pgy_decode_report_step(r, c->step);
    str_printf(out, "First step that differs: %zu (%lld tokens in the caches, %lld read)\n",
               c->step, (long long)s->past, (long long)s->length);
    str_printf(out, "    tensor  %s\n    error   ", worst->tensor);
    put_number(out, 0, worst->error);
    str_append(out, ", allowed ");
    put_number(out, 0, worst->allowed);
    if (!isnan(worst->floor_times))
        str_printf(out, ", %.3g times what rounding must cost here", worst->floor_times);
    str_append_char(out, '\n');
    if (!c->made_tensor) return;
    str_append(out, "    made    ");
    put_number(out, 0, c->made);
    str_printf(out, " in %s with the caches of %s: ", c->made_tensor, r->names.items[0]);
    str_append(out, c->makes ? "the step makes the error\n"
                             : "the error comes from the caches of earlier steps\n");
}

/* ---- Texts -------------------------------------------------------------------------------------
 */

static void put_ids(str *out, const pgy_decode_report *r, size_t runner, size_t row, size_t from)
{
    size_t shown = 0;
    for (size_t i = from; i < r->step_count && shown < SHOWN_IDS; i++, shown++)
        str_printf(out, " %lld", (long long)pgy_decode_report_choice(r, runner, row, i));
    if (from + shown < r->step_count) str_append(out, " ...");
    str_append_char(out, '\n');
}

static void put_parting(str *out, const pgy_decode_report *r, size_t pair)
{
    size_t step, row, same = 0;
    if (!pgy_decode_report_parting(&step, &row, r, pair)) {
        str_append(out, "Both choose the same tokens in all steps\n");
        return;
    }
    for (size_t i = 0; i < r->step_count; i++)
        for (size_t k = 0; k < r->batch; k++)
            same +=
                pgy_decode_report_choice(r, 0, k, i) == pgy_decode_report_choice(r, pair + 1, k, i);
    const pgy_decode_comparison *c = pgy_decode_report_at(r, pair, step);
    str_printf(out, "%s after step %zu, row %zu: %lld and %lld%s\n",
               r->free_running ? "The texts part" : "The choices differ first", step, row,
               (long long)pgy_decode_report_choice(r, 0, row, step),
               (long long)pgy_decode_report_choice(r, pair + 1, row, step),
               c->compared && !c->differs ? "; the logits agree up to noise, which decides" : "");
    if (r->free_running) {
        str_append(out, "    first    ");
        put_ids(out, r, 0, row, step);
        str_append(out, "    second   ");
        put_ids(out, r, pair + 1, row, step);
    } else {
        str_printf(out, "    the same in %zu of %zu choices\n", same, r->step_count * r->batch);
    }
}

static void put_summary(str *out, const pgy_decode_report *r, size_t pair)
{
    size_t passed = 0, total = 0;
    for (size_t i = 0; i < r->step_count; i++) {
        const pgy_decode_comparison *c = pgy_decode_report_at(r, pair, i);
        total += c->compared;
        passed += c->compared && !c->differs;
    }
    str_printf(out, "Decoding Summary | %s vs. %s | Passed: %zu/%zu steps | Pass Rate: %.2f%%\n",
               r->names.items[0], r->names.items[pair + 1], passed, total,
               total ? 100.0 * (double)passed / (double)total : 0);
}

static pgy_status put_latency(str *out, const pgy_decode_report *r, pgy_error *err)
{
    str_append(out, "Wall time of a step in ms, with preparation for new shapes\n");
    str_printf(out, "    %9s%9s%9s%9s%9s%9s%9s  %s\n", "prefill", "mean", "median", "p90", "p99",
               "max", "token/s", "runner");
    for (size_t i = 0; i < r->names.count; i++) {
        pgy_decode_latency l;
        const pgy_status st = pgy_decode_report_latency(&l, r, i, err);
        if (st) return st;
        const double rate = l.total_ms > 0 ? 1e3 * (double)(l.count * r->batch) / l.total_ms : 0;
        str_printf(out, "    %9.3f%9.3f%9.3f%9.3f%9.3f%9.3f%9.1f  %s\n", l.prefill_ms, l.mean_ms,
                   l.median_ms, l.p90_ms, l.p99_ms, l.max_ms, rate, r->names.items[i]);
    }
    return PGY_OK;
}

/* Which runners prepared programs for new shapes, and for how long. */
static void put_preparation(str *out, const pgy_decode_report *r)
{
    for (size_t i = 0; i < r->names.count; i++) {
        double total_ms = 0;
        size_t steps = 0;
        for (size_t k = 0; k < r->step_count; k++) {
            const int64_t ns = pgy_decode_report_preparation_ns(r, i, k);
            if (ns <= 0) continue;
            total_ms += (double)ns / 1e6;
            steps++;
        }
        if (steps)
            str_printf(out, "    preparation for new shapes: %.3f ms in %zu of %zu steps  %s\n",
                       total_ms, steps, r->step_count, r->names.items[i]);
    }
}

static void put_kept(str *out, const pgy_decode_report *r)
{
    for (size_t i = 0; i < r->names.count; i++)
        if (r->kept_counts[i])
            str_printf(out, "    caches in place, without a copy: %zu of %zu  %s\n",
                       r->kept_counts[i], r->cache_count, r->names.items[i]);
}

pgy_status pgy_decode_report_text(char **out, const pgy_decode_report *r, bool all, pgy_error *err)
{
    str text = {0};
    for (size_t i = 0; i + 1 < r->names.count; i++) {
        str_printf(&text, "Decoding: %s vs. %s\n", r->names.items[0], r->names.items[i + 1]);
        put_table(&text, r, i, all);
        put_first(&text, r, i);
        put_parting(&text, r, i);
        put_summary(&text, r, i);
    }
    str_append(&text, r->free_running ? "First runner's tokens" : "Tokens chosen");
    str_append(&text, r->batch > 1 ? " (row 0):" : ":");
    put_ids(&text, r, 0, 0, 0);
    pgy_status st = put_latency(&text, r, err);
    put_preparation(&text, r);
    put_kept(&text, r);
    for (size_t i = 0; i < r->failures.count; i++) str_printf(&text, "%s\n", r->failures.items[i]);
    while (text.size && text.data[text.size - 1] == '\n') text.data[--text.size] = 0;
    if (!st) st = str_give(out, &text, err);
    str_deinit(&text);
    return st;
}
