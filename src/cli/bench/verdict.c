/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts of the command bench: against an older file, against limits, and the worst points. */
#include "cli/bench/verdict.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"

static const char LOG_PATH[] = "cli/bench/verdict.c";

/* ---- Against an older file ------------------------------------------------------------------- */

/* The time that would show a difference of the limit: the interval's width falls with the root. */
static double needed_s(const pgy_bench_verdict *v, double limit)
{
    const double ratio = log1p(0.02) / log1p(fmax(limit, 0.001));
    return v->needed_s * ratio * ratio;
}

static pgy_status add_regression(pgy_bench_demands *d, const pgy_bench_verdict *v,
                                 const char *where, double limit, pgy_error *err)
{
    str what = {0}, found = {0};
    str_printf(&what, "at most %.2f %% slower than before", limit * 100);
    str_printf(&found, "slower by %.2f %% (%.2f %% to %.2f %%)", v->effect * 100, v->low * 100,
               v->high * 100);
    const pgy_bench_demand demand = {.subject = PGY_BENCH_REGRESSION,
                                     .where = where,
                                     .what = str_text(&what),
                                     .found = str_text(&found),
                                     .passed = !(v->low > 0 && v->effect >= limit)};
    const pgy_status st = what.failed || found.failed
                              ? pgy_error_set(err, PGY_E_MEMORY, "out of memory")
                              : pgy_bench_demands_add(d, &demand, err);
    if (!demand.passed)
        LOG(ERROR, "%s is slower by %.2f %%; at most %.2f %% is allowed", where, v->effect * 100,
            limit * 100);
    else if (v->high > limit)
        LOG(WARNING,
            "%s: a regression of %.2f %% is not shown, and not ruled out either; measure about "
            "%.3g s",
            where, limit * 100, needed_s(v, limit));
    str_deinit(&what);
    str_deinit(&found);
    return st;
}

static pgy_status compare_side(pgy_bench_demands *d, const bench_args *s, const pgy_bench *now,
                               size_t i, const pgy_bench *old, const char *place, pgy_error *err)
{
    const char *name = pgy_bench_name(now, i);
    pgy_bench_verdict v;
    char *text = NULL;
    size_t at = 0;
    str where = {0};
    if (!pgy_bench_find(&at, old, name))
        return pgy_error_set(err, PGY_E_NOT_FOUND,
                             "%s: there is no side '%s'; the first of its %zu sides is '%s'",
                             s->compare, name, pgy_bench_count(old), pgy_bench_name(old, 0));
    str_printf(&where, "'%s'%s%s", name, place[0] ? " at " : "", place);
    pgy_status st = pgy_bench_compare(&v, now, i, old, at, err);
    if (!st) st = pgy_bench_verdict_text(&text, &v, name, s->compare, err);
    if (!st) LOG(INFO, "%s%s%s", place, place[0] ? ": " : "", text);
    if (!st && s->limit >= 0) st = add_regression(d, &v, str_text(&where), s->limit, err);
    pgy_text_free(text);
    str_deinit(&where);
    return st;
}

static pgy_status compare_point(pgy_bench_demands *d, const bench_args *s,
                                const pgy_bench_sweep *now, size_t point,
                                const pgy_bench_sweep *old, pgy_error *err)
{
    const pgy_bench *b = pgy_bench_sweep_at(now, point);
    const char *place = pgy_bench_sweep_place(now, point);
    size_t at = 0;
    pgy_status st = PGY_OK;
    if (!pgy_bench_sweep_find(&at, old, now, point))
        return pgy_error_set(err, PGY_E_NOT_FOUND,
                             "%s: there is no point '%s'; measure the same "
                             "sizes",
                             s->compare, place[0] ? place : "without --sweep");
    const pgy_bench *before = pgy_bench_sweep_at(old, at);
    if (strcmp(pgy_bench_processor(before), pgy_bench_processor(b)) != 0)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "%s was measured on the processor '%s', and the new times on '%s'; "
                             "measure both on one machine",
                             s->compare, pgy_bench_processor(before), pgy_bench_processor(b));
    for (size_t i = 0; !st && i < pgy_bench_count(b); i++)
        st = compare_side(d, s, b, i, before, place, err);
    return st;
}

pgy_status bench_compare_all(pgy_bench_demands *d, const bench_args *s, const pgy_bench_sweep *now,
                             const pgy_bench_sweep *old, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t p = 0; !st && p < pgy_bench_sweep_count(now); p++)
        st = compare_point(d, s, now, p, old, err);
    return st;
}

/* ---- Limits ---------------------------------------------------------------------------------- */

