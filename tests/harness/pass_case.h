/* SPDX-License-Identifier: Apache-2.0 */
/* Passes on small models: what the graph consists of afterwards, and that the reference gives the
 * same for both. */
#ifndef HARNESS_PASS_CASE_H
#define HARNESS_PASS_CASE_H

#include "harness/model_builder.h"

/* A model with the input x. */
model_builder start(const char *shape);
/* A weight of made-up numbers from -1 to 1. */
void weights(model_builder *b, const char *name, const char *shape, size_t count);
/* The same above `least` - 1. */
void weights_from(model_builder *b, const char *name, const char *shape, size_t count, float least);
void scalar(model_builder *b, const char *name, float value);
void ints(model_builder *b, const char *name, const char *shape, const int64_t *values);
/* An attribute of one number in a list. */
pgy_onnx_node *node_ints(model_builder *b, pgy_onnx_node *n, const char *name, int64_t value);
/* Ends the model in y. After all passes but fuse_elementwise, which would hide what they did, its
 * graph must have these nodes and give what it gave, saved and read again too. */
void expect_y(model_builder *b, const char *nodes);
/* After all passes. */
void expect_fused_y(model_builder *b, const char *nodes);

#endif
