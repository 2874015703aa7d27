/* SPDX-License-Identifier: Apache-2.0 */
/* The thread team. A thread waits for a number to change: the round of tasks, or the round of the
 * barrier. It spins first, because the next step is usually microseconds away; then it sleeps on
 * the number (futex). The thread that changes a number wakes sleepers only if there are any.
 * Threads do not spin while the process has more runnable team threads than processors, because a
 * thread that has work may need the waiter's processor. Load from other processes shows in long
 * waits: a wait longer than SPIN_NS halves the time that the thread spins, and a shorter sleep
 * restores it. */
#include "kernels/team.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/system.h"

enum { CACHE_LINE = 64, SPIN_NS = 100000, SPIN_LEAST_NS = 2000, SPINS_PER_LOOK = 64 };

/* A number that threads wait on, alone on its cache line. */
typedef struct signal_word {
    _Alignas(CACHE_LINE) atomic_uint value;
    atomic_uint sleepers;
} signal_word;

typedef struct worker {
    team *team;
    size_t index;
    pthread_t thread;
    /* Number of parts taken from this thread's range, in this share and, 0, in the next one. Which
     * of both is this share's only this thread's own `share` says, which is equal in all threads.
     */
    _Alignas(CACHE_LINE) atomic_uint taken[2];
    unsigned share;
} worker;

struct team {
    signal_word start, arrived, passed; /* numbers of tasks, threads at the barrier, barriers */
    _Alignas(CACHE_LINE) atomic_uint running;
    signal_word done; /* number of tasks that all workers have finished */
    void (*task)(size_t thread, size_t size, void *user);
    void *user;
    bool stopping;
    size_t size, started;
    size_t processors;
    worker *workers; /* indexed by thread; that of the caller, 0, has no thread of its own */
};

/* How long this thread spins within a task. */
static _Thread_local int64_t patience_ns = SPIN_NS;

/* Number of threads in all teams that run a task. */
static atomic_size_t busy_threads;

/* ---- Waiting -------------------------------------------------------------------------------- */

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Are there processors for `more` threads besides those that run a task? */
static bool may_spin(const team *t, size_t more)
{
    return atomic_load_explicit(&busy_threads, memory_order_relaxed) + more <= t->processors;
}

/* Returns false if the time is over. */
static bool spin(const signal_word *w, unsigned old, int64_t until)
{
    do {
        for (int i = 0; i < SPINS_PER_LOOK; i++) {
            if (atomic_load_explicit(&w->value, memory_order_acquire) != old) return true;
            pause_briefly();
        }
    } while (clock_ns() < until);
    return false;
}

