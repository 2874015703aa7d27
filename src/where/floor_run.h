/* SPDX-License-Identifier: Apache-2.0 */
/* The floor while it runs: its rows, the operands of a draw, and the ways to run a node. */
#ifndef WHERE_FLOOR_RUN_H
#define WHERE_FLOOR_RUN_H

#include <polygraphy/noise.h>

#include "where/floor_draws.h"
#include "where/noise_walk.h"

typedef struct floor_row {
    pgy_floor_tensor shown;
    double squares, value_squares;
    uint64_t finite, values;
} floor_row;

/* A value inside the node with subgraphs that runs, from its exact run. */
typedef struct floor_inner_value {
    const pgy_node *node;
    size_t output;
    pgy_tensor *value;
    floor_row *row;
} floor_inner_value;

typedef enum floor_mode {
    FLOOR_MODE_ALL,
    FLOOR_MODE_INNER_EXACT,
    FLOOR_MODE_INNER_DRAW
} floor_mode;

struct pgy_floor {
    noise_walk walk;
    pgy_floor_options options;
    strmap rows; /* path -> floor_row */
    arena memory;
    floor_draws draws;
    floor_mode mode;
    uint32_t first, count; /* draws of this walk */
    uint32_t draw;         /* the draw that runs, with FLOOR_MODE_INNER_DRAW */
    uint64_t sample, step; /* number of the sample, and of the node run in this walk */
    uint64_t inner_step;
    floor_inner_value *inner;
    size_t inner_count, inner_capacity, inner_bytes, inner_at;
    bool inner_full;
};

/* ---- floor_rows.c ---------------------------------------------------------------------------- */

/* The row of a tensor of the running level; NULL: out of memory. */
floor_row *floor_row_of(pgy_floor *f, const pgy_node *n, const pgy_value *v, pgy_dtype type);
void floor_row_add_values(floor_row *r, const pgy_tensor *exact);
void floor_row_add_errors(floor_row *r, const pgy_tensor *exact, const pgy_tensor *drawn);
bool floor_same_shape(const pgy_tensor *a, const pgy_tensor *b); /* and the same type */

/* ---- floor_operands.c ------------------------------------------------------------------------ */

/* The operands of a node: as the executor gives them, and with sources rounded to their types. */
typedef struct floor_operands {
    const op_tensor *given;
    op_tensor *rounded; /* retained; what a draw without a value of its own uses */
    op_tensor *drawn;
    size_t count;
} floor_operands;

/* Rounds float weights and inputs once, to nearest, as a converter rounds them. Needs
 * floor_operands_deinit, also on failure. */
pgy_status floor_operands_init(floor_operands *o, const pgy_floor *f, const pgy_node *n,
                               const op_tensor *inputs, pgy_error *err) PGY_MUST_CHECK;
void floor_operands_deinit(floor_operands *o);
/* Sets `drawn` to the operands of draw k of this walk, all retained until floor_operands_undraw. */
pgy_status floor_operands_draw(floor_operands *o, const pgy_floor *f, size_t k,
                               pgy_error *err) PGY_MUST_CHECK;
void floor_operands_undraw(floor_operands *o);

/* ---- floor_node.c ---------------------------------------------------------------------------- */

/* The type in which a node computes sums, if its result has the type `made`. */
pgy_dtype floor_sums_type(const pgy_floor *f, pgy_dtype made);
/* Runs the node on o->drawn and adds its rounding errors. `sums` may be NULL. */
pgy_status floor_run_draw(op_tensor *outputs, pgy_floor *f, const pgy_node *n, const op_node *node,
                          floor_operands *o, const pgy_tensor *sums, uint32_t draw,
                          const bool *wanted, const op_host *host, pgy_error *err) PGY_MUST_CHECK;
void floor_release_outputs(op_tensor *outputs, size_t count);

/* ---- floor_inner.c --------------------------------------------------------------------------- */

uint64_t floor_limit(const pgy_floor *f); /* bytes of values that may be kept */
/* Runs a node of a subgraph, in the exact run or in a draw (f->mode). */
pgy_status floor_run_inner(pgy_floor *f, pgy_node *n, const op_node *node, const op_tensor *inputs,
                           op_tensor *outputs, const bool *wanted, const op_host *host,
                           pgy_error *err) PGY_MUST_CHECK;
void floor_forget_inner(pgy_floor *f);

/* ---- floor_all.c ----------------------------------------------------------------------------- */

/* Runs a node of the main graph or of a function, exactly and in all draws of this walk. */
pgy_status floor_run_all(pgy_floor *f, pgy_node *n, const op_node *node, const op_tensor *inputs,
                         op_tensor *outputs, const bool *wanted, const op_host *host,
                         pgy_error *err) PGY_MUST_CHECK;

#endif
