/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a context: one block, which all its programs share. It is allocated when the
 * allocation strategy says, and again when a program for new shapes needs more. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "engine/build/shapes.h"
#include "engine/context/state.h"

static const char LOG_PATH[] = "engine/context/memory.c";

enum { ALIGNMENT = 64 };

static bool is_users(const context *c)
{
    return c->allocation == PGY_ALLOCATION_USER;
}

void context_give_up(context *c)
{
    if (!is_users(c) && c->memory) {
        if (c->allocator.release)
            c->allocator.release(c->allocator.user, c->memory, (size_t)c->memory_bytes);
        else
            mem_free_block(c->memory, (size_t)c->memory_bytes);
    }
    c->memory = NULL;
    c->memory_bytes = 0;
}

static void *take(const context *c, uint64_t size_bytes)
{
    if (size_bytes > SIZE_MAX) return NULL;
    return c->allocator.allocate
               ? c->allocator.allocate(c->allocator.user, (size_t)size_bytes, ALIGNMENT)
               : mem_alloc_block((size_t)size_bytes);
}

pgy_status context_hold(context *c, uint64_t size_bytes, pgy_error *err)
{
    if (size_bytes <= c->memory_bytes) return PGY_OK;
    if (is_users(c))
        return pgy_error_set(
            err, PGY_E_MEMORY,
            "the input shapes need %llu bytes of memory, but the caller gave the context %llu",
            (unsigned long long)size_bytes, (unsigned long long)c->memory_bytes);
    /* Shapes that grow step by step must not touch a new arena in each step. */
    if (c->memory_bytes) size_bytes += size_bytes / 8;
    context_give_up(c);
    void *memory = take(c, size_bytes);
    if (!memory || (uintptr_t)memory % ALIGNMENT) {
        if (memory && c->allocator.release)
            c->allocator.release(c->allocator.user, memory, (size_t)size_bytes);
        return pgy_error_set(
            err, PGY_E_MEMORY,
            memory ? "the address of the %llu bytes from the allocator is not a multiple of 64"
                   : "out of memory for an arena of %llu bytes",
            (unsigned long long)size_bytes);
    }
    LOG(VERBOSE, "The context allocated %llu bytes of memory", (unsigned long long)size_bytes);
    c->memory = memory;
    c->memory_bytes = size_bytes;
    return PGY_OK;
}

/* ---- The largest shapes --------------------------------------------------------------------- */

/* The largest shapes of all inputs in a profile; *out NULL: some input has none. */
static pgy_status largest_shapes(pgy_metadata **out, const context *c, size_t profile,
                                 pgy_error *err)
{
    const pgy_metadata *inputs = engine_inputs(c->engine);
    pgy_metadata *m = NULL;
    bool known = shapes_are_numeric(inputs);
    *out = NULL;
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && known && i < pgy_metadata_count(inputs); i++) {
        pgy_tensor_info info = *pgy_metadata_at(inputs, i);
        pgy_profile_range range = {0};
        const pgy_bound_kind kind =
            engine_profiles(c->engine)
                ? profiles_range(&range, engine_profiles(c->engine), profile, i)
                : PGY_BOUND_NONE;
        info.dim_names = NULL;
        info.min_shape = info.max_shape = NULL;
        if (kind == PGY_BOUND_SHAPE || kind == PGY_BOUND_ANY) {
            info.rank = (int32_t)range.count;
            info.shape = range.max;
        }
        known = info.rank >= 0;
        for (int32_t d = 0; d < info.rank; d++) known &= info.shape[d] >= 0;
        if (known) st = pgy_metadata_set(m, &info, err);
    }
    if (st || !known)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}

static pgy_status profile_bytes(uint64_t *out, const context *c, size_t profile, pgy_error *err)
{
    pgy_metadata *shapes = NULL;
    program *p = NULL;
    bool made;
    *out = 0;
    pgy_status st = largest_shapes(&shapes, c, profile, err);
    if (!st && shapes) st = engine_program_alone(&p, &made, c->engine, shapes, err);
    if (!st && p) *out = program_memory_bytes(p, team_size(team_within(c->team)));
    program_release(p);
    pgy_metadata_destroy(shapes);
    return st;
}

static pgy_status most_bytes(uint64_t *out, const context *c, size_t profile, pgy_error *err)
{
    const profile_set *profiles = engine_profiles(c->engine);
    const size_t count = profiles ? profiles_count(profiles) : 1;
    const size_t first = profile == PROFILE_ANY ? 0 : profile;
    const size_t last = profile == PROFILE_ANY ? count : profile + 1;
    uint64_t most = 0;
    if (first >= count)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "profile %zu does not exist; the engine has %zu, counted from 0",
                             profile, count);
    for (size_t i = first; i < last; i++) {
        uint64_t bytes = 0;
        const pgy_status st = profile_bytes(&bytes, c, i, err);
        if (st) return st;
        if (bytes > most) most = bytes;
    }
    *out = most;
    return PGY_OK;
}

pgy_status context_plan_memory(context *c, pgy_error *err)
{
    uint64_t bytes = 0;
    pgy_status st = PGY_OK;
    if (c->allocation == PGY_ALLOCATION_STATIC && !c->memory)
        st = most_bytes(&bytes, c, PROFILE_ANY, err);
    else if (c->allocation == PGY_ALLOCATION_PROFILE && c->profile != PROFILE_ANY)
        st = most_bytes(&bytes, c, c->profile, err);
    /* The new profile may need less memory than the old one. */
    if (!st && c->allocation == PGY_ALLOCATION_PROFILE && bytes < c->memory_bytes)
        context_give_up(c);
    return st ? st : context_hold(c, bytes, err);
}

/* ---- Public --------------------------------------------------------------------------------- */

pgy_status pgy_context_profile_memory_bytes(uint64_t *out, pgy_context *c, size_t profile,
                                            pgy_error *err)
{
    pgy_error own;
    if (!err) err = &own;
    return context_tell(c, most_bytes(out, c, profile, err), err);
}

pgy_status pgy_context_set_memory(pgy_context *c, void *memory, size_t size_bytes, pgy_error *err)
{
    if (!is_users(c))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "the context allocates its own memory; only one created with "
                             "PGY_ALLOCATION_USER takes memory from the caller");
    if ((uintptr_t)memory % ALIGNMENT)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "the address of the memory is not a multiple of %d", ALIGNMENT);
    c->memory = memory;
    c->memory_bytes = memory ? size_bytes : 0;
    return PGY_OK;
}

pgy_context_memory pgy_context_describe_memory(const pgy_context *c)
{
    const program *p = c->last;
    const size_t threads = team_size(team_within(c->team));
    return (pgy_context_memory){
        .held_bytes = c->memory_bytes,
        .arena_bytes = p ? p->spaces[0].arena_bytes : 0,
        .arena_bound = p ? p->spaces[0].arena_bound : 0,
        .scratch_bytes = p ? (uint64_t)p->scratch_bytes * threads : 0,
    };
}
