/* SPDX-License-Identifier: Apache-2.0 */
/* The measured loop. A run reads the clock four times; nothing else is between the engine and the
 * clock. Each stream records its runs by itself, and the lists are merged afterwards. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/sized.h"
#include "base/system.h"
#include "perf/perf.h"

typedef struct stream {
    perf_lane *lane;
    const pgy_perf_options *o;
    int64_t origin_ns;
    pgy_perf_trace trace; /* of this stream */
    size_t limit, oldest; /* once the trace has `limit` runs, a new one replaces the oldest */
    atomic_bool *stop;    /* another stream failed */
    pgy_status st;
    pgy_error err;
} stream;

pgy_perf_options pgy_perf_options_default(void)
{
    return (pgy_perf_options){.size = sizeof(pgy_perf_options),
                              .iterations = 10,
                              .warm_up_ms = 200,
                              .duration_s = 3,
                              .streams = 1};
}

/* ---- One stream ----------------------------------------------------------------------------- */

static double since_ms(const stream *s, int64_t ns)
{
    return (double)(ns - s->origin_ns) * 1e-6;
}

static void sleep_for(double ms)
{
    const double longest = 1e15; /* any double above it would not fit the integer */
    if (ms > 0) cancel_sleep_ms((int64_t)(ms < longest ? ms : longest));
}

static pgy_status run_once(stream *s, pgy_perf_run *r, pgy_error *err)
{
    const bool copies = !s->o->no_copies;
    const uint32_t run = perf_trace_begin(s->lane);
    const int64_t begin = copies ? clock_ns() : 0;
    if (copies) perf_lane_copy_in(s->lane);
    const int64_t copied = clock_ns();
    sleep_for(s->o->sleep_ms);
    const int64_t start = s->o->sleep_ms > 0 ? clock_ns() : copied;
    const pgy_status st = pgy_context_execute(perf_lane_context(s->lane), err);
    const int64_t end = clock_ns();
    if (copies) perf_lane_copy_out(s->lane);
    const int64_t out = copies ? clock_ns() : end;
    r->h2d_start = since_ms(s, copies ? begin : start);
    r->h2d_end = since_ms(s, copies ? copied : start);
    r->compute_start = r->enqueue_start = since_ms(s, start);
    r->compute_end = r->enqueue_end = r->d2h_start = since_ms(s, end);
    r->d2h_end = since_ms(s, out);
    const perf_clocks c = {begin, copied, start, end, out, copies};
    if (st)
        tracer_run_drop(run);
    else
        perf_trace_end(run, s->lane, &c, r->compute_start < s->o->warm_up_ms);
    return st;
}

/* Both minima must be reached; warm-up runs count for neither. */
static bool goes_on(const stream *s, int64_t measured, double now)
{
    if (cancel_requested() || atomic_load_explicit(s->stop, memory_order_relaxed)) return false;
    if (s->o->duration_s < 0 || measured < s->o->iterations) return true;
    return now < s->o->duration_s * 1e3 + s->o->warm_up_ms;
}

static pgy_status keep(stream *s, const pgy_perf_run *r, pgy_error *err)
{
    pgy_perf_trace *t = &s->trace;
    if (s->limit && t->count == s->limit) {
        t->runs[s->oldest] = *r;
        s->oldest = (s->oldest + 1) % s->limit;
        t->dropped++;
        return PGY_OK;
    }
    if (!mem_grow((void **)&t->runs, &t->capacity, t->count + 1, sizeof *t->runs))
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for the times of %zu runs",
                             t->count);
    t->runs[t->count++] = *r;
    return PGY_OK;
}

static void note_preparation(stream *s, bool is_warm_up)
{
    const pgy_context_times t = pgy_context_describe_times(perf_lane_context(s->lane));
    if (!t.preparation_ns) return;
    s->trace.preparation_ms += (double)t.preparation_ns / 1e6;
    s->trace.prepared_count += !is_warm_up;
}

static void *run_stream(void *user)
{
    stream *s = user;
    double now = since_ms(s, clock_ns());
    while (goes_on(s, (int64_t)s->trace.count, now)) {
        pgy_perf_run r;
        s->st = run_once(s, &r, &s->err);
        if (s->st) break;
        const bool is_warm_up = r.compute_start < s->o->warm_up_ms;
        note_preparation(s, is_warm_up);
        if (is_warm_up)
            s->trace.warm_up_count++;
        else
            s->st = keep(s, &r, &s->err);
        if (s->st) break;
        now = r.d2h_end;
        if (s->o->idle_ms > 0) {
            sleep_for(s->o->idle_ms);
            now = since_ms(s, clock_ns());
        }
    }
    if (s->st) atomic_store(s->stop, true);
    return NULL;
}

/* ---- All streams ---------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const pgy_perf_run *x = a, *y = b;
    return (x->compute_start > y->compute_start) - (x->compute_start < y->compute_start);
}

/* Copies the runs of a stream, the oldest first. */
static void add_runs(pgy_perf_run *to, const stream *s)
{
    const pgy_perf_trace *t = &s->trace;
    const size_t last = t->count - s->oldest;
    if (last) memcpy(to, t->runs + s->oldest, last * sizeof *to);
    if (s->oldest) memcpy(to + last, t->runs, s->oldest * sizeof *to);
}

