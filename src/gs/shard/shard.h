/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of sharding: attention layers of a graph, and nodes with numbered names. */
#ifndef GS_SHARD_SHARD_H
#define GS_SHARD_SHARD_H

#include <polygraphy/shard.h>

#include "base/arena.h"
#include "base/str.h"

/* pgy_shard_hints.internal: the memory of the hints. */
typedef struct shard_hints {
    pgy_shard_hints hints;
    arena memory;
} shard_hints;

/* ---- attention.c ----------------------------------------------------------------------------- */
/* MatMul(q, k), Softmax, MatMul(., v). Inputs are read from the nodes' slots, so they follow
 * edits. */
typedef struct shard_attention {
    pgy_gs_node *product, *softmax, *result;
    pgy_gs_node *q_reader, *k_reader; /* slot 0 of one, slot q_reader == k_reader of the other */
} shard_attention;
pgy_gs_tensor *shard_q(const shard_attention *a);
pgy_gs_tensor *shard_k(const shard_attention *a);
pgy_gs_tensor *shard_v(const shard_attention *a);
/* All layers of the top level, in the order of their first products; free with mem_free. */
pgy_status shard_find_attention(shard_attention **out, size_t *count, const pgy_gs_graph *g,
                                int pattern, pgy_error *err) PGY_MUST_CHECK;

/* ---- insert.c -------------------------------------------------------------------------------- */
typedef struct shard_work {
    pgy_gs_graph *g;
    const pgy_shard_hints *hints;
    int64_t next; /* number of the next "shard_<n>" */
} shard_work;
/* Numbers continue after the highest one in the graph. */
pgy_status shard_begin(shard_work *out, pgy_gs_graph *g, const pgy_shard_hints *hints,
                       pgy_error *err) PGY_MUST_CHECK;
/* The number n of a name "...shard_<n>"; -1: the name has none. */
int64_t shard_number(const char *name);
/* Adds a node "shard_<n + 1>" whose output "shard_<n>" has the input's type. */
pgy_status shard_add(pgy_gs_tensor **out, shard_work *s, pgy_gs_node_spec spec, pgy_gs_tensor *in,
                     pgy_error *err) PGY_MUST_CHECK;
pgy_status shard_transpose(pgy_gs_tensor **out, shard_work *s, pgy_gs_tensor *in,
                           const int64_t *perm, size_t rank, pgy_error *err) PGY_MUST_CHECK;
/* Inserts a collective between a tensor and all its readers, outputs of the graph included. */
typedef struct shard_collective {
    const char *operation, *reduce_op;
    int64_t axis, rank; /* rank -1: the tensor's own */
} shard_collective;
pgy_status shard_insert(pgy_gs_tensor **out, shard_work *s, pgy_gs_tensor *t, shard_collective c,
                        pgy_error *err) PGY_MUST_CHECK;

/* ---- weights.c ------------------------------------------------------------------------------- */
/* Cuts weights into parts, of which this rank keeps one. */
typedef struct shard_cut {
    int64_t rank, ranks;
    strmap done; /* by name: the axis along which a weight was cut */
} shard_cut;
void shard_cut_deinit(shard_cut *c);
/* Cuts the weight in slot 1 of a MatMul, through Transpose, Cast and DequantizeLinear (whose scales
 * and zero points are cut, too). axis: 0 rows, 1 columns. */
pgy_status shard_cut_weight(shard_cut *c, pgy_gs_node *product, size_t axis,
                            pgy_error *err) PGY_MUST_CHECK;
/* Cuts a tensor that is added to columns that were cut. */
pgy_status shard_cut_bias(shard_cut *c, pgy_gs_tensor *t, pgy_error *err) PGY_MUST_CHECK;
/* Fails if a node that needs the whole weight reads a weight that was cut. */
pgy_status shard_check_cuts(const shard_cut *c, const pgy_gs_graph *g,
                            pgy_error *err) PGY_MUST_CHECK;

#endif
