/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What can be done to the weights of a model as a whole: found sparse or made so, taken out and put
 * in again.
 *
 *     pgy_model *pruned = NULL;
 *     if (pgy_model_prune(&pruned, model, &err)) ...
 *     if (pgy_model_save(pruned, "pruned.onnx", NULL, &err)) ...
 *
 * A new model shares everything but those weights with the one it comes from and keeps it alive;
 * metadata, functions and imports stay. Weights are read and written one after the other: no more
 * than the largest of them is in memory. How far it has come is logged under the original's module
 * paths.
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

/** Weights that Conv, Gemm and MatMul nodes of the top graph multiply with, each once, of type
 * float32, float16 or bfloat16 and with a length that is a multiple of four; the log says why
 * others are left out. They are looked for through operators that keep values or move them.
 * @param[out] out  owned by the graph */
PGY_API PGY_MUST_CHECK pgy_status pgy_graph_sparse_weights(const pgy_sparse_weight **out,
                                                           size_t *count, pgy_graph *g,
                                                           pgy_error *err);
/** Are at least two of every four neighbours zero? */
PGY_API PGY_MUST_CHECK pgy_status pgy_sparse_weight_holds(bool *out, const pgy_sparse_weight *w,
                                                          pgy_error *err);

/** Every weight of pgy_graph_sparse_weights gets 2:4 sparsity: of each four neighbours the two of
 * the smallest magnitudes become zero, of equal ones those that come first. */
PGY_API PGY_MUST_CHECK pgy_status pgy_model_prune(pgy_model **out, pgy_model *m, pgy_error *err);

typedef struct pgy_strip_options {
    size_t size;                /**< sizeof(pgy_strip_options) */
    const char *const *exclude; /**< names of weights that stay */
    size_t exclude_count;
} pgy_strip_options;
/** Takes the elements of weights out: shape and type stay, the doc string becomes "TRT_WEIGHTLESS/"
 * or, if they had 2:4 sparsity, "TRT_WEIGHTLESS/SPARSE_2_4", and the model's doc string gets
 * "TRT_WEIGHTLESS". Which weights: see docs/howto/prune_and_strip_weights.md. What is stripped
 * already stays as it is.
 * @param options NULL for defaults
 * @param[out] stripped  number of weights; may be NULL */
PGY_API PGY_MUST_CHECK pgy_status pgy_model_strip_weights(pgy_model **out, size_t *stripped,
                                                          pgy_model *m,
                                                          const pgy_strip_options *options,
                                                          pgy_error *err);

typedef struct pgy_reconstruct_options {
    size_t size;     /**< sizeof(pgy_reconstruct_options) */
    uint32_t seed;   /**< weight i of those that are filled gets numbers of seed + i */
    bool keep_marks; /**< weights and model stay marked, as by the original */
} pgy_reconstruct_options;
/** Fills stripped weights with normally distributed numbers (those of numpy.random.RandomState(seed
 * + i).randn), prunes those that were sparse, and takes the marks away. PGY_E_FORMAT: a weight is
 * marked and has elements, or a mark that is not known; PGY_E_SHAPE: marked sparse where it cannot
 * be.
 * @param options NULL for defaults: seed 1
 * @param[out] filled  number of weights; may be NULL */
PGY_API PGY_MUST_CHECK pgy_status
pgy_model_reconstruct_weights(pgy_model **out, size_t *filled, pgy_model *m,
                              const pgy_reconstruct_options *options, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
