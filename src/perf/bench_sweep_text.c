/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a sweep: a row for each point and side, and how sure the differences are. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/printable.h"
#include "perf/bench_sweep.h"

enum { SIZE_COLUMN = 7 };

typedef struct sweep_table {
    const pgy_bench_sweep *sweep;
    size_t name_width;
    bool has_error, has_others; /* columns: error, against the first side */
    double needed_s;            /* the greatest of all verdicts */
    size_t rounds, disturbed;
} sweep_table;

/* Columns may hold letters of more than one byte, so padding counts characters. */
static size_t characters(const char *text)
{
    size_t n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

static size_t axis_width(const pgy_bench_axes *a, size_t axis)
{
    const size_t own = characters(a->items[axis].name);
    return own > SIZE_COLUMN ? own : SIZE_COLUMN;
}

static void append_heads(str *out, const sweep_table *t)
{
    static const char *const HEADS[] = {"median ms", "from", "to", "p99", "runs/s"};
    const pgy_bench_axes *a = t->sweep->axes;
    str_append(out, "   ");
    for (size_t i = 0; i < a->count; i++) {
        str_append_fill(out, ' ', 1 + axis_width(a, i) - characters(a->items[i].name));
        str_append(out, a->items[i].name);
    }
    str_append(out, "  ");
    str_append_fill(out, ' ', t->name_width);
    for (size_t i = 0; i < sizeof HEADS / sizeof *HEADS; i++) str_printf(out, " %10s", HEADS[i]);
    if (t->has_error) str_printf(out, " %10s", "error");
    str_append(out, "  peak memory");
    if (t->has_others) str_append(out, "  against the first");
    str_append_char(out, '\n');
}

static void append_place(str *out, const sweep_table *t, size_t point, size_t side)
{
    const pgy_bench_axes *a = t->sweep->axes;
    const char *name = t->sweep->points[point]->sides[side].name;
    str_append(out, "   ");
    for (size_t i = 0; i < a->count; i++) {
        if (side)
            str_append_fill(out, ' ', 1 + axis_width(a, i));
        else
            str_printf(out, " %*" PRId64, (int)axis_width(a, i), bench_axes_at(a, point, i));
    }
    str_printf(out, "  %s", name);
    str_append_fill(out, ' ', t->name_width - characters(name));
}

static void append_peak(str *out, int64_t bytes)
{
    str text = {0};
    if (bytes < 0)
        str_append_char(&text, '-');
    else
        str_append_bytes(&text, (uint64_t)bytes);
    str_printf(out, "  %-11s", str_text(&text));
    out->failed = out->failed || text.failed;
    str_deinit(&text);
}

static pgy_status append_against(str *out, sweep_table *t, const pgy_bench *b, size_t side,
                                 pgy_error *err)
{
    pgy_bench_verdict v;
    const pgy_status st = pgy_bench_judge(&v, b, side, 0, err);
    if (st) return st;
    str_printf(out, "  %+.2f %% (%+.2f %% to %+.2f %%), %s", v.effect * 100, v.low * 100,
               v.high * 100, pgy_bench_outcome_name(v.outcome));
    if (v.pairs < BENCH_LEAST) t->needed_s = INFINITY;
    if (v.needed_s > t->needed_s) t->needed_s = v.needed_s;
    return PGY_OK;
}

static pgy_status append_row(str *out, sweep_table *t, size_t point, size_t side, pgy_error *err)
{
    const pgy_bench *b = t->sweep->points[point];
    pgy_bench_figures f;
    pgy_status st = pgy_bench_summarize(&f, b, side, err);
    if (st) return st;
    append_place(out, t, point, side);
    const double values[] = {f.median_ms, f.low_ms, f.high_ms, f.p99_ms, f.throughput};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        str_printf(out, " %10.5g", values[i]);
    if (t->has_error) bench_append_error(out, b, side);
    append_peak(out, f.peak_bytes);
    if (side) st = append_against(out, t, b, side, err);
    while (out->size && out->data[out->size - 1] == ' ') out->data[--out->size] = 0;
    str_append_char(out, '\n');
    return st;
}

static pgy_status append_point(str *out, sweep_table *t, size_t point, pgy_error *err)
{
    bench_rounds r = {0};
    const pgy_bench *b = t->sweep->points[point];
    pgy_status st = bench_rounds_find(&r, b, err);
    t->rounds += r.total;
    for (size_t k = 0; !st && k < r.total; k++) {
        bool disturbed = false;
        for (size_t i = 0; i < b->count; i++) disturbed |= b->sides[i].slices[k].disturbed;
        t->disturbed += disturbed;
    }
    bench_rounds_deinit(&r);
    for (size_t i = 0; !st && i < b->count; i++) st = append_row(out, t, point, i, err);
    return st;
}

static void append_needed(str *out, const sweep_table *t)
{
    const double had = t->sweep->points[0]->options.duration_s;
    if (!t->has_others) return;
    if (isinf(t->needed_s))
        str_printf(out, "At some points there are too few pairs of slices; a verdict needs %d\n",
                   BENCH_LEAST);
    else if (t->needed_s <= had)
        str_printf(out, "%.3g s for each point show a difference of 2 %% at all points\n",
                   t->needed_s);
    else
        str_printf(out,
                   "To see a difference of 2 %% at all points, measure %.3g s at each of them\n",
                   t->needed_s);
}

static void measure_table(sweep_table *t)
{
    const pgy_bench *b = t->sweep->points[0];
    pgy_bench_accuracy a;
    t->has_others = b->count > 1;
    for (size_t i = 0; i < b->count; i++) {
        const size_t width = characters(b->sides[i].name);
        if (width > t->name_width) t->name_width = width;
        t->has_error |= pgy_bench_check(&a, b, i);
    }
}

pgy_status pgy_bench_sweep_text(char **out, const pgy_bench_sweep *s, pgy_error *err)
{
    sweep_table t = {.sweep = s};
    str text = {0};
    pgy_status st = PGY_OK;
    if (!s->axes->count) return pgy_bench_text(out, s->points[0], err);
    measure_table(&t);
    append_heads(&text, &t);
    for (size_t p = 0; !st && p < s->count; p++) st = append_point(&text, &t, p, err);
    if (!st) {
        bench_append_machine(&text, &s->points[0]->machine);
        str_printf(&text, "Points: %zu. Rounds: %zu, of which other processes disturbed %zu.\n",
                   s->count, t.rounds, t.disturbed);
        append_needed(&text, &t);
    }
    if (!st && text.size) text.data[--text.size] = 0; /* the last end of line */
    if (!st) st = str_give(out, &text, err);
    str_deinit(&text);
    return st;
}
