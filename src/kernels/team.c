/* SPDX-License-Identifier: Apache-2.0 */
/* The thread team. A thread waits for a number to grow: the number of tasks, or the number of
 * rounds that are complete. It spins first, because the next round is usually microseconds away;
 * then it sleeps on the number (futex). The thread that changes a number wakes sleepers only if
 * there are any. Threads do not spin while the process has more runnable team threads than
 * processors, because a thread that has work may need the waiter's processor. Load from other
 * processes shows in long waits: a wait longer than SPIN_NS halves the time that the thread spins,
 * and a shorter sleep restores it.
 *
 * Each thread counts the parts of its range that are done on a cache line of its own. Thread 0,
 * when it waits, gathers these counts and says that the round is complete: that costs 16 threads
 * half the time of one counter that all of them change. The others look, too, but seldom, in case
 * thread 0 is held up, and before they sleep. While somebody sleeps, whoever is done looks.
 *
 * Nobody waits for a thread that has not come: a round is complete when its parts are done, whoever
 * did them, and a task when its rounds are. So a worker that the system runs late finds nothing
 * left to do, or even that the task is over and its data are gone. Therefore a worker is `inside`
 * only while it looks at the task's data, never while it waits, and the task ends when it has been
 * closed and nobody is inside. */
#include "kernels/team.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/processors.h"
#include "base/system.h"

enum {
    CACHE_LINE = 64,
    SPIN_NS = 100000,
    SPIN_LEAST_NS = 2000,
    SPINS_PER_LOOK = 64,
    MOVES_NS = 10000000, /* a thread leaves the caller's processor no sooner than this again */
    COUNT_BITS = 16      /* of a thread's `taken` and `done` */
};

/* A number that threads wait on, alone on its cache line, times two; and whether a thread has gone
 * to sleep since the number last changed. Both change at once, so nobody falls asleep unnoticed. */
typedef struct signal_word {
    _Alignas(CACHE_LINE) atomic_uint word;
} signal_word;

typedef struct worker {
    team *team;
    size_t index;
    pthread_t thread;
    /* The round of this thread, and whether thread 0 runs it alone. Each thread counts the rounds
     * of a task by itself, and all come to the same numbers. */
    uint64_t round;
    bool alone;
    bool helped;     /* took a part of another's range in the last small round */
    uint32_t undone; /* parts taken, but not yet counted as done */
    uint32_t owner;  /* whose range they are of */
    /* The last shared round that this thread took part in, its parts, how many each range has, how
     * many ranges have one more, and how many ranges this thread has seen done. */
    uint64_t watched;
    uint32_t parts, each, more, seen;
    unsigned entered; /* number of the task that this thread looks at */
    int64_t moved_ns; /* when this thread last left the caller's processor */
    /* The last round in which somebody took parts of this thread's range, and how many, in the
     * lower COUNT_BITS. Rounds never come to their end there: 48 bits last for years. */
    _Alignas(CACHE_LINE) _Atomic uint64_t taken;
    _Alignas(CACHE_LINE) _Atomic uint64_t done; /* the same of parts that are done */
    _Alignas(CACHE_LINE) atomic_bool inside;
} worker;

