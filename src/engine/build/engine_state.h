/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's internals, shared by engine.c (from a model to a graph), engine_programs.c (programs
 * by shapes), engine_plan.c (plan files) and engine_refit.c (new weights). */
#ifndef ENGINE_BUILD_ENGINE_STATE_H
#define ENGINE_BUILD_ENGINE_STATE_H

#include <polygraphy/runtime.h>
#include <pthread.h>

#include "engine/build/engine.h"
#include "engine/build/engine_ranges.h"
#include "engine/plan/plan.h"
#include "engine/tactics/replay.h"
#include "engine/tactics/timing.h"

/* A program for certain input shapes; program NULL: the graph is interpreted for these shapes. */
typedef struct built {
    pgy_metadata *shapes; /* type and shape of each input, in the model's order */
    program *program;
    bool pinned;   /* belongs to a profile, so it is never evicted */
    uint64_t used; /* value of `clock` at the last use, to evict the oldest */
} built;

struct pgy_engine {
    atomic_size_t users;
    arena memory;
    pgy_build_config *config;
    const char *name;
    plan_file *file; /* the plan that the engine was opened from, or NULL */
    void *bytes;     /* the bytes of `file`, if the engine owns them */
    tactics *replay; /* kernels that builds must choose; NULL: free choice */
    timing *timing;  /* NULL: kernels are chosen by estimates */
    profile_set *profiles;
    pgy_metadata *inputs, *outputs;
    atomic_uint_fast64_t version; /* counts refits */
    atomic_bool stripped;         /* weights are missing */
    atomic_bool prefetched;       /* plan_prefetch was called */
    pthread_mutex_t measuring;    /* held by a build that uses `timing` */
    pthread_mutex_t lock;         /* guards the fields below; not held during a build */
    pthread_cond_t built;         /* signalled when a build ends */
    struct engine_build *builds;  /* builds in progress */
    packed_table *packed;         /* weights of all programs that were built from `graph` */
    pgy_graph *graph;    /* without concrete shapes; of an engine opened from a plan: NULL until
                            needed */
    pgy_model *original; /* model that a refit starts from; of an engine opened from a plan: NULL
                            until needed */
    uint64_t model_hash;
    built *kept;
    size_t kept_count, kept_capacity;
    engine_ranges ranges;
    uint64_t clock;
    pgy_error_recorder *recorder; /* for contexts that have none of their own; may be NULL */
};

pgy_status engine_no_memory(pgy_error *err);
/* Makes an engine with a copy of the config. */
pgy_status engine_create(engine **out, const pgy_build_config *config,
                         pgy_error *err) PGY_MUST_CHECK;
/* A model imported as a graph. engine_optimise runs the passes. `inputs` and `outputs` are the
 * types and shapes that the model declares. */
typedef struct engine_import {
    pgy_graph *graph;
    pgy_metadata *inputs, *outputs;
} engine_import;
pgy_status engine_import_model(engine_import *out, pgy_model *model, const pgy_build_config *config,
                               pgy_error *err) PGY_MUST_CHECK;
pgy_status engine_optimise(engine_import *m, const pgy_build_config *config,
                           const struct calibration_runner *runner, pgy_error *err) PGY_MUST_CHECK;
void engine_import_deinit(engine_import *m);

/* Infers shapes and builds a program from the graph, obeying the replay (may be NULL). *program
 * NULL: the graph must be interpreted. Takes the graph, also on failure. `packed` has weights of
 * copies of this graph only. */
pgy_status engine_build_for(built *out, engine *e, pgy_graph *g, packed_table *packed,
                            const pgy_metadata *shapes, const tactics *replay,
                            pgy_error *err) PGY_MUST_CHECK;
/* Infers shapes for inputs of these shapes and values; both may be NULL. */
pgy_status engine_infer(pgy_graph *g, const pgy_metadata *shapes, const pgy_tensor_map *values,
                        pgy_error *err) PGY_MUST_CHECK;
/* A copy of the graph to build from, and the table of its packed weights. The caller does not hold
 * the lock. */
pgy_status engine_take_graph(pgy_graph **out, packed_table **packed, engine *e,
                             pgy_error *err) PGY_MUST_CHECK;
/* Hands the graph to the program, which points into it. */
void engine_attach_graph(program *p, pgy_graph *g);
/* The types and shapes that inference found for values of a graph. */
pgy_status engine_describe(pgy_metadata **out, pgy_value *const *values, size_t count,
                           pgy_error *err) PGY_MUST_CHECK;

/* The caller must hold the lock for the functions below. */
pgy_status engine_need_graph(engine *e, pgy_error *err) PGY_MUST_CHECK;
pgy_status engine_need_original(engine *e, pgy_error *err) PGY_MUST_CHECK;
pgy_status engine_clone_graph(pgy_graph **out, engine *e, pgy_error *err) PGY_MUST_CHECK;
/* Moves `made` into the list of kept programs, and takes it also on failure. */
pgy_status engine_keep(built **out, engine *e, built *made, pgy_error *err) PGY_MUST_CHECK;
void engine_forget(built *b);

/* ---- engine_build_range.c ---- */
/* A program for exactly these shapes: that of a build, or the base of a range; borrowed. NULL:
 * none. The caller holds the lock. */
const program *engine_find_exact(const engine *e, const pgy_metadata *shapes);
/* The kernels of the program for one of the samples, if all its sizes are close to the first; *out
 * NULL: there is none. The caller holds the lock. */
pgy_status engine_similar_tactics(tactics **out, const engine *e, const range_wish *wish,
                                  pgy_error *err) PGY_MUST_CHECK;
/* Builds a range; the first sample is what it is built for. It has the similar kernels if they can
 * run it. NULL: kernels are chosen as for any program. The caller does not hold the lock. */
pgy_status engine_build_range(range **out, engine *e, const range_wish *wish,
                              const tactics *similar, pgy_error *err) PGY_MUST_CHECK;

/* ---- engine_profiles.c ---- */
/* Builds the range of a profile that these shapes lie in, unless that was tried before. *tried:
 * there is such a profile; if it has a range, the engine keeps it now. The caller holds the lock,
 * which is released during the build. */
pgy_status engine_try_profiles(bool *tried, engine *e, const pgy_metadata *shapes,
                               pgy_error *err) PGY_MUST_CHECK;
/* Builds the range of a profile whose usual program exists, so that other shapes in it need no
 * build. An engine that was opened from a plan waits until such shapes come. */
pgy_status engine_expect_profile(engine *e, size_t profile, pgy_error *err) PGY_MUST_CHECK;
/* The program that the range of a profile is based on, retained, if it is not that of the usual
 * shapes; *out NULL: there is none. A plan has it, so that the range has the same kernels and finds
 * its weights packed. */
pgy_status engine_range_base(program **out, engine *e, size_t profile,
                             pgy_error *err) PGY_MUST_CHECK;

#endif
