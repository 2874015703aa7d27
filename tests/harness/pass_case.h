/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the engine's graph passes on small models: checks the nodes afterwards, and that the
 * reference computes the same outputs before and after. */
#ifndef HARNESS_PASS_CASE_H
#define HARNESS_PASS_CASE_H

#include "engine/passes/pass.h"
#include "harness/model_builder.h"

/* Starts a model with one float32 input, x. */
model_builder start(const char *shape);
/* Adds a weight with pseudo-random numbers from -1 to 1. */
void weights(model_builder *b, const char *name, const char *shape, size_t count);
/* Like weights, but all numbers are above `least` - 1. */
void weights_from(model_builder *b, const char *name, const char *shape, size_t count, float least);
void scalar(model_builder *b, const char *name, float value);
void ints(model_builder *b, const char *name, const char *shape, const int64_t *values);
/* Adds an attribute that is a list of one number. */
pgy_onnx_node *node_ints(model_builder *b, pgy_onnx_node *n, const char *name, int64_t value);
/* Makes y the output. After all passes except fuse_elementwise, which would hide the others'
 * results, the graph must have these nodes (NULL: any) and compute the same outputs, also after
 * export and import. */
void expect_y(model_builder *b, const char *nodes);
/* Like expect_y, for an engine with this device ("cuda"); it is not opened. NULL: none. */
void expect_y_on(model_builder *b, const char *device, const char *nodes);
/* Like expect_y, but after all passes including fuse_elementwise. */
void expect_fused_y(model_builder *b, const char *nodes);

/* From now on the functions above only run the passes up to this one, once for each of its
 * allocations, which is refused: if the pass writes an error text, it must return an error. NULL:
 * no longer. False: this build or run refuses nothing. */
bool refuse_allocations_of(const pass *p);

#endif
