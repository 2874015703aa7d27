/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring: all sides are loaded, then each round runs a slice of every side in random order. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/progress.h"
#include "base/sized.h"
#include "base/system.h"
#include "perf/bench.h"

typedef struct measuring {
    pgy_bench *bench;
    const pgy_bench_side *sides;
    pgy_tensor_map **feeds;
    size_t *order;
    mt19937 random;
    int64_t slice_ns;
} measuring;

/* ---- Loading -------------------------------------------------------------------------------- */

static pgy_status run_once(int64_t *time_ns, pgy_runner *r, const pgy_tensor_map *feed,
                           pgy_error *err)
{
    pgy_tensor_map *outputs = NULL;
    const pgy_status st = pgy_runner_infer(&outputs, r, feed, err);
    if (st) return st;
    const int64_t t = pgy_runner_last_time_ns(r);
    *time_ns = t > 0 ? t : 1;
    pgy_tensor_map_destroy(outputs);
    return cancel_check(err);
}

static pgy_status make_feed(pgy_tensor_map **out, const pgy_bench_side *side, pgy_error *err)
{
    const pgy_metadata *inputs = NULL;
    pgy_tensor_map *given = NULL;
    pgy_status st = pgy_runner_inputs(&inputs, side->runner, err);
    if (!st && inputs) st = pgy_data_loader_set_metadata(side->data, inputs, err);
    if (!st) st = pgy_data_loader_next(&given, side->data, err);
    if (!st && !given) st = pgy_error_set(err, PGY_E_ARGUMENT, "the data have no iteration");
    if (!st && inputs) {
        st = pgy_feed_match(out, given, inputs, err);
        pgy_tensor_map_destroy(given);
    } else if (!st) {
        *out = given;
    }
    return st;
}

static pgy_status load_side(measuring *m, size_t i, pgy_error *err)
{
    bench_side *s = &m->bench->sides[i];
    const pgy_bench_side *given = &m->sides[i];
    int64_t first_ns = 0;
    const bool has_peak = bench_memory_reset_peak();
    const int64_t resident = bench_memory(false), start = clock_ns();
    pgy_status st = pgy_runner_activate(given->runner, err);
    s->load_ms = (double)(clock_ns() - start) / 1e6;
    if (!st) st = make_feed(&m->feeds[i], given, err);
    if (!st) st = run_once(&first_ns, given->runner, m->feeds[i], err);
    if (st)
        return st == PGY_E_CANCELLED || st == PGY_E_MEMORY
                   ? st
                   : pgy_error_prefix(err, st, "'%s': ", s->name);
    const int64_t peak = bench_memory(true);
    s->first_run_ms = (double)first_ns / 1e6;
    if (has_peak && resident >= 0 && peak >= resident) s->peak_bytes = peak - resident;
    return PGY_OK;
}

static pgy_status warm_up(measuring *m, size_t i, pgy_error *err)
{
    const int64_t end = clock_ns() + (int64_t)(m->bench->options.warm_up_ms * 1e6);
    pgy_status st = PGY_OK;
    int64_t t = 0;
    while (!st && clock_ns() < end) st = run_once(&t, m->sides[i].runner, m->feeds[i], err);
    return st;
}

static pgy_status load_all(measuring *m, pgy_error *err)
{
    pgy_status st = PGY_OK;
    progress_begin("Loading", m->bench->count);
    for (size_t i = 0; !st && i < m->bench->count; i++) {
        st = load_side(m, i, err);
        progress_advance(i + 1);
    }
    for (size_t i = 0; !st && i < m->bench->count; i++) st = warm_up(m, i, err);
    progress_end();
    return st;
}

/* ---- Slices --------------------------------------------------------------------------------- */

/* Keeps a random sample of BENCH_KEPT runs (reservoir sampling). */
static void keep_time(measuring *m, bench_slice *s, int64_t t)
{
    s->runs++;
    s->total_ns += t;
    if (s->count < BENCH_KEPT) {
        s->times_ns[s->count++] = t;
        return;
    }
    const uint64_t at = (uint64_t)(mt19937_double(&m->random) * (double)s->runs);
    if (at < BENCH_KEPT) s->times_ns[at] = t;
}

/* Runs until the slice's time is over, at least once. The first run is slow, because the side
 * before has left its data in the caches: it is not counted if it takes under a fifth of the slice.
 */
