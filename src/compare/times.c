/* SPDX-License-Identifier: Apache-2.0 */
/* The times of a runner's iterations, and what they say about preparation for new shapes. */
#include <math.h>

#include "base/alloc.h"
#include "base/log.h"
#include "compare/run.h"

static const char LOG_PATH[] = "compare/times.c";

bool run_times_add(run_times *t, infer_time one)
{
    if (!mem_grow((void **)&t->items, &t->capacity, t->count + 1, sizeof *t->items)) return false;
    t->items[t->count++] = one;
    return true;
}

void run_times_deinit(run_times *t)
{
    mem_free(t->items);
    *t = (run_times){0};
}

void run_times_log(const char *runner, const run_times *t)
{
    double prepared_s = 0, rest_s = 0;
    size_t prepared = 0, rest = 0;
    str text = {0};
    for (size_t i = 0; i < t->count; i++) {
        const bool is_new = t->items[i].preparation_s > 0; /* not if it is NaN */
        prepared += is_new;
        prepared_s += is_new ? t->items[i].preparation_s : 0;
        if (i && !is_new) rest_s += t->items[i].whole_s, rest++;
    }
    if (!prepared) return;
    str_printf(&text, "first %.4g ms", t->items[0].whole_s * 1e3);
    if (rest) str_printf(&text, ", then %.4g ms", rest_s * 1e3 / (double)rest);
    LOG(INFO,
        "%-35s | Times include the preparation of programs for new shapes, %.4g ms in %zu of %zu "
        "iteration(s): %s",
        runner, prepared_s * 1e3, prepared, t->count, str_text(&text));
    str_deinit(&text);
}