static void sleep_on(signal_word *w, unsigned old)
{
    atomic_fetch_add(&w->sleepers, 1);
    while (atomic_load(&w->value) == old)
        syscall(SYS_futex, &w->value, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
    atomic_fetch_sub(&w->sleepers, 1);
}

/* Waits for a task. How soon it comes is unknown, so waits do not change the thread's patience. */
static void wait_long(const team *t, signal_word *w, unsigned old)
{
    if (!spin(w, old, clock_ns() + (may_spin(t, t->size) ? SPIN_NS : 0))) sleep_on(w, old);
}

/* Waits for other threads within a task, and adapts how long this thread spins next time. */
static void wait_change(const team *t, signal_word *w, unsigned old)
{
    const int64_t start = clock_ns();
    if (spin(w, old, start + (may_spin(t, 0) ? patience_ns : 0))) return;
    sleep_on(w, old);
    const int64_t halved = patience_ns / 2 > SPIN_LEAST_NS ? patience_ns / 2 : SPIN_LEAST_NS;
    patience_ns = clock_ns() - start < SPIN_NS ? SPIN_NS : halved;
}

static void change(signal_word *w, unsigned value)
{
    atomic_store(&w->value, value);
    if (atomic_load(&w->sleepers))
        syscall(SYS_futex, &w->value, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

void team_barrier(team *t, size_t thread)
{
    (void)thread;
    if (t->size == 1) return;
    const unsigned round = atomic_load_explicit(&t->passed.value, memory_order_relaxed);
    if (atomic_fetch_add(&t->arrived.value, 1) + 1 == t->size) {
        atomic_store_explicit(&t->arrived.value, 0, memory_order_relaxed);
        change(&t->passed, round + 1);
    } else {
        wait_change(t, &t->passed, round);
    }
}

/* ---- Shares --------------------------------------------------------------------------------- */

/* All threads have passed a barrier since the share before this one, so nobody reads its numbers
 * any more, and they can become those of the next share. */
void team_share_begin(team *t, size_t thread)
{
    worker *w = &t->workers[thread];
    w->share ^= 1;
    atomic_store_explicit(&w->taken[w->share ^ 1], 0, memory_order_relaxed);
}

static bool take(worker *from, unsigned share, uint32_t count, uint32_t *index)
{
    atomic_uint *taken = &from->taken[share];
    if (atomic_load_explicit(taken, memory_order_relaxed) >= count) return false;
    *index = atomic_fetch_add_explicit(taken, 1, memory_order_relaxed);
    return *index < count;
}

bool team_share_next(team *t, size_t thread, uint32_t parts, uint32_t *part)
{
    const uint32_t each = parts / (uint32_t)t->size, rest = parts % (uint32_t)t->size;
    const unsigned share = t->workers[thread].share;
    for (size_t i = 0; i < t->size; i++) {
        const uint32_t owner = (uint32_t)((thread + i) % t->size);
        uint32_t index;
        if (!take(&t->workers[owner], share, each + (owner < rest), &index)) continue;
        *part = owner * each + (owner < rest ? owner : rest) + index;
        return true;
    }
    return false;
}

/* ---- Workers -------------------------------------------------------------------------------- */

static void *worker_main(void *arg)
{
    const worker *w = arg;
    team *t = w->team;
    for (unsigned round = 0;; round++) {
        wait_long(t, &t->start, round);
        if (t->stopping) return NULL;
        t->task(w->index, t->size, t->user);
        if (atomic_fetch_sub(&t->running, 1) == 1) change(&t->done, round + 1);
    }
}

static void run_task(team *t, void (*task)(size_t thread, size_t size, void *user), void *user)
{
    if (t->size == 1) {
        task(0, 1, user);
        return;
    }
    const unsigned round = atomic_load_explicit(&t->start.value, memory_order_relaxed);
    t->task = task;
    t->user = user;
    atomic_store_explicit(&t->running, (unsigned)t->size - 1, memory_order_relaxed);
    change(&t->start, round + 1);
    task(0, t->size, user);
    wait_change(t, &t->done, round);
}

void team_run(team *t, void (*task)(size_t thread, size_t size, void *user), void *user)
{
    atomic_fetch_add_explicit(&busy_threads, t->size, memory_order_relaxed);
    run_task(t, task, user);
    atomic_fetch_sub_explicit(&busy_threads, t->size, memory_order_relaxed);
}

/* ---- Life ----------------------------------------------------------------------------------- */

void team_destroy(team *t)
{
    if (!t) return;
    t->stopping = true;
    change(&t->start, atomic_load(&t->start.value) + 1);
    for (size_t i = 1; i < t->started; i++) pthread_join(t->workers[i].thread, NULL);
    mem_free(t->workers);
    mem_free(t);
}

pgy_status team_create(team **out, size_t size, pgy_error *err)
{
    if (size == 0) size = cpu_count();
    team *t = mem_alloc_aligned(CACHE_LINE, sizeof *t);
    if (!t) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    *t = (team){.size = size, .started = 1, .processors = cpu_count()};
    t->workers = mem_alloc_aligned(CACHE_LINE, size * sizeof *t->workers);
    if (t->workers) memset(t->workers, 0, size * sizeof *t->workers);
    pgy_status st = t->workers ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (; !st && t->started < size; t->started++) {
        worker *w = &t->workers[t->started];
        w->team = t;
        w->index = t->started;
        if (pthread_create(&w->thread, NULL, worker_main, w))
            st = pgy_error_set(err, PGY_E_MEMORY, "cannot start thread %zu of %zu", t->started,
                               size);
        if (st) break;
    }
    if (st)
        team_destroy(t);
    else
        *out = t;
    return st;
}

size_t team_size(const team *t)
{
    return t->size;
}
