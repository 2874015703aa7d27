/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Recording: runs a model once and keeps the values of tensors inside it.
 *
 *     const char *names[] = {"/encoder/layer.3/Add_output_0"};
 *     const pgy_record_options o = {.size = sizeof o, .names = names, .name_count = 1};
 *     pgy_tensor_map *values = NULL;
 *     if (pgy_record(&values, model, &o, &err)) ...
 *
 * pgy_cut_record of cut.h does the same inside subgraphs and loops, with the reference.
 */
#ifndef POLYGRAPHY_RECORD_H
#define POLYGRAPHY_RECORD_H

#include <polygraphy/cut.h>
#include <polygraphy/data.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pgy_record_options {
    size_t size;              /**< sizeof(pgy_record_options) */
    const char *const *names; /**< tensors of the main graph; none: the outputs of the model */
    size_t name_count;
    bool all;                   /**< record every tensor instead of the named ones */
    const char *backend;        /**< NULL: "onnxrt", or "opref" if "onnxrt" cannot run the model */
    pgy_data_loader *data;      /**< its first map is the input; NULL: generated */
    const pgy_metadata *inputs; /**< shapes of generated inputs; NULL: the model's */
    /** Called before the run with its input; NULL: not called. */
    void (*before_run)(const pgy_tensor_map *feed, void *user);
    void *user;
} pgy_record_options;

/** Runs the model once. *out holds the inputs, then the requested tensors.
 * @param options NULL for the defaults; borrowed for this call
 * @return PGY_E_NOT_FOUND for an unknown tensor or backend; PGY_E_ARGUMENT if `data` is empty */
PGY_API PGY_MUST_CHECK pgy_status pgy_record(pgy_tensor_map **out, pgy_model *model,
                                             const pgy_record_options *options, pgy_error *err);

/** Makes one map of data for the inputs of a model. @param data gives its next map; NULL: generated
 * data @return PGY_E_TYPE if an input of the model is not a tensor; PGY_E_ARGUMENT if `data` is
 * empty */
PGY_API PGY_MUST_CHECK pgy_status pgy_record_feed(pgy_tensor_map **out, pgy_model *model,
                                                  pgy_data_loader *data, pgy_error *err);

/** Records the values at the borders of a cut with a runtime, which runs the model of
 * pgy_cut_source once.
 * @param options as above; `names` and `all` are not used
 * @return PGY_E_UNSUPPORTED if the cut is inside a subgraph, because runtimes do not return values
 * from there */
PGY_API PGY_MUST_CHECK pgy_status pgy_record_cut(pgy_tensor_map **inputs, pgy_tensor_map **outputs,
                                                 const pgy_cut *cut,
                                                 const pgy_record_options *options, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
