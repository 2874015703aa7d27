/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Which rewrite did it: finds the pass of the built-in engine, or the optimizer of ONNX Runtime,
 * that makes the outputs of a model differ from a reference.
 *
 *     const pgy_rewrite_options o = {.size = sizeof o};
 *     pgy_rewrite_report *report = NULL;
 *     if (pgy_bisect_passes(&report, model, &o, &err)) ...
 *     for (size_t i = 0; i < pgy_rewrite_report_count(report); i++)
 *         puts(pgy_rewrite_report_at(report, i)->name);
 *     pgy_rewrite_report_destroy(report);
 *
 * The search runs the model with some of the rewrites switched off, and halves their list until one
 * is left without which the outputs agree. If they differ even so, it looks for the next one.
 */
#ifndef POLYGRAPHY_BISECT_REWRITES_H
#define POLYGRAPHY_BISECT_REWRITES_H

#include <polygraphy/build_config.h>
#include <polygraphy/where.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pgy_rewrite_options {
    size_t size;                    /**< sizeof(pgy_rewrite_options) */
    const pgy_build_config *config; /**< of pgy_bisect_passes; NULL: defaults */
    /** Options of the runner that is searched; pgy_bisect_ort changes them. NULL: defaults */
    pgy_backend_options *runner_options;
    pgy_data_loader *data;      /**< inputs; NULL: generated with defaults */
    const char *reference;      /**< backend that gives the right outputs; NULL: "opref" */
    const pgy_results *outputs; /**< stored outputs to use instead of a reference runner; NULL: none
                                 */
    const pgy_judge_options *judge; /**< NULL: the rule of `where` */
    const pgy_where_options *where; /**< its judge, floor, tolerances and max_steps, the other members
                                       have no effect; NULL: defaults */
    const pgy_backend_options *reference_options; /**< of the reference runner; NULL: defaults */
} pgy_rewrite_options;

typedef enum pgy_rewrite_cause {
    PGY_REWRITE_AGREES, /**< nothing to find: the outputs agree with all rewrites */
    PGY_REWRITE_FOUND,  /**< the report lists the passes or optimizers */
    PGY_REWRITE_KERNEL, /**< of the engine: no pass, but the chosen kernels: with portable kernels
                           the outputs agree */
    PGY_REWRITE_LEVEL,  /**< of ONNX Runtime: a level, but none of the optimizers that have names */
    PGY_REWRITE_NONE    /**< the outputs differ without any rewrite, too */
} pgy_rewrite_cause;

/** A pass or optimizer that makes the outputs differ. */
typedef struct pgy_rewrite_culprit {
    size_t size;              /**< sizeof(pgy_rewrite_culprit) */
    const char *name;         /**< "fuse_gelu"; "fold#2" for the second run of a pass */
    const char *level;        /**< of ONNX Runtime: "ORT_ENABLE_BASIC"; "" for the engine */
    size_t rewrite;           /**< number of the first wrong rewrite of a pass; 0: not divided */
    size_t rewrite_count;     /**< number of rewrites that the pass makes; 0: not divided */
    const char *tensor;       /**< where that rewrite was made; "" if not divided */
    const char *made;         /**< operator that it made; "" if not divided */
    const char *const *nodes; /**< labels of the nodes that went */
    size_t node_count;
    const char *const *new_nodes; /**< labels of the nodes that came */
    size_t new_node_count;
} pgy_rewrite_culprit;

typedef struct pgy_rewrite_report pgy_rewrite_report;

/** Searches the passes of the built-in engine. @return PGY_E_ARGUMENT if the reference is the
 * engine itself, or `outputs` do not belong to the data */
PGY_API PGY_MUST_CHECK pgy_status pgy_bisect_passes(pgy_rewrite_report **out, pgy_model *model,
                                                    const pgy_rewrite_options *options,
                                                    pgy_error *err);
/** Searches ONNX Runtime's levels, then the optimizers of the first level that differs. */
PGY_API PGY_MUST_CHECK pgy_status pgy_bisect_ort(pgy_rewrite_report **out, pgy_model *model,
                                                 const pgy_rewrite_options *options,
                                                 pgy_error *err);

PGY_API pgy_rewrite_cause pgy_rewrite_report_cause(const pgy_rewrite_report *r);
/** First optimization level of ONNX Runtime that differs; "" if there is none, and for the engine.
 */
PGY_API const char *pgy_rewrite_report_level(const pgy_rewrite_report *r);
PGY_API size_t pgy_rewrite_report_count(const pgy_rewrite_report *r);
PGY_API const pgy_rewrite_culprit *pgy_rewrite_report_at(const pgy_rewrite_report *r, size_t i);
PGY_API size_t pgy_rewrite_report_trials(const pgy_rewrite_report *r); /**< times the model ran */
/** Options of `run` with which the outputs agree; "" if the search found none. */
PGY_API const char *pgy_rewrite_report_remedy(const pgy_rewrite_report *r);
/** The finding in sentences. Free with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_rewrite_report_text(char **out, const pgy_rewrite_report *r,
                                                          pgy_error *err);
/** The finding as a JSON object. Free with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_rewrite_report_json(char **out, const pgy_rewrite_report *r,
                                                          pgy_error *err);
PGY_API void pgy_rewrite_report_destroy(pgy_rewrite_report *r); /**< NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
