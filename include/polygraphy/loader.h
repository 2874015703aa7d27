/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Lazy model loaders: cheap objects that describe how to get a model; the work is done when they
 * are called.
 *
 *     pgy_loader *l = NULL;
 *     pgy_loader_from_path(&l, "net.onnx", NULL, &err);
 *     pgy_loader_infer_shapes(&l, NULL, &err);            // wraps: l now loads, then infers
 *     pgy_loader_select_outputs(&l, &selection, &err);
 *     pgy_loader_call(&model, l, &err);                    // everything happens here
 *     pgy_loader_destroy(l);
 *
 * Each function that adds a step takes the loader over and replaces it; on failure the loader stays
 * as it was. It copies the step's arguments. Calling a loader twice does the work twice.
 */
#ifndef POLYGRAPHY_LOADER_H
#define POLYGRAPHY_LOADER_H

#include <polygraphy/graph.h>
#include <polygraphy/runner.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pgy_loader pgy_loader;

PGY_API PGY_MUST_CHECK pgy_status pgy_loader_from_path(pgy_loader **out, const char *path,
                                                       const pgy_model_load_options *options,
                                                       pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_loader_from_model(pgy_loader **out, pgy_model *model,
                                                        pgy_error *err); /**< retains */
PGY_API PGY_MUST_CHECK pgy_status pgy_loader_infer_shapes(pgy_loader **loader,
                                                          const pgy_metadata *input_shapes,
                                                          pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_loader_select_outputs(pgy_loader **loader,
                                                            const pgy_output_selection *selection,
                                                            pgy_error *err);
/** See pgy_graph_convert_half; options NULL: its defaults. */
PGY_API PGY_MUST_CHECK pgy_status pgy_loader_convert_half(pgy_loader **loader,
                                                          const pgy_half_options *options,
                                                          pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_loader_save(pgy_loader **loader, const char *path,
                                                  const pgy_model_save_options *options,
                                                  pgy_error *err);
/** A step of the caller: it may edit *model or replace it; then it must release the old one. */
typedef pgy_status (*pgy_loader_step)(pgy_model **model, void *user, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_loader_extend(pgy_loader **loader, pgy_loader_step step,
                                                    void *user, pgy_error *err);

PGY_API PGY_MUST_CHECK pgy_status pgy_loader_call(pgy_model **out, const pgy_loader *loader,
                                                  pgy_error *err);
PGY_API void pgy_loader_destroy(pgy_loader *loader);
/** Adds a reference. Several runners may share one loader: each source takes over one reference. */
PGY_API pgy_loader *pgy_loader_retain(pgy_loader *loader);
PGY_API PGY_MUST_CHECK pgy_status pgy_loader_source(pgy_model_source *out, pgy_loader *loader,
                                                    pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
