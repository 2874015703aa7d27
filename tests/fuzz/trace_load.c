/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines of this library and of other programs. What is accepted can be summed up, compared with
 * itself without a difference, and printed. */
#include <stdlib.h>

#include "base/alloc.h"
#include "trace/summary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare_with_itself(const pgy_trace_summary *s)
{
    pgy_trace_diff *d = NULL;
    char *text = NULL;
    if (pgy_trace_diff_create(&d, s, s, NULL, NULL)) return;
    for (size_t i = 0; i < pgy_trace_diff_layer_count(d); i++) {
        const pgy_trace_verdict v = pgy_trace_diff_layer_at(d, i)->verdict;
        if (v == PGY_TRACE_SLOWER || v == PGY_TRACE_FASTER) abort();
    }
    if (!pgy_trace_diff_text(&text, d, NULL, NULL)) mem_free(text);
    pgy_trace_diff_destroy(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_trace *t = NULL;
    const pgy_machine_peaks peaks = {.gflops = 100, .gb_per_s = 10, .threads = 2, .cpu = "avx2"};
    const pgy_trace_summary_options o = {.size = sizeof o, .gap_us = 0.001, .peaks = &peaks};
    pgy_trace_summary *s = NULL;
    char *text = NULL;
    if (trace_parse(&t, (span){(const char *)data, size}, "input", NULL)) return 0;
    if (!pgy_trace_summary_create(&s, t, &o, NULL)) {
        compare_with_itself(s);
        if (!pgy_trace_summary_text(&text, s, NULL, NULL)) mem_free(text);
    }
    pgy_trace_summary_destroy(s);
    pgy_trace_destroy(t);
    return 0;
}