static pgy_status merge(pgy_perf_trace **out, stream *streams, size_t count, pgy_error *err)
{
    pgy_perf_trace *t = mem_calloc(1, sizeof *t);
    if (!t) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const pgy_perf_trace *one = &streams[i].trace;
        if (!mem_grow((void **)&t->runs, &t->capacity, t->count + one->count + 1,
                      sizeof *t->runs)) {
            pgy_perf_trace_destroy(t);
            return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        }
        add_runs(t->runs + t->count, &streams[i]);
        t->count += one->count;
        t->dropped += one->dropped;
        t->warm_up_count += one->warm_up_count;
        t->preparation_ms += one->preparation_ms;
        t->prepared_count += one->prepared_count;
    }
    if (count > 1) qsort(t->runs, t->count, sizeof *t->runs, by_start);
    *out = t;
    return PGY_OK;
}

/* Runs the first stream on this thread and each other one on a thread of its own. */
static void run_all(stream *streams, size_t count)
{
    pthread_t *threads = mem_calloc(count, sizeof *threads);
    size_t started = 1;
    const int64_t origin = clock_ns();
    for (size_t i = 0; i < count; i++) streams[i].origin_ns = origin;
    for (; threads && started < count; started++)
        if (pthread_create(&threads[started], NULL, run_stream, &streams[started])) break;
    if (started < count) {
        streams[0].st = pgy_error_set(&streams[0].err, PGY_E_MEMORY,
                                      "cannot start a thread for stream %zu", started);
        atomic_store(streams[0].stop, true);
    } else {
        run_stream(&streams[0]);
    }
    for (size_t i = 1; i < started; i++) pthread_join(threads[i], NULL);
    mem_free(threads);
}

static pgy_status check_options(const pgy_perf_options *o, pgy_error *err)
{
    if (o->streams < 1 || o->streams > 1024)
        return pgy_error_set(err, PGY_E_ARGUMENT, "streams: %zu is not in [1, 1024]", o->streams);
    if (o->iterations < 0 || !(o->warm_up_ms >= 0) || !(o->sleep_ms >= 0) || !(o->idle_ms >= 0))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "iterations, warm_up_ms, sleep_ms and idle_ms must not be negative");
    if (!(o->duration_s == o->duration_s))
        return pgy_error_set(err, PGY_E_ARGUMENT, "duration_s is not a number");
    return PGY_OK;
}

/* With several streams the threads of the engine are divided among them. */
static void divide_threads(pgy_perf_options *o, const pgy_engine *engine)
{
    if (o->threads || o->streams == 1) return;
    const size_t built = pgy_engine_config(engine)->threads;
    o->threads = (built ? built : cpu_count()) / o->streams;
    if (!o->threads) o->threads = 1;
}

/* An endless loop must not need more and more memory. @return runs of each stream; 0: all */
static size_t window_of(const pgy_perf_options *o)
{
    enum { WINDOW = 1 << 18 };
    if (o->duration_s >= 0) return 0;
    const size_t each = (o->window ? o->window : WINDOW) / o->streams;
    return each ? each : 1;
}

static pgy_status gather(pgy_perf_trace **out, pgy_tensor_map **outputs, stream *streams,
                         const pgy_perf_options *o, pgy_error *err)
{
    pgy_perf_trace *t = NULL;
    for (size_t i = 0; i < o->streams; i++)
        if (streams[i].st && !(streams[i].st == PGY_E_CANCELLED && o->duration_s < 0))
            return pgy_error_set(err, streams[i].st, "%s", streams[i].err.text);
    if (o->duration_s >= 0) {
        const pgy_status st = cancel_check(err);
        if (st) return st;
    }
    pgy_status st = merge(&t, streams, o->streams, err);
    if (!st && !t->count && (o->iterations || o->duration_s))
        st = pgy_error_set(err, PGY_E_CANCELLED, "no run was measured before the loop was stopped");
    if (!st && outputs && streams[0].trace.count + streams[0].trace.warm_up_count)
        st = perf_lane_outputs(outputs, streams[0].lane, err);
    if (st)
        pgy_perf_trace_destroy(t);
    else
        *out = t;
    return st;
}

pgy_status pgy_perf_measure(pgy_perf_trace **out, pgy_tensor_map **outputs, pgy_engine *engine,
                            const pgy_tensor_map *feed, const pgy_perf_options *options,
                            pgy_error *err)
{
    pgy_perf_options o = pgy_perf_options_default();
    atomic_bool stop = false;
    if (outputs) *outputs = NULL;
    pgy_status st = SIZED_TAKE(pgy_perf_options, &o, options, err);
    if (!st) st = check_options(&o, err);
    if (st) return st;
    divide_threads(&o, engine);
    stream *streams = mem_calloc(o.streams, sizeof *streams);
    if (!streams) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; !st && i < o.streams; i++) {
        streams[i].o = &o;
        streams[i].stop = &stop;
        streams[i].limit = window_of(&o);
        st = perf_lane_create(&streams[i].lane, engine, feed, &o, err);
    }
    const bool endless = !st && o.duration_s < 0;
    if (endless) cancel_hold(); /* a request ends the loop, and then come the statistics */
    if (!st) run_all(streams, o.streams);
    if (endless) cancel_release();
    if (!st) st = gather(out, outputs, streams, &o, err);
    for (size_t i = 0; i < o.streams; i++) {
        perf_lane_destroy(streams[i].lane);
        mem_free(streams[i].trace.runs);
    }
    mem_free(streams);
    return st;
}
