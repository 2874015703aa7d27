/* SPDX-License-Identifier: Apache-2.0 */
/* Differences as text: the summary first, then one section per part with a few entries: for weights
 * those with the largest change, else the first ones. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/printable.h"
#include "base/pytext.h"
#include "base/sized.h"
#include "inspect/diff_report.h"

enum { SHOWN = 6 };

static const char *const TITLES[PGY_DIFF_PART_COUNT] = {
    [PGY_DIFF_MODEL] = "Model",    [PGY_DIFF_OPSET] = "Opsets",
    [PGY_DIFF_GRAPH] = "Graphs",   [PGY_DIFF_FUNCTION] = "Functions",
    [PGY_DIFF_INPUT] = "Inputs",   [PGY_DIFF_OUTPUT] = "Outputs",
    [PGY_DIFF_NODE] = "Nodes",     [PGY_DIFF_ATTRIBUTE] = "Attributes",
    [PGY_DIFF_TENSOR] = "Tensors", [PGY_DIFF_WEIGHT] = "Weights",
};
static const char *const MARKS[PGY_DIFF_CHANGE_COUNT] = {
    [PGY_DIFF_ADDED] = "+",   [PGY_DIFF_REMOVED] = "-", [PGY_DIFF_RENAMED] = ">",
    [PGY_DIFF_CHANGED] = "~", [PGY_DIFF_REWIRED] = "~", [PGY_DIFF_MOVED] = "~",
    [PGY_DIFF_STORED] = "=",  [PGY_DIFF_UNREAD] = "?",
};

/* ---- One line -------------------------------------------------------------------------------- */

static void append_number(str *out, const char *label, double v)
{
    str_printf(out, ", %s ", label);
    str_append_g(out, 5, v);
}

static void append_index(str *out, const pgy_weight_change *c)
{
    int64_t at[PGY_MAX_RANK];
    uint64_t rest = c->max_index;
    if (c->rank_a > PGY_MAX_RANK) return;
    for (size_t i = c->rank_a; i-- > 0;) {
        const uint64_t n = c->dims_a[i] > 0 ? (uint64_t)c->dims_a[i] : 1;
        at[i] = (int64_t)(rest % n);
        rest /= n;
    }
    str_append(out, " at ");
    str_append_py_ints(out, at, c->rank_a);
}

static void append_change(str *out, const pgy_weight_change *c)
{
    if (!c->compared) return;
    str_printf(out, " | %llu of %llu changed", (unsigned long long)c->changed,
               (unsigned long long)c->count);
    if (c->beyond != c->changed)
        str_printf(out, ", %llu beyond tolerance", (unsigned long long)c->beyond);
    if (!c->changed || c->dtype_a == PGY_STRING) return;
    append_number(out, "max |a-b|", c->max_abs);
    if (c->dtype_a != PGY_C64 && c->dtype_a != PGY_C128) append_index(out, c);
    append_number(out, "max relative", c->max_rel);
    append_number(out, "mean", c->mean_abs);
    append_number(out, "RMS", c->rms);
    append_number(out, "cosine", c->cosine);
    append_number(out, "SNR", c->snr_db);
    str_append(out, " dB");
    if (c->nan_a || c->nan_b)
        str_printf(out, ", NaN %llu -> %llu", (unsigned long long)c->nan_a,
                   (unsigned long long)c->nan_b);
}

static void append_texts(str *out, const pgy_difference *e)
{
    if (!e->before && !e->after) return;
    str_printf(out, ": %s -> %s", printable_name(e->before ? e->before : "(none)"),
               printable_name(e->after ? e->after : "(none)"));
}

static void append_line(str *out, const pgy_difference *e)
{
    str_printf(out, "\n    %s", MARKS[e->change]);
    if (e->path[0] && e->part != PGY_DIFF_FUNCTION)
        str_printf(out, " %s:", printable_name(e->path));
    if (e->name[0]) str_printf(out, " %s", printable_name(e->name));
    if (e->new_name) str_printf(out, " -> %s", printable_name(e->new_name));
    if (e->op_type[0]) str_printf(out, " [%s]", printable_name(e->op_type));
    if (e->part == PGY_DIFF_WEIGHT &&
        (e->change == PGY_DIFF_ADDED || e->change == PGY_DIFF_REMOVED)) {
        str_printf(out, " [%s]", printable_name(e->before ? e->before : e->after ? e->after : "?"));
        return;
    }
    if (e->weight && e->change == PGY_DIFF_CHANGED && !strcmp(e->field, "values")) {
        str_printf(out, " [%s]", printable_name(e->before ? e->before : "?"));
        append_change(out, e->weight);
        return;
    }
    if (e->field[0]) str_printf(out, " %s", printable_name(e->field));
    if (e->change == PGY_DIFF_STORED) str_append(out, " the same values");
    if (e->change == PGY_DIFF_MOVED) str_append(out, " place");
    append_texts(out, e);
    if (e->weight && e->change == PGY_DIFF_CHANGED) append_change(out, e->weight);
}

/* ---- Sections -------------------------------------------------------------------------------- */

