/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that put one operator in the place of several: a file each, and a line in fusions.def. The
 * engine's passes use them too. A rule for standard operators (pattern.standard) makes only what
 * the opset of the graph has. */
#ifndef TRANSFORM_FUSE_H
#define TRANSFORM_FUSE_H

#include "transform/pattern.h"

#define FUSION(name, opset, kind, text) bool fuse_##name(pattern *p, pgy_node *n);
#include "transform/fuse/fusions.def"
#undef FUSION

/* For the engine: scales and shifts of channels, BatchNormalization or not, into the weights. */
bool fuse_channels(pattern *p, pgy_node *n);
bool fuse_batch_norm_product(pattern *p, pgy_node *n);
/* The functions of x times a function of x, all of them. */
bool fuse_swish_like(pattern *p, pgy_node *n);

/* For folding: what is behind a view of a Gemm goes before it, to become a part of the Gemm. */
bool fuse_through_view(pattern *p, pgy_node *n);

#endif
