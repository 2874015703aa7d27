/* SPDX-License-Identifier: Apache-2.0 */
/* The parallel loop. Workers are started when first needed and sleep on a condition variable
 * between loops; the caller works too. Indices are handed out one by one by an atomic counter. One
 * loop runs at a time: a loop inside a task, or beside another one, runs inline. */
#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/system.h"

typedef struct loop {
    parallel_task task;
    void *user;
    size_t count;
    bool until_cancelled;
    atomic_size_t next;
} loop;

static struct {
    pthread_mutex_t busy; /* held by the thread whose loop runs */
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t wake, done;
    loop *current;
    uint64_t generation; /* number of the loop, so that a worker joins each loop only once */
    size_t wanted;       /* workers that may still join the current loop */
    size_t active;       /* workers inside it */
    size_t worker_count;
    pthread_t *workers;
    bool stopping;
} pool = {.busy = PTHREAD_MUTEX_INITIALIZER,
          .lock = PTHREAD_MUTEX_INITIALIZER,
          .wake = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER};

static _Thread_local bool inside_task;

static void work(loop *l)
{
    inside_task = true;
    for (;;) {
        const size_t i = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed);
        if (i >= l->count || (l->until_cancelled && cancel_requested())) break;
        l->task(i, l->user);
    }
    inside_task = false;
}

static void *worker_main(void *unused)
{
    uint64_t seen = 0;
    (void)unused;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (!pool.stopping && (pool.wanted == 0 || pool.generation == seen))
            pthread_cond_wait(&pool.wake, &pool.lock);
        if (pool.stopping) break;
        seen = pool.generation;
        pool.wanted--;
        pool.active++;
        loop *l = pool.current;
        pthread_mutex_unlock(&pool.lock);
        work(l);
        pthread_mutex_lock(&pool.lock);
        if (--pool.active == 0) pthread_cond_signal(&pool.done);
    }
    pthread_mutex_unlock(&pool.lock);
    return NULL;
}

/* Call under the lock. Starts workers up to `wanted`; fewer if the system refuses. */
static void start_workers(size_t wanted)
{
    if (pool.worker_count >= wanted) return;
    pthread_t *workers = mem_realloc_array(pool.workers, wanted, sizeof *workers);
    if (!workers) return;
    pool.workers = workers;
    while (pool.worker_count < wanted) {
        if (pthread_create(&workers[pool.worker_count], NULL, worker_main, NULL)) return;
        pool.worker_count++;
    }
}

static void run_shared(loop *l)
{
    size_t helpers = cpu_count() - 1;
    if (helpers > l->count - 1) helpers = l->count - 1;
    pthread_mutex_lock(&pool.lock);
    start_workers(helpers);
    pool.current = l;
    pool.generation++;
    pool.wanted = helpers < pool.worker_count ? helpers : pool.worker_count;
    if (pool.wanted) pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);

    work(l);

    pthread_mutex_lock(&pool.lock);
    pool.wanted = 0; /* all indices are taken, so workers that wake up now need not join */
    while (pool.active) pthread_cond_wait(&pool.done, &pool.lock);
    pool.current = NULL;
    pthread_mutex_unlock(&pool.lock);
}

static void run_loop(loop *l)
{
    if (l->count > 1 && !inside_task && cpu_count() > 1 && pthread_mutex_trylock(&pool.busy) == 0) {
        run_shared(l);
        pthread_mutex_unlock(&pool.busy);
        return;
    }
    for (size_t i = 0; i < l->count; i++) {
        if (l->until_cancelled && cancel_requested()) return;
        l->task(i, l->user);
    }
}

void parallel_for(size_t count, parallel_task task, void *user)
{
    loop l = {.task = task, .user = user, .count = count};
    run_loop(&l);
}

void parallel_for_until_cancelled(size_t count, parallel_task task, void *user)
{
    loop l = {.task = task, .user = user, .count = count, .until_cancelled = true};
    run_loop(&l);
}

/* ---- fork and exit -------------------------------------------------------------------------- */

static void before_fork(void)
{
    pthread_mutex_lock(&pool.lock);
}

static void after_fork_parent(void)
{
    pthread_mutex_unlock(&pool.lock);
}

/* The child has no workers: it starts its own when it needs them. */
static void after_fork_child(void)
{
    mem_free(pool.workers);
    pool.workers = NULL;
    pool.worker_count = pool.wanted = pool.active = 0;
    pool.current = NULL;
    pthread_cond_init(&pool.wake, NULL);
    pthread_cond_init(&pool.done, NULL);
    pthread_mutex_init(&pool.lock, NULL);
    if (!inside_task) pthread_mutex_init(&pool.busy, NULL);
}

__attribute__((constructor)) static void watch_fork(void)
{
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

__attribute__((destructor)) static void join_workers(void)
{
    pthread_mutex_lock(&pool.lock);
    pool.stopping = true;
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
    for (size_t i = 0; i < pool.worker_count; i++) pthread_join(pool.workers[i], NULL);
    mem_free(pool.workers);
    pool.workers = NULL;
    pool.worker_count = 0;
}
