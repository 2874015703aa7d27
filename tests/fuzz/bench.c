/* SPDX-License-Identifier: Apache-2.0 */
/* Files of measurements. What is accepted gives a report, and is written and read back with the
 * same report. */
#include <polygraphy/bench.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "perf/bench.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_bench *b = NULL, *again = NULL;
    char *report = NULL, *same = NULL, *text = NULL;
    pgy_error err = {0};
    if (bench_parse(&b, (span){(const char *)data, size}, "input", &err)) return 0;
    if (pgy_bench_text(&report, b, &err) || json_to_text(&text, bench_write, b, &err)) abort();
    if (bench_parse(&again, span_of(text), "output", &err)) abort();
    if (pgy_bench_text(&same, again, &err) || strcmp(report, same) != 0) abort();
    mem_free(text);
    pgy_text_free(same);
    pgy_text_free(report);
    pgy_bench_destroy(again);
    pgy_bench_destroy(b);
    return 0;
}
