/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Operations on all weights of a model: find sparse ones, prune, strip, and reconstruct.
 *
 *     pgy_model *pruned = NULL;
 *     if (pgy_model_prune(&pruned, model, &err)) ...
 *     if (pgy_model_save(pruned, "pruned.onnx", NULL, &err)) ...
 *
 * A new model shares everything except changed weights with its source, which it keeps alive;
 * metadata, functions and imports stay. Weights are read and written one after the other, so that
 * only one is in memory at a time. Progress is logged under the original's module paths.
 */
#ifndef POLYGRAPHY_WEIGHTS_H
#define POLYGRAPHY_WEIGHTS_H

#include <polygraphy/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A weight that can have 2:4 sparsity, and the axis along which four neighbours form a group. */
typedef struct pgy_sparse_weight {
    pgy_value *value;
    size_t axis;
} pgy_sparse_weight;

/** Lists weights of the main graph's Conv, Gemm and MatMul nodes, each once, that have type
 * float32, float16 or bfloat16 and a length that is a multiple of four; the log gives the reason
 * for leaving others out. The search follows operators that only copy or move values between weight
 * and node.
 * @param[out] out  owned by the graph */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_sparse_weights(const pgy_sparse_weight **out,
                                                           size_t *count, pgy_graph *g,
                                                           pgy_error *err);
/** *out is true if at least two of every four neighbours are zero. */
PGY_API PGY_MUST_CHECK pgy_status pgy_sparse_weight_holds(bool *out, const pgy_sparse_weight *w,
                                                          pgy_error *err);

/** Gives every weight of pgy_graph_sparse_weights 2:4 sparsity: of each four neighbours, the two of
 * smallest magnitude become zero; among equal ones, the first. */
PGY_API PGY_MUST_CHECK pgy_status pgy_model_prune(pgy_model **out, pgy_model *m, pgy_error *err);

typedef struct pgy_strip_options {
    size_t size;                /**< sizeof(pgy_strip_options) */
    const char *const *exclude; /**< names of weights that stay */
    size_t exclude_count;
} pgy_strip_options;
/** Removes the elements of weights. Shape and type stay; the doc string becomes "TRT_WEIGHTLESS/"
 * or, if they had 2:4 sparsity, "TRT_WEIGHTLESS/SPARSE_2_4", and the model's doc string gets
 * "TRT_WEIGHTLESS". docs/howto/prune_and_strip_weights.md says which weights are stripped. Weights
 * stripped earlier stay as they are.
 * @param options NULL for defaults
 * @param[out] stripped  number of weights; may be NULL */
PGY_API PGY_MUST_CHECK pgy_status pgy_model_strip_weights(pgy_model **out, size_t *stripped,
                                                          pgy_model *m,
                                                          const pgy_strip_options *options,
                                                          pgy_error *err);

typedef struct pgy_reconstruct_options {
    size_t size;     /**< sizeof(pgy_reconstruct_options) */
    uint32_t seed;   /**< the i-th filled weight gets random numbers of seed + i */
    bool keep_marks; /**< weights and model keep their marks, as in the original */
} pgy_reconstruct_options;
/** Fills stripped weights with normally distributed numbers (those of numpy.random.RandomState(seed
 * + i).randn), prunes those that were sparse, and removes the marks. Errors: PGY_E_FORMAT for a
 * marked weight with elements or an unknown mark; PGY_E_SHAPE for a sparse mark on a shape that
 * cannot be sparse.
 * @param options NULL for defaults: seed 1
 * @param[out] filled  number of weights; may be NULL */
PGY_API PGY_MUST_CHECK pgy_status
pgy_model_reconstruct_weights(pgy_model **out, size_t *filled, pgy_model *m,
                              const pgy_reconstruct_options *options, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
