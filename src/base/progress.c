/* SPDX-License-Identifier: Apache-2.0 */
/* A stack of levels. The listener is called at most ten times a second, from progress_advance and
 * progress_begin of the owning thread, so it needs no locks. */
#include "base/progress.h"

#include <stdatomic.h>

#include "base/system.h"
#include "base/tracer.h"

enum { MAX_LEVELS = 8, EVERY_NS = 100000000 };
static const double LEAST_SHARE =
    1e-9; /* smallest share; not 0, because 0 means that no share was given */

static _Atomic(pgy_progress_function) listener;
static void *listener_user;
static atomic_bool is_owned;
static _Thread_local bool is_owner;

/* Shares of one piece of work (level): its own share of the piece around it, and the sum of its
 * ended pieces. */
typedef struct shares {
    double own;   /* share of this level in the level around it; 0: the level counts as one part */
    double ended; /* share of this level that its ended pieces cover */
    bool adds_up; /* this level sums shares instead of counting parts */
} shares;

/* Used by the owning thread only. `depth` also counts levels beyond MAX_LEVELS. */
static pgy_progress_level levels[MAX_LEVELS];
static int64_t starts_ns[MAX_LEVELS];
static shares parts[MAX_LEVELS];
static double expected; /* the share that progress_expect set for the next piece; 0: not set */
static double fraction; /* the fraction of the latest report */
static size_t depth;
static int64_t told_ns;

void pgy_set_progress(pgy_progress_function function, void *user)
{
    listener_user = user;
    atomic_store(&listener, function);
}

/* The share of level i that is done, without the piece that is running in it. */
static double done_at(size_t i)
{
    const pgy_progress_level *l = &levels[i];
    if (parts[i].adds_up) return parts[i].ended;
    if (!l->total) return 0;
    return l->done < l->total ? (double)l->done / (double)l->total : 1;
}

/* The share of level i that its running piece covers. */
static double piece_of(size_t i)
{
    if (parts[i].adds_up) return parts[i + 1].own;
    return levels[i].total ? 1 / (double)levels[i].total : 0;
}

/* The reported fraction never falls, although shares are estimates and a part may begin a second
 * piece.
 */
static double find_fraction(size_t count)
{
    double done = 0, piece = 1;
    if (!count || (!levels[0].total && !parts[0].adds_up)) return -1;
    for (size_t i = 0; i < count && piece > 0; i++) {
        done += piece * done_at(i);
        if (i + 1 < count) piece *= piece_of(i);
    }
    if (done > 1) done = 1;
    if (done > fraction) fraction = done;
    return fraction;
}

static void tell(int64_t now)
{
    const pgy_progress_function function = atomic_load_explicit(&listener, memory_order_acquire);
    if (!function || now - told_ns < EVERY_NS) return;
    const size_t count = depth < MAX_LEVELS ? depth : MAX_LEVELS;
    const pgy_progress p = {
        .size = sizeof p, .levels = levels, .level_count = count, .fraction = find_fraction(count)};
    told_ns = now;
    for (size_t i = 0; i < count; i++) levels[i].elapsed_ns = now - starts_ns[i];
    function(&p, listener_user);
}

/* A thread that owns the report continues to the end, even if the listener is removed. */
static bool may_begin(void)
{
    bool owned = false;
    if (is_owner) return true;
    if (!atomic_load_explicit(&listener, memory_order_relaxed)) return false;
    if (!atomic_compare_exchange_strong(&is_owned, &owned, true)) return false;
    is_owner = true;
    depth = 0;
    told_ns = 0;
    expected = fraction = 0;
    return true;
}

static void take_share(shares *piece, shares *around)
{
    if (expected > 0) around->adds_up = true;
    piece->own = expected * (1 - around->ended);
}

void progress_begin(const char *what, uint64_t total)
{
    tracer_phase_begin(what);
    if (!may_begin()) return;
    const int64_t now = clock_ns();
    if (depth < MAX_LEVELS) {
        levels[depth] = (pgy_progress_level){.what = what, .total = total};
        starts_ns[depth] = now;
        parts[depth] = (shares){0};
        if (depth) take_share(&parts[depth], &parts[depth - 1]);
    }
    expected = 0;
    depth++;
    tell(now);
}

void progress_expect(double share_of_rest)
{
    if (!is_owner) return;
    if (!(share_of_rest < 1)) share_of_rest = 1;
    expected = share_of_rest > LEAST_SHARE ? share_of_rest : LEAST_SHARE;
}

void progress_advance(uint64_t done)
{
    if (!is_owner || depth > MAX_LEVELS) return;
    levels[depth - 1].done = done;
    tell(clock_ns());
}

void progress_end(void)
{
    tracer_phase_end();
    if (!is_owner) return;
    expected = 0;
    if (--depth) {
        if (depth < MAX_LEVELS) parts[depth - 1].ended += parts[depth].own;
        return;
    }
    const pgy_progress_function function = atomic_load_explicit(&listener, memory_order_acquire);
    const pgy_progress p = {.size = sizeof p, .fraction = find_fraction(1)};
    if (function) function(&p, listener_user);
    is_owner = false;
    atomic_store(&is_owned, false);
}
