/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Differences between two ONNX models, in structure and in the values of weights.
 *
 *     pgy_diff *diff = NULL;
 *     if (pgy_diff_create(&diff, before, after, NULL, &err)) ...
 *     for (size_t i = 0; i < pgy_diff_count(diff); i++) puts(pgy_diff_at(diff, i)->name);
 *     pgy_diff_destroy(diff);
 *
 * The files are compared as they are, so models that are not valid graphs can be compared, too.
 * Nodes are matched by name, then by operator, producers and consumers, so that a renamed node or
 * tensor is reported as renamed, not as removed and added. Weights are compared by their elements,
 * whatever their storage, block by block: no weight is in memory as a whole.
 */
#ifndef POLYGRAPHY_DIFF_H
#define POLYGRAPHY_DIFF_H

#include <polygraphy/onnx.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pgy_diff pgy_diff;

/** The part of a model that a difference is in. */
typedef enum pgy_diff_part {
    PGY_DIFF_MODEL,    /**< versions, producer, text, metadata */
    PGY_DIFF_OPSET,    /**< an imported opset */
    PGY_DIFF_GRAPH,    /**< a graph's own name, text, metadata */
    PGY_DIFF_FUNCTION, /**< a function, or its interface */
    PGY_DIFF_INPUT,    /**< of a graph */
    PGY_DIFF_OUTPUT,   /**< of a graph */
    PGY_DIFF_NODE,
    PGY_DIFF_ATTRIBUTE, /**< of a node */
    PGY_DIFF_TENSOR,    /**< a tensor that a node computes: its name, declared type, annotations */
    PGY_DIFF_WEIGHT     /**< an initializer, or the value of a Constant node */
} pgy_diff_part;
enum { PGY_DIFF_PART_COUNT = PGY_DIFF_WEIGHT + 1 };

typedef enum pgy_diff_change {
    PGY_DIFF_ADDED,
    PGY_DIFF_REMOVED,
    PGY_DIFF_RENAMED,
    PGY_DIFF_CHANGED, /**< `field` names what changed */
    PGY_DIFF_REWIRED, /**< an input of a node has another producer */
    PGY_DIFF_MOVED,   /**< the item has another place in its list */
    PGY_DIFF_STORED,  /**< a weight has equal elements in another storage; does not count as a
                         difference */
    PGY_DIFF_UNREAD   /**< a weight's elements could not be compared */
} pgy_diff_change;
enum { PGY_DIFF_CHANGE_COUNT = PGY_DIFF_UNREAD + 1 };

/** How a weight's elements changed; a is the value before, b the value after. Values of other types
 * are compared after conversion to float64. */
typedef struct pgy_weight_change {
    pgy_dtype dtype_a, dtype_b;
    const int64_t *dims_a, *dims_b;
    size_t rank_a, rank_b;
    const char *stored_a, *stored_b; /**< "raw", "typed", "external"; with ", Constant" for nodes */
    bool compared;       /**< the elements were compared, so the numbers below are set */
    const char *why_not; /**< the reason if not compared; else NULL */
    uint64_t count;      /**< number of elements */
    uint64_t changed;    /**< elements that are not equal; 0 equals -0, NaN equals NaN */
    uint64_t beyond;     /**< elements that differ by more than the tolerance */
    uint64_t nan_a, nan_b;
    uint64_t max_index;   /**< index of the element with the largest change */
    double max_abs;       /**< largest |a - b|; NaNs are left out of this and what follows */
    double max_rel;       /**< largest |a - b| / |a| over a that are not 0 */
    double mean_abs, rms; /**< mean and root mean square of a - b over all elements */
    double cosine;        /**< cosine similarity of a and b as vectors; NaN if one is 0 */
    double snr_db;        /**< signal-to-noise ratio: 10 log10(sum of a^2 / sum of (a - b)^2) */
    uint64_t bytes_a;     /**< bytes of the elements, before and after */
    uint64_t bytes_b;
} pgy_weight_change;

