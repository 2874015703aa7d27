/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The first wrong tensor: runs a model on two sides, compares their tensors in topological order,
 * and tells the nodes that start an error from those that pass it on.
 *
 *     pgy_where_side a = {.size = sizeof a, .backend = pgy_backend_find("onnxrt"), .model = good};
 *     pgy_where_side b = {.size = sizeof b, .backend = pgy_backend_find("trt"), .model = bad};
 *     pgy_where_options o = pgy_where_options_default();
 *     pgy_where_report *report = NULL;
 *     if (pgy_where(&report, &a, &b, &o, &err)) ...
 *     const pgy_where_tensor *first = pgy_where_report_first(report);
 *     pgy_where_report_destroy(report);
 *
 * Side A is the reference. docs/where.md explains the search and its figures.
 */
#ifndef POLYGRAPHY_WHERE_H
#define POLYGRAPHY_WHERE_H

#include <polygraphy/build_config.h>
#include <polygraphy/compare.h>
#include <polygraphy/graph.h>
#include <polygraphy/noise.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One side: a runtime with a model, or stored results. All members are borrowed. */
typedef struct pgy_where_side {
    size_t size;                        /**< sizeof(pgy_where_side) */
    const pgy_backend *backend;         /**< NULL: stored results */
    const pgy_backend_options *options; /**< options of the backend; NULL: defaults */
    const pgy_build_config *config;     /**< for backends that build plans; NULL: defaults */
    pgy_model *model; /**< NULL: a plan, or stored results; with stored results, a model tells the
                         order and the nodes of the tensors */
    const char *plan;    /**< path of a plan: only its outputs and debug tensors can be read */
    const char *results; /**< path of results, as pgy_results_load */
} pgy_where_side;

typedef struct pgy_where_options {
    size_t size;                /**< sizeof(pgy_where_options) */
    pgy_data_loader *data;      /**< all its maps are samples; NULL: one generated map */
    const pgy_metadata *shapes; /**< shapes of generated inputs; NULL: the model's */
    uint64_t max_memory; /**< limit for the bytes of a segment: its values, what is kept at its
                            borders, and copies of its weights; without inputs and the model's file.
                            Tensors that do not fit are compared in slices; nodes that cannot run
                            within it end the search with PGY_E_MEMORY before anything runs. 0: a
                            quarter of the memory that is free */
    /** Name of the rule that decides: "tolerance" (NULL), or "floor": a tensor may differ by a
     * multiple of the error that rounding must cause there. Tensors without a floor are judged by
     * tolerance. */
    const char *judge;
    /** An element may differ by atol + rtol * (largest magnitude in the reference's tensor). NaN:
     * by the type of the tensor: rtol 1e-4 for float32, 1e-9 for float64, 5e-3 for float16, 4e-2
     * for bfloat16 and 0.25 for float8; atol 0. */
    double rtol, atol;
    bool own_errors; /**< run every node alone, also those that cannot start an error */
    size_t worst_count; /**< elements to keep for each tensor, the worst first; 0: 3, at most 64 */
    /** For "floor": options of the floor. NULL: defaults, and if a side may compute in 16 bits,
     * this type in place of float32. */
    const pgy_floor_options *floor;
    double floor_times; /**< for "floor": the multiple that passes; NaN: 3 */
    /** Limit of the nodes that one run may compute, nodes in loops counted each time: models with
     * loops whose trip count is not a small constant run by the reference first, since a runner
     * does not stop. 0: 1 million */
    uint64_t max_steps;
    bool skip_inside; /**< do not look into the bodies of If, Loop, Scan and SequenceMap */
} pgy_where_options;
PGY_API pgy_where_options pgy_where_options_default(void);

/** An element of a tensor on both sides. */
typedef struct pgy_where_element {
    uint64_t index; /**< row-major */
    double a, b;
} pgy_where_element;

/** One tensor in the ledger. Errors are relative to the largest magnitude in the reference's
 * tensor; the worst sample counts. NaN: unknown. */
typedef struct pgy_where_tensor {
    /** Names on side A and side B; inside a loop with the worst iteration: "loop_3/iter_12/x". */
    const char *name, *other_name;
    const char *node, *op_type; /**< node of side B's model, inside a body with its path; "" for
                                   plans */
    const char *module; /**< module path: from PyTorch's scopes, else from names; or "" */
    pgy_dtype dtype;
    int32_t rank;
    const int64_t *shape;
    double error;         /**< difference of the two sides */
    double handed;        /**< largest error of the tensors that the node reads */
    double made;          /**< error of the node when it reads the reference's values */
    double amplification; /**< error / handed */
    double allowed;       /**< largest error that passes */
    bool compared;        /**< false: `note` has the reason */
    bool differs;         /**< error is more than allowed, or a side has NaN */
    bool starts; /**< the node makes an error that is more than allowed; if `made` is unknown: its
                    inputs do not differ, but its output does */
    const char *note;     /**< "" if there is nothing to say */
    size_t sample;        /**< the worst sample, from 0 */
    uint64_t worst_index; /**< its worst element, row-major */
    double worst_a, worst_b;
    const pgy_where_element *worst; /**< its worst elements, the largest difference first */
    size_t worst_count;
    double floor_times;    /**< rule "floor": the difference, in units of the floor; NaN: unknown */
    pgy_dtype floor_dtype; /**< type that the floor assumes for the tensor; NONE: no floor */
    const int64_t *iterations; /**< iterations of the loops around it, outermost first */
    size_t iteration_count;
} pgy_where_tensor;

typedef struct pgy_where_report pgy_where_report;

/** Compares the sides. @return PGY_E_CANCELLED sets *out as well: it has what was compared so far
 */
PGY_API PGY_MUST_CHECK pgy_status pgy_where(pgy_where_report **out, const pgy_where_side *a,
                                            const pgy_where_side *b,
                                            const pgy_where_options *options, pgy_error *err);
PGY_API void pgy_where_report_destroy(pgy_where_report *r); /**< NULL is fine */
/** True if tensors were compared, none differs, and all outputs were compared. */
PGY_API bool pgy_where_report_passed(const pgy_where_report *r);
PGY_API size_t pgy_where_report_count(const pgy_where_report *r);
PGY_API const pgy_where_tensor *pgy_where_report_at(const pgy_where_report *r, size_t i);
/** The first tensor that differs or whose node starts an error, in topological order; NULL: none.
 */
PGY_API const pgy_where_tensor *pgy_where_report_first(const pgy_where_report *r);
/** Failures besides tensors that differ, such as outputs without a counterpart. */
PGY_API size_t pgy_where_report_failure_count(const pgy_where_report *r);
PGY_API const char *pgy_where_report_failure(const pgy_where_report *r, size_t i);
/** Text for people. Free with pgy_text_free. `next`: a command that continues; NULL: none. */
PGY_API PGY_MUST_CHECK pgy_status pgy_where_report_text(char **out, const pgy_where_report *r,
                                                        const char *next, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_where_report_save(const pgy_where_report *r, const char *path,
                                                        const char *next, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
