/* SPDX-License-Identifier: Apache-2.0 */
/* The context's internals, shared by context.c (programs by shapes, runs), memory.c, watch.c
 * (profiler, debug tensors), bind.c, shapes.c and execute.c (shapes and addresses by name). */
#ifndef ENGINE_CONTEXT_STATE_H
#define ENGINE_CONTEXT_STATE_H

#include "base/arena.h"
#include "engine/context/context.h"
#include "engine/program/flow.h"
#include "kernels/team.h"

/* A program for certain input shapes; program NULL: the graph is interpreted for these shapes. */
typedef struct prepared {
    pgy_metadata *shapes; /* type and shape of each input, in the model's order */
    program *program;
    program_context *run;
    pgy_graph *bodies; /* the graph that owns subgraphs which steps run, or NULL */
    flow *flow;        /* runs them, or NULL */
    bool keeps;        /* `run` has caches in buffers */
    void *memory;      /* the memory that `run` was last placed in */
    uint64_t used;     /* value of `clock` at the last use, to evict the oldest */
} prepared;

/* An input or output that the caller sets by name. */
typedef struct bound {
    pgy_tensor_info info; /* rank and shape: set by the caller or inferred */
    int64_t shape[PGY_MAX_RANK];
    const pgy_tensor_info *declared; /* as the engine declares it */
    void *data;                      /* NULL: no address */
    size_t size_bytes;               /* size of the memory at `data` */
    bool has_allocator;
    pgy_output_allocator allocator;
    size_t cache;       /* of an output that is a cache in a buffer: index of its input, + 1 */
    int64_t cache_rows; /* of each head in the buffer */
    void *given; /* of an output of an interpreted run: where it asked for room; NULL: nowhere */
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
    int64_t *of_steps; /* indexed by step of the running program, written during the run */
    int64_t whole_ns;
    bool complete;
} layer_times;

enum { MAX_PREPARED = 8 };

struct pgy_context {
    engine *engine;
    pgy_team *team;
    size_t profile;
    atomic_int failed; /* status of the current run; pgy_context_cancel sets it */
    pgy_error_recorder *recorder;

    uint64_t version; /* the engine's version when the fields below were made */
    prepared kept[MAX_PREPARED];
    size_t kept_count;
    prepared
        resting; /* of a program that was let go: the range's next program takes its context over */
    uint64_t clock;
    const program *last;
    int64_t preparing_ns; /* what this run has spent on programs that did not exist */
    pgy_context_times run_times;
    pgy_graph *graph; /* copy of the engine's graph for interpretation; NULL until needed */
    flow *flow;       /* runs it */

    pgy_allocation allocation;
    pgy_allocator allocator;
    void *memory; /* shared by all programs, one of which runs at a time */
    uint64_t memory_bytes;

    bool has_profiler, emits;
    pgy_profiler profiler;
    layer_times times;
    bool has_listener;
    pgy_debug_listener listener;
    strmap hidden; /* names of debug tensors that are switched off */
    strmap traced; /* of interpreted nodes: label -> index + 1 in the trace of `traced_epoch` */
    uint32_t traced_epoch;

    bound *bounds; /* the inputs, then the outputs */
    size_t input_count, output_count;
    prepared *current; /* the program for the shapes that are set; NULL: not looked up yet */
};

pgy_status context_no_memory(pgy_error *err);
/* Drops prepared programs if the engine was refitted since they were made. Call it before using
 * one. */
void context_follow(context *c);
/* Reports a failure to the recorder and returns its status. */
pgy_status context_tell(const context *c, pgy_status st, const pgy_error *err);
/* Finds or builds the program for shapes that lie in the profile. Takes the shapes, also on
 * failure. */
pgy_status context_prepare(prepared **out, context *c, pgy_metadata *shapes,
                           pgy_error *err) PGY_MUST_CHECK;
/* Runs a program on the data of inputs and outputs, in order. Holds the team for the run, and notes
 * its times. */
pgy_status context_run_program(context *c, prepared *p, const void *const *inputs,
                               void *const *outputs, pgy_error *err) PGY_MUST_CHECK;
