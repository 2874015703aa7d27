/* SPDX-License-Identifier: Apache-2.0 */
/* A context from inside, for the files that make one: context.c (programs by shapes, runs),
 * context_memory.c, context_watch.c (profiler, debug tensors), context_bind.c, context_shapes.c and
 * context_execute.c (shapes and addresses by name). */
#ifndef ENGINE_CONTEXT_STATE_H
#define ENGINE_CONTEXT_STATE_H

#include "base/arena.h"
#include "engine/context/context.h"
#include "engine/program/interpret.h"
#include "kernels/team.h"

/* A program at certain input shapes; NULL: such inputs are interpreted. */
typedef struct prepared {
    pgy_metadata *shapes; /* of all inputs, in order */
    program *program;
    program_context *run;
    pgy_graph *bodies; /* for steps that run subgraphs, or NULL */
    void *memory;      /* where it was placed last */
    uint64_t used;     /* when, to forget the oldest */
} prepared;

/* An input or output by name. */
typedef struct bound {
    pgy_tensor_info info; /* rank and shape: as set, or found */
    int64_t shape[PGY_MAX_RANK];
    const pgy_tensor_info *declared; /* of the engine */
    void *data;                      /* NULL: no address */
    size_t size_bytes;               /* of the room there */
    bool has_allocator;
    pgy_output_allocator allocator;
} bound;

typedef struct layer_time {
    const char *name;
    int64_t ns;
} layer_time;

/* Times of the last run. */
typedef struct layer_times {
    arena memory;
    layer_time *items;
    size_t count, capacity;
    int64_t *of_steps; /* of a program that runs: written as it goes */
    int64_t whole_ns;
    bool complete;
} layer_times;

enum { MAX_PREPARED = 8 };

struct pgy_context {
    engine *engine;
    pgy_team *team;
    size_t profile;
    atomic_int failed; /* of the run that is going on; pgy_context_cancel sets it */
    pgy_error_recorder *recorder;

    uint64_t version; /* of the engine, when the following was made */
    prepared kept[MAX_PREPARED];
    size_t kept_count;
    uint64_t clock;
    const program *last;
    pgy_graph *graph; /* to be interpreted; NULL until it is needed */
    graph_plan plan;  /* of interpretation */
    interpreter *interpreter;

    pgy_allocation allocation;
    pgy_allocator allocator;
    void *memory; /* of whatever program runs */
    uint64_t memory_bytes;

    bool has_profiler, emits;
    pgy_profiler profiler;
    layer_times times;
    bool has_listener;
    pgy_debug_listener listener;
    strmap hidden; /* names of debug tensors that are switched off */

    bound *bounds; /* inputs, then outputs */
    size_t input_count, output_count;
    prepared *current; /* for the shapes that are set; NULL: to be looked for */
};

pgy_status context_no_memory(pgy_error *err);
/* Before anything that was prepared is used: all of it goes if the engine was refitted. */
void context_follow(context *c);
/* Tells the recorder about a failure and returns it. */
pgy_status context_tell(const context *c, pgy_status st, const pgy_error *err);
/* The program for shapes that lie in the profile; takes the shapes, also on failure. */
pgy_status context_prepare(prepared **out, context *c, pgy_metadata *shapes,
                           pgy_error *err) PGY_MUST_CHECK;
/* On the data of inputs and outputs in order; the team is taken for it. */
pgy_status context_run_program(context *c, prepared *p, const void *const *inputs,
                               void *const *outputs, int64_t *time_ns,
                               pgy_error *err) PGY_MUST_CHECK;
pgy_status context_interpret(context *c, const pgy_tensor_map *feed, pgy_tensor_map *out,
                             int64_t *time_ns, pgy_error *err) PGY_MUST_CHECK;

/* ---- context_memory.c ---- */
/* Memory for at least so many bytes. */
pgy_status context_hold(context *c, uint64_t size_bytes, pgy_error *err) PGY_MUST_CHECK;
void context_give_up(context *c);
/* What the strategy wants when the context is new or its profile has changed. */
pgy_status context_plan_memory(context *c, pgy_error *err) PGY_MUST_CHECK;

/* ---- context_watch.c ---- */
/* Whom a run of program p has to show things to; NULL: nobody. `w` is its memory. */
const program_watch *context_watch(program_watch *w, context *c, const program *p);
/* The same for interpretation. */
const interpreter_watch *context_watch_nodes(interpreter_watch *w, context *c);
/* Behind a run that took so long: reports what was asked for. */
void context_report(context *c, const program *p, pgy_status st, int64_t whole_ns);
void context_watch_deinit(context *c);

/* ---- context_bind.c ---- */
pgy_status context_bind_names(context *c, pgy_error *err) PGY_MUST_CHECK;
bound *bound_find(const context *c, const char *name, bool output); /* NULL: there is none */
/* The same, or PGY_E_NOT_FOUND with the names that there are. */
pgy_status bound_need(bound **out, const context *c, const char *name, bool output,
                      pgy_error *err) PGY_MUST_CHECK;
bool bound_is_known(const pgy_tensor_info *info);
/* Bytes of a tensor whose shape is known. */
pgy_status bound_size(size_t *out, const pgy_tensor_info *info, pgy_error *err) PGY_MUST_CHECK;
/* Is there an address that such a tensor can have, with so much room? */
pgy_status bound_check(const bound *b, const char *what, size_t wanted,
                       pgy_error *err) PGY_MUST_CHECK;
void bound_keep(bound *b, pgy_dtype dtype, int32_t rank, const int64_t *shape);

/* ---- context_shapes.c ---- */
bool context_is_shape_input(const context *c, size_t i);
/* Types and shapes of all inputs, by which programs are found. */
pgy_status context_all_shapes(pgy_metadata **out, const context *c, pgy_error *err) PGY_MUST_CHECK;

/* ---- shared_team.c ---- */
/* The team, for one run; nobody else has it until it is given back. */
team *team_take(pgy_team *t);
void team_give_back(pgy_team *t);
team *team_within(const pgy_team *t);

#endif
