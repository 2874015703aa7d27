/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The ABI of backends. A backend adapts one runtime; in-tree and out-of-tree backends need only
 * this header.
 *
 * A backend is one const struct of callbacks. An in-tree backend has a line in
 * src/backends/backends.def. Any other is a shared object that exports `const pgy_backend
 * *pgy_backend_v1(const pgy_backend_host *host)` and does not link this library: `host` is the
 * table of functions that it may call. Life of a runner: create -> activate -> (inputs, outputs,
 * infer)* -> deactivate -> destroy. Structs that both sides share start with their size, and new
 * members are only appended.
 */
#ifndef POLYGRAPHY_BACKEND_H
#define POLYGRAPHY_BACKEND_H

#include <polygraphy/option.h>
#include <polygraphy/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PGY_BACKEND_ABI 1

/** The functions of this library that backends may call. */
typedef struct pgy_backend_host {
    size_t size;
    uint32_t abi;
    void *(*allocate)(size_t size_bytes);
    void (*free)(void *p);
    void (*log)(pgy_severity severity, const char *path, int line, const char *text);
    pgy_status (*set_error)(pgy_error *err, pgy_status status, const char *text);
    /** Creates a tensor of zeros. */
    pgy_status (*tensor_create)(pgy_tensor **out, pgy_dtype dtype, size_t rank,
                                const int64_t *shape, pgy_error *err);
    pgy_status (*tensor_wrap)(pgy_tensor **out, void *data, pgy_dtype dtype, size_t rank,
                              const int64_t *shape, void (*free_data)(void *data, void *user),
                              void *user, pgy_error *err);
    pgy_view (*tensor_view)(const pgy_tensor *t);
    pgy_status (*tensor_set_string)(pgy_tensor *t, size_t i, const char *text, size_t size,
                                    pgy_error *err);
    void (*tensor_release)(pgy_tensor *t);
    /** Adds a tensor to a map that the host passed to a callback. The map takes over the caller's
     * reference. */
    pgy_status (*map_adopt)(pgy_tensor_map *m, const char *name, pgy_tensor *t, pgy_error *err);
    pgy_tensor *(*map_find)(const pgy_tensor_map *m, const char *name);
    size_t (*map_count)(const pgy_tensor_map *m);
    const char *(*map_name)(const pgy_tensor_map *m, size_t i);
    pgy_tensor *(*map_at)(const pgy_tensor_map *m, size_t i);
    pgy_status (*metadata_set)(pgy_metadata *m, const pgy_tensor_info *info, pgy_error *err);
} pgy_backend_host;

typedef struct pgy_model pgy_model; /* onnx.h */

/** The model for a runner. Exactly one of path and data is set; for backends inside the library,
 * `model` may be set beside path. */
typedef struct pgy_backend_model {
    size_t size;
    const char *path; /**< a file that the runtime can open as it is, with its external data beside
                         it; NULL if the model is in memory only */
    const void *data; /**< serialized model; valid until destroy */
    size_t data_size;
    pgy_model *model; /**< in-library backends only */
    void *user; /**< private data that a source passes to the backend made for it; else NULL */
} pgy_backend_model;

/** Properties of a backend: bits of pgy_backend.traits. */
typedef enum pgy_backend_trait {
    PGY_BACKEND_WITHOUT_MODEL = 1, /**< its runners need no model */
    PGY_BACKEND_RUNS_PLANS = 2,    /**< runs plans, not only models */
    PGY_BACKEND_BUILDS_PLANS = 4,  /**< builds plans from a pgy_build_config; its network may have
                                      other outputs than the model of the other runners */
    PGY_BACKEND_IS_REFERENCE = 8,  /**< computes what the standard defines, in float64 */
    PGY_BACKEND_RUNS_RANKS = 32,   /**< its runners can be the ranks of pgy_runner_create_ranks */
    PGY_BACKEND_TAKES_CONFIG = 16  /**< the options struct begins with a `const pgy_build_config *`
                                      (NULL: defaults), which pgy_engine_runner_configure sets */
} pgy_backend_trait;

typedef struct pgy_backend {
    size_t size;
    uint32_t abi;              /**< PGY_BACKEND_ABI */
    const char *name;          /**< "onnxrt": the option is --<name> */
    const char *runner_prefix; /**< "onnxrt-runner" */
    const char *title;         /**< "ONNX Runtime", for help and messages */
    const char *description;   /**< one line, for help of --<name>; NULL: the option and those below
                                  are accepted but not shown */
    const pgy_option *options; /**< its option table (NULL: none); offsets are into a struct of
                                  options_size bytes */
    size_t options_size;

    /** Tells whether the runtime is available. If not, `why` receives one sentence: what was tried
     * and how to install it. May be slow, because it opens libraries. */
    pgy_status (*probe)(char *why, size_t why_size);
    /** Creates a runner; cheap. `options` points to options_size bytes, filled by name or from the
     * command line, which live until `destroy`; NULL: defaults. */
    pgy_status (*create)(void **out, const pgy_backend_model *model, const void *options,
                         pgy_error *err);
    /** Does all slow work: loads the model and builds the session. */
    pgy_status (*activate)(void *runner, pgy_error *err);
    /** Adds the metadata of the inputs in the model's order. Called only while active.
     * PGY_E_UNSUPPORTED: unknown; the host then checks nothing. */
    pgy_status (*inputs)(void *runner, pgy_metadata *out, pgy_error *err);
    pgy_status (*outputs)(void *runner, pgy_metadata *out, pgy_error *err);
    /** Runs once. `feed` has exactly the inputs, already checked. Adds all outputs to `out` in the
     * model's order. *time_ns receives the time of the inference call alone; if it stays unset, the
     * host's own measurement counts. */
    pgy_status (*infer)(void *runner, const pgy_tensor_map *feed, pgy_tensor_map *out,
                        int64_t *time_ns, pgy_error *err);
    void (*deactivate)(void *runner);
    void (*destroy)(void *runner);
    /* Optional entries: may be NULL. */
    /** Version text of the runtime, "" if unknown. Valid for the process. */
    const char *(*version)(void);
    /** Fills options_size zeroed bytes with the defaults of `options`; NULL: they are zero. */
    void (*defaults)(void *options);
    uint32_t traits; /**< pgy_backend_trait; pgy_backend_has reads it */
    /** Of the time of the last `infer`, what it took to prepare for shapes that came for the first
     * time. 0: nothing was prepared; negative, or no such entry: unknown. */
    int64_t (*preparation_ns)(const void *runner);
    /** Like `infer`, with caches in buffers. NULL: the runtime has no caches in place. */
    pgy_status (*infer_keeping)(void *runner, const pgy_tensor_map *feed, pgy_kept_cache *caches,
                                size_t cache_count, pgy_tensor_map *out, int64_t *time_ns,
                                pgy_error *err);
} pgy_backend;

typedef const pgy_backend *(*pgy_backend_entry)(const pgy_backend_host *host);
#define PGY_BACKEND_SYMBOL "pgy_backend_v1"

#ifdef __cplusplus
}
#endif
#endif
