/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Sharding: divides a model for several devices by hints that say where it may be divided.
 *
 *     pgy_shard_hints *hints = NULL;
 *     pgy_shard_options o = pgy_shard_options_default();
 *     if (pgy_shard_suggest(&hints, graph, &o, &err)) ...     // or pgy_shard_hints_load
 *     if (pgy_shard_context(graph, hints, o.pattern, &err)) ...
 *     pgy_shard_hints_destroy(hints);
 *
 * Context parallelism divides sequences: every device has all weights and a part of each sequence,
 * and attention gathers the rest from the other devices. Tensor parallelism divides weights: each
 * device (rank) has its own model.
 */
#ifndef POLYGRAPHY_SHARD_H
#define POLYGRAPHY_SHARD_H

#include <polygraphy/gs.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pgy_parallelism { PGY_PARALLEL_CONTEXT, PGY_PARALLEL_TENSOR } pgy_parallelism;

/** An input or output that is divided along its sequence axis. */
typedef struct pgy_shard_tensor {
    const char *name;
    int64_t axis;
    int64_t rank; /**< used if the model does not declare one; -1: not given */
} pgy_shard_tensor;

/** A permutation of axes; `given` false: none. */
typedef struct pgy_shard_order {
    bool given;
    const int64_t *axes;
    size_t count;
} pgy_shard_order;

/** The Attention node that replaces an attention layer. */
typedef struct pgy_fused_attention {
    bool is_causal;
    pgy_shard_order q, k, v; /**< Transposes in front of it */
    int64_t nb_rank;
} pgy_fused_attention;

typedef struct pgy_attention_hint {
    const char *q; /**< name of the Q tensor, which identifies the layer */
    bool gather_kv, gather_q;
    const pgy_fused_attention *replace; /**< NULL: the layer stays */
} pgy_attention_hint;

typedef struct pgy_shard_hints {
    pgy_parallelism parallelism;
    const pgy_attention_hint *layers;
    size_t layer_count;
    int64_t group_size, root, nb_rank;
    const char *reduce_op; /**< operation of reduce_scatter: "sum", "prod", "min", "max" or "avg" */
    const int64_t *groups;
    size_t group_count;
    const pgy_shard_tensor *inputs, *outputs;
    size_t input_count, output_count;
    int64_t k_axis, v_axis;
    int64_t kv_rank; /**< -1: not given */
    void *internal;
} pgy_shard_hints;

/** Loads JSON in Polygraphy's format. Files of release 0.49 are converted, with a warning. @return
 * PGY_E_FORMAT naming file, line and key that is missing or of the wrong type */
PGY_API PGY_MUST_CHECK pgy_status pgy_shard_hints_load(pgy_shard_hints **out, const char *path,
                                                       pgy_error *err);
/** Like pgy_shard_hints_load, from text; `name` stands for the path in messages. */
PGY_API PGY_MUST_CHECK pgy_status pgy_shard_hints_parse(pgy_shard_hints **out, const char *name,
                                                        const void *text, size_t size_bytes,
                                                        pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_shard_hints_save(const pgy_shard_hints *hints,
                                                       const char *path, pgy_error *err);
PGY_API void pgy_shard_hints_destroy(pgy_shard_hints *hints); /**< NULL is fine */

typedef struct pgy_shard_options {
    size_t size; /**< sizeof(pgy_shard_options) */
    pgy_parallelism parallelism;
    int64_t group_size, root, nb_rank;
    const char *reduce_op;
    const int64_t *groups;
    size_t group_count;
    int64_t input_axis, output_axis, k_axis, v_axis;
    int64_t input_rank, output_rank,
        kv_rank; /**< ranks of tensors without a shape; -1: not given */
    int pattern; /**< kind of attention: 0, or 1 with scaled q and k */
    bool fused;  /**< replace layers by Attention nodes as in `attention` */
    pgy_fused_attention attention;
    bool no_io;     /**< leave inputs and outputs empty */
    bool no_gather; /**< K and V are not gathered */
} pgy_shard_options;
PGY_API pgy_shard_options pgy_shard_options_default(void);

/** Makes hints for every attention layer of the graph. They list the graph's inputs that such a
 * layer depends on and the outputs that depend on one, in the graph's order. An axis named
 * sequence_length or seq_len takes precedence over the options' axes. All nodes must have distinct
 * names. */
PGY_API PGY_MUST_CHECK pgy_status pgy_shard_suggest(pgy_shard_hints **out, const pgy_gs_graph *g,
                                                    const pgy_shard_options *options,
                                                    pgy_error *err);

/** Inserts collectives into the graph, then cleans up and sorts it. @param pattern the pattern of
 * attention, as in the options */
PGY_API PGY_MUST_CHECK pgy_status pgy_shard_context(pgy_gs_graph *g, const pgy_shard_hints *hints,
                                                    int pattern, pgy_error *err);
/** Turns the graph into that of one rank of hints->nb_rank: weights around AttentionPlugin nodes
 * and Sigmoid-gated MLPs are sliced, and an all-reduce sum follows their last product. Slices are
 * computed one after the other when the model is saved. @return PGY_E_SHAPE if a size cannot be
 * divided */
PGY_API PGY_MUST_CHECK pgy_status pgy_shard_tensors(pgy_gs_graph *g, const pgy_shard_hints *hints,
                                                    int64_t rank, pgy_error *err);
/** Renames nodes whose name another node has already, with a warning for each. */
PGY_API PGY_MUST_CHECK pgy_status pgy_shard_name_nodes(pgy_gs_graph *g, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
