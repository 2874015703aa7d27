/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Lint: finds defects of a model and names the nodes that have them.
 *
 *     pgy_lint *lint = NULL;
 *     pgy_loader *model = NULL;
 *     if (pgy_loader_from_path(&model, "net.onnx", NULL, &err)) ...
 *     if (pgy_lint_create(&lint, model, NULL, &err)) ...
 *     for (size_t i = 0; i < pgy_lint_count(lint); i++) puts(pgy_lint_at(lint, i)->message);
 *     printf("%s\n", pgy_lint_passed(lint) ? "passed" : "failed");
 *     pgy_lint_destroy(lint);
 *
 * Three steps, each of which adds findings:
 *
 * 1. Structure: names, types, shapes, operators and order, as pgy_graph_check finds them.
 * 2. A runtime runs the whole model on one set of inputs. Its warnings are findings.
 * 3. If the runtime refuses the model or fails, it runs each node alone, as a model of one node, on
 *    the data that reach the node, so that the finding can name the node.
 *
 * A model that cannot be loaded is a finding, too. Calls fail only for reasons outside the model:
 * out of memory, a request to stop, settings that the runtime refuses, given data that do not fit.
 */
#ifndef POLYGRAPHY_LINT_H
#define POLYGRAPHY_LINT_H

#include <polygraphy/data.h>
#include <polygraphy/loader.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pgy_lint pgy_lint;

typedef enum pgy_lint_level {
    PGY_LINT_EXCEPTION, /**< keeps the model from running: the model does not pass */
    PGY_LINT_WARNING,
    PGY_LINT_INFO
} pgy_lint_level;

/** The check that reported a finding. The JSON report uses the original program's names, given
 * here. */
typedef enum pgy_lint_source {
    PGY_LINT_RUNTIME, /**< "onnxruntime" */
    PGY_LINT_CHECKER, /**< "onnx_checker" */
    PGY_LINT_LOADER,  /**< "onnx_loader" */
    PGY_LINT_GRAPH    /**< "onnx_graphsurgeon" */
} pgy_lint_source;

typedef struct pgy_lint_finding {
    pgy_lint_level level;
    pgy_lint_source source;
    bool extra;          /**< the original has no such check; the JSON report then names the rule */
    const char *code;    /**< rule: one of pgy_check_rule_list, "load-failed", "runtime-failed" or
                              "generated-data"; NULL: a summary of findings that follow */
    const char *node;    /**< path of the node; "": the whole model */
    const char *value;   /**< path of the tensor, if the finding is about one; else "" */
    const char *op_type; /**< operator of the node; "": the text form does not name the node */
    const char *message; /**< one line */
} pgy_lint_finding;

typedef struct pgy_lint_options {
    size_t size;      /**< sizeof(pgy_lint_options) */
    bool static_only; /**< step 1 only: no runtime is opened */
    bool strict; /**< also report violations of the ONNX specification that runtimes tolerate, e.g.
                    an output without a shape */
    const pgy_metadata *inputs; /**< shapes that replace those of the model's inputs; NULL: none */
    const pgy_backend *backend; /**< the runtime; NULL: ONNX Runtime. If it is not available, the
                                     float64 reference runs the model, with a warning in the log */
    const pgy_backend_options *backend_options; /**< options of `backend`; NULL: its defaults */
    pgy_data_loader *data;                      /**< the inputs; NULL: generated */
    const pgy_random_options *random; /**< how inputs are generated; the shapes above and the
                                         model's replace its `inputs`; NULL: the defaults */
    const char *data_advice;          /**< advice on giving other inputs, at the end of the finding
                                         "generated-data"; NULL: names members above */
    /** Called with each finding as soon as it is known; NULL: not called. */
    void (*found)(const pgy_lint_finding *finding, void *user);
    void *user;
} pgy_lint_options;

/** Loads the model and runs the three steps.
 *
 * @param model   borrowed; called once
 * @param options NULL for the defaults; what it points at is borrowed for this call
 * @return PGY_E_ARGUMENT for `inputs` that contradict the model, with a text that begins with
 * "inputs "; PGY_E_SHAPE if one of them contradicts the declared shape; for the rest see above */
PGY_API PGY_MUST_CHECK pgy_status pgy_lint_create(pgy_lint **out, const pgy_loader *model,
                                                  const pgy_lint_options *options, pgy_error *err);
PGY_API void pgy_lint_destroy(pgy_lint *l); /**< NULL is fine */

/** True if no finding is an exception. */
PGY_API bool pgy_lint_passed(const pgy_lint *l);
/** Number of findings. pgy_lint_at gives them in the order in which they were found; the lint owns
 * their texts. */
PGY_API size_t pgy_lint_count(const pgy_lint *l);
PGY_API const pgy_lint_finding *pgy_lint_at(const pgy_lint *l, size_t i);
/** True if the node passed; false if it failed or was not checked. @param node its path, as in
 * pgy_lint_finding.node */
PGY_API bool pgy_lint_node_passed(const pgy_lint *l, const char *node);

/** Writes a finding as one line: "Name: conv1, Op: Conv | message". Free with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_lint_finding_text(char **out, const pgy_lint_finding *finding,
                                                        pgy_error *err);
/** Writes the original's JSON report: names of nodes that pass and fail, then the findings. Free
 * with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_lint_json(char **out, const pgy_lint *l, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_lint_save_json(const pgy_lint *l, const char *path,
                                                     pgy_error *err);
/** Saves SARIF 2.1.0: rules, and findings with the paths of nodes. @param model path of the model's
 * file, for the report; NULL: none */
PGY_API PGY_MUST_CHECK pgy_status pgy_lint_save_sarif(const pgy_lint *l, const char *path,
                                                      const char *model, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
