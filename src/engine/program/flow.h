/* SPDX-License-Identifier: Apache-2.0 */
/* Runs what cannot be one program: graphs whose shapes depend on data, and the bodies of branches
 * and loops (docs/engine.md, "Control flow"). A level, which is the main graph or a body, is split
 * into segments whose shapes follow from those of their inputs. Each segment is a program for each
 * set of input shapes; other nodes run one by one. */
#ifndef ENGINE_PROGRAM_FLOW_H
#define ENGINE_PROGRAM_FLOW_H

#include <stdatomic.h>

#include "engine/program/program.h"
#include "ops/op.h"

typedef struct flow flow;

typedef struct flow_options {
    const pgy_build_config *config; /* never NULL; must outlive the flow */
    packed_table *packed;           /* weights of copies of the graph; retained */
    team *team;                     /* must outlive the flow; no run of it is in progress */
    /* Another thread may set it to a status other than PGY_OK to stop a run, which fails then. The
     * caller resets it. */
    atomic_int *failed;
} flow_options;

/* The graph, with inferred shapes, must outlive the flow, which only reads it. One run at a time.
 * PGY_E_UNSUPPORTED: an operator cannot run. */
pgy_status flow_create(flow **out, pgy_graph *g, const flow_options *o,
                       pgy_error *err) PGY_MUST_CHECK;
void flow_destroy(flow *f); /* NULL is fine */

/* Callbacks of profiled and debugged runs; NULL members are not called. */
typedef struct flow_watch {
    void *user;
    /* Called for each layer of the main graph that ran; `n` NULL: a step of a program. */
    void (*time)(void *user, const pgy_node *n, const char *label, int64_t ns);
    /* Called for each debug tensor; false: stop. A tensor of a body has the path of its node, the
     * branch or iteration, and its own name: loop_3/iter_12/x. */
    bool (*show)(void *user, const char *name, const program_tensor *t, const void *data);
} flow_watch;
/* Sets the callbacks for the next runs; borrowed, NULL: none. */
void flow_watch_by(flow *f, const flow_watch *watch);

/* Where the caller wants outputs of the graph. */
typedef struct flow_rooms {
    void *user;
    /* Called when the shape of an output is known, once in a run. NULL: it may be anywhere. */
    void *(*find)(void *user, const char *name, pgy_dtype dtype, size_t rank,
                  const int64_t *shape);
} flow_rooms;
/* Runs the graph. `feed` has the inputs in their declared types; outputs are added to `out`, over
 * the memory that `rooms` (may be NULL) gave, or others. */
pgy_status flow_run(flow *f, const pgy_tensor_map *feed, const flow_rooms *rooms,
                    pgy_tensor_map *out, pgy_error *err) PGY_MUST_CHECK;
/* Runs node n of the main graph, which has subgraphs, as a step of a program. `addresses` has the
 * address of each tensor of the step. */
pgy_status flow_run_step(flow *f, const program *p, const program_step *s, pgy_node *n,
                         void *const *addresses, pgy_error *err) PGY_MUST_CHECK;

/* What the runs so far did. */
typedef struct flow_count {
    uint64_t segments, programs; /* made */
    uint64_t program_runs, node_runs;
    int64_t making_ns; /* time of making programs */
} flow_count;
flow_count flow_counted(const flow *f);

#endif
