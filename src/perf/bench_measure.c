/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring: all sides are loaded once. Then, at each point of a sweep, each round runs a slice of
 * every side in random order. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/progress.h"
#include "base/sized.h"
#include "base/system.h"
#include "base/tracer.h"
#include "perf/bench_sweep.h"

static const char POWERCAP[] = "/sys/class/powercap";

/* What loading a side gave; it is the same at all points. */
typedef struct loaded_side {
    double load_ms;
    int64_t held_bytes, peak_bytes; /* memory that it added and keeps; that it added at most; -1:
                                       unknown */
} loaded_side;

typedef struct measuring {
    pgy_bench_sweep *sweep;
    pgy_bench *bench; /* of the point that is being measured */
    size_t point;
    const pgy_bench_side *sides;
    size_t count;
    loaded_side *loaded;
    pgy_tensor_map **feeds;
    size_t *order;
    bench_energy *energy;
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

static pgy_status name_side(pgy_status st, const char *name, pgy_error *err)
{
    return !st || status_ends_all(st) ? st : pgy_error_prefix(err, st, "'%s': ", name);
}

/* Memory between two readings, of which each may be unknown. */
static int64_t grown(int64_t before, int64_t after)
{
    return before < 0 || after < 0 ? -1 : after > before ? after - before : 0;
}

static pgy_status load_side(measuring *m, size_t i, pgy_error *err)
{
    loaded_side *l = &m->loaded[i];
    const bool has_peak = bench_memory_reset_peak();
    const int64_t resident = bench_memory(false), start = clock_ns();
    const pgy_status st = pgy_runner_activate(m->sides[i].runner, err);
    l->load_ms = (double)(clock_ns() - start) / 1e6;
    l->peak_bytes = has_peak ? grown(resident, bench_memory(true)) : -1;
    l->held_bytes = grown(resident, bench_memory(false));
    return name_side(st, m->sides[i].name, err);
}

/* The first run of a side at this point, which often allocates what later runs keep. */
static pgy_status run_first(measuring *m, size_t i, pgy_error *err)
{
    bench_side *s = &m->bench->sides[i];
    loaded_side *l = &m->loaded[i];
    int64_t first_ns = 0;
    pgy_tensor_map_destroy(m->feeds[i]);
    m->feeds[i] = NULL;
    const bool has_peak = bench_memory_reset_peak();
    const int64_t resident = bench_memory(false);
    pgy_status st = bench_feed(&m->feeds[i], &m->sides[i], m->sweep->axes, m->point, err);
    if (!st) st = run_once(&first_ns, m->sides[i].runner, m->feeds[i], err);
    if (st) return name_side(st, s->name, err);
    const int64_t peak = has_peak ? grown(resident, bench_memory(true)) : -1;
    const int64_t more = grown(resident, bench_memory(false));
    if (peak < 0 || l->peak_bytes < 0 || l->held_bytes < 0)
        l->peak_bytes = -1;
    else if (l->held_bytes + peak > l->peak_bytes)
        l->peak_bytes = l->held_bytes + peak;
    l->held_bytes = l->held_bytes < 0 || more < 0 ? -1 : l->held_bytes + more;
    s->load_ms = l->load_ms;
    s->first_run_ms = (double)first_ns / 1e6;
    s->peak_bytes = l->peak_bytes;
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
    progress_begin("Loading", m->count);
    for (size_t i = 0; !st && i < m->count; i++) {
        st = load_side(m, i, err);
        progress_advance(i + 1);
    }
    progress_end();
    return st;
}

/* Values in a timeline are looked at in the first runs only: later ones have the same data. */
static pgy_status start_all(measuring *m, pgy_error *err)
{
    pgy_status st = PGY_OK;
    tracer_phase_begin("warm-up");
    tracer_set_warm_up(true);
    for (size_t i = 0; !st && i < m->count; i++) st = run_first(m, i, err);
    tracer_set_checks(false);
    for (size_t i = 0; !st && i < m->count; i++) st = warm_up(m, i, err);
    tracer_set_checks(true);
    tracer_set_warm_up(false);
    tracer_phase_end();
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
    s->first_counts = s->count > 0;
    while (!st && (clock_ns() < end || !s->count)) {
        st = run_once(&t, r, feed, err);
        if (!st) keep_time(m, s, t);
    }
    return st;
}

/* Reading the counters of GPUs takes milliseconds, so it is done only outside the slice. A first
 * run that is not counted keeps its share of the energy. */
static bench_joules energy_of(const bench_slice *s, const bench_joules *before,
                              const bench_joules *after)
{
    bench_joules j = bench_joules_between(before, after);
    const double share = s->first_counts ? 1 : (double)s->runs / (double)(s->runs + 1);
    if (j.cpu >= 0) j.cpu *= share;
    if (j.gpu >= 0) j.gpu *= share;
    return j;
}

static pgy_status measure_slice(measuring *m, size_t side, size_t place, pgy_error *err)
{
    bench_slice s = {.times_ns = mem_calloc(BENCH_KEPT, sizeof(int64_t)), .place = place};
    if (!s.times_ns) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    bench_joules joules, joules_after;
    bench_energy_read(&joules, m->energy);
    const bench_load before = bench_load_read();
    const pgy_status st = fill_slice(m, side, &s, err);
    const bench_load after = bench_load_read();
    bench_energy_read(&joules_after, m->energy);
    if (st) {
        mem_free(s.times_ns);
        return st;
    }
    s.joules = energy_of(&s, &joules, &joules_after);
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

static pgy_status measure_rounds(measuring *m, pgy_error *err)
{
    const int64_t start = clock_ns();
    pgy_status st = PGY_OK;
    progress_begin("Measuring rounds", m->bench->options.slices);
    tracer_set_checks(false);
    for (size_t round = 0; !st && !is_enough(m, round, start); round++) {
        shuffle(m);
        for (size_t place = 0; !st && place < m->count; place++)
            st = measure_slice(m, m->order[place], place, err);
        progress_advance(round + 1);
    }
    tracer_set_checks(true);
    progress_end();
    return st;
}

/* ---- Points --------------------------------------------------------------------------------- */

static pgy_status note_energy(measuring *m, pgy_error *err)
{
    m->bench->machine.energy = mem_strdup(bench_energy_text(m->energy));
    return m->bench->machine.energy ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static pgy_status measure_point(measuring *m, pgy_error *err)
{
    pgy_status st = bench_machine_read(&m->bench->machine, err);
    if (!st) st = note_energy(m, err);
    if (!st) st = start_all(m, err);
    if (!st) st = measure_rounds(m, err);
    if (!st) bench_machine_finish(&m->bench->machine);
    return !st || status_ends_all(st) || !m->sweep->axes->count
               ? st
               : pgy_error_prefix(err, st, "at %s: ", m->sweep->places[m->point]);
}

static pgy_status measure_points(measuring *m, pgy_error *err)
{
    const size_t points = bench_axes_points(m->sweep->axes);
    pgy_status st = load_all(m, err);
    if (points > 1) progress_begin("Measuring points", points);
    for (m->point = 0; !st && m->point < points; m->point++) {
        m->bench = m->sweep->points[m->point];
        st = measure_point(m, err);
        if (points > 1) progress_advance(m->point + 1);
    }
    if (points > 1) progress_end();
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

static pgy_status create_benches(pgy_bench_sweep *s, const pgy_bench_side *sides, size_t count,
                                 const pgy_bench_options *options, pgy_error *err)
{
    const char **names = mem_calloc(count + 1, sizeof *names);
    pgy_status st = names ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; !st && i < count; i++) names[i] = sides[i].name;
    const size_t points = bench_axes_points(s->axes);
    for (size_t i = 0; !st && i < points; i++)
        st = pgy_bench_create(&s->points[i], names, count, options, err);
    mem_free(names);
    return st;
}

static pgy_status measuring_init(measuring *m, pgy_error *err)
{
    const pgy_bench_options *o = &m->sweep->points[0]->options;
    m->loaded = mem_calloc(m->count, sizeof *m->loaded);
    m->feeds = mem_calloc(m->count, sizeof *m->feeds);
    m->order = mem_calloc(m->count, sizeof *m->order);
    m->slice_ns = (int64_t)(o->duration_s * 1e9 / (double)(o->slices * m->count));
    mt19937_seed(&m->random, (uint32_t)o->seed);
    if (!m->loaded || !m->feeds || !m->order)
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < m->count; i++) m->order[i] = i;
    return bench_energy_open(&m->energy, POWERCAP, err);
}

static void measuring_deinit(measuring *m)
{
    for (size_t i = 0; i < m->count; i++) {
        if (pgy_runner_is_active(m->sides[i].runner)) pgy_runner_deactivate(m->sides[i].runner);
        if (m->feeds) pgy_tensor_map_destroy(m->feeds[i]);
    }
    bench_energy_close(m->energy);
    mem_free(m->loaded);
    mem_free(m->feeds);
    mem_free(m->order);
}

pgy_status pgy_bench_sweep_measure(pgy_bench_sweep **out, const pgy_bench_side *sides, size_t count,
                                   const pgy_bench_axes *axes, const pgy_bench_options *options,
                                   pgy_error *err)
{
    measuring m = {.sides = sides};
    bench_checker checker = {.sides = sides};
    pgy_status st = check_sides(sides, count, err);
    if (!st) st = bench_sweep_create(&m.sweep, axes, err);
    if (!st) st = create_benches(m.sweep, sides, count, options, err);
    if (!st) st = bench_checker_init(&checker, &m.sweep->points[0]->options, m.sweep->axes, err);
    if (!st) {
        m.count = count;
        st = measuring_init(&m, err);
    }
    if (!st) st = measure_points(&m, err);
    checker.feeds = m.feeds;
    checker.sweep = m.sweep;
    if (!st) st = bench_check_all(&checker, err);
    measuring_deinit(&m);
    for (size_t i = 0; m.sweep && i < m.sweep->count; i++)
        if (m.sweep->points[i]) m.sweep->points[i]->options.reference = NULL;
    if (st)
        pgy_bench_sweep_destroy(m.sweep);
    else
        *out = m.sweep;
    return st;
}

pgy_status pgy_bench_measure(pgy_bench **out, const pgy_bench_side *sides, size_t count,
                             const pgy_bench_options *options, pgy_error *err)
{
    pgy_bench_sweep *s = NULL;
    const pgy_status st = pgy_bench_sweep_measure(&s, sides, count, NULL, options, err);
    if (st) return st;
    *out = s->points[0];
    s->points[0] = NULL;
    pgy_bench_sweep_destroy(s);
    return PGY_OK;
}
