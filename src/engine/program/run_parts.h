/* SPDX-License-Identifier: Apache-2.0 */
/* The context of a program's runs, and what its files share: run_context.c makes contexts and
 * places their memory, run_steps.c runs steps; run.c, run_watched.c (profiled and debugged) and
 * run_traced.c are whole runs. */
#ifndef ENGINE_PROGRAM_RUN_PARTS_H
#define ENGINE_PROGRAM_RUN_PARTS_H

#include <stdatomic.h>

#include "engine/program/device_side.h"
#include "engine/program/device_trace.h"
#include "engine/program/program.h"
#include "kernels/launch.h"

/* An input's or output's address, which the caller gives for each run and which is stored in
 * `addresses`. */
typedef struct patch {
    size_t entry, index;
    bool output;
} patch;

/* An input or output of the program as an operand of a step, or as a mark. `count`: of such uses.
 */
typedef struct context_user {
    uint32_t step, operand, tensor, count;
} context_user;

struct program_context {
    program *p;     /* NULL: the context rests */
    uint64_t range; /* of the program, also when the context rests */
    /* `placings` and `elements` of the program for which tensors were placed last. */
    uint64_t placings;
    const char *elements;
    team *team;
    void *own; /* memory allocated by the context, or NULL */
    size_t own_bytes;
    bool placed;
    char *arena, *scratch;
    size_t scratch_stride;
    void **addresses; /* addresses of the tensors of all steps, one step after the other */
    size_t *starts;   /* indexed by step: index of its first entry in `addresses` */
    launch *launches; /* indexed by step: its kernel, ready to run; empty for reference steps */
    size_t shared;    /* steps that are cut into parts; 0: one thread runs everything */
    double shared_ns; /* what they take on one thread, as estimated */
    patch *patches;
    size_t patch_count;
    context_user *users;   /* the last one of each input, then output, for caches.c; NULL: not found
                              yet */
    device_side *devices;  /* NULL: the program has none */
    program_bodies bodies; /* runs steps with subgraphs */
    pgy_node **nodes;      /* indexed by step: its node in the context's own graph; NULL: no graph
                              bound */
    size_t *stretches;  /* steps with subgraphs, then the number of steps: where the team pauses */
    uint32_t *labels;   /* indexed by step: its label in the trace of `epoch` */
    int64_t *ends;      /* indexed by step: when it ended in the last recorded run */
    int64_t *part_ends; /* when each thread last ended parts of a step (end_slot) */
    uint32_t epoch, row;
    device_trace
        *on_devices; /* records steps on devices; NULL: the program has none, or it failed */
    atomic_int own_failed, *failed; /* status of the first failure */
    atomic_size_t faulty; /* index + 1 of the step whose kernel found invalid data; 0: none */
    kernel_bad_index bad; /* what that kernel noted */
    pgy_error error;
};

/* Steps that the team runs in one task. */
typedef struct program_stretch {
    program_context *c;
    size_t first, end;
} program_stretch;

/* ---- run_context.c ---- */
char *program_context_arena(const program_context *c, uint32_t space);
void *program_context_constant(const program_context *c, const program_tensor *t);
pgy_status program_context_take_memory(program_context *c, pgy_error *err) PGY_MUST_CHECK;
/* Has the step subgraphs? */
bool program_has_bodies(const program_step *s);

/* ---- run_steps.c ---- */
/* Runs a step on this thread alone. */
void program_run_step(program_context *c, size_t index);
/* Takes part in a step of several parts, and notes when (launch_notes). False: the task is over,
 * and the thread must return without a look at the context. */
bool program_share_step(program_context *c, size_t index, size_t thread, int64_t *begin_ns,
                        int64_t *end_ns) PGY_MUST_CHECK;
/* Waits for device work after a step: profiled times include it, and debugged tensors must be
 * complete. */
void program_run_settle(program_context *c, uint32_t step);
/* Runs all steps by `walk_part`, whose user is `user` with the stretch `part` in it. A step with
 * subgraphs runs between two stretches, so that the programs of its bodies have the whole team. */
void program_run_stretches(program_context *c, void (*walk_part)(size_t, size_t, void *),
                           program_stretch *part, void *user);

/* ---- run_watched.c, run_traced.c ---- */
void program_run_watched(program_context *c, const program_watch *watch, const void *const *inputs,
                         void *const *outputs);
void program_run_traced(program_context *c);

#endif
