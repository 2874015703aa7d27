/* SPDX-License-Identifier: Apache-2.0 */
/* trtexec's files of times and of outputs, and its reports. What is accepted can be summed up, is
 * written again, and read back with the same number of runs or the same bits. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "data/trtexec_outputs.h"
#include "perf/perf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_times(span file)
{
    pgy_perf_trace *t = NULL, *again = NULL;
    pgy_perf_stats stats;
    char *text = NULL;
    pgy_error err = {0};
    if (perf_times_parse(&t, file, "input", NULL)) return;
    if (pgy_perf_trace_count(t) && pgy_perf_summarize(&stats, t, PGY_PERF_LATENCY, &err)) abort();
    if (!pgy_perf_text(&text, t, NULL, &err)) pgy_text_free(text);
    if (!json_to_text(&text, perf_times_write, t, &err)) {
        const span written = {text, strlen(text)};
        if (perf_times_parse(&again, written, "output", &err) ||
            pgy_perf_trace_count(again) != pgy_perf_trace_count(t))
            abort();
        pgy_perf_trace_destroy(again);
        mem_free(text);
    }
    pgy_perf_trace_destroy(t);
}

static void compare(const pgy_tensor_map *a, const pgy_tensor_map *b)
{
    if (pgy_tensor_map_count(a) != pgy_tensor_map_count(b)) abort();
    for (size_t i = 0; i < pgy_tensor_map_count(a); i++) {
        pgy_tensor *x = pgy_tensor_map_at(a, i), *y = pgy_tensor_map_at(b, i);
        if (pgy_tensor_dtype(x) != pgy_tensor_dtype(y) ||
            pgy_tensor_count(x) != pgy_tensor_count(y))
            abort();
        if (pgy_tensor_dtype(x) == PGY_U64 &&
            memcmp(pgy_tensor_data(x), pgy_tensor_data(y), 8 * pgy_tensor_count(x)))
            abort();
    }
}

/* Types of tensors for which the file names none, as a model declares them. */
static pgy_metadata *declared(void)
{
    static const pgy_tensor_info INFOS[] = {{.name = "i", .dtype = PGY_I64, .rank = -1},
                                            {.name = "b", .dtype = PGY_BOOL, .rank = -1},
                                            {.name = "h", .dtype = PGY_F16, .rank = -1}};
    pgy_metadata *types = NULL;
    if (pgy_metadata_create(&types, NULL)) abort();
    for (size_t i = 0; i < sizeof INFOS / sizeof *INFOS; i++)
        if (pgy_metadata_set(types, &INFOS[i], NULL)) abort();
    return types;
}

static void fuzz_outputs(span file)
{
    static pgy_metadata *types;
    if (!types) types = declared();
    pgy_tensor_map *m = NULL, *again = NULL;
    char *text = NULL;
    pgy_error err = {0};
    if (trtexec_outputs_parse(&m, file, "input", types, NULL)) return;
    if (!json_to_text(&text, trtexec_outputs_write, m, &err)) {
        const span written = {text, strlen(text)};
        if (trtexec_outputs_parse(&again, written, "output", NULL, &err)) abort();
        compare(m, again);
        pgy_tensor_map_destroy(again);
        mem_free(text);
    }
    pgy_tensor_map_destroy(m);
}

/* What is accepted has slices that can be summed up. */
static void fuzz_report(span file)
{
    pgy_bench *b = NULL;
    pgy_bench_figures f;
    pgy_error err = {0};
    if (perf_summary_parse(&b, file, "input", NULL)) return;
    if (pgy_bench_summarize(&f, b, 0, &err)) abort();
    pgy_bench_destroy(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const span file = {(const char *)data, size};
    fuzz_times(file);
    fuzz_outputs(file);
    fuzz_report(file);
    return 0;
}
