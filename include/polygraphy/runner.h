/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Runners: a model in a runtime, behind one interface. The checks and the states (created, active)
 * are the same for all runtimes.
 *
 *     pgy_runner *r = NULL;
 *     pgy_model_source source;
 *     if (pgy_source_from_path(&source, "net.onnx", &err)) ...
 *     const pgy_backend *b = pgy_backend_find("onnxrt");
 *     if (pgy_runner_create(&r, b, &source, NULL, NULL, &err)) ... // takes over source
 *     if (pgy_runner_activate(r, &err)) ...
 *     if (pgy_runner_infer(&outputs, r, feed, &err)) ...
 *     pgy_runner_destroy(r);
 *
 * A runner belongs to one thread. Creating is cheap; activating loads the model and builds the
 * session.
 */
#ifndef POLYGRAPHY_RUNNER_H
#define POLYGRAPHY_RUNNER_H

#include <polygraphy/backend.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Backends ------------------------------------------------------------------------------- */

/** Number of backends: the built-in ones, in the order of pgy_backend_at, then the loaded ones. */
PGY_API size_t pgy_backend_count(void);
PGY_API const pgy_backend *pgy_backend_at(size_t i);
PGY_API const pgy_backend *pgy_backend_find(const char *name); /**< NULL if there is none */
/** Has the backend this trait? False if its struct is older than the member `traits`. */
PGY_API bool pgy_backend_has(const pgy_backend *b, pgy_backend_trait trait);
/** The first backend with this trait; NULL if there is none. */
PGY_API const pgy_backend *pgy_backend_find_trait(pgy_backend_trait trait);
/** Opens a shared object that exports pgy_backend_v1 and adds its backend. */
PGY_API PGY_MUST_CHECK pgy_status pgy_backend_load(const char *path, pgy_error *err);
/** The table of host functions that backends receive. */
PGY_API const pgy_backend_host *pgy_backend_host_table(void);

/* ---- Options of a backend, by name ----------------------------------------------------------- */

/** Values for a backend's options, set by name. The names are those of the command line with
 * underscores: --onnxrt-threads is "onnxrt_threads". Values are checked as on the command line. */
typedef struct pgy_backend_options pgy_backend_options;
/** Creates options with their default values. */
PGY_API PGY_MUST_CHECK pgy_status pgy_backend_options_create(pgy_backend_options **out,
                                                             const pgy_backend *backend,
                                                             pgy_error *err);
/** Sets an option from text; flags: "true" or "false". An option that may be repeated gets one more
 * value; any other loses its old value. @return PGY_E_NOT_FOUND listing the valid names;
 * PGY_E_ARGUMENT with a text that begins with "<backend>.<name>: " */
PGY_API PGY_MUST_CHECK pgy_status pgy_backend_options_set(pgy_backend_options *o, const char *name,
                                                          const char *value, pgy_error *err);
/** Sets an option that takes several words. */
PGY_API PGY_MUST_CHECK pgy_status pgy_backend_options_set_words(pgy_backend_options *o,
                                                                const char *name,
                                                                const char *const *values,
                                                                size_t count, pgy_error *err);
/** Gives the value as text, "" if it has none; blanks separate words. Free with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_backend_options_get(char **out, const pgy_backend_options *o,
                                                          const char *name, pgy_error *err);
PGY_API void pgy_backend_options_destroy(pgy_backend_options *o); /**< NULL is fine */

/* ---- Where a runner's model comes from ------------------------------------------------------ */

/** The runner opens its source when it is activated and closes it when it is deactivated. loader.h
 * has sources that edit the model first. */
typedef struct pgy_model_source {
    pgy_status (*open)(pgy_backend_model *out, void *user, pgy_error *err);
    void (*close)(pgy_backend_model *model, void *user);
    void (*destroy)(void *user);
    void *user;
} pgy_model_source;
/** Makes a source that passes the file to the runtime unchanged. */
PGY_API PGY_MUST_CHECK pgy_status pgy_source_from_path(pgy_model_source *out, const char *path,
                                                       pgy_error *err);

/* ---- Runners -------------------------------------------------------------------------------- */

typedef struct pgy_runner pgy_runner;