typedef struct pgy_difference {
    pgy_diff_part part;
    pgy_diff_change change;
    const char *path; /**< graph: "" for the model's, "If_3/then_branch", "MyFunction" */
    const char *name; /**< name before, or after if it was added. Unnamed nodes: the names of their
                         outputs */
    const char *new_name;            /**< name after; NULL: unchanged */
    const char *op_type;             /**< operator of a node or of an attribute's node, else "" */
    const char *field;               /**< what changed: "opset_import", "alpha", "input 1"; or "" */
    const char *before, *after;      /**< values as text; NULL: absent */
    const pgy_weight_change *weight; /**< change of a weight that both models have; else NULL */
} pgy_difference;

typedef struct pgy_diff_options {
    size_t size;         /**< sizeof(pgy_diff_options) */
    bool structure_only; /**< compare weights by type, shape and name only */
    bool weights_only;
    bool order; /**< also report nodes, weights and tensor declarations whose order changed */
    bool ignore_names; /**< ignore the names of nodes and of tensors inside graphs */
    bool ignore_notes; /**< ignore texts, metadata, producer and version numbers of the model */
    double atol, rtol; /**< weights: |a - b| <= atol + rtol * |a| is no difference */
} pgy_diff_options;

/** Totals of a comparison. */
typedef struct pgy_diff_summary {
    uint64_t counts[PGY_DIFF_PART_COUNT][PGY_DIFF_CHANGE_COUNT];
    uint64_t differences; /**< number of all changes except STORED */
    uint64_t nodes_a, nodes_b, nodes_matched;
    uint64_t weights_a, weights_b, weights_matched, weights_equal;
    uint64_t weight_bytes_a, weight_bytes_b;
    uint64_t bytes_read;   /**< bytes of weights that were read, of both models together */
    uint64_t bytes_shared; /**< bytes of weights that were not read, because both models refer to
                              the same bytes of one file */
} pgy_diff_summary;

/** Both models are retained. @param options NULL for defaults
 * @return PGY_E_ARGUMENT for a model without a graph or a negative tolerance; PGY_E_MEMORY */
PGY_API PGY_MUST_CHECK pgy_status pgy_diff_create(pgy_diff **out, pgy_model *before,
                                                  pgy_model *after, const pgy_diff_options *options,
                                                  pgy_error *err);
PGY_API void pgy_diff_destroy(pgy_diff *d); /**< NULL is fine */
PGY_API const pgy_diff_summary *pgy_diff_summarize(const pgy_diff *d);
/** Number of differences. pgy_diff_at gives them graph by graph: the model, then interfaces, nodes,
 * tensors, weights. */
PGY_API size_t pgy_diff_count(const pgy_diff *d);
PGY_API const pgy_difference *pgy_diff_at(const pgy_diff *d, size_t i);
/** True if the models are equal. @param ignore_unread count weights that could not be compared as
 * equal */
PGY_API bool pgy_diff_is_equal(const pgy_diff *d, bool ignore_unread);

/* ---- Reports -------------------------------------------------------------------------------- */

typedef struct pgy_diff_report_options {
    size_t size;                /**< sizeof(pgy_diff_report_options) */
    const char *before, *after; /**< names of the models in the report, e.g. their paths; NULL:
                                   "before" and "after" */
    bool all;                   /**< text: every difference, not only the first ones of each part */
    const char *more;   /**< text: appended to "... 12 more", e.g. ", see --all"; NULL: nothing */
    bool ignore_unread; /**< JSON: as in pgy_diff_is_equal, for "equal" */
} pgy_diff_report_options;

/** Writes a report for the screen: sums, then the differences part by part; weights with the
 * largest changes come first. Free with pgy_text_free. @param options NULL for the defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_diff_text(char **out, const pgy_diff *d,
                                                const pgy_diff_report_options *options,
                                                pgy_error *err);
/** Writes all differences with their numbers as JSON. Free with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_diff_json(char **out, const pgy_diff *d,
                                                const pgy_diff_report_options *options,
                                                pgy_error *err);
/** Saves the JSON; the file appears whole or not at all. */
PGY_API PGY_MUST_CHECK pgy_status pgy_diff_save_json(const pgy_diff *d, const char *path,
                                                     const pgy_diff_report_options *options,
                                                     pgy_error *err);

/** Lower-case names: "node", "renamed". */
PGY_API const char *pgy_diff_part_name(pgy_diff_part part);
PGY_API const char *pgy_diff_change_name(pgy_diff_change change);

#ifdef __cplusplus
}
#endif
#endif
