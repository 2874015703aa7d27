/* SPDX-License-Identifier: Apache-2.0 */
/* The probe: all threads run one loop at the same time, in many short windows. The best window
 * counts, because other work on the machine can only make a window worse. Arithmetic is measured by
 * the time that each thread had a processor, so it needs no quiet machine; memory is shared with
 * the other threads, so the clock on the wall counts there. */
#include "base/machine_probe.h"

#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/machine_loops.h"

enum { ALIGNMENT = 64, PIECE = 1 << 14, ROUNDS = 4096, ARRAYS = 3 };
static const int64_t START_LIMIT_NS = 200000000, WINDOW_NS = 2000000, LEAST_WINDOWS = 5;
static const double QUIET = 0.9; /* share of a window in which each thread had a processor */
static const uint64_t LEAST_BYTES = UINT64_C(128) << 20, MOST_BYTES = UINT64_C(768) << 20;

typedef enum probe_kind { COMPUTE, READ, TRIAD, KIND_COUNT } probe_kind;

/* A window: each thread works for `ns` from the moment when all have begun. */
typedef struct window {
    const machine_loops *loops;
    probe_kind kind;
    int64_t ns;
    size_t threads;
    float *memory;
    size_t floats; /* of one array of a thread */
    atomic_size_t begun;
    atomic_bool closed; /* a thread came too late, or a request to stop came */
    double *rates;      /* of each thread: operations or bytes per ns */
    double *shares;     /* of each thread: of the window, in which it had a processor */
    atomic_uint sink;   /* results, so that no compiler leaves the work out */
} window;

/* Waits until all threads have begun. False: they do not run at the same time. */
static bool meet(window *w)
{
    const int64_t limit = clock_ns() + START_LIMIT_NS;
    atomic_fetch_add(&w->begun, 1);
    while (atomic_load(&w->begun) < w->threads && !atomic_load(&w->closed))
        if (clock_ns() > limit || cancel_requested()) atomic_store(&w->closed, true);
    return !atomic_load(&w->closed);
}

/* Does a piece of work. @return its operations or bytes */
static double work(window *w, size_t thread, size_t piece)
{
    const size_t pieces = w->floats / PIECE, at = piece % pieces * PIECE;
    float *a = w->memory + thread * ARRAYS * w->floats + at, *b = a + w->floats, *c = b + w->floats;
    if (w->kind == COMPUTE) {
        const float result = w->loops->multiply_add(ROUNDS);
        atomic_fetch_add_explicit(&w->sink, (unsigned)result, memory_order_relaxed);
        return ROUNDS * w->loops->round_flops;
    }
    if (w->kind == READ) { /* the three arrays lie one behind the other */
        const float *from =
            w->memory + thread * ARRAYS * w->floats + piece % (ARRAYS * pieces) * PIECE;
        const float result = w->loops->read(from, PIECE);
        atomic_fetch_add_explicit(&w->sink, (unsigned)result, memory_order_relaxed);
        return PIECE * sizeof(float);
    }
    w->loops->triad(c, a, b, PIECE);
    return ARRAYS * PIECE * sizeof(float);
}

static int64_t thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void run_window(size_t thread, void *user)
{
    window *w = user;
    double done = 0;
    w->rates[thread] = w->shares[thread] = 0;
    if (!meet(w)) return;
    const int64_t start = clock_ns(), had = thread_ns();
    int64_t now = start;
    for (size_t i = 0; now - start < w->ns && !cancel_requested(); i++) {
        done += work(w, thread, i);
        now = clock_ns();
    }
    const int64_t took = now - start, own = thread_ns() - had;
    const int64_t counts = w->kind == COMPUTE && own < took ? own : took;
    if (counts <= 0) return;
    w->rates[thread] = done / (double)counts;
    w->shares[thread] = (double)own / (double)took;
}

static void fill(size_t thread, void *user)
{
    window *w = user;
    float *to = w->memory + thread * ARRAYS * w->floats;
    for (size_t i = 0; i < ARRAYS * w->floats; i++) to[i] = 1;
}