/** @param source   taken over, also on failure; NULL or zeroed for backends that need no model
 * @param options  of this backend, copied; NULL = its defaults
 * @param name     used as it is; NULL = "<prefix>-N<count>-<MM/DD/YY>-<HH:MM:SS>" */
PGY_API PGY_MUST_CHECK pgy_status pgy_runner_create(pgy_runner **out, const pgy_backend *backend,
                                                    pgy_model_source *source,
                                                    const pgy_backend_options *options,
                                                    const char *name, pgy_error *err);

/** Creates a runner from one function: `infer` adds its outputs to `out`. `inputs` is copied; NULL:
 * feeds are not checked. */
typedef pgy_status (*pgy_infer_callback)(const pgy_tensor_map *feed, pgy_tensor_map *out,
                                         void *user, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_runner_create_callback(pgy_runner **out, const char *name,
                                                             const pgy_metadata *inputs,
                                                             pgy_infer_callback infer, void *user,
                                                             pgy_error *err);

/** Joins runners to one, whose inference runs all of them, each as a rank in a thread of its own,
 * on the same inputs, so that the DistCollective nodes of their models meet. Its outputs are those
 * of rank 0. An inference fails if an output of another rank differs beyond rounding, unless it is
 * one of `parts`.
 * @param ranks  taken over, also on failure, but not the array; of backends that have
 * PGY_BACKEND_RUNS_RANKS
 * @param parts  names of outputs that may differ, as pgy_graph_find_parts finds them; copied */
PGY_API PGY_MUST_CHECK pgy_status pgy_runner_create_ranks(pgy_runner **out,
                                                          pgy_runner *const *ranks, size_t count,
                                                          const char *const *parts,
                                                          size_t part_count, pgy_error *err);

PGY_API const char *pgy_runner_name(const pgy_runner *r);
PGY_API const pgy_backend *pgy_runner_backend(const pgy_runner *r);
PGY_API bool pgy_runner_is_active(const pgy_runner *r);
PGY_API PGY_MUST_CHECK pgy_status
pgy_runner_activate(pgy_runner *r, pgy_error *err); /**< warns and does nothing if active */
PGY_API void pgy_runner_deactivate(pgy_runner *r);
PGY_API void pgy_runner_destroy(pgy_runner *r); /**< deactivates first; NULL is fine */
/** Gives the metadata of the inputs, borrowed until deactivation; NULL if unknown (a callback
 * without inputs). @return PGY_E_ARGUMENT if the runner is not active */
PGY_API PGY_MUST_CHECK pgy_status pgy_runner_inputs(const pgy_metadata **out, pgy_runner *r,
                                                    pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_runner_outputs(const pgy_metadata **out, pgy_runner *r,
                                                     pgy_error *err);
/** Checks names, types and shapes of the feed, runs once, and gives the outputs as a new map. */
PGY_API PGY_MUST_CHECK pgy_status pgy_runner_infer(pgy_tensor_map **out, pgy_runner *r,
                                                   const pgy_tensor_map *feed, pgy_error *err);
/** Does the runner know caches in buffers of the caller? */
PGY_API bool pgy_runner_keeps_caches(const pgy_runner *r);
/** Like pgy_runner_infer, with caches in buffers: those that the runner can keep there are not
 * copied, and the others are computed as ever.
 * @return PGY_E_ARGUMENT if a buffer does not fit the past; PGY_E_UNSUPPORTED unless
 * pgy_runner_keeps_caches */
PGY_API PGY_MUST_CHECK pgy_status pgy_runner_infer_keeping(pgy_tensor_map **out, pgy_runner *r,
                                                           const pgy_tensor_map *feed,
                                                           pgy_kept_cache *caches,
                                                           size_t cache_count, pgy_error *err);
/** Duration of the last inference call in nanoseconds; -1 before the first. */
PGY_API int64_t pgy_runner_last_time_ns(const pgy_runner *r);
/** Of that duration, what the runner took to prepare for shapes that came for the first time. 0:
 * nothing was prepared; -1: unknown. */
PGY_API int64_t pgy_runner_last_preparation_ns(const pgy_runner *r);

#ifdef __cplusplus
}
#endif
#endif
