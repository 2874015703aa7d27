/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A simpler model that computes the same, and the proof: constants are folded, what was written out
 * becomes one standard operator, and every such rewrite is measured on data against the float64
 * reference and taken back if it changes values beyond rounding.
 *
 *     pgy_simplify_options o = pgy_simplify_options_default();
 *     o.sample = next_inputs;
 *     pgy_simplify_report *report = NULL;
 *     if (pgy_model_simplify(&simple, model, &o, &report, &err)) ...
 *     if (!report->passed) ...
 *
 * docs/simplify.md tells the rules and the bounds.
 */
#ifndef POLYGRAPHY_SIMPLIFY_H
#define POLYGRAPHY_SIMPLIFY_H

#include <polygraphy/onnx.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Limits of differences, in units of the element type: the distance of two numbers next to 1,
 * times the larger of the value's magnitude and the root mean square of its tensor. */
#define PGY_SIMPLIFY_REWRITE_UNITS 16.0 /**< of what a rewrite replaces */
#define PGY_SIMPLIFY_MODEL_UNITS 128.0  /**< of the outputs of the whole model */

typedef enum pgy_simplify_kind {
    PGY_SIMPLIFY_EXACT,     /**< by the definitions of the operators */
    PGY_SIMPLIFY_MEASURED,  /**< up to constants that are rounded: only where it can be measured */
    PGY_SIMPLIFY_ON_REQUEST /**< weights change: only if asked for */
} pgy_simplify_kind;

typedef struct pgy_simplify_rule {
    const char *name;
    int64_t opset; /**< oldest that has what it makes */
    pgy_simplify_kind kind;
    const char *text; /**< one line */
} pgy_simplify_rule;
/** All rules in their order. @return their number; *out is static. */
PGY_API size_t pgy_simplify_rule_list(const pgy_simplify_rule **out);

typedef struct pgy_simplify_options {
    size_t size;             /**< sizeof(pgy_simplify_options) */
    const char *const *only; /**< rules by name; NULL: all that are not on request */
    size_t only_count;
    const char *const *skip; /**< then removed, with a warning if `only` has it too */
    size_t skip_count;
    bool fuse_batch_norm;       /**< also the rules on request */
    bool no_check;              /**< measure nothing */
    int64_t opset;              /**< convert to this version first; 0: leave it */
    const pgy_metadata *inputs; /**< shapes to propose for these inputs; may be NULL */
    uint64_t max_steps; /**< nodes that one run may run, those in loops each time; 0: no limit */
    /** Inputs to measure with: the next map for model inputs of these shapes, or NULL at the end.
     * A model with dynamic dimensions is asked for in several sizes, sets 0, 1...; each set has
     * maps of its own. The shapes are proposals: maps of other shapes are taken too. NULL: nothing
     * can be measured. */
    pgy_status (*sample)(pgy_tensor_map **out, const pgy_metadata *inputs, size_t set, void *user,
                         pgy_error *err);
    void *user;
} pgy_simplify_options;
PGY_API pgy_simplify_options pgy_simplify_options_default(void);

/** A rewrite that was done. */
typedef struct pgy_simplify_change {
    const char *rule;
    const char *node;    /**< that was made */
    const char *op_type; /**< of it */
    const char *output;  /**< the value it computes, whose name stays */
    size_t replaced;     /**< nodes that went for it */
    double error;        /**< largest difference that was seen, in units; < 0: not measured */
} pgy_simplify_change;

/** One that was taken back, or not made. */
typedef struct pgy_simplify_refusal {
    const char *rule;
    const char *node;   /**< where the rule was tried */
    const char *reason; /**< one line, with the figure */
    double error;       /**< in units; < 0: not measured */
} pgy_simplify_refusal;

/** An output of the model, before and after. */
typedef struct pgy_simplify_output {
    const char *name;
    double error; /**< largest difference of all samples, in units */
    bool passed;
} pgy_simplify_output;

/** What was done. Texts and arrays live as long as the report. */
typedef struct pgy_simplify_report {
    size_t nodes_before, nodes_folded, nodes_after; /**< nodes_folded: that folding took away */
    const pgy_simplify_change *changes;
    size_t change_count;
    const pgy_simplify_refusal *refusals;
    size_t refusal_count;
    size_t samples;        /**< inputs that the model was run on */
    bool checked;          /**< rewrites were measured */
    const char *unchecked; /**< why not; NULL if they were, or if there was nothing to measure */
    const pgy_simplify_output *outputs; /**< if checked */
    size_t output_count;
    bool own_precision; /**< outputs were compared in the model's own precision: in float64 some
                           differ, as folding rounds what it computes like the model does */
    bool passed;        /**< no output of the model changed beyond the bound */
    size_t functions;   /**< model-local functions that are left, which no rule looks into */
} pgy_simplify_report;
PGY_API void pgy_simplify_report_destroy(pgy_simplify_report *report); /**< NULL is fine */

/** *report is given whenever the model could be read through, also when it is not `passed`.
 * PGY_E_NOT_FOUND for rules and inputs that do not exist, PGY_E_UNSUPPORTED for an opset the model
 * cannot be expressed in. */
PGY_API PGY_MUST_CHECK pgy_status pgy_model_simplify(pgy_model **out, pgy_model *model,
                                                     const pgy_simplify_options *options,
                                                     pgy_simplify_report **report, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
