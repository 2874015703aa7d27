/* SPDX-License-Identifier: Apache-2.0 */
/* A model made ready to run: the optimised graph or an open plan, its profiles, and the programs
 * that were built for shapes so far. Contexts share it; every function may be called from several
 * threads at once. */
#ifndef ENGINE_BUILD_ENGINE_H
#define ENGINE_BUILD_ENGINE_H

#include <polygraphy/engine.h>

#include "engine/build/profile.h"
#include "engine/program/program.h"

typedef struct pgy_engine engine;

/* Imports the model and runs the passes. The config is copied; what its calibration, monitor and
 * timing_cache point to must live until engine_let_go. NULL: defaults. Calibration data run in
 * engines. */
pgy_status engine_build(engine **out, pgy_model *model, const pgy_build_config *config,
                        pgy_error *err) PGY_MUST_CHECK;
/* The same; calibration data run in what is given, NULL: there are none. */
struct calibration_runner;
pgy_status engine_build_with(engine **out, pgy_model *model, const pgy_build_config *config,
                             const struct calibration_runner *runner,
                             pgy_error *err) PGY_MUST_CHECK;
/* What is begun next is the program of a profile; the others follow, and writing if `writes`
 * (base/progress.h). */
void engine_expect_program(const engine *e, size_t profile, bool writes);
/* Nothing of the caller's is used any more. */
void engine_let_go(engine *e);
/* From a plan file: nothing is built for the shapes that it was made for. */
pgy_status engine_open(engine **out, const char *path, pgy_error *err) PGY_MUST_CHECK;
/* From a plan in memory, copied unless `borrow`. */
pgy_status engine_load(engine **out, const void *data, size_t size_bytes, bool borrow,
                       pgy_error *err) PGY_MUST_CHECK;
engine *engine_retain(engine *e);
void engine_release(engine *e); /* NULL is fine */

/* In the model's order, as declared and inferred without data. */
const pgy_metadata *engine_inputs(const engine *e);
const pgy_metadata *engine_outputs(const engine *e);
const pgy_build_config *engine_config(const engine *e); /* never NULL */
const profile_set *engine_profiles(const engine *e);    /* never NULL */
const char *engine_name(const engine *e);               /* of the graph */
bool engine_is_stripped(const engine *e);               /* weights are missing: it cannot run */
/* Grows when weights are exchanged: what was prepared of programs before is old then. */
uint64_t engine_version(const engine *e);

/* Builds a program for shapes, or finds it; *out is retained. *out NULL: such inputs are
 * interpreted, since shapes depend on data or an input is no tensor of numbers. `shapes`: a type
 * and shape for each input, in order. */
pgy_status engine_program(program **out, engine *e, const pgy_metadata *shapes,
                          pgy_error *err) PGY_MUST_CHECK;
/* The same for the usual shapes of a profile. Inputs without fixed shape are PGY_E_SHAPE. */
pgy_status engine_program_for(program **out, engine *e, size_t profile,
                              pgy_error *err) PGY_MUST_CHECK;
/* What is known of the outputs for such inputs, of some of which the values are there (NULL: of
 * none); nothing is built. */
pgy_status engine_infer_outputs(pgy_metadata **out, engine *e, const pgy_metadata *shapes,
                                const pgy_tensor_map *values, pgy_error *err) PGY_MUST_CHECK;
/* Adds a failure to the error recorder, if there is one. */
void engine_tell(engine *e, pgy_status st, const char *text);
/* A graph of one's own, to be interpreted. */
pgy_status engine_copy_graph(pgy_graph **out, engine *e, pgy_error *err) PGY_MUST_CHECK;
/* Somebody is going to run it: of a plan file, weights are mapped now, once, rather than page by
 * page by the first run. */
void engine_prefetch(engine *e);
/* Of the file that a model came from; 0: it is from none. */
uint64_t engine_hash_model(pgy_model *model);
/* Builds anew from the model that the engine was built from, with other weights in it. Programs
 * have the kernels that they had. The model is retained; the hash is that of the file that has it,
 * or 0. */
pgy_status engine_refit(engine *e, pgy_model *model, uint64_t hash, pgy_error *err) PGY_MUST_CHECK;
/* That model, retained; of a plan that was stripped weights are left out (plan_weights.h). */
pgy_status engine_original(pgy_model **out, engine *e, pgy_error *err) PGY_MUST_CHECK;
/* Writes a plan. The same model, config, processor and times give the same bytes. */
pgy_status engine_save(engine *e, const char *path, pgy_error *err) PGY_MUST_CHECK;
/* The same bytes in memory (mem_alloc). */
pgy_status engine_serialize(void **out, size_t *size_bytes, engine *e,
                            pgy_error *err) PGY_MUST_CHECK;

#endif
