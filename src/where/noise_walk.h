/* SPDX-License-Identifier: Apache-2.0 */
/* A planned graph that runs many times, and the path of the node that runs. */
#ifndef WHERE_NOISE_WALK_H
#define WHERE_NOISE_WALK_H

#include "evaluate/execute.h"

/* A node that runs, and how often one of its subgraphs or its function body has begun. */
typedef struct noise_step {
    const pgy_node *node;
    uint64_t begun;
} noise_step;

typedef struct noise_walk {
    pgy_graph *graph;
    graph_plan plan;
    noise_step *steps; /* outermost first; the last one is the node that runs */
    size_t depth, capacity;
    uint64_t max_steps; /* of one run, which counts nodes in loops each time; 0: NOISE_MAX_STEPS */
    const char *limit;  /* what a caller calls max_steps, for errors */
    uint64_t spent;     /* steps of the last run */
    bool exceeded;      /* the last run ended at the limit */
} noise_walk;

/* Far more than real loops take, and a few seconds of small nodes. */
enum { NOISE_MAX_STEPS = 1000000 };

pgy_status noise_walk_init(noise_walk *w, pgy_model *model, pgy_error *err) PGY_MUST_CHECK;
void noise_walk_deinit(noise_walk *w);
/* For execute_watch.starts, .begins and, at its end, .ran. */
pgy_status noise_walk_starts(noise_walk *w, pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
void noise_walk_begins(noise_walk *w);
void noise_walk_ran(noise_walk *w);
/* Did the last run end at the limit of steps? */
bool noise_walk_exceeded(const noise_walk *w);
/* Runs the graph on one sample. `runs`: how often operators run the subgraphs of a node, which the
 * limit of steps allows for. */
pgy_status noise_walk_run(noise_walk *w, const pgy_tensor_map *feed, bool model_precision,
                          uint32_t runs, const execute_operators *operators,
                          const execute_watch *watch, pgy_error *err) PGY_MUST_CHECK;
/* Appends the path of a tensor of the running node's level: "loop_3/x", or with `iterations`
 * "loop_3/iter_12/x". */
void noise_walk_path(str *out, const noise_walk *w, const char *name, bool iterations);

/* The float type that stands for `declared` if float32 and float64 become `assume` (NONE: none). */
pgy_dtype noise_assumed(pgy_dtype declared, pgy_dtype assume);
/* PGY_E_ARGUMENT unless `type` is NONE or a float type with sign and mantissa. */
pgy_status noise_check_type(pgy_dtype type, const char *field, pgy_error *err) PGY_MUST_CHECK;
/* Does input i of the node keep its type where all others become an assumed one? Scales of Resize
 * do, as converters to float16 leave them. */
bool noise_keeps_input(const pgy_node *n, size_t i);
/* A new float64 tensor: t, of type float32 or float64 and perhaps unaligned, rounded to the nearest
 * values of `type`. */
pgy_status noise_round_nearest(pgy_tensor **out, const pgy_tensor *t, pgy_dtype type,
                               pgy_error *err) PGY_MUST_CHECK;
/* Is the tensor one whose elements are float64 stand-ins for a float type? */
static inline bool noise_is_float(const op_tensor *t)
{
    return t->value && pgy_dtype_is_float(t->dtype) && pgy_tensor_dtype(t->value) == PGY_F64;
}

#endif
