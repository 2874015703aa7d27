/* SPDX-License-Identifier: Apache-2.0 */
/* A stack of levels. The listener is called at most ten times a second, from progress_advance and
 * progress_begin of the owning thread, so it needs no locks. */
#include "base/progress.h"

#include <stdatomic.h>

#include "base/system.h"

enum { MAX_LEVELS = 8, EVERY_NS = 100000000 };

static _Atomic(pgy_progress_function) listener;
static void *listener_user;
static atomic_bool is_owned;
static _Thread_local bool is_owner;

/* The owner's. `depth` counts levels beyond MAX_LEVELS as well. */
static pgy_progress_level levels[MAX_LEVELS];
static int64_t starts_ns[MAX_LEVELS];
static size_t depth;
static int64_t told_ns;

void pgy_set_progress(pgy_progress_function function, void *user)
{
    listener_user = user;
    atomic_store(&listener, function);
}

static void tell(int64_t now)
{
    const pgy_progress_function function = atomic_load_explicit(&listener, memory_order_acquire);
    if (!function || now - told_ns < EVERY_NS) return;
    const size_t count = depth < MAX_LEVELS ? depth : MAX_LEVELS;
    const pgy_progress p = {.size = sizeof p, .levels = levels, .level_count = count};
    told_ns = now;
    for (size_t i = 0; i < count; i++) levels[i].elapsed_ns = now - starts_ns[i];
    function(&p, listener_user);
}

/* A thread that has begun goes on to the end, whether somebody listens or not. */
static bool may_begin(void)
{
    bool owned = false;
    if (is_owner) return true;
    if (!atomic_load_explicit(&listener, memory_order_relaxed)) return false;
    if (!atomic_compare_exchange_strong(&is_owned, &owned, true)) return false;
    is_owner = true;
    depth = 0;
    told_ns = 0;
    return true;
}

void progress_begin(const char *what, uint64_t total)
{
    if (!may_begin()) return;
    const int64_t now = clock_ns();
    if (depth < MAX_LEVELS) {
        levels[depth] = (pgy_progress_level){.what = what, .total = total};
        starts_ns[depth] = now;
    }
    depth++;
    tell(now);
}

void progress_advance(uint64_t done)
{
    if (!is_owner || depth > MAX_LEVELS) return;
    levels[depth - 1].done = done;
    tell(clock_ns());
}

void progress_end(void)
{
    if (!is_owner || --depth) return;
    const pgy_progress_function function = atomic_load_explicit(&listener, memory_order_acquire);
    if (function) function(&(pgy_progress){.size = sizeof(pgy_progress)}, listener_user);
    is_owner = false;
    atomic_store(&is_owned, false);
}
