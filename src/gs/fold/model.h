/* SPDX-License-Identifier: Apache-2.0 */
/* Folding computes nodes of an editable graph as a pgy_graph: model.c builds it, run.c executes it.
 * This header is all that the two files share. */
#ifndef GS_FOLD_MODEL_H
#define GS_FOLD_MODEL_H

#include <polygraphy/gs.h>

#include "graph/side_table.h"

struct gs_folder;
struct op_sequence;
struct op_tensor;

/* A tensor of the graph that folding computes. */
typedef struct fold_value {
    pgy_gs_tensor *tensor;
    const char *name;              /* its name in fold_model.graph */
    pgy_tensor *value;             /* the computed tensor; released after its last use */
    struct op_sequence *sequence;  /* the same, if the value is a sequence */
    const pgy_onnx_tensor *origin; /* the initializer whose bytes `value` shares; NULL: none */
    size_t left;                   /* number of reads by nodes that have not run yet */
    bool computed, failed;
    bool wanted; /* the result becomes a constant, so it is kept */
} fold_value;

/* The graph that folding computes. Its tensors are named by serial number, because names in an
 * edited graph may be missing or duplicate. Constants are its inputs. */
typedef struct fold_model {
    pgy_graph *graph;
    pgy_gs_node **nodes; /* the editable nodes: nodes[i] is graph->nodes[i] */
    size_t node_count;
    fold_value *values;
    size_t value_count, value_capacity;
} fold_model;

/* `nodes` are in topological order, and the caller keeps the list. */
pgy_status gs_fold_model_init(fold_model *m, struct gs_folder *f, pgy_gs_graph *g,
                              pgy_gs_node **nodes, size_t count, pgy_error *err) PGY_MUST_CHECK;
void gs_fold_model_deinit(fold_model *m);

/* ---- run.c ----------------------------------------------------------------------------------- */

typedef struct fold_run {
    fold_model *model;
    id_places places;        /* index in model->values of each value of the graph */
    uint64_t size_threshold; /* larger results are dropped after their last use */
    uint64_t spent;          /* steps that loops and functions took; fold_steps_left limits them */
    struct op_tensor *in, *out;          /* inputs and outputs of the running node */
    uint64_t held_bytes, max_held_bytes; /* bytes of results that become constants; the limit */
} fold_run;

/* The caller first sets `wanted` of the model's values. */
pgy_status gs_fold_run_init(fold_run *r, fold_model *m, uint64_t size_threshold,
                            pgy_error *err) PGY_MUST_CHECK;
void gs_fold_run_deinit(fold_run *r);
/* Runs node i; call it for i in ascending order. Skips a node that depends on a failed node. */
pgy_status gs_fold_run_node(fold_run *r, size_t i, pgy_error *err) PGY_MUST_CHECK;
void gs_fold_release(fold_value *v);

#endif