static pgy_status fill_slice(measuring *m, size_t side, bench_slice *s, pgy_error *err)
{
    pgy_runner *r = m->sides[side].runner;
    const pgy_tensor_map *feed = m->feeds[side];
    int64_t t = 0;
    const int64_t end = clock_ns() + m->slice_ns;
    pgy_status st = run_once(&t, r, feed, err);
    if (!st && t > m->slice_ns / 5) keep_time(m, s, t);
    while (!st && (clock_ns() < end || !s->count)) {
        st = run_once(&t, r, feed, err);
        if (!st) keep_time(m, s, t);
    }
    return st;
}

static pgy_status measure_slice(measuring *m, size_t side, size_t place, pgy_error *err)
{
    bench_slice s = {.times_ns = mem_calloc(BENCH_KEPT, sizeof(int64_t)), .place = place};
    if (!s.times_ns) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    const bench_load before = bench_load_read();
    const pgy_status st = fill_slice(m, side, &s, err);
    const bench_load after = bench_load_read();
    if (st) {
        mem_free(s.times_ns);
        return st;
    }
    s.others = bench_load_others(&before, &after, &s.disturbed);
    bench_sort_times(s.times_ns, s.count);
    int64_t *fitted = mem_realloc_array(s.times_ns, s.count, sizeof *fitted);
    if (fitted) s.times_ns = fitted;
    return bench_adopt(m->bench, side, &s, err);
}

static void shuffle(measuring *m)
{
    for (size_t i = m->bench->count - 1; i > 0; i--) {
        const size_t k = (size_t)(mt19937_double(&m->random) * (double)(i + 1));
        const size_t held = m->order[i];
        m->order[i] = m->order[k];
        m->order[k] = held;
    }
}

/* Slices of slow models take longer than planned; then fewer rounds must do. */
static bool is_enough(const measuring *m, size_t rounds, int64_t start)
{
    const pgy_bench_options *o = &m->bench->options;
    const double spent_s = (double)(clock_ns() - start) / 1e9;
    return rounds >= o->slices || (rounds >= BENCH_LEAST && spent_s > 1.5 * o->duration_s);
}

static pgy_status measure_all(measuring *m, pgy_error *err)
{
    const int64_t start = clock_ns();
    pgy_status st = PGY_OK;
    progress_begin("Measuring rounds", m->bench->options.slices);
    for (size_t round = 0; !st && !is_enough(m, round, start); round++) {
        shuffle(m);
        for (size_t place = 0; !st && place < m->bench->count; place++)
            st = measure_slice(m, m->order[place], place, err);
        progress_advance(round + 1);
    }
    progress_end();
    return st;
}

static pgy_status check_sides(const pgy_bench_side *sides, size_t count, pgy_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!sides[i].name || !sides[i].runner || !sides[i].data)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "bench: side %zu lacks its name, its runner or its data", i);
        if (pgy_runner_is_active(sides[i].runner))
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "bench: the runner of '%s' is active, so its loading cannot be "
                                 "timed; deactivate it",
                                 sides[i].name);
    }
    return PGY_OK;
}

static pgy_status create_bench(pgy_bench **out, const pgy_bench_side *sides, size_t count,
                               const pgy_bench_options *options, pgy_error *err)
{
    const char **names = mem_calloc(count + 1, sizeof *names);
    if (!names) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++) names[i] = sides[i].name;
    const pgy_status st = pgy_bench_create(out, names, count, options, err);
    mem_free(names);
    return st;
}

pgy_status pgy_bench_measure(pgy_bench **out, const pgy_bench_side *sides, size_t count,
                             const pgy_bench_options *options, pgy_error *err)
{
    measuring m = {.sides = sides};
    pgy_status st = check_sides(sides, count, err);
    if (!st) st = create_bench(&m.bench, sides, count, options, err);
    if (st) return st;
    const pgy_bench_options *o = &m.bench->options;
    m.feeds = mem_calloc(count, sizeof *m.feeds);
    m.order = mem_calloc(count, sizeof *m.order);
    m.slice_ns = (int64_t)(o->duration_s * 1e9 / (double)(o->slices * count));
    mt19937_seed(&m.random, (uint32_t)o->seed);
    if (!m.feeds || !m.order) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; !st && i < count; i++) m.order[i] = i;
    if (!st) st = bench_machine_read(&m.bench->machine, err);
    if (!st) st = load_all(&m, err);
    if (!st) st = measure_all(&m, err);
    if (!st) bench_machine_finish(&m.bench->machine);
    for (size_t i = 0; i < count; i++) {
        pgy_runner_deactivate(sides[i].runner);
        if (m.feeds) pgy_tensor_map_destroy(m.feeds[i]);
    }
    mem_free(m.feeds);
    mem_free(m.order);
    if (st)
        pgy_bench_destroy(m.bench);
    else
        *out = m.bench;
    return st;
}