/* `rooms` NULL: outputs get memory of their own. */
pgy_status context_interpret(context *c, const pgy_tensor_map *feed, const flow_rooms *rooms,
                             pgy_tensor_map *out, pgy_error *err) PGY_MUST_CHECK;

/* ---- caches.c ---- */
/* Finds the caches that the program can keep, and tells those that it cannot by length -1. */
pgy_status context_find_caches(prepared *p, const context *c, pgy_kept_cache *caches, size_t count,
                               pgy_error *err) PGY_MUST_CHECK;
/* A feed that has the past of the other caches, copied out of their buffers. */
pgy_status context_copy_caches(pgy_tensor_map **out, const pgy_tensor_map *feed,
                               const pgy_kept_cache *caches, size_t count,
                               pgy_error *err) PGY_MUST_CHECK;
/* Puts the buffers of kept caches among the addresses of inputs and outputs. */
void context_bind_caches(const void **inputs, void **outputs, const context *c,
                         const pgy_kept_cache *caches, size_t count);
/* Lets the program of the shapes that are set find the caches that the caller has set. */
pgy_status context_keep_bound(context *c, prepared *p, pgy_error *err) PGY_MUST_CHECK;

/* ---- memory.c ---- */
/* Makes sure that the context has memory for at least this many bytes. */
pgy_status context_hold(context *c, uint64_t size_bytes, pgy_error *err) PGY_MUST_CHECK;
void context_give_up(context *c);
/* Allocates what the strategy wants for a new context or a changed profile. */
pgy_status context_plan_memory(context *c, pgy_error *err) PGY_MUST_CHECK;

/* ---- watch.c ---- */
/* The callbacks for a run of program p, made in `w`; NULL: the run needs no profiler and no debug
 * tensors. */
const program_watch *context_watch(program_watch *w, context *c, const program *p);
/* The callbacks for a run of a flow, of the whole graph or of bodies; NULL: it needs none. `w` is
 * their memory. */
const flow_watch *context_watch_nodes(flow_watch *w, context *c, bool whole);
/* Called after a run that took whole_ns: passes the requested times to the profiler. */
void context_report(context *c, const program *p, pgy_status st, int64_t whole_ns);
void context_watch_deinit(context *c);

/* ---- trace_check.c ---- */
/* After a recorded run of the open trace run: finds the steps that made NaN or infinity. */
void context_trace_values(const prepared *p, const void *const *inputs, void *const *outputs);
/* ---- trace_nodes.c ---- */
/* Records an interpreted node that has just ended. */
void context_trace_node(context *c, const pgy_node *n, int64_t ns);

/* ---- bind.c ---- */
pgy_status context_bind_names(context *c, pgy_error *err) PGY_MUST_CHECK;
bound *bound_find(const context *c, const char *name, bool output); /* NULL: no such name */
/* Like bound_find, but PGY_E_NOT_FOUND lists the valid names. */
pgy_status bound_need(bound **out, const context *c, const char *name, bool output,
                      pgy_error *err) PGY_MUST_CHECK;
bool bound_is_known(const pgy_tensor_info *info);
/* Bytes of a tensor whose shape is known. */
pgy_status bound_size(size_t *out, const pgy_tensor_info *info, pgy_error *err) PGY_MUST_CHECK;
/* Does the tensor have an address with the right alignment and at least `wanted` bytes? */
pgy_status bound_check(const bound *b, const char *what, size_t wanted,
                       pgy_error *err) PGY_MUST_CHECK;
void bound_keep(bound *b, pgy_dtype dtype, int32_t rank, const int64_t *shape);

/* ---- shapes.c ---- */
bool context_is_shape_input(const context *c, size_t i);
/* Types and shapes of all inputs: the key by which the context finds programs. */
pgy_status context_all_shapes(pgy_metadata **out, const context *c, pgy_error *err) PGY_MUST_CHECK;

/* ---- shared_team.c ---- */
/* Locks the thread team for one run; other callers wait until it is given back. */
team *team_take(pgy_team *t);
void team_give_back(pgy_team *t);
team *team_within(const pgy_team *t);

#endif
