/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Runners: a model in a runtime, behind one interface, with the checks and states every runtime
 * shares.
 *
 *     pgy_runner *r = NULL;
 *     pgy_model_source source;
 *     if (pgy_source_from_path(&source, "net.onnx", &err)) ...
 *     const pgy_backend *b = pgy_backend_find("onnxrt");
 *     if (pgy_runner_create(&r, b, &source, NULL, NULL, &err)) ... // source moves in
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

/** Built-in backends in their order, then those loaded. */
PGY_API size_t pgy_backend_count(void);
PGY_API const pgy_backend *pgy_backend_at(size_t i);
PGY_API const pgy_backend *pgy_backend_find(const char *name); /**< NULL if there is none */
/** Has a backend this trait? false for one whose struct is of a version before there were traits.
 */
PGY_API bool pgy_backend_has(const pgy_backend *b, pgy_backend_trait trait);
/** The first backend with this trait; NULL if there is none. */
PGY_API const pgy_backend *pgy_backend_find_trait(pgy_backend_trait trait);
/** Opens a shared object that exports pgy_backend_v1 and adds its backend. */
PGY_API PGY_MUST_CHECK pgy_status pgy_backend_load(const char *path, pgy_error *err);
/** The table that is handed to backends. */
PGY_API const pgy_backend_host *pgy_backend_host_table(void);

/* ---- Options of a backend, by name ----------------------------------------------------------- */

/** The options that the program shows under the backend's title, filled by name: the option
 * --onnxrt-threads is "onnxrt_threads". Values are checked as on the command line. */
typedef struct pgy_backend_options pgy_backend_options;
/** All options have their defaults. */
PGY_API PGY_MUST_CHECK pgy_status pgy_backend_options_create(pgy_backend_options **out,
                                                             const pgy_backend *backend,
                                                             pgy_error *err);
/** One value as text; flags: "true" or "false". An option that may be used several times gets one
 * more value, others get another one. @return PGY_E_NOT_FOUND with the names that there are,
 * PGY_E_ARGUMENT that begins with "<backend>.<name>: " */
PGY_API PGY_MUST_CHECK pgy_status pgy_backend_options_set(pgy_backend_options *o, const char *name,
                                                          const char *value, pgy_error *err);
/** The same for options that take several words. */
PGY_API PGY_MUST_CHECK pgy_status pgy_backend_options_set_words(pgy_backend_options *o,
                                                                const char *name,
                                                                const char *const *values,
                                                                size_t count, pgy_error *err);
/** The value as text, "" if there is none; words with blanks between. Free with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_backend_options_get(char **out, const pgy_backend_options *o,
                                                          const char *name, pgy_error *err);
PGY_API void pgy_backend_options_destroy(pgy_backend_options *o); /**< NULL is fine */

/* ---- Where a runner's model comes from ------------------------------------------------------ */

/** Opened when the runner is activated, closed when it is deactivated. loader.h makes sources that
 * edit models first. */
typedef struct pgy_model_source {
    pgy_status (*open)(pgy_backend_model *out, void *user, pgy_error *err);
    void (*close)(pgy_backend_model *model, void *user);
    void (*destroy)(void *user);
    void *user;
} pgy_model_source;
/** The file as it is. */
PGY_API PGY_MUST_CHECK pgy_status pgy_source_from_path(pgy_model_source *out, const char *path,
                                                       pgy_error *err);

/* ---- Runners -------------------------------------------------------------------------------- */

typedef struct pgy_runner pgy_runner;

/** @param source   moves in, also on failure; NULL or zeroed for backends that need no model
 *  @param options  of this backend, copied; NULL = its defaults
 *  @param name     used as it is; NULL = "<prefix>-N<count>-<MM/DD/YY>-<HH:MM:SS>" */
PGY_API PGY_MUST_CHECK pgy_status pgy_runner_create(pgy_runner **out, const pgy_backend *backend,
                                                    pgy_model_source *source,
                                                    const pgy_backend_options *options,
                                                    const char *name, pgy_error *err);

/** A runner made of one function: `infer` adds outputs to `out`. inputs (may be NULL: unchecked) is
 * copied. */
typedef pgy_status (*pgy_infer_callback)(const pgy_tensor_map *feed, pgy_tensor_map *out,
                                         void *user, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_runner_create_callback(pgy_runner **out, const char *name,
                                                             const pgy_metadata *inputs,
                                                             pgy_infer_callback infer, void *user,
                                                             pgy_error *err);

PGY_API const char *pgy_runner_name(const pgy_runner *r);
PGY_API const pgy_backend *pgy_runner_backend(const pgy_runner *r);
PGY_API bool pgy_runner_is_active(const pgy_runner *r);
PGY_API PGY_MUST_CHECK pgy_status
pgy_runner_activate(pgy_runner *r, pgy_error *err); /**< warns and does nothing if active */
PGY_API void pgy_runner_deactivate(pgy_runner *r);
PGY_API void pgy_runner_destroy(pgy_runner *r); /**< deactivates first; NULL is fine */
/** Borrowed until deactivation; NULL if the runner does not know (a callback without inputs).
 * PGY_E_ARGUMENT when inactive. */
PGY_API PGY_MUST_CHECK pgy_status pgy_runner_inputs(const pgy_metadata **out, pgy_runner *r,
                                                    pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_runner_outputs(const pgy_metadata **out, pgy_runner *r,
                                                     pgy_error *err);
/** Checks names, types and shapes of the feed, runs, and gives a new map. */
PGY_API PGY_MUST_CHECK pgy_status pgy_runner_infer(pgy_tensor_map **out, pgy_runner *r,
                                                   const pgy_tensor_map *feed, pgy_error *err);
/** Duration of the last inference call in nanoseconds; -1 if there was none. */
PGY_API int64_t pgy_runner_last_time_ns(const pgy_runner *r);

#ifdef __cplusplus
}
#endif
#endif
