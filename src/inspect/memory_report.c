/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a graph as text: sums first, then the tensors alive at the peak, then one bar per
 * range of nodes, whose length is the largest number of bytes alive in it. */

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/printable.h"
#include "base/pytext.h"
#include "base/sized.h"
#include "inspect/memory_report.h"

enum { SHOWN = 8, LINES = 24, BAR = 40 };

static void append_sum(str *out, const char *label, uint64_t bytes)
{
    str_printf(out, "\n    %-22s ", label);
    str_append_bytes(out, bytes);
    if (bytes >= 1024) str_printf(out, " (%llu bytes)", (unsigned long long)bytes);
}

static void append_node(str *out, const pgy_memory *m, size_t i)
{
    const pgy_memory_step *s = pgy_memory_step_at(m, i);
    if (s)
        str_printf(out, "node %zu, %s [%s]", i, printable_name(s->node),
                   printable_name(s->op_type));
}

static void append_sums(str *out, const pgy_memory *m, const pgy_memory_report_options *o)
{
    const pgy_memory_summary *s = pgy_memory_summarize(m);
    const bool at_most = s->bound_count && !s->unknown_count;
    str_printf(out, "==== Memory ====\n%s | %zu nodes\n\n---- Sums ----", o->model,
               pgy_memory_step_count(m));
    append_sum(out, "Weights", s->weight_bytes);
    str_printf(out, " in %llu tensors", (unsigned long long)s->weight_count);
    append_sum(out, "Inputs", s->input_bytes);
    append_sum(out, "Outputs", s->output_bytes);
    append_sum(out, "Peak of activations", s->peak_bytes);
    if (at_most) str_append(out, " at most,");
    if (pgy_memory_step_count(m)) {
        str_append(out, " at ");
        append_node(out, m, s->peak_step);
    }
    append_sum(out, "Peak with weights", s->peak_bytes + s->weight_bytes);
    if (at_most) str_append(out, " at most");
    if (s->out_of_order)
        str_printf(out, "\n    The nodes of the file are not in an order in which they can run%s",
                   o->sort_advice);
}

/* ---- Tensors --------------------------------------------------------------------------------- */

static void append_type(str *out, const pgy_memory_tensor *t)
{
    str_printf(out, t->is_bound ? " [%s at most" : " [%s", pgy_dtype_name(t->dtype));
    if (t->rank >= 0) {
        str_append_char(out, ' ');
        str_append_py_tuple(out, t->shape, (size_t)t->rank);
    }
    str_append_char(out, ']');
}

static void append_more(str *out, size_t count, const pgy_memory_report_options *o)
{
    if (!o->all && count > SHOWN) str_printf(out, "\n    ... %zu more%s", count - SHOWN, o->more);
}

static void append_unknown(str *out, const pgy_memory *m, const pgy_memory_report_options *o)
{
    const size_t count = pgy_memory_summarize(m)->unknown_count;
    if (!count) return;
    str_printf(out, "\n\n---- %zu Unknown: the peak is larger ----", count);
    for (size_t i = 0; i < count && (o->all || i < SHOWN); i++) {
        const pgy_memory_tensor *t = pgy_memory_unknown_at(m, i);
        str_printf(out, "\n    %s: %s", printable_name(t->name), t->unknown_why);
    }
    append_more(out, count, o);
}

static void append_bounds(str *out, const pgy_memory *m, const pgy_memory_report_options *o)
{
    const size_t count = pgy_memory_summarize(m)->bound_count;
    if (!count) return;
    str_printf(out, "\n\n---- %zu Data-Dependent: counted by their upper bounds ----", count);
    for (size_t i = 0; i < count && (o->all || i < SHOWN); i++) {
        const pgy_memory_tensor *t = pgy_memory_bound_at(m, i);
        str_printf(out, "\n    %s", printable_name(t->name));
        append_type(out, t);
        str_printf(out, ": %s", t->unknown_why);
    }
    append_more(out, count, o);
}

static int by_size(const void *x, const void *y)
{
    const pgy_memory_tensor *a = *(const pgy_memory_tensor *const *)x;
    const pgy_memory_tensor *b = *(const pgy_memory_tensor *const *)y;
    if (a->size_bytes != b->size_bytes) return a->size_bytes < b->size_bytes ? 1 : -1;
    return (a > b) - (a < b);
}

/* Tensors that hold memory of their own at the peak, the largest first. The caller frees the list.
 */
static const pgy_memory_tensor **peak_tensors(const pgy_memory *m, size_t *count)
{
    const size_t at = pgy_memory_summarize(m)->peak_step;
    const pgy_memory_tensor **items = mem_calloc(pgy_memory_tensor_count(m) + 1, sizeof *items);
    *count = 0;
    for (size_t i = 0; items && i < pgy_memory_tensor_count(m); i++) {
        const pgy_memory_tensor *t = pgy_memory_tensor_at(m, i);
        if (t->first <= at && at <= t->last && !t->shares_with && t->size_bytes)
            items[(*count)++] = t;
    }
    if (items) qsort(items, *count, sizeof *items, by_size);
    return items;
}

