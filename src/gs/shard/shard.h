/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the sharding files: finds attention layers, inserts collectives under numbered names,
 * and splits weights. */
#ifndef GS_SHARD_SHARD_H
#define GS_SHARD_SHARD_H

#include <polygraphy/shard.h>

#include "base/arena.h"
#include "base/str.h"

/* What pgy_shard_hints.internal points to: the hints with the memory that holds them. */
typedef struct shard_hints {
    pgy_shard_hints hints;
    arena memory;
} shard_hints;

/* ---- attention.c ----------------------------------------------------------------------------- */
/* An attention layer: MatMul(q, k), Softmax, MatMul with v. Q, K and V are looked up in the nodes'
 * inputs at each use, because edits replace them. */
typedef struct shard_attention {
    pgy_gs_node *product, *softmax, *result;
    pgy_gs_node *q_reader, *k_reader; /* q is input 0 of q_reader; k is input 1 of k_reader if both
                                         are one node, else its input 0 */
} shard_attention;
pgy_gs_tensor *shard_q(const shard_attention *a);
pgy_gs_tensor *shard_k(const shard_attention *a);
pgy_gs_tensor *shard_v(const shard_attention *a);
/* Finds all attention layers of g itself (not of subgraphs), in the order of their first MatMuls;
 * free with mem_free. */
pgy_status shard_find_attention(shard_attention **out, size_t *count, const pgy_gs_graph *g,
                                int pattern, pgy_error *err) PGY_MUST_CHECK;

/* ---- insert.c -------------------------------------------------------------------------------- */
typedef struct shard_work {
    pgy_gs_graph *g;
    const pgy_shard_hints *hints;
    int64_t next; /* the n of the next name "shard_<n>" */
} shard_work;
/* Numbering continues after the highest "shard_<n>" in the graph. */
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
    int64_t axis, rank; /* rank: for a tensor of unknown rank; -1: not given */
} shard_collective;
pgy_status shard_insert(pgy_gs_tensor **out, shard_work *s, pgy_gs_tensor *t, shard_collective c,
                        pgy_error *err) PGY_MUST_CHECK;

/* ---- weights.c ------------------------------------------------------------------------------- */
/* Splits weights along an axis into equal parts, of which this rank (device) keeps one. */
typedef struct shard_cut {
    int64_t rank, ranks;
    strmap done; /* weight name -> cut_record: the axis along which the weight was split */
} shard_cut;
void shard_cut_deinit(shard_cut *c);
/* Splits the weight at input 1 of a MatMul (axis 0: by rows, 1: by columns). It may reach the
 * MatMul through Transpose, Cast and DequantizeLinear, whose scales and zero points are then split.
 */
pgy_status shard_cut_weight(shard_cut *c, pgy_gs_node *product, size_t axis,
                            pgy_error *err) PGY_MUST_CHECK;
/* Splits a bias that is added to the result of a weight split by columns. */
pgy_status shard_cut_bias(shard_cut *c, pgy_gs_tensor *t, pgy_error *err) PGY_MUST_CHECK;
/* Fails if another node needs the whole of a weight that was split. */
pgy_status shard_check_cuts(const shard_cut *c, const pgy_gs_graph *g,
                            pgy_error *err) PGY_MUST_CHECK;

#endif
