/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that replace several operators by one. Each has a file and a line in fusions.def. The
 * engine's passes use them, too. With pattern.standard, a rule makes only operators that the
 * graph's opset has. */
#ifndef TRANSFORM_FUSE_H
#define TRANSFORM_FUSE_H

#include "transform/pattern.h"

#define FUSION(name, opset, kind, text) bool fuse_##name(pattern *p, pgy_node *n);
#include "transform/fuse/fusions.def"
#undef FUSION

/* For the engine: moves BatchNormalization, or Mul, Div, Add and Sub per channel, into the weights
 * of the Conv or product before it. */
bool fuse_channels(pattern *p, pgy_node *n);
bool fuse_batch_norm_product(pattern *p, pgy_node *n);
bool fuse_batch_norm_relu(pattern *p, pgy_node *n);
/* Attention for the engine's kernels of the host: with caches, whose Concats it replaces. */
bool fuse_attention_own(pattern *p, pgy_node *n);
/* All rules for x times a function of x. */
bool fuse_swish_like(pattern *p, pgy_node *n);

/* For folding: moves an operation from behind a view of a Gemm to the front of the view, where it
 * can merge with the Gemm. */
bool fuse_through_view(pattern *p, pgy_node *n);

#endif