/* Much more than the caches hold, in three arrays for each thread; but not more than a short probe
 * can get through. */
static size_t floats_per_array(size_t threads, double seconds)
{
    const double bytes_per_second = 2e10;
    const long last = sysconf(_SC_LEVEL3_CACHE_SIZE);
    uint64_t bytes = last > 0 ? 4 * (uint64_t)last : 0;
    if (bytes < LEAST_BYTES) bytes = LEAST_BYTES;
    if (bytes > MOST_BYTES) bytes = MOST_BYTES;
    if ((double)bytes > seconds * bytes_per_second) bytes = (uint64_t)(seconds * bytes_per_second);
    const size_t pieces = (size_t)(bytes / sizeof(float) / ARRAYS / threads / PIECE);
    return (pieces ? pieces : 1) * PIECE;
}

/* Sum of all threads' rates, in the best window. */
static double best_of(window *w, probe_kind kind, double seconds, bool *is_disturbed)
{
    const int64_t end = clock_ns() + (int64_t)(seconds * 1e9);
    const int64_t each = (int64_t)(seconds * 1e9) / LEAST_WINDOWS;
    double best = 0;
    w->kind = kind;
    w->ns = each < WINDOW_NS ? each : WINDOW_NS;
    for (int i = 0; (i < LEAST_WINDOWS || clock_ns() < end) && !cancel_requested(); i++) {
        double sum = 0, least = 1;
        atomic_store(&w->begun, 0);
        atomic_store(&w->closed, false);
        parallel_for(w->threads, run_window, w);
        for (size_t k = 0; k < w->threads; k++) {
            sum += w->rates[k];
            if (w->shares[k] < least) least = w->shares[k];
        }
        if (atomic_load(&w->closed) || sum <= best) continue;
        best = sum;
        *is_disturbed = kind != COMPUTE && least < QUIET;
    }
    return best;
}

pgy_status machine_probe(pgy_machine_peaks *out, double seconds, pgy_error *err)
{
    static const double PARTS[] = {0.4, 0.25, 0.25}; /* the rest fills the arrays */
    window w = {.loops = machine_loops_of(cpu_features()), .threads = cpu_count()};
    double best[KIND_COUNT] = {0};
    bool disturbed[KIND_COUNT] = {0};
    w.floats = floats_per_array(w.threads, seconds);
    w.memory = mem_alloc_aligned(ALIGNMENT, w.threads * ARRAYS * w.floats * sizeof *w.memory);
    w.rates = mem_calloc(w.threads, sizeof *w.rates);
    w.shares = mem_calloc(w.threads, sizeof *w.shares);
    pgy_status st = w.memory && w.rates && w.shares
                        ? PGY_OK
                        : pgy_error_set(err, PGY_E_MEMORY, "out of memory for the probe");
    if (!st) parallel_for_until_cancelled(w.threads, fill, &w);
    for (int k = 0; !st && k < KIND_COUNT; k++) {
        best[k] = best_of(&w, (probe_kind)k, seconds * PARTS[k], &disturbed[k]);
        st = cancel_check(err);
    }
    if (!st && !(best[COMPUTE] > 0 && best[READ] > 0 && best[TRIAD] > 0))
        st = pgy_error_set(err, PGY_E_INTERNAL,
                           "the %zu threads of the probe did not run at the same time; set "
                           "POLYGRAPHY_THREADS to the number of free processors",
                           w.threads);
    mem_free(w.memory);
    mem_free(w.rates);
    mem_free(w.shares);
    if (st) return st;
    out->gflops = best[COMPUTE];
    out->gb_per_s = best[READ] > best[TRIAD] ? best[READ] : best[TRIAD];
    out->is_disturbed = disturbed[best[READ] > best[TRIAD] ? READ : TRIAD];
    out->threads = w.threads;
    return PGY_OK;
}
