/* SPDX-License-Identifier: Apache-2.0 */
/* Files of measurements and sweeps. What is accepted gives a report and a picture, and is written
 * and read back with the same report. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "perf/bench_sweep.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_worst(const pgy_bench_sweep *s)
{
    pgy_error err = {0};
    size_t point = 0, side = 0;
    double value;
    for (int kind = 0; kind < PGY_BENCH_WORST_COUNT; kind++) {
        const pgy_status st =
            pgy_bench_sweep_worst(&point, &side, &value, s, (pgy_bench_worst)kind, &err);
        if (st && st != PGY_E_NOT_FOUND) abort();
        if (!st && (point >= pgy_bench_sweep_count(s) ||
                    side >= pgy_bench_count(pgy_bench_sweep_at(s, point))))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_bench_sweep *s = NULL, *again = NULL;
    char *report = NULL, *same = NULL, *text = NULL;
    str svg = {0};
    pgy_error err = {0};
    if (bench_sweep_parse(&s, (span){(const char *)data, size}, "input", &err)) return 0;
    if (pgy_bench_sweep_text(&report, s, &err) || json_to_text(&text, bench_sweep_write, s, &err))
        abort();
    if (bench_sweep_svg(&svg, s, &err)) abort();
    check_worst(s);
    if (bench_sweep_parse(&again, span_of(text), "output", &err)) abort();
    if (pgy_bench_sweep_text(&same, again, &err) || strcmp(report, same) != 0) abort();
    mem_free(text);
    str_deinit(&svg);
    pgy_text_free(same);
    pgy_text_free(report);
    pgy_bench_sweep_destroy(again);
    pgy_bench_sweep_destroy(s);
    return 0;
}
