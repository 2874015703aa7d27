/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by If, Loop and Scan: running and inferring the subgraph in an attribute, and merging its
 * results. */
#ifndef OPS_CLASS_LOOP_H
#define OPS_CLASS_LOOP_H

#include "ops/rule.h"

/* Infers the subgraph in attribute `attr`. *known becomes false if the host cannot infer subgraphs.
 */
pgy_status loop_infer_graph(op_infer *c, const char *attr, const op_value *inputs,
                            size_t input_count, op_value *outputs, size_t output_count, bool *known,
                            pgy_error *err) PGY_MUST_CHECK;
/* Infers a loop body that carries `count` values: after an iteration, the outputs from `first_out`
 * on become the inputs from `first_in` on. Inference repeats until nothing changes; each round
 * makes the dims unknown that differ between iterations. `inputs` are updated in place. */
pgy_status loop_infer_body(op_infer *c, op_value *inputs, size_t input_count, size_t first_in,
                           op_value *outputs, size_t output_count, size_t first_out, size_t count,
                           bool *known, pgy_error *err) PGY_MUST_CHECK;
/* Reduces *to to what is true for both *to and *from. Returns whether the type or shape of *to
 * changed. */
bool loop_merge(op_infer *c, op_value *to, const op_value *from, const char *why);
/* Type and shape of `v` without its value, which changes between iterations. */
op_value loop_varying(const op_value *v);

pgy_status loop_run_graph(const op_eval *c, const char *attr, const op_tensor *inputs,
                          size_t input_count, op_tensor *outputs, size_t output_count,
                          pgy_error *err) PGY_MUST_CHECK;
/* Moves a result, with its reference, to output i of the node. */
void loop_set_output(op_eval *c, size_t i, op_tensor *result);

/* Tensors of one shape, which loop_stack_join joins along a new axis. */
typedef struct loop_stack {
    pgy_tensor **items;
    size_t count, capacity;
    pgy_dtype dtype;
} loop_stack;
void loop_stack_deinit(loop_stack *s);
pgy_status loop_stack_push(loop_stack *s, const op_eval *c, const op_tensor *t,
                           pgy_error *err) PGY_MUST_CHECK;
/* Joins the items into an output of the node. Without items, the output is empty and has the
 * inferred type. */
pgy_status loop_stack_join(const loop_stack *s, op_eval *c, size_t output, int64_t axis,
                           bool reverse, pgy_error *err) PGY_MUST_CHECK;

#endif
