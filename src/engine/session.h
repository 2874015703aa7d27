/* SPDX-License-Identifier: Apache-2.0 */
/* A model made ready to run on any shapes: the optimised graph and the programs built for the
 * shapes that came so far. */
#ifndef ENGINE_SESSION_H
#define ENGINE_SESSION_H

#include <polygraphy/onnx.h>

#include "engine/program.h"

typedef struct session session;

/* threads 0: one for each processor. The model is retained. */
pgy_status session_create(session **out, pgy_model *model, size_t threads,
                          pgy_error *err) PGY_MUST_CHECK;
/* From a plan file: nothing is built for the shapes that it was made for. */
pgy_status session_open(session **out, const char *path, size_t threads,
                        pgy_error *err) PGY_MUST_CHECK;
/* Builds for shapes, as session_run would; session_program has the result. `shapes`: as for
 * session_save. */
pgy_status session_prepare(session *s, const pgy_metadata *shapes, pgy_error *err) PGY_MUST_CHECK;
/* Writes a plan, and leaves its program as that which ran last. `shapes` fixes the inputs: as a
 * tensor's type and shape each; NULL if they are fixed in the model. The same model, shapes and
 * processor give the same bytes. */
pgy_status session_save(session *s, const char *path, const pgy_metadata *shapes,
                        pgy_error *err) PGY_MUST_CHECK;
void session_destroy(session *s);
/* Programs that are built from now on use the kernels of this tactic replay. */
pgy_status session_use_tactics(session *s, const char *path, pgy_error *err) PGY_MUST_CHECK;
/* In the model's order, as declared and inferred without data. */
pgy_status session_inputs(session *s, pgy_metadata *out, pgy_error *err) PGY_MUST_CHECK;
pgy_status session_outputs(session *s, pgy_metadata *out, pgy_error *err) PGY_MUST_CHECK;
/* Builds what is needed for the shapes of `feed` and runs it; outputs are added to `out`. *time_ns
 * (may be NULL) is without the building. */
pgy_status session_run(session *s, const pgy_tensor_map *feed, pgy_tensor_map *out,
                       int64_t *time_ns, pgy_error *err) PGY_MUST_CHECK;
/* The program that ran last; NULL: none, or the graph was interpreted. */
const program *session_program(const session *s);

#endif