/* How much a weight changed, relative to its values. Changes without numbers come first. */
static double severity_of(const pgy_difference *e)
{
    if (e->change == PGY_DIFF_STORED || e->change == PGY_DIFF_RENAMED) return INFINITY;
    if (!e->weight || !e->weight->compared || isnan(e->weight->snr_db)) return -INFINITY;
    return e->weight->snr_db;
}

static int by_severity(const void *x, const void *y)
{
    const pgy_difference *a = *(const pgy_difference *const *)x;
    const pgy_difference *b = *(const pgy_difference *const *)y;
    const double p = severity_of(a), q = severity_of(b);
    return p != q ? (p < q ? -1 : 1) : (a > b) - (a < b);
}

/* Names change in bulk, so all other changes come first. */
static int by_kind(const void *x, const void *y)
{
    const pgy_difference *a = *(const pgy_difference *const *)x;
    const pgy_difference *b = *(const pgy_difference *const *)y;
    const int p = a->change == PGY_DIFF_RENAMED, q = b->change == PGY_DIFF_RENAMED;
    return p != q ? p - q : (a > b) - (a < b);
}

static size_t select_part(const pgy_difference **out, const pgy_diff *d, pgy_diff_part part)
{
    size_t count = 0;
    for (size_t i = 0; i < pgy_diff_count(d); i++)
        if (pgy_diff_at(d, i)->part == part) out[count++] = pgy_diff_at(d, i);
    if (part == PGY_DIFF_WEIGHT)
        qsort(out, count, sizeof *out, by_severity);
    else
        qsort(out, count, sizeof *out, by_kind);
    return count;
}

static void append_section(str *out, const pgy_difference **items, size_t count, const char *title,
                           const pgy_diff_report_options *o)
{
    str_printf(out, "\n\n---- %s ----", title);
    for (size_t i = 0; i < count && (o->all || i < SHOWN); i++) append_line(out, items[i]);
    if (!o->all && count > SHOWN) str_printf(out, "\n    ... %zu more%s", count - SHOWN, o->more);
}

static void append_bytes(str *out, uint64_t bytes)
{
    if (bytes < 10240)
        str_printf(out, "%llu bytes", (unsigned long long)bytes);
    else if (bytes < (uint64_t)10 << 20)
        str_printf(out, "%.1f KiB", (double)bytes / 1024);
    else
        str_printf(out, "%.1f MiB", (double)bytes / 1048576);
}

static void append_side(str *out, const char *label, const char *path, uint64_t nodes,
                        uint64_t weights, uint64_t bytes)
{
    str_printf(out, "\n%s: %s | %llu nodes, %llu weights (", label, path, (unsigned long long)nodes,
               (unsigned long long)weights);
    append_bytes(out, bytes);
    str_append_char(out, ')');
}

static void append_counts(str *out, const pgy_diff_summary *s, pgy_diff_part part)
{
    bool any = false;
    for (int c = 0; c < PGY_DIFF_CHANGE_COUNT; c++) {
        if (!s->counts[part][c]) continue;
        if (!any) str_printf(out, "\n    %-12s", TITLES[part]);
        str_printf(out, "%s%llu %s", any ? ", " : "", (unsigned long long)s->counts[part][c],
                   pgy_diff_change_name((pgy_diff_change)c));
        any = true;
    }
}

static void append_summary(str *out, const pgy_diff_summary *s, const pgy_diff_report_options *o)
{
    str_append(out, "==== Model Differences ====");
    append_side(out, "a", o->before, s->nodes_a, s->weights_a, s->weight_bytes_a);
    append_side(out, "b", o->after, s->nodes_b, s->weights_b, s->weight_bytes_b);
    str_printf(out,
               "\n%llu nodes and %llu weights are on both sides; %llu of these weights are equal",
               (unsigned long long)s->nodes_matched, (unsigned long long)s->weights_matched,
               (unsigned long long)s->weights_equal);
    str_append(out, "\n\n---- Summary ----");
    if (!s->differences) str_append(out, "\n    No differences");
    for (int p = 0; p < PGY_DIFF_PART_COUNT; p++) append_counts(out, s, (pgy_diff_part)p);
}

pgy_status diff_report_options(pgy_diff_report_options *out, const pgy_diff_report_options *given,
                               pgy_error *err)
{
    pgy_diff_report_options o = {0};
    const pgy_status st = SIZED_TAKE(pgy_diff_report_options, &o, given, err);
    if (st) return st;
    if (!o.before) o.before = "before";
    if (!o.after) o.after = "after";
    if (!o.more) o.more = "";
    *out = o;
    return PGY_OK;
}

pgy_status pgy_diff_text(char **out, const pgy_diff *d, const pgy_diff_report_options *options,
                         pgy_error *err)
{
    pgy_diff_report_options o;
    str text = {0};
    const pgy_status st = diff_report_options(&o, options, err);
    if (st) return st;
    const pgy_difference **items = mem_calloc(pgy_diff_count(d) + 1, sizeof *items);
    if (!items) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    append_summary(&text, pgy_diff_summarize(d), &o);
    for (int p = 0; p < PGY_DIFF_PART_COUNT; p++) {
        const size_t count = select_part(items, d, (pgy_diff_part)p);
        if (count) append_section(&text, items, count, TITLES[p], &o);
    }
    mem_free(items);
    return str_give(out, &text, err);
}
