/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Simplification: makes a simpler model that computes the same, and proves it. Constants are
 * folded, and several nodes that compute one standard operator become that operator. Every such
 * rewrite is measured on data against the float64 reference, and undone if it changes values by
 * more than rounding.
 *
 *     pgy_simplify_options o = pgy_simplify_options_default();
 *     o.sample = next_inputs;
 *     pgy_simplify_report *report = NULL;
 *     if (pgy_model_simplify(&simple, model, &o, &report, &err)) ...
 *     if (!report->passed) ...
 *
 * docs/simplify.md explains the rules and the bounds.
 */
#ifndef POLYGRAPHY_SIMPLIFY_H
#define POLYGRAPHY_SIMPLIFY_H

#include <polygraphy/onnx.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Tolerances, in units of the element type: the distance of neighbouring numbers at 1, times the
 * larger of the value's magnitude and the root mean square of its tensor. */
#define PGY_SIMPLIFY_REWRITE_UNITS 16.0 /**< limit for the value that a rewrite computes */
#define PGY_SIMPLIFY_MODEL_UNITS 128.0  /**< limit for the outputs of the whole model */

typedef enum pgy_simplify_kind {
    PGY_SIMPLIFY_EXACT,     /**< equal by the definitions of the operators */
    PGY_SIMPLIFY_MEASURED,  /**< equal except for rounded constants: applied only if it can be
                               measured */
    PGY_SIMPLIFY_ON_REQUEST /**< changes weights: applied only on request */
} pgy_simplify_kind;

typedef struct pgy_simplify_rule {
    const char *name;
    int64_t opset; /**< oldest opset that has the operators that the rule makes */
    pgy_simplify_kind kind;
    const char *text; /**< one line */
} pgy_simplify_rule;
/** All rules in their order. @return their number; *out is static. */
PGY_API size_t pgy_simplify_rule_list(const pgy_simplify_rule **out);

typedef struct pgy_simplify_options {
    size_t size;             /**< sizeof(pgy_simplify_options) */
    const char *const *only; /**< names of rules to apply; NULL: all except those on request */
    size_t only_count;
    const char *const *skip; /**< rules to leave out; warns if `only` has one, too */
    size_t skip_count;
    bool fuse_batch_norm;       /**< also apply the rules on request */
    bool no_check;              /**< do not measure the rewrites */
    int64_t opset;              /**< opset to convert the model to first; 0: keep its opset */
    const pgy_metadata *inputs; /**< shapes to propose for these inputs; may be NULL */
    uint64_t max_steps; /**< limit of nodes computed in one run, nodes in loops counted each time;
                           0: no limit */
    /** Gives the next sample: a map for model inputs of these shapes, or NULL at the end. For a
     * model with dynamic dimensions it is called for several sizes, sets 0, 1...; each set has its
     * own samples. The shapes are proposals: maps of other shapes are accepted. NULL: nothing can
     * be measured. */
    pgy_status (*sample)(pgy_tensor_map **out, const pgy_metadata *inputs, size_t set, void *user,
                         pgy_error *err);
    void *user;
} pgy_simplify_options;
PGY_API pgy_simplify_options pgy_simplify_options_default(void);

/** A rewrite that was done. */
typedef struct pgy_simplify_change {
    const char *rule;
    const char *node;    /**< the new node */
    const char *op_type; /**< operator of the new node */
    const char *output;  /**< the value it computes, which keeps its name */
    size_t replaced;     /**< number of nodes that it replaces */
    double error;        /**< largest measured difference, in units; < 0: not measured */
} pgy_simplify_change;

/** A rewrite that was undone, or not made. */
typedef struct pgy_simplify_refusal {
    const char *rule;
    const char *node;   /**< where the rule was tried */
    const char *reason; /**< one line, with the measured difference */
    double error;       /**< error in units; < 0: not measured */
} pgy_simplify_refusal;

/** An output of the model, before and after. */
typedef struct pgy_simplify_output {
    const char *name;
    double error; /**< largest difference of all samples, in units */
    bool passed;
} pgy_simplify_output;

/** The result of a simplification. The report owns its texts and arrays. */
typedef struct pgy_simplify_report {
    size_t nodes_before, nodes_folded,
        nodes_after; /**< nodes_folded: removed by constant folding */
    const pgy_simplify_change *changes;
    size_t change_count;
    const pgy_simplify_refusal *refusals;
    size_t refusal_count;
    size_t samples;        /**< number of samples that the model ran on */
    bool checked;          /**< rewrites were measured */
    const char *unchecked; /**< why rewrites were not measured; NULL if they were, or if there was
                              nothing to measure */
    const pgy_simplify_output *outputs; /**< set if `checked` */
    size_t output_count;
    bool own_precision; /**< outputs were compared in the model's own precision, because some differ
                           in float64: constant folding rounds to the model's types */
    bool passed;        /**< no output of the model changed beyond the tolerance */
    size_t functions;   /**< local functions in the result; no rule applies inside them */
} pgy_simplify_report;
PGY_API void pgy_simplify_report_destroy(pgy_simplify_report *report); /**< NULL is fine */

/** Simplifies a model. *report is set whenever the model could be processed, even if it is not
 * `passed`. @return PGY_E_NOT_FOUND for unknown rules and inputs; PGY_E_UNSUPPORTED for an opset
 * that cannot express the model */
PGY_API PGY_MUST_CHECK pgy_status pgy_model_simplify(pgy_model **out, pgy_model *model,
                                                     const pgy_simplify_options *options,
                                                     pgy_simplify_report **report, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