struct team {
    signal_word start;                   /* odd: a task runs; even: none */
    signal_word passed;                  /* number of complete rounds, its lower 32 bits */
    _Alignas(CACHE_LINE) uint64_t first; /* number of rounds before this task */
    void (*task)(size_t thread, size_t size, void *user);
    void *user;
    atomic_int processor; /* where the caller began the task */
    atomic_bool running;
    int64_t ended_ns; /* when the last task ended */
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

/* Are there processors for this team's threads besides those of other teams that run a task? A
 * thread also asks when its own team's task is nearly over, and will spin until the next one. */
static bool may_spin(const team *t)
{
    const size_t busy = atomic_load_explicit(&busy_threads, memory_order_relaxed);
    const bool own = atomic_load_explicit(&t->running, memory_order_relaxed);
    return busy + (own ? 0 : t->size) <= t->processors;
}

static unsigned number_of(const signal_word *w)
{
    return atomic_load(&w->word) / 2;
}

static bool has_sleepers(const signal_word *w)
{
    return atomic_load(&w->word) % 2;
}

/* Both are close to each other, so the difference tells which one is ahead. */
static bool is_behind(unsigned word, unsigned value)
{
    return (int)(word - 2 * value) < 0;
}

static bool has_reached(const signal_word *w, unsigned value)
{
    return !is_behind(atomic_load_explicit(&w->word, memory_order_acquire), value);
}

static void wake(signal_word *w)
{
    syscall(SYS_futex, &w->word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

static void change(signal_word *w, unsigned value)
{
    if (atomic_exchange(&w->word, 2 * value) % 2) wake(w);
}

/* Says that this thread is going to sleep. False: the number has reached the value. */
static bool mark_sleeper(signal_word *w, unsigned value, unsigned *marked)
{
    unsigned now = atomic_load(&w->word);
    do {
        if (!is_behind(now, value)) return false;
        *marked = now | 1;
    } while (!atomic_compare_exchange_weak(&w->word, &now, *marked));
    return true;
}

/* Sleeps, unless the word has changed since it was marked. */
static void sleep_marked(signal_word *w, unsigned marked)
{
    syscall(SYS_futex, &w->word, FUTEX_WAIT_PRIVATE, marked, NULL, NULL, 0);
}

/* Waits for task `value`. How soon it comes is unknown, so waits do not change the thread's
 * patience. */
static void await_task(team *t, unsigned value)
{
    const int64_t until = clock_ns() + (may_spin(t) ? SPIN_NS : 0);
    unsigned marked;
    do {
        for (int i = 0; i < SPINS_PER_LOOK; i++) {
            if (has_reached(&t->start, value)) return;
            pause_briefly();
        }
    } while (clock_ns() < until);
    while (mark_sleeper(&t->start, value, &marked)) sleep_marked(&t->start, marked);
}

/* ---- Complete rounds ------------------------------------------------------------------------ */

static uint32_t count_of(const worker *w, size_t owner)
{
    return w->each + (owner < w->more);
}

/* Are all parts of the round that this thread watches done? Then says so to all. */
static bool gather(worker *w)
{
    team *t = w->team;
    const uint64_t none = w->watched << COUNT_BITS;
    const size_t ranges = w->each ? t->size : w->more;
    for (; w->seen < ranges; w->seen++)
        if (atomic_load(&t->workers[w->seen].done) < none + count_of(w, w->seen)) return false;
    /* Another thread may have said it already, and others have gone on. */
    const unsigned before = 2 * (unsigned)(w->watched - 1);
    unsigned word = atomic_load(&t->passed.word);
    while (word - word % 2 == before)
        if (atomic_compare_exchange_weak(&t->passed.word, &word, before + 2)) {
            if (word % 2) wake(&t->passed);
            break;
        }
    return true;
}

static bool is_passed(worker *w, uint64_t round, bool gathers)
{
    return has_reached(&w->team->passed, (unsigned)round) ||
           (gathers && w->watched == round && gather(w));
}

/* Returns false if the time is over. */
static bool spin(worker *w, uint64_t round, int64_t until)
{
    do {
        for (int i = 0; i < SPINS_PER_LOOK; i++) {
            if (is_passed(w, round, i == 0 || w->index == 0)) return true;
            pause_briefly();
        }
    } while (clock_ns() < until);
    return false;
}

static void sleep_on(worker *w, uint64_t round)
{
    signal_word *passed = &w->team->passed;
    unsigned marked;
    while (mark_sleeper(passed, (unsigned)round, &marked)) {
        if (is_passed(w, round, true)) return; /* whoever is done from now on looks, too */
        sleep_marked(passed, marked);
    }
}

/* Waits for other threads within a task, and adapts how long this thread spins next time. */
static void await_round(worker *w, uint64_t round)
{
    const int64_t start = clock_ns();
    if (spin(w, round, start + (may_spin(w->team) ? patience_ns : 0))) return;
    sleep_on(w, round);
    const int64_t halved = patience_ns / 2 > SPIN_LEAST_NS ? patience_ns / 2 : SPIN_LEAST_NS;
    patience_ns = clock_ns() - start < SPIN_NS ? SPIN_NS : halved;
}

/* ---- Entering a task ------------------------------------------------------------------------ */

static bool enter(worker *w)
{
    atomic_store(&w->inside, true);
    if (number_of(&w->team->start) == w->entered) return true;
    atomic_store_explicit(&w->inside, false, memory_order_release);
    return false;
}

static void leave(worker *w)
{
    atomic_store_explicit(&w->inside, false, memory_order_release);
}

/* Closes the task to those that come late, and waits for those inside. They have no part left, so
 * they leave at once, unless the system has stopped them there. */
static void close_task(team *t)
{
    const struct timespec pause = {.tv_nsec = 20000};
    atomic_fetch_add(&t->start.word, 2); /* those who sleep stay so */
    for (size_t i = 1; i < t->size; i++)
        for (int n = 0; atomic_load(&t->workers[i].inside); n++)
            if (n < SPINS_PER_LOOK * SPINS_PER_LOOK)
                pause_briefly();
            else
                nanosleep(&pause, NULL);
}

/* ---- Rounds --------------------------------------------------------------------------------- */

/* Waits until the rounds before this thread's are complete. False: the task is over. */
static bool await_turn(worker *w)
{
    const uint64_t before = w->round - 1;
    if (is_passed(w, before, w->index == 0)) return true;
    if (w->index == 0) {
        await_round(w, before);
        return true;
    }
    leave(w);
    await_round(w, before);
    return enter(w);
}

static void end_alone(worker *w)
{
    if (!w->alone) return;
    w->alone = false;
    if (w->index == 0) change(&w->team->passed, (unsigned)w->round);
}

bool team_alone(team *t, size_t thread)
{
    worker *w = &t->workers[thread];
    if (w->alone) return thread == 0;
    w->round++;
    w->alone = true;
    return thread == 0 && await_turn(w);
}

bool team_share_begin(team *t, size_t thread)
{
    worker *w = &t->workers[thread];
    end_alone(w);
    w->round++;
    return await_turn(w);
}

/* A complete round has left its number, or a later one, in all ranges with parts, so a thread that
 * comes late takes none. */
static bool take(worker *from, uint64_t round, uint32_t count, uint32_t *index)
{
    const uint64_t none = round << COUNT_BITS;
    uint64_t taken = atomic_load_explicit(&from->taken, memory_order_relaxed), more;
    do {
        if (!count || taken >= none + count) return false;
        more = (taken < none ? none : taken) + 1;
    } while (!atomic_compare_exchange_weak_explicit(&from->taken, &taken, more,
                                                    memory_order_relaxed, memory_order_relaxed));
    *index = (uint32_t)(more - none - 1);
    return true;
}

/* Counts the parts that this thread has taken as done. Until then the round is not complete, so
 * nobody has counted parts of a later one. */
static void count_done(worker *w)
{
    _Atomic uint64_t *done = &w->team->workers[w->owner].done;
    const uint64_t none = w->round << COUNT_BITS;
    uint64_t had = atomic_load_explicit(done, memory_order_relaxed);
    if (!w->undone) return;
    while (!atomic_compare_exchange_weak(done, &had, (had < none ? none : had) + w->undone))
        continue;
    w->undone = 0;
    if (has_sleepers(&w->team->passed)) (void)gather(w);
}

/* A small round has one part for each thread, and usually each thread takes its own in time.
 * Looking for parts of others costs as much as the round. So a thread looks only if the round stays
 * incomplete for a while, or if it took such a part in the last small round. In a large round
 * threads are done at different times, and the last one need not wait for thread 0. */
static bool is_over(worker *w)
{
    const bool large = w->parts > w->team->size;
    const int looks = large || w->helped ? 1 : SPINS_PER_LOOK;
    for (int i = 0; i < looks; i++) {
        if (is_passed(w, w->round, large || w->index == 0)) return true;
        if (looks > 1) pause_briefly();
    }
    return false;
}

static bool take_of(worker *w, size_t owner, uint32_t *part)
{
    uint32_t index;
    if (!take(&w->team->workers[owner], w->round, count_of(w, owner), &index)) return false;
    *part = (uint32_t)owner * w->each + (owner < w->more ? (uint32_t)owner : w->more) + index;
    w->owner = (uint32_t)owner;
    w->undone++;
    return true;
}

static void watch(worker *w, uint32_t parts)
{
    const uint32_t size = (uint32_t)w->team->size;
    if (w->watched == w->round) return;
    w->watched = w->round;
    w->parts = parts;
    w->each = parts / size;
    w->more = parts % size;
    w->seen = 0;
}

bool team_share_next(team *t, size_t thread, uint32_t parts, uint32_t *part)
{
    worker *w = &t->workers[thread];
    watch(w, parts);
    if (take_of(w, thread, part)) return true;
    count_done(w);
    if (is_over(w)) return false;
    w->helped = true;
    for (size_t i = 1; i < t->size; i++)
        if (take_of(w, (thread + i) % t->size, part)) return true;
    w->helped = false;
    return false;
}

/* ---- Workers -------------------------------------------------------------------------------- */

static void begin_task(worker *w)
{
    w->round = w->team->first;
    w->alone = false;
    w->undone = 0;
}

/* On a busy machine the system often wakes a thread on the processor of the one that wakes it, and
 * leaves it there. Both would take turns instead of sharing the work. */
static void keep_apart(worker *w)
{
    const team *t = w->team;
    const int taken = atomic_load_explicit(&t->processor, memory_order_relaxed);
    if (t->size > t->processors || taken < 0 || taken != processors_current()) return;
    const int64_t now = clock_ns();
    if (w->moved_ns && now - w->moved_ns < MOVES_NS) return;
    w->moved_ns = now;
    processors_leave(taken);
}

static void *worker_main(void *arg)
{
    worker *w = arg;
    team *t = w->team;
    for (;;) {
        await_task(t, w->entered + 1);
        w->entered = number_of(&t->start);
        if (w->entered % 2 == 0) continue;
        keep_apart(w);
        if (!enter(w)) continue;
        if (t->stopping) return NULL;
        begin_task(w);
        t->task(w->index, t->size, t->user);
        leave(w);
    }
}

/* Sleepers are woken for a short task only if tasks follow each other so fast that they will spin
 * until the next one. */
static bool wants_workers(const team *t, bool is_long)
{
    return t->size > 1 &&
           (is_long || !has_sleepers(&t->start) || clock_ns() - t->ended_ns < SPIN_NS);
}

static void run_task(team *t, bool is_long, void (*task)(size_t thread, size_t size, void *user),
                     void *user)
{
    worker *w = &t->workers[0];
    const bool open = wants_workers(t, is_long);
    if (open) atomic_store_explicit(&t->processor, processors_current(), memory_order_relaxed);
    t->task = task;
    t->user = user;
    begin_task(w);
    if (open) change(&t->start, number_of(&t->start) + 1);
    task(0, t->size, user);
    end_alone(w);
    w->round++;
    (void)await_turn(w);
    if (open) close_task(t);
    t->first = w->round - 1;
    if (t->size > 1) t->ended_ns = clock_ns();
}

void team_run(team *t, bool is_long, void (*task)(size_t thread, size_t size, void *user),
              void *user)
{
    atomic_fetch_add_explicit(&busy_threads, t->size, memory_order_relaxed);
    atomic_store_explicit(&t->running, true, memory_order_relaxed);
    run_task(t, is_long, task, user);
    atomic_store_explicit(&t->running, false, memory_order_relaxed);
    atomic_fetch_sub_explicit(&busy_threads, t->size, memory_order_relaxed);
}

/* ---- Life ----------------------------------------------------------------------------------- */

void team_destroy(team *t)
{
    if (!t) return;
    t->stopping = true;
    change(&t->start, number_of(&t->start) + 1);
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
    if (!st) t->workers[0].team = t;
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
