/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the tensors of a graph take while it runs node by node: which of them live at each step, the
 * peak, and what holds it.
 *
 *     pgy_memory *memory = NULL;
 *     pgy_memory_options options = {.size = sizeof options, .inputs = shapes};
 *     if (pgy_memory_create(&memory, graph, &options, &err)) ...
 *     printf("%llu\n", (unsigned long long)pgy_memory_summarize(memory)->peak_bytes);
 *     pgy_memory_destroy(memory);
 *
 * A tensor lives from the node that makes it to the last one that uses it, both included. Inputs
 * are held by the caller all the time, outputs from their making to the end. Weights (initializers
 * and Constant nodes) stand apart. Calls of local functions count as what they do, node by node.
 * What runtimes need besides (workspaces, alignment, packed weights) is not in it: see
 * pgy_plan_profile of engine.h for what the engine reserves.
 */
#ifndef POLYGRAPHY_MEMORY_H
#define POLYGRAPHY_MEMORY_H

#include <polygraphy/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pgy_memory pgy_memory;

typedef struct pgy_memory_options {
    size_t size;                /**< sizeof(pgy_memory_options) */
    const pgy_metadata *inputs; /**< shapes of graph inputs that replace the model's; may be NULL */
    bool sort;                  /**< nodes in an order that can be run; else that of the file */
    bool in_place;    /**< outputs of elementwise operators take the memory of an input that nobody
                         needs any more, and those of Reshape and its like that of their input */
    bool free_inputs; /**< inputs are given back after their last use */
} pgy_memory_options;

/** A tensor of the main graph. */
typedef struct pgy_memory_tensor {
    const char *name;
    pgy_dtype dtype;
    int32_t rank;
    const int64_t *shape;
    uint64_t size_bytes;     /**< 0 if unknown; the most that it can be if `is_bound` */
    size_t first, last;      /**< steps; of a tensor that shares memory: those of all who do */
    const char *producer;    /**< node; "" for inputs */
    const char *last_user;   /**< node; "" if nobody uses it */
    const char *shares_with; /**< whose memory it takes; NULL: its own */
    const char *unknown_why; /**< NULL: the size is known */
    bool is_input, is_output;
    bool is_bound; /**< a size depends on data; `shape` and `size_bytes` are the most it can be */
} pgy_memory_tensor;

/** A node of the main graph, calls of local functions being replaced by what they do. */
typedef struct pgy_memory_step {
    const char *node, *op_type;
    uint64_t live_bytes;  /**< while it runs, what is inside it included */
    uint64_t inner_bytes; /**< of that, the peak of its largest subgraph */
} pgy_memory_step;

typedef struct pgy_memory_summary {
    uint64_t peak_bytes; /**< of tensors, weights not included */
    size_t peak_step;
    uint64_t weight_bytes, weight_count;
    uint64_t input_bytes, output_bytes;
    size_t unknown_count; /**< tensors whose size is not known: the peak is larger */
    bool out_of_order;    /**< the order of the file cannot be run */
    size_t bound_count;   /**< tensors of which only the most is known: so of the peak */
} pgy_memory_summary;

/** Infers shapes, and with `sort` reorders the graph. Texts are the graph's: it must outlive *out.
 * Functions are followed in a copy.
 *  @return what pgy_graph_infer_shapes and pgy_graph_sort return; PGY_E_NOT_FOUND for a name in
 *  `inputs` that is no input; PGY_E_SHAPE for sizes that no machine has */
PGY_API PGY_MUST_CHECK pgy_status pgy_memory_create(pgy_memory **out, pgy_graph *g,
                                                    const pgy_memory_options *options,
                                                    pgy_error *err);
PGY_API void pgy_memory_destroy(pgy_memory *m); /**< NULL is fine */
PGY_API const pgy_memory_summary *pgy_memory_summarize(const pgy_memory *m);
PGY_API size_t pgy_memory_step_count(const pgy_memory *m);
PGY_API const pgy_memory_step *pgy_memory_step_at(const pgy_memory *m, size_t i);
PGY_API size_t pgy_memory_tensor_count(const pgy_memory *m);
PGY_API const pgy_memory_tensor *pgy_memory_tensor_at(const pgy_memory *m, size_t i);
/** What is unknown, subgraphs included: tensors, and calls of functions too large to be followed.
 */
PGY_API const pgy_memory_tensor *pgy_memory_unknown_at(const pgy_memory *m, size_t i);
/** Tensors of which the most is known, subgraphs included; `unknown_why` tells why no more is. */
PGY_API const pgy_memory_tensor *pgy_memory_bound_at(const pgy_memory *m, size_t i);

/* ---- Reports -------------------------------------------------------------------------------- */

typedef struct pgy_memory_report_options {
    size_t size;             /**< sizeof(pgy_memory_report_options) */
    const char *model;       /**< what to call the model, as its path; NULL: "model" */
    bool all;                /**< text: every step and every tensor at the peak */
    const char *more;        /**< text: ends "... 12 more", as ", see --all"; NULL: nothing */
    const char *sort_advice; /**< text: ends "The order of the file cannot be run"; NULL: nothing */
} pgy_memory_report_options;

/** For a screen: sums, what holds the peak, and a bar for each stretch of steps. Free with
 * pgy_text_free. @param options NULL for the defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_memory_text(char **out, const pgy_memory *m,
                                                  const pgy_memory_report_options *options,
                                                  pgy_error *err);
/** All steps and tensors. Free with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_memory_json(char **out, const pgy_memory *m,
                                                  const pgy_memory_report_options *options,
                                                  pgy_error *err);
/** The same as a file that appears whole or not at all. */
PGY_API PGY_MUST_CHECK pgy_status pgy_memory_save_json(const pgy_memory *m, const char *path,
                                                       const pgy_memory_report_options *options,
                                                       pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
