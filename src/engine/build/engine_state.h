/* SPDX-License-Identifier: Apache-2.0 */
/* An engine from inside, for the files that make one: engine.c (from a model to a graph),
 * engine_programs.c (programs by shapes), engine_plan.c (plan files), engine_refit.c (other
 * weights). */
#ifndef ENGINE_BUILD_ENGINE_STATE_H
#define ENGINE_BUILD_ENGINE_STATE_H

#include <polygraphy/runtime.h>
#include <pthread.h>

#include "engine/build/engine.h"
#include "engine/plan/plan.h"
#include "engine/tactics/replay.h"
#include "engine/tactics/timing.h"

/* A program for certain input shapes; program NULL: such inputs are interpreted. */
typedef struct built {
    pgy_metadata *shapes; /* of all inputs, in order */
    program *program;
    bool pinned;   /* of a profile: it stays */
    uint64_t used; /* when, to forget the oldest */
} built;

struct pgy_engine {
    atomic_size_t users;
    arena memory;
    pgy_build_config *config;
    const char *name;
    plan_file *file; /* it was opened from, or NULL */
    void *bytes;     /* that the file is, if they are the engine's own */
    tactics *replay; /* to be obeyed; NULL: none */
    timing *timing;  /* NULL: kernels go by estimates */
    profile_set *profiles;
    pgy_metadata *inputs, *outputs;
    atomic_uint_fast64_t version; /* counts refits */
    atomic_bool stripped;         /* weights are missing */
    atomic_bool prefetched;       /* somebody is going to run it */
    pthread_mutex_t measuring;    /* held by a build that uses `timing` */
    pthread_mutex_t lock;         /* of what follows; not held during a build */
    pthread_cond_t built;         /* a build has ended */
    struct engine_build *builds;  /* that are going on */
    pgy_graph *graph;    /* for no shapes in particular; of a plan: NULL until it is needed */
    pgy_model *original; /* to be refitted; of a plan: NULL until it is needed */
    uint64_t model_hash;
    built *kept;
    size_t kept_count, kept_capacity;
    uint64_t clock;
    pgy_error_recorder *recorder; /* of contexts that have none; NULL: none */
};

pgy_status engine_no_memory(pgy_error *err);
/* With a copy of the config. */
pgy_status engine_create(engine **out, const pgy_build_config *config,
                         pgy_error *err) PGY_MUST_CHECK;
/* A model as a graph, before the passes, which engine_optimise runs. `inputs` and `outputs` get
 * what it declares. */
typedef struct engine_import {
    pgy_graph *graph;
    pgy_metadata *inputs, *outputs;
} engine_import;
pgy_status engine_import_model(engine_import *out, pgy_model *model, const pgy_build_config *config,
                               pgy_error *err) PGY_MUST_CHECK;
pgy_status engine_optimise(engine_import *m, const pgy_build_config *config,
                           const struct calibration_runner *runner, pgy_error *err) PGY_MUST_CHECK;
void engine_import_deinit(engine_import *m);

/* Of a graph for shapes, by this replay (may be NULL); *program NULL: it is to be interpreted.
 * Takes the graph, which has not to be inferred, also on failure. */
pgy_status engine_build_for(built *out, engine *e, pgy_graph *g, const pgy_metadata *shapes,
                            const tactics *replay, pgy_error *err) PGY_MUST_CHECK;
/* For inputs of these shapes and values; each may be NULL. */
pgy_status engine_infer(pgy_graph *g, const pgy_metadata *shapes, const pgy_tensor_map *values,
                        pgy_error *err) PGY_MUST_CHECK;
/* The graph goes with the program, which points into it. */
void engine_attach_graph(program *p, pgy_graph *g);
/* What is known of values of a graph. */
pgy_status engine_describe(pgy_metadata **out, pgy_value *const *values, size_t count,
                           pgy_error *err) PGY_MUST_CHECK;

/* The lock must be held for what follows. */
pgy_status engine_need_graph(engine *e, pgy_error *err) PGY_MUST_CHECK;
pgy_status engine_need_original(engine *e, pgy_error *err) PGY_MUST_CHECK;
pgy_status engine_clone_graph(pgy_graph **out, engine *e, pgy_error *err) PGY_MUST_CHECK;
/* Moves in, also on failure. */
pgy_status engine_keep(built **out, engine *e, built *made, pgy_error *err) PGY_MUST_CHECK;
void engine_forget(built *b);

#endif
