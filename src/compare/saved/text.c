/* SPDX-License-Identifier: Apache-2.0 */
/* Files of saved data as text, in the layout of the original. */
#include <polygraphy/saved.h>

#include <string.h>

#include "base/alloc.h"
#include "base/printable.h"
#include "base/pytext.h"
#include "base/sized.h"

/* ---- Arrays --------------------------------------------------------------------------------- */

static void append_indented(str *out, const char *text, size_t indent)
{
    const char *start = text;
    str_append_fill(out, ' ', indent);
    for (; *text; text++) {
        str_append_char(out, *text);
        if (*text == '\n' && text[1]) str_append_fill(out, ' ', indent);
    }
    if (!out->size || out->data[out->size - 1] != '\n' || !*start) str_append_char(out, '\n');
}

static pgy_status append_values(str *out, pgy_view v, const pgy_saved_text_options *s,
                                size_t indent, pgy_error *err)
{
    char *text = NULL;
    pgy_text_options o = {
        .size = sizeof o, .edge_items = s->edge_items, .line_width = s->line_width};
    pgy_status st = pgy_view_text(&text, v, &o, err);
    if (st) return st;
    append_indented(out, text, indent);
    pgy_text_free(text);
    return PGY_OK;
}

static pgy_status append_array(str *out, const char *name, pgy_tensor *t,
                               const pgy_saved_text_options *s, size_t indent, pgy_error *err)
{
    char *statistics = NULL, *histogram = NULL;
    pgy_tensor *loaded = NULL;
    pgy_status st = pgy_tensor_load(&loaded, t, err);
    if (st) return st;
    pgy_view v = pgy_tensor_view(loaded);
    st = pgy_statistics_text(&statistics, v, err);
    if (!st) {
        str_append_fill(out, ' ', indent);
        str_printf(out, "%s [dtype=%s, shape=", printable_name(name), pgy_dtype_name(v.dtype));
        str_append_py_tuple(out, v.shape, (size_t)v.rank);
        str_printf(out, "] | Stats: %s\n", statistics);
    }
    if (!st && s->histogram) st = pgy_histogram_text(&histogram, v, 1, 0, err);
    if (!st && histogram)
        append_indented(out, histogram,
                        *histogram ? indent + 4 : 0); /* without a histogram: an empty line */
    if (!st && s->values) st = append_values(out, v, s, indent + 4, err);
    pgy_text_free(statistics);
    pgy_text_free(histogram);
    pgy_tensor_release(loaded);
    return st;
}

static pgy_status append_map(str *out, const pgy_tensor_map *m, const pgy_saved_text_options *s,
                             size_t indent, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_tensor_map_count(m); i++)
        st = append_array(out, pgy_tensor_map_name(m, i), pgy_tensor_map_at(m, i), s, indent, err);
    return st;
}

/* ---- Iterations ----------------------------------------------------------------------------- */

/* Text of the iterations of one runner, or of the inputs. It grows as iterations are read, so that
 * only one iteration's arrays are in memory. */
typedef struct section {
    char *name;
    str text;
    size_t count; /* iterations seen */
} section;

static void section_deinit(section *s)
{
    mem_free(s->name);
    str_deinit(&s->text);
}

/* The first iteration gets its heading only when a second one follows; a single one has no heading.
 */
static void head_first(str *text)
{
    str body = {0};
    str_append(&body, "-- Iteration: 0\n");
    append_indented(&body, str_text(text), 4);
    body.failed = body.failed || text->failed;
    str_deinit(text);
    *text = body;
}

static pgy_status add_iteration(section *to, const pgy_tensor_map *m,
                                const pgy_saved_text_options *s, pgy_error *err)
{
    size_t index = to->count++;
    if (index && !s->all) return PGY_OK;
    if (index == 1) head_first(&to->text);
    if (index) str_printf(&to->text, "\n-- Iteration: %zu\n", index);
    return append_map(&to->text, m, s, index ? 4 : 0, err);
}

static void append_section(str *out, const section *s, const pgy_saved_text_options *options)
{
    str_append(out, str_text(&s->text));
    if (options->all) str_append_char(out, '\n');
    out->failed = out->failed || s->text.failed;
}

/* ---- Kinds of files ------------------------------------------------------------------------- */

typedef struct sections {
    section *items;
    size_t count, capacity;
} sections;

static pgy_status add_runners(sections *all, const pgy_results *r, const pgy_saved_text_options *s,
                              pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_results_runner_count(r); i++) {
        if (i == all->count) {
            if (!mem_grow((void **)&all->items, &all->capacity, i + 1, sizeof *all->items))
                return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
            all->items[all->count++] = (section){.name = mem_strdup(pgy_results_runner_name(r, i))};
            if (!all->items[i].name) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        }
        for (size_t k = 0; !st && k < pgy_results_iteration_count(r, i); k++)
            st = add_iteration(&all->items[i], pgy_results_at(r, i, k)->outputs, s, err);
    }
    return st;
}

static pgy_status show_results(str *out, const char *path, const pgy_saved_text_options *s,
                               pgy_error *err)
{
    pgy_results_reader *reader = NULL;
    pgy_results *r = NULL;
    sections all = {0};
    pgy_status st = pgy_results_reader_open(&reader, path, err);
    while (!st) {
        st = pgy_results_reader_next(&r, reader, err);
        if (st || !r) break;
        st = add_runners(&all, r, s, err);
        pgy_results_destroy(r);
    }
    str_printf(out, "==== Run Results (%zu runners) ====\n\n", all.count);
    for (size_t i = 0; i < all.count; i++) {
        str_printf(out, "---- %s (%zu iterations) ----\n\n",
                   all.items[i].name ? all.items[i].name : "", all.items[i].count);
        append_section(out, &all.items[i], s);
        section_deinit(&all.items[i]);
    }
    mem_free(all.items);
    pgy_results_reader_close(reader);
    return st;
}

