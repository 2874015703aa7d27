/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that exporters of torch write for EmbeddingBag, as the operands and attributes of
 * pgy EmbeddingBag. */
#ifndef ENGINE_PASSES_BAG_LOOPS_H
#define ENGINE_PASSES_BAG_LOOPS_H

#include "transform/pattern.h"

typedef struct bag_form {
    pgy_value *table, *indices, *offsets, *weights; /* offsets and weights may be NULL */
    const char *mode;
    bool empty_is_zero, last_to_end, keepdims;
} bag_form;

/* The mode of a ReduceSum, ReduceMean or ReduceMax over one constant axis of a tensor with this
 * rank, or NULL. The axis counts from the front. */
const char *bag_reduction(pattern *p, const pgy_node *n, int64_t axis, int32_t rank);
/* Reads rows of a table, maybe times weights: Gather or Mul of a Gather. The weights have an axis
 * of size 1 in place of the table's columns. */
bool bag_rows_read(bag_form *out, pattern *p, const pgy_value *rows);

/* Recognises a Loop over bags whose results are stacked (torch.onnx of TorchScript). */
bool bag_loop_scan(bag_form *out, pattern *p, const pgy_node *loop);
/* Recognises ConcatFromSequence of a Loop that appends the result of each bag to a sequence
 * (torch.dynamo). */
bool bag_loop_sequence(bag_form *out, pattern *p, const pgy_node *concat);

/* Is v a constant list of one integer, or a shape's element, that equals d? */
bool bag_value_is(pattern *p, pgy_value *v, dim d);
/* Are the elements of v those of one constant integer? */
bool bag_is_constant(pattern *p, pgy_value *v, int64_t wanted);
/* Reads Slice along the first axis of a tensor with step 1. */
bool bag_slice(pattern *p, const pgy_value *v, pgy_value **data, pgy_value **start,
               pgy_value **end);

#endif
