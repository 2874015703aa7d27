/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of a level as a strict graph, and its execution. model.c knows surgery, run.c the strict
 * graph, and this header is all they share. */
#ifndef GS_FOLD_MODEL_H
#define GS_FOLD_MODEL_H

#include <polygraphy/gs.h>

#include "graph/side_table.h"

struct gs_folder;
struct op_sequence;
struct op_tensor;

/* A tensor of a computation. */
typedef struct fold_value {
    pgy_gs_tensor *tensor;
    const char *name;              /* in the strict graph */
    pgy_tensor *value;             /* in its declared type, until its last use */
    struct op_sequence *sequence;  /* the same, of sequences */
    const pgy_onnx_tensor *origin; /* the record that shares its bytes with the value, or NULL */
    size_t left;                   /* uses still to come */
    bool computed, failed;
    bool wanted; /* it becomes a constant */
} fold_value;

/* Tensors are named by their serial numbers, so duplicate or missing names do no harm. Constants
 * are inputs. */
typedef struct fold_model {
    pgy_graph *graph;
    pgy_gs_node **nodes; /* nodes[i] is graph->nodes[i] */
    size_t node_count;
    fold_value *values;
    size_t value_count, value_capacity;
} fold_model;

/* `nodes` are in running order; they stay the caller's. */
pgy_status gs_fold_model_init(fold_model *m, struct gs_folder *f, pgy_gs_graph *g,
                              pgy_gs_node **nodes, size_t count, pgy_error *err) PGY_MUST_CHECK;
void gs_fold_model_deinit(fold_model *m);

/* ---- run.c ----------------------------------------------------------------------------------- */

typedef struct fold_run {
    fold_model *model;
    id_places places;                    /* of the graph's values, in model->values */
    uint64_t size_threshold;             /* larger results are dropped after their last use */
    uint64_t spent;                      /* steps of loops and functions, see fold_steps_left */
    struct op_tensor *in, *out;          /* of the node that runs */
    uint64_t held_bytes, max_held_bytes; /* of results that become constants */
} fold_run;

/* Set `wanted` of the values first. */
pgy_status gs_fold_run_init(fold_run *r, fold_model *m, uint64_t size_threshold,
                            pgy_error *err) PGY_MUST_CHECK;
void gs_fold_run_deinit(fold_run *r);
/* Runs node i; call it for i in ascending order. A node that depends on a failed one is skipped. */
pgy_status gs_fold_run_node(fold_run *r, size_t i, pgy_error *err) PGY_MUST_CHECK;
void gs_fold_release(fold_value *v);

#endif
