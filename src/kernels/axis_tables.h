/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a tensor by index tables, one for each axis: entry i is the input index from which output
 * index i is copied, or -1 for the padding value. Pad and nearest Resize share this code. The
 * tables are the kernel's packed data. On the last axis, the longest run of consecutive input
 * indices is copied at once. */
#ifndef KERNELS_AXIS_TABLES_H
#define KERNELS_AXIS_TABLES_H

#include "kernels/walk.h"

/* Parameters of the kernels for Pad and nearest Resize. */
typedef struct axis_tables {
    /* value: index of the input with the padding value; 0: pad with zeros */
    uint32_t item, rank, inputs, value;
    uint64_t rows;                            /* number of rows along the output's last axis */
    uint64_t in[WALK_AXES], shape[WALK_AXES]; /* in: shape of the input; shape: of the output */
    /* strides: of the input; tables: index of each axis's first entry in the packed data */
    uint64_t strides[WALK_AXES], tables[WALK_AXES];
    uint64_t entries;
    uint64_t run_from, run_count; /* the longest run of the last axis: first output index, length */
} axis_tables;

/* Sets all members that follow from the types and shapes of `u`; `value` stays 0. Returns false if
 * these tables cannot describe the problem. */
bool axis_tables_describe(axis_tables *p, const kernel_problem *u);
/* Sets linear layouts in `u`, and *cost_ns for parameters that axis_tables_describe has set. */
void axis_tables_cost(kernel_problem *u, const axis_tables *p, double *cost_ns);
/* Makes the plan, with a copy of `p` as parameters. The caller then fills the tables in out->packed
 * and calls axis_tables_finish. */
pgy_status axis_tables_plan(kernel_plan *out, const axis_tables *p, pgy_error *err) PGY_MUST_CHECK;
void axis_tables_finish(kernel_plan *out);
/* Moves the channels behind the other axes of a plan, whose rank is at least 3: it then copies
 * tensors in channels last. */
pgy_status axis_tables_turn(kernel_plan *out, pgy_error *err) PGY_MUST_CHECK;
/* Does the last axis keep all its indices? Reads the members that axis_tables_finish sets. */
bool axis_tables_keeps_last(const axis_tables *p);
bool axis_tables_extent(kernel_extent *e, const kernel_claim *q);
void axis_tables_run(const kernel_run *r);

#endif