static void append_tensor(str *out, const pgy_memory_tensor *t, uint64_t peak)
{
    str size = {0};
    str_append_bytes(&size, t->size_bytes);
    str_printf(out, "\n    %12s %3.0f %%  %s", str_text(&size),
               peak ? 100 * (double)t->size_bytes / (double)peak : 0, t->name);
    append_type(out, t);
    if (t->is_input)
        str_append(out, " | input");
    else
        str_printf(out, " | made by %s", printable_name(t->producer));
    if (t->is_output)
        str_append(out, ", output");
    else if (*t->last_user)
        str_printf(out, ", last used by %s", printable_name(t->last_user));
    else
        str_append(out, ", never used");
    str_deinit(&size);
}

static pgy_status append_peak(str *out, const pgy_memory *m, const pgy_memory_report_options *o,
                              pgy_error *err)
{
    const pgy_memory_summary *s = pgy_memory_summarize(m);
    const pgy_memory_step *step = pgy_memory_step_at(m, s->peak_step);
    size_t count = 0;
    const pgy_memory_tensor **items = peak_tensors(m, &count);
    if (!items) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (count || (step && step->inner_bytes)) str_append(out, "\n\n---- Held at the Peak ----");
    if (step && step->inner_bytes) {
        str size = {0};
        str_append_bytes(&size, step->inner_bytes);
        str_printf(out, "\n    %12s %3.0f %%  inside the subgraphs of %s", str_text(&size),
                   100 * (double)step->inner_bytes / (double)s->peak_bytes, step->node);
        str_deinit(&size);
    }
    for (size_t i = 0; i < count && (o->all || i < SHOWN); i++)
        append_tensor(out, items[i], s->peak_bytes);
    append_more(out, count, o);
    mem_free(items);
    return PGY_OK;
}

/* ---- Timeline -------------------------------------------------------------------------------- */

static void append_bar(str *out, const pgy_memory *m, size_t begin, size_t end)
{
    const uint64_t peak = pgy_memory_summarize(m)->peak_bytes;
    uint64_t most = 0;
    for (size_t i = begin; i < end; i++) {
        const uint64_t live = pgy_memory_step_at(m, i)->live_bytes;
        if (live > most) most = live;
    }
    const size_t length = peak ? (size_t)((double)most / (double)peak * BAR + 0.5) : 0;
    str range = {0}, size = {0};
    str_printf(&range, end - begin > 1 ? "%zu-%zu" : "%zu", begin, end - 1);
    str_append_bytes(&size, most);
    str_printf(out, "\n    %11s |", str_text(&range));
    str_append_fill(out, '#', length);
    str_append_fill(out, ' ', BAR - length);
    str_printf(out, "| %s", str_text(&size));
    if (end - begin == 1) {
        const pgy_memory_step *s = pgy_memory_step_at(m, begin);
        str_printf(out, "  %s [%s]", printable_name(s->node), printable_name(s->op_type));
    }
    str_deinit(&range);
    str_deinit(&size);
}

static void append_timeline(str *out, const pgy_memory *m, const pgy_memory_report_options *o)
{
    const size_t count = pgy_memory_step_count(m);
    const size_t lines = o->all || count < LINES ? count : LINES;
    if (!count) return;
    str_append(out, "\n\n---- Timeline: Most Bytes Alive ----");
    for (size_t i = 0; i < lines; i++)
        append_bar(out, m, i * count / lines, (i + 1) * count / lines);
}

pgy_status memory_report_options(pgy_memory_report_options *out,
                                 const pgy_memory_report_options *given, pgy_error *err)
{
    pgy_memory_report_options o = {0};
    const pgy_status st = SIZED_TAKE(pgy_memory_report_options, &o, given, err);
    if (st) return st;
    if (!o.model) o.model = "model";
    if (!o.more) o.more = "";
    if (!o.sort_advice) o.sort_advice = "";
    *out = o;
    return PGY_OK;
}

pgy_status pgy_memory_text(char **out, const pgy_memory *m,
                           const pgy_memory_report_options *options, pgy_error *err)
{
    pgy_memory_report_options o;
    str text = {0};
    pgy_status st = memory_report_options(&o, options, err);
    if (st) return st;
    append_sums(&text, m, &o);
    append_unknown(&text, m, &o);
    append_bounds(&text, m, &o);
    st = append_peak(&text, m, &o, err);
    append_timeline(&text, m, &o);
    if (!st) st = str_give(out, &text, err);
    str_deinit(&text);
    return st;
}
