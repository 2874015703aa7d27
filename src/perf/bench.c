/* SPDX-License-Identifier: Apache-2.0 */
/* Measurements in memory: options, sides and slices. */
#include "perf/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/sized.h"

/* ---- Options -------------------------------------------------------------------------------- */

pgy_bench_options pgy_bench_options_default(void)
{
    return (pgy_bench_options){.size = sizeof(pgy_bench_options),
                               .duration_s = 10,
                               .slices = 40,
                               .seed = 1,
                               .warm_up_ms = 200,
                               .confidence = 0.99,
                               .least_effect = 0.01};
}

pgy_status bench_check_options(const pgy_bench_options *o, pgy_error *err)
{
    if (!(o->duration_s > 0 && o->duration_s <= 86400))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "bench.duration_s is %g; expected more than 0 and at most 86400",
                             o->duration_s);
    if (o->slices < BENCH_LEAST || o->slices > BENCH_SLICES)
        return pgy_error_set(err, PGY_E_ARGUMENT, "bench.slices is %zu; expected %d to %d",
                             o->slices, BENCH_LEAST, BENCH_SLICES);
    if (o->seed > UINT32_MAX)
        return pgy_error_set(err, PGY_E_ARGUMENT, "bench.seed is %llu; expected 0 to 4294967295",
                             (unsigned long long)o->seed);
    if (!(o->warm_up_ms >= 0 && o->warm_up_ms <= 3600e3))
        return pgy_error_set(err, PGY_E_ARGUMENT, "bench.warm_up_ms is %g; expected 0 to 3600000",
                             o->warm_up_ms);
    if (!(o->confidence > 0.5 && o->confidence < 1))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "bench.confidence is %g; expected more than 0.5 and less than 1",
                             o->confidence);
    if (!(o->least_effect >= 0 && o->least_effect < 1))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "bench.least_effect is %g; expected at least 0 and less than 1",
                             o->least_effect);
    return PGY_OK;
}

/* ---- Sides ---------------------------------------------------------------------------------- */

static pgy_status check_names(const char *const *names, size_t count, pgy_error *err)
{
    if (!count || count > BENCH_SIDES)
        return pgy_error_set(err, PGY_E_ARGUMENT, "there are %zu sides; expected 1 to %d", count,
                             BENCH_SIDES);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(names[i], names[k]) == 0)
                return pgy_error_set(err, PGY_E_ARGUMENT,
                                     "two sides have the name '%s'; names must differ", names[i]);
    return PGY_OK;
}

pgy_status pgy_bench_create(pgy_bench **out, const char *const *names, size_t count,
                            const pgy_bench_options *options, pgy_error *err)
{
    pgy_bench_options o = pgy_bench_options_default();
    pgy_status st = SIZED_TAKE(pgy_bench_options, &o, options, err);
    if (!st) st = bench_check_options(&o, err);
    if (!st) st = check_names(names, count, err);
    if (st) return st;
    pgy_bench *b = mem_calloc(1, sizeof *b);
    bool good = b && (b->sides = mem_calloc(count, sizeof *b->sides));
    if (good) {
        b->options = o;
        b->options.size = sizeof b->options;
        b->count = count;
        b->machine =
            (bench_machine){.processors = -1, .mhz_before = -1, .mhz_after = -1, .throttled = -1};
    }
    for (size_t i = 0; good && i < count; i++) {
        bench_side *s = &b->sides[i];
        s->load_ms = s->first_run_ms = -1;
        s->peak_bytes = -1;
        good = (s->name = mem_strdup(names[i])) != NULL;
    }
    if (!good) {
        pgy_bench_destroy(b);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    *out = b;
    return PGY_OK;
}

void pgy_bench_destroy(pgy_bench *b)
{
    if (!b) return;
    for (size_t i = 0; i < b->count; i++) {
        bench_side *s = &b->sides[i];
        for (size_t k = 0; k < s->count; k++) mem_free(s->slices[k].times_ns);
        mem_free(s->slices);
        mem_free(s->name);
        mem_free(s->accuracy.reference);
        mem_free(s->accuracy.reason);
    }
    mem_free(b->sides);
    bench_machine_deinit(&b->machine);
    mem_free(b);
}

size_t pgy_bench_count(const pgy_bench *b)
{
    return b->count;
}

const char *pgy_bench_name(const pgy_bench *b, size_t side)
{
    return b->sides[side].name;
}

bool pgy_bench_find(size_t *side, const pgy_bench *b, const char *name)
{
    for (size_t i = 0; i < b->count; i++)
        if (strcmp(b->sides[i].name, name) == 0) {
            *side = i;
            return true;
        }
    return false;
}

const char *pgy_bench_processor(const pgy_bench *b)
{
    return b->machine.processor ? b->machine.processor : "";
}

/* ---- Slices --------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void bench_sort_times(int64_t *times, size_t count)
{
    qsort(times, count, sizeof *times, ascending);
}

double bench_slice_centre(const bench_slice *s)
{
    const size_t cut = s->count / 4;
    double sum = 0;
    for (size_t i = cut; i < s->count - cut; i++) sum += (double)s->times_ns[i];
    return sum / (double)(s->count - 2 * cut);
}

pgy_status bench_adopt(pgy_bench *b, size_t side, bench_slice *s, pgy_error *err)
{
    bench_side *at = &b->sides[side];
    if (at->count >= BENCH_SLICES ||
        !mem_grow((void **)&at->slices, &at->capacity, at->count + 1, sizeof *at->slices)) {
        mem_free(s->times_ns);
        return at->count >= BENCH_SLICES
                   ? pgy_error_set(err, PGY_E_ARGUMENT, "side '%s' has %d slices, the most allowed",
                                   at->name, BENCH_SLICES)
                   : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    at->slices[at->count++] = *s;
    return PGY_OK;
}

pgy_status pgy_bench_add(pgy_bench *b, size_t side, const int64_t *times_ns, size_t count,
                         bool disturbed, pgy_error *err)
{
    bench_slice s = {.runs = count,
                     .others = -1,
                     .disturbed = disturbed,
                     .place = side,
                     .joules = {.cpu = -1, .gpu = -1}};
    if (side >= b->count)
        return pgy_error_set(err, PGY_E_ARGUMENT, "there is no side %zu; there are %zu", side,
                             b->count);
    if (!count || count > BENCH_KEPT)
        return pgy_error_set(err, PGY_E_ARGUMENT, "a slice has %zu runs; expected 1 to %d", count,
                             BENCH_KEPT);
    for (size_t i = 0; i < count; i++) {
        if (times_ns[i] <= 0 || times_ns[i] > INT64_MAX / BENCH_KEPT)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "run %zu took %lld ns; expected a time over 0", i,
                                 (long long)times_ns[i]);
        s.total_ns += times_ns[i];
    }
    s.times_ns = mem_calloc(count, sizeof *s.times_ns);
    if (!s.times_ns) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    memcpy(s.times_ns, times_ns, count * sizeof *times_ns);
    s.count = count;
    bench_sort_times(s.times_ns, count);
    return bench_adopt(b, side, &s, err);
}
