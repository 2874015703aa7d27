/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The memory of a graph's tensors while it runs node by node: the live tensors at each step, the
 * peak, and the tensors that cause it.
 *
 *     pgy_memory *memory = NULL;
 *     pgy_memory_options options = {.size = sizeof options, .inputs = shapes};
 *     if (pgy_memory_create(&memory, graph, &options, &err)) ...
 *     printf("%llu\n", (unsigned long long)pgy_memory_summarize(memory)->peak_bytes);
 *     pgy_memory_destroy(memory);
 *
 * The live range of a tensor begins at the node that computes it and ends at the last node that
 * reads it. Inputs live all the time, because the caller holds them; outputs live to the end.
 * Weights (initializers and Constant nodes) are counted apart. Calls of local functions are
 * inlined. Workspaces, alignment and packed weights of runtimes are not included: pgy_plan_profile
 * of engine.h has the memory that the engine reserves.
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
    bool sort;        /**< sort the nodes topologically; else take the order of the file */
    bool in_place;    /**< elementwise operators reuse the memory of an input whose live range ends
                         there; Reshape and similar operators share that of their input */
    bool free_inputs; /**< inputs are freed after their last use */
} pgy_memory_options;

/** A tensor of the main graph. */
typedef struct pgy_memory_tensor {
    const char *name;
    pgy_dtype dtype;
    int32_t rank;
    const int64_t *shape;
    uint64_t size_bytes;  /**< 0 if unknown; an upper bound if `is_bound` */
    size_t first, last;   /**< steps of the live range; tensors that share memory have one range for
                             all of them */
    const char *producer; /**< name of the node that computes it; "" for inputs */
    const char *last_user;   /**< name of the last node that reads it; "" if no node does */
    const char *shares_with; /**< tensor whose memory it shares; NULL: its own */
    const char *unknown_why; /**< NULL: the size is known */
    bool is_input, is_output;
    bool is_bound; /**< a size depends on data: `shape` and `size_bytes` are upper bounds */
} pgy_memory_tensor;

/** A node of the main graph, with calls of local functions inlined. */
typedef struct pgy_memory_step {
    const char *node, *op_type;
    /** Bytes of live tensors while the node runs, with those of its subgraphs. */
    uint64_t live_bytes;
    uint64_t inner_bytes; /**< part of live_bytes: the highest peak of the node's subgraphs */
} pgy_memory_step;

typedef struct pgy_memory_summary {
    uint64_t peak_bytes; /**< peak bytes of tensors, without weights */
    size_t peak_step;
    uint64_t weight_bytes, weight_count;
    uint64_t input_bytes, output_bytes;
    size_t unknown_count; /**< tensors of unknown size: the peak is larger */
    bool out_of_order;    /**< the nodes are not in topological order */
    size_t bound_count;   /**< tensors whose size is an upper bound; if any, the peak is an upper
                             bound, too */
} pgy_memory_summary;

/** Infers shapes and finds live ranges; with `sort`, reorders the graph. The graph owns the texts,
 * so it must outlive *out. Functions are inlined in a copy. @return what pgy_graph_infer_shapes and
 * pgy_graph_sort return; PGY_E_NOT_FOUND for a name in `inputs` that is no input; PGY_E_SHAPE for
 * sizes beyond the address space */
PGY_API PGY_MUST_CHECK pgy_status pgy_memory_create(pgy_memory **out, pgy_graph *g,
                                                    const pgy_memory_options *options,
                                                    pgy_error *err);
PGY_API void pgy_memory_destroy(pgy_memory *m); /**< NULL is fine */
PGY_API const pgy_memory_summary *pgy_memory_summarize(const pgy_memory *m);
PGY_API size_t pgy_memory_step_count(const pgy_memory *m);
PGY_API const pgy_memory_step *pgy_memory_step_at(const pgy_memory *m, size_t i);
PGY_API size_t pgy_memory_tensor_count(const pgy_memory *m);
PGY_API const pgy_memory_tensor *pgy_memory_tensor_at(const pgy_memory *m, size_t i);
/** Tensors of unknown size, subgraphs included, and calls of functions too large to inline. */
PGY_API const pgy_memory_tensor *pgy_memory_unknown_at(const pgy_memory *m, size_t i);
/** Tensors with an upper bound only, subgraphs included; `unknown_why` gives the reason. */
PGY_API const pgy_memory_tensor *pgy_memory_bound_at(const pgy_memory *m, size_t i);

/* ---- Reports -------------------------------------------------------------------------------- */

typedef struct pgy_memory_report_options {
    size_t size;       /**< sizeof(pgy_memory_report_options) */
    const char *model; /**< name of the model in the report, e.g. its path; NULL: "model" */
    bool all;          /**< text: every step and every tensor at the peak */
    const char *more;  /**< text: appended to "... 12 more", e.g. ", see --all"; NULL: nothing */
    const char *sort_advice; /**< text: added to the line about the order; NULL: nothing */
} pgy_memory_report_options;

/** Writes a report for the screen: sums, the tensors live at the peak, and a bar for each range of
 * steps. Free with pgy_text_free. @param options NULL for the defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_memory_text(char **out, const pgy_memory *m,
                                                  const pgy_memory_report_options *options,
                                                  pgy_error *err);
/** Writes all steps and tensors as JSON. Free with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_memory_json(char **out, const pgy_memory *m,
                                                  const pgy_memory_report_options *options,
                                                  pgy_error *err);
/** Saves the JSON; the file appears whole or not at all. */
PGY_API PGY_MUST_CHECK pgy_status pgy_memory_save_json(const pgy_memory *m, const char *path,
                                                       const pgy_memory_report_options *options,
                                                       pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