/* Of a sweep, what is kept needs no line of its own. */
static void log_demands(const pgy_bench_demands *d, size_t first, const char *title, bool sweeps)
{
    const pgy_severity kept = sweeps ? PGY_LOG_VERBOSE : PGY_LOG_INFO;
    size_t failed = 0;
    const size_t count = pgy_bench_demands_count(d);
    for (size_t i = first; i < count; i++) {
        const pgy_bench_demand *one = pgy_bench_demands_at(d, i);
        failed += !one->passed;
        if (one->passed)
            pgy_log_write(kept, LOG_PATH, __LINE__, "%s: %s: kept: %s", one->where, one->what,
                          one->found);
        else
            LOG(ERROR, "%s: %s: broken: %s", one->where, one->what, one->found);
    }
    if (count == first) return;
    if (failed)
        LOG(ERROR, "%s: %zu of %zu demands are broken", title, failed, count - first);
    else
        LOG(INFO, "%s: all %zu demands are kept", title, count - first);
}

pgy_status bench_judge_all(pgy_bench_demands *d, const bench_args *s, const pgy_bench_sweep *now,
                           pgy_error *err)
{
    const bool sweeps = pgy_bench_sweep_count(now) > 1;
    size_t first = pgy_bench_demands_count(d);
    pgy_status st = PGY_OK;
    /* A limit of the error takes the place of the default tolerances. */
    const bool limits_error = s->budget && pgy_bench_budget_has(s->budget, PGY_BENCH_ACCURACY);
    if (!limits_error || bench_has_tolerances(s)) st = pgy_bench_accuracy_check(d, now, err);
    if (!st) log_demands(d, first, "Accuracy", sweeps);
    first = pgy_bench_demands_count(d);
    if (!st && s->budget) st = pgy_bench_budget_check(d, s->budget, now, err);
    if (!st) log_demands(d, first, "Budget", sweeps);
    return st;
}

/* ---- The worst points ------------------------------------------------------------------------ */

static void append_words(str *out, const char *option, const pgy_text_list *words)
{
    if (words->count) str_printf(out, " %s", option);
    for (size_t i = 0; i < words->count; i++) {
        str_append_char(out, ' ');
        str_append_word(out, words->items[i]);
    }
}

static void append_point(str *out, const pgy_bench_sweep *s, size_t point)
{
    const pgy_bench_axes *axes = pgy_bench_sweep_axes(s);
    for (size_t i = 0; i < pgy_bench_axes_count(axes); i++) {
        str word = {0};
        str_printf(&word, "%s=%" PRId64, pgy_bench_axes_name(axes, i),
                   pgy_bench_sweep_size(s, point, i));
        str_append_char(out, ' ');
        str_append_word(out, str_text(&word));
        out->failed = out->failed || word.failed;
        str_deinit(&word);
    }
}

/* The command that measures one point of the line's sweep. */
static void append_command(str *out, const args *line, const pgy_bench_sweep *s, size_t point)
{
    const bench_args *b = ARGS_OF(line, bench_args);
    str_append(out, line->name);
    for (size_t i = 0; i < b->models.count; i++) {
        str_append_char(out, ' ');
        str_append_word(out, b->models.items[i]);
    }
    str_append(out, " --sweep");
    append_point(out, s, point);
    append_words(out, "--input-shapes", &b->shape_words);
    if (b->check_with) {
        str_append(out, " --check-with ");
        str_append_word(out, b->check_with);
    }
    if (b->options.seed != pgy_bench_options_default().seed)
        str_printf(out, " --seed %" PRIu64, b->options.seed);
}

static void append_value(str *out, pgy_bench_worst kind, double value)
{
    if (kind == PGY_BENCH_LARGEST_ERROR && isnan(value))
        str_append(out, "not measured");
    else if (kind == PGY_BENCH_LARGEST_ERROR)
        str_printf(out, "%.4g", value);
    else if (kind == PGY_BENCH_SLOWEST_AGAINST)
        str_printf(out, "%+.2f %% of time", value * 100);
    else
        str_printf(out, "%.5g ms", value);
}

pgy_status bench_log_worst(const args *line, const pgy_bench_sweep *s, pgy_error *err)
{
    static const char *const TITLES[] = {"Largest error", "Slowest against the first side",
                                         "Slowest for its size", "Slowest"};
    const bench_args *b = ARGS_OF(line, bench_args);
    for (int kind = 0; kind < PGY_BENCH_WORST_COUNT; kind++) {
        str text = {0};
        size_t point, side;
        double value;
        const pgy_status st =
            pgy_bench_sweep_worst(&point, &side, &value, s, (pgy_bench_worst)kind, err);
        if (st == PGY_E_NOT_FOUND) continue;
        if (st) return st;
        str_printf(&text, "%s: '%s' at %s: ", TITLES[kind],
                   pgy_bench_name(pgy_bench_sweep_at(s, point), side),
                   pgy_bench_sweep_place(s, point));
        append_value(&text, (pgy_bench_worst)kind, value);
        if (kind == PGY_BENCH_SLOWEST_PER_UNIT) str_append(&text, " for each element");
        if (!b->load) {
            str_append(&text, "\n    ");
            append_command(&text, line, s, point);
        }
        LOG(INFO, "%s", str_text(&text));
        str_deinit(&text);
    }
    return PGY_OK;
}