static pgy_status show_inputs(str *out, const char *path, const pgy_saved_text_options *s,
                              pgy_error *err)
{
    pgy_data_loader *loader = NULL;
    pgy_tensor_map *feed = NULL;
    section inputs = {0};
    pgy_status st = pgy_file_loader_create(&loader, &path, 1, err);
    while (!st) {
        st = pgy_data_loader_next(&feed, loader, err);
        if (st || !feed) break;
        st = add_iteration(&inputs, feed, s, err);
        pgy_tensor_map_destroy(feed);
    }
    str_printf(out, "==== Data (%zu iterations) ====\n\n", inputs.count);
    append_section(out, &inputs, s);
    section_deinit(&inputs);
    pgy_data_loader_destroy(loader);
    return st;
}

static void append_metric(str *out, const char *name, double v, bool *first)
{
    str_append(out, *first ? " | " : ", ");
    *first = false;
    str_printf(out, "%s=", printable_name(name));
    str_append_g(out, 5, v);
}

static void append_verdict(str *out, const pgy_verdict *v)
{
    static const char *const METRICS[] = {[PGY_COMPARE_L2] = "l2_norm",
                                          [PGY_COMPARE_COSINE_SIMILARITY] = "cosine_similarity",
                                          [PGY_COMPARE_PSNR] = "psnr",
                                          [PGY_COMPARE_SNR] = "snr",
                                          [PGY_COMPARE_LPIPS] = "lpips"};
    bool first = true;
    str_printf(out, "        %s | %s", printable_name(v->output), v->passed ? "PASSED" : "FAILED");
    if (v->has_metrics && v->kind == PGY_COMPARE_SIMPLE) {
        append_metric(out, "max_absdiff", v->max_absdiff, &first);
        append_metric(out, "max_reldiff", v->max_reldiff, &first);
        append_metric(out, "mean_absdiff", v->mean_absdiff, &first);
        append_metric(out, "mean_reldiff", v->mean_reldiff, &first);
        append_metric(out, "median_absdiff", v->median_absdiff, &first);
        append_metric(out, "median_reldiff", v->median_reldiff, &first);
        if (v->has_quantile) {
            append_metric(out, "quantile_absdiff", v->quantile_absdiff, &first);
            append_metric(out, "quantile_reldiff", v->quantile_reldiff, &first);
        }
    } else if (v->has_metrics && v->kind >= PGY_COMPARE_L2 && v->kind <= PGY_COMPARE_LPIPS) {
        append_metric(out, METRICS[v->kind], v->metric, &first);
    }
    str_append_char(out, '\n');
}

static void append_accuracy(str *out, const pgy_accuracy *a, const pgy_saved_text_options *s)
{
    str_printf(out, "---- Aggregation: %s ----\n\n",
               pgy_accuracy_is_average(a) ? "average" : "per_sample");
    for (size_t p = 0; p < pgy_accuracy_pair_count(a); p++) {
        const char *first, *second;
        size_t passed, total, count = pgy_accuracy_iteration_count(a, p);
        pgy_accuracy_pair(a, p, &first, &second);
        pgy_accuracy_stats(a, p, &passed, &total);
        str_printf(out, "%s vs. %s | %zu/%zu %s matched\n", first, second, passed, total,
                   pgy_accuracy_is_average(a) ? "output(s)" : "iteration(s)");
        for (size_t i = 0; i < (s->all ? count : count ? 1 : 0); i++) {
            const pgy_verdicts *v = pgy_accuracy_at(a, p, i);
            str_printf(out, "    -- Iteration: %zu\n", i);
            for (size_t k = 0; k < pgy_verdicts_count(v); k++)
                append_verdict(out, pgy_verdicts_at(v, k));
        }
        str_append_char(out, '\n');
    }
}

static pgy_status show_accuracy(str *out, const char *path, const pgy_saved_text_options *s,
                                pgy_error *err)
{
    pgy_accuracy_results *r = NULL;
    pgy_status st = pgy_accuracy_results_load(&r, path, err);
    if (st) return st;
    str_printf(out, "==== Accuracy Results (%zu comparison(s)) ====\n\n",
               pgy_accuracy_results_count(r));
    for (size_t i = 0; i < pgy_accuracy_results_count(r); i++)
        append_accuracy(out, pgy_accuracy_results_at(r, i), s);
    pgy_accuracy_results_destroy(r);
    return PGY_OK;
}

pgy_saved_text_options pgy_saved_text_options_default(void)
{
    return (pgy_saved_text_options){
        .size = sizeof(pgy_saved_text_options), .edge_items = 3, .line_width = 75};
}

pgy_status pgy_saved_text(char **out, const char *path, const pgy_saved_text_options *options,
                          pgy_error *err)
{
    pgy_saved_text_options o = pgy_saved_text_options_default();
    str text = {0};
    pgy_saved_kind kind;
    pgy_status st = SIZED_TAKE(pgy_saved_text_options, &o, options, err);
    if (!st) st = pgy_saved_kind_of(&kind, path, err);
    if (!st && kind == PGY_SAVED_RESULTS)
        st = show_results(&text, path, &o, err);
    else if (!st && kind == PGY_SAVED_ACCURACY)
        st = show_accuracy(&text, path, &o, err);
    else if (!st)
        st = show_inputs(&text, path, &o, err);
    while (text.size && strchr(" \n", text.data[text.size - 1])) text.data[--text.size] = 0;
    if (!st) st = str_give(out, &text, err);
    str_deinit(&text);
    return st;
}
