/* SPDX-License-Identifier: Apache-2.0 */
/* Sums up a timeline beside the peaks of this machine, and compares it with a second one.
 *
 *     compare_timelines timeline.json [other.json] [figures.json]
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

static pgy_status summarize(pgy_trace_summary **out, const char *path, const pgy_machine_peaks *peaks, pgy_error *err)
{
    const pgy_trace_summary_options o = {.size = sizeof o, .name = path, .peaks = peaks};
    pgy_trace *trace = NULL;
    pgy_status st = pgy_trace_load(&trace, path, err);
    if (!st) st = pgy_trace_summary_create(out, trace, &o, err);
    pgy_trace_destroy(trace);
    return st;
}

static pgy_status compare(const pgy_trace_summary *a, const char *path, const char *figures, pgy_error *err)
{
    pgy_trace_summary *b = NULL;
    pgy_trace_diff *d = NULL;
    char *text = NULL;
    pgy_status st = summarize(&b, path, NULL, err);
    if (!st) st = pgy_trace_diff_create(&d, a, b, NULL, err);
    if (!st) st = pgy_trace_diff_text(&text, d, NULL, err);
    if (!st) printf("%s\n", text);
    for (size_t i = 0; !st && i < pgy_trace_diff_layer_count(d); i++) {
        const pgy_trace_diff_row *row = pgy_trace_diff_layer_at(d, i);
        if (row->verdict == PGY_TRACE_SLOWER) printf("slower: %s, %.3f times\n", row->a->name, row->ratio);
    }
    if (!st && figures) st = pgy_trace_diff_save(figures, d, err);
    pgy_text_free(text);
    pgy_trace_diff_destroy(d);
    pgy_trace_summary_destroy(b);
    return st;
}

int main(int argc, char **argv)
{
    pgy_error err = {0};
    pgy_trace_summary *a = NULL;
    char *text = NULL;
    const pgy_machine_options probe = {.size = sizeof probe, .seconds = 0.2, .keeps_none = true};
    pgy_machine_peaks peaks;
    if (argc < 2) return 2;
    pgy_status st = pgy_machine_peaks_get(&peaks, &probe, &err);
    if (!st) st = summarize(&a, argv[1], &peaks, &err);
    if (!st) st = pgy_trace_summary_text(&text, a, NULL, &err);
    if (!st) printf("%s\n", text);
    if (!st && argc > 2) st = compare(a, argv[2], argc > 3 ? argv[3] : NULL, &err);
    if (st) fprintf(stderr, "%s\n", err.text);
    pgy_text_free(text);
    pgy_trace_summary_destroy(a);
    return st != PGY_OK;
}
