/* SPDX-License-Identifier: Apache-2.0 */
/* An engine: the optimised graph or an open plan, its profiles, and the programs that were built
 * for shapes so far. Contexts share an engine; all functions may be called from several threads at
 * once. */
#ifndef ENGINE_BUILD_ENGINE_H
#define ENGINE_BUILD_ENGINE_H

#include <polygraphy/engine.h>

#include "engine/build/profile.h"
#include "engine/program/program.h"

typedef struct pgy_engine engine;

/* Imports the model and runs the passes. The config is copied; what its calibration, monitor and
 * timing_cache point to must live until engine_let_go. NULL: defaults. Calibration runs the model
 * in engines of its own. */
pgy_status engine_build(engine **out, pgy_model *model, const pgy_build_config *config,
                        pgy_error *err) PGY_MUST_CHECK;
/* Like engine_build, but `runner` runs the calibration data; NULL: no calibration from data. */
struct calibration_runner;
pgy_status engine_build_with(engine **out, pgy_model *model, const pgy_build_config *config,
                             const struct calibration_runner *runner,
                             pgy_error *err) PGY_MUST_CHECK;
/* Announces to the progress report that the program of `profile` is built next, then those of the
 * remaining profiles, and that a plan is written if `writes` (base/progress.h). */
void engine_expect_program(const engine *e, size_t profile, bool writes);
/* Drops everything that the engine borrows from the caller. */
void engine_let_go(engine *e);
/* Opens a plan file. Shapes that the plan has programs for need no build. */
pgy_status engine_open(engine **out, const char *path, pgy_error *err) PGY_MUST_CHECK;
/* Opens a plan in memory; copies the bytes unless `borrow`. */
pgy_status engine_load(engine **out, const void *data, size_t size_bytes, bool borrow,
                       pgy_error *err) PGY_MUST_CHECK;
engine *engine_retain(engine *e);
void engine_release(engine *e); /* NULL is fine */

/* Types and shapes in the model's order, as declared, or as inferred without data. */
const pgy_metadata *engine_inputs(const engine *e);
const pgy_metadata *engine_outputs(const engine *e);
const pgy_build_config *engine_config(const engine *e); /* never NULL */
const profile_set *engine_profiles(const engine *e);    /* never NULL */
const char *engine_name(const engine *e);               /* name of the graph */
bool engine_is_stripped(const engine *e);               /* weights are missing: it cannot run */
/* The packed weights that its programs and contexts share. */
packed_count engine_packed(engine *e);
/* The table that holds them, retained; NULL: no weights were packed yet. */
packed_table *engine_packed_table(engine *e);
/* Grows with each refit: data prepared from programs of an older version is stale. */
uint64_t engine_version(const engine *e);

/* Finds or builds the program for these shapes; *out is retained. *out NULL: the graph must be
 * interpreted, since shapes depend on data or an input is not a numeric tensor. `shapes`: a type
 * and shape for each input, in order. *made: there was none for them before. */
pgy_status engine_program(program **out, bool *made, engine *e, const pgy_metadata *shapes,
                          pgy_error *err) PGY_MUST_CHECK;
/* Like engine_program, but never a program of a range. */
pgy_status engine_program_alone(program **out, bool *made, engine *e, const pgy_metadata *shapes,
                                pgy_error *err) PGY_MUST_CHECK;
/* Like engine_program_alone, for the usual shapes of a profile. PGY_E_SHAPE: an input has no fixed
 * shape. */
pgy_status engine_program_for(program **out, engine *e, size_t profile,
                              pgy_error *err) PGY_MUST_CHECK;
/* Writes the tactics of a program to config.save_tactics, if given. `p` NULL: the graph is
 * interpreted and has no tactics, which a warning says. */
pgy_status engine_save_tactics(const engine *e, const program *p, pgy_error *err) PGY_MUST_CHECK;
/* Infers types and shapes of the outputs for these inputs without building a program. `values`
 * holds the elements of some inputs, or is NULL. */
pgy_status engine_infer_outputs(pgy_metadata **out, engine *e, const pgy_metadata *shapes,
                                const pgy_tensor_map *values, pgy_error *err) PGY_MUST_CHECK;
/* Reports a failure to the error recorder, if the engine has one. */
void engine_tell(engine *e, pgy_status st, const char *text);
/* Makes a copy of the graph for interpretation; the caller owns it. */
pgy_status engine_copy_graph(pgy_graph **out, engine *e, pgy_error *err) PGY_MUST_CHECK;
/* Brings the mapped weights of a plan into memory at once; otherwise the first run faults them in
 * page by page. Only the first call does so. */
void engine_prefetch(engine *e);
/* Hash of the file that the model was loaded from; 0: it has no file. */
uint64_t engine_hash_model(pgy_model *model);
/* Rebuilds from the engine's original model, with the weights of `model`. Programs keep their
 * kernels. The model is retained; `hash` is that of its file, or 0. */
pgy_status engine_refit(engine *e, pgy_model *model, uint64_t hash, pgy_error *err) PGY_MUST_CHECK;
/* The model that engine_refit starts from, retained. In a stripped plan it lacks weights
 * (plan/weights.h). */
pgy_status engine_original(pgy_model **out, engine *e, pgy_error *err) PGY_MUST_CHECK;
/* Writes a plan. The same model, config, processor and kernel times give the same bytes. */
pgy_status engine_save(engine *e, const char *path, pgy_error *err) PGY_MUST_CHECK;
/* The same bytes in memory (mem_alloc). */
pgy_status engine_serialize(void **out, size_t *size_bytes, engine *e,
                            pgy_error *err) PGY_MUST_CHECK;

#endif
