/* SPDX-License-Identifier: Apache-2.0 */
/* A thread team with an owner count and a lock, so that contexts can share it. */
#include <pthread.h>

#include "base/alloc.h"
#include "engine/context/state.h"

struct pgy_team {
    atomic_size_t users;
    pthread_mutex_t lock; /* held while a context runs on the team */
    team *team;
};

pgy_status pgy_team_create(pgy_team **out, size_t threads, pgy_error *err)
{
    pgy_team *t = mem_calloc(1, sizeof *t);
    if (!t) return context_no_memory(err);
    atomic_init(&t->users, 1);
    const pgy_status st = team_create(&t->team, threads, err);
    if (st || pthread_mutex_init(&t->lock, NULL)) {
        team_destroy(t->team);
        mem_free(t);
        return st ? st : context_no_memory(err);
    }
    *out = t;
    return PGY_OK;
}

pgy_team *pgy_team_retain(pgy_team *t)
{
    atomic_fetch_add_explicit(&t->users, 1, memory_order_relaxed);
    return t;
}

void pgy_team_release(pgy_team *t)
{
    if (!t || atomic_fetch_sub_explicit(&t->users, 1, memory_order_acq_rel) > 1) return;
    team_destroy(t->team);
    pthread_mutex_destroy(&t->lock);
    mem_free(t);
}

team *team_take(pgy_team *t)
{
    pthread_mutex_lock(&t->lock);
    return t->team;
}

void team_give_back(pgy_team *t)
{
    pthread_mutex_unlock(&t->lock);
}

team *team_within(const pgy_team *t)
{
    return t->team;
}
