/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The ABI of a runtime adapter: all that an in-tree or out-of-tree backend needs.
 *
 * A backend is one const struct of callbacks. In-tree ones have a line in
 * src/backends/backends.def; others are shared objects that export `const pgy_backend
 * *pgy_backend_v1(const pgy_backend_host *host)` and link nothing of ours. The host passes its own
 * function table in. Life of a runner: create -> activate -> (inputs, outputs, infer)* ->
 * deactivate -> destroy. Structs that cross the border start with their size; both are only ever
 * appended to.
 */
#ifndef POLYGRAPHY_BACKEND_H
#define POLYGRAPHY_BACKEND_H

#include <polygraphy/option.h>
#include <polygraphy/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PGY_BACKEND_ABI 1

/** What the host offers; backends call nothing else of ours. */
typedef struct pgy_backend_host {
    size_t size;
    uint32_t abi;
    void *(*allocate)(size_t size_bytes);
    void (*free)(void *p);
    void (*log)(pgy_severity severity, const char *path, int line, const char *text);
    pgy_status (*set_error)(pgy_error *err, pgy_status status, const char *text);
    /** A new zeroed tensor, and access to it. */
    pgy_status (*tensor_create)(pgy_tensor **out, pgy_dtype dtype, size_t rank,
                                const int64_t *shape, pgy_error *err);
    pgy_status (*tensor_wrap)(pgy_tensor **out, void *data, pgy_dtype dtype, size_t rank,
                              const int64_t *shape, void (*free_data)(void *data, void *user),
                              void *user, pgy_error *err);
    pgy_view (*tensor_view)(const pgy_tensor *t);
    pgy_status (*tensor_set_string)(pgy_tensor *t, size_t i, const char *text, size_t size,
                                    pgy_error *err);
    void (*tensor_release)(pgy_tensor *t);
    /** Adds to a map / list given to a callback below; the tensor's reference moves in. */
    pgy_status (*map_adopt)(pgy_tensor_map *m, const char *name, pgy_tensor *t, pgy_error *err);
    pgy_tensor *(*map_find)(const pgy_tensor_map *m, const char *name);
    size_t (*map_count)(const pgy_tensor_map *m);
    const char *(*map_name)(const pgy_tensor_map *m, size_t i);
    pgy_tensor *(*map_at)(const pgy_tensor_map *m, size_t i);
    pgy_status (*metadata_set)(pgy_metadata *m, const pgy_tensor_info *info, pgy_error *err);
} pgy_backend_host;

typedef struct pgy_model pgy_model; /* onnx.h */

/** The model a runner is to run: exactly one of path and data is set; `model` may be set beside
 * path for backends inside the library. */
typedef struct pgy_backend_model {
    size_t size;
    const char *path; /**< a file that can be opened as it is, external data beside it; NULL if only
                         in memory */
    const void *data; /**< serialized model; valid until destroy */
    size_t data_size;
    pgy_model *model; /**< in-library backends only */
    void *user;       /**< of a source and a backend that belong together; NULL elsewhere */
} pgy_backend_model;

/** What a backend is or can do: bits of pgy_backend.traits. */
typedef enum pgy_backend_trait {
    PGY_BACKEND_WITHOUT_MODEL = 1, /**< a runner needs no model */
    PGY_BACKEND_RUNS_PLANS = 2,    /**< runs plans, not only models */
    PGY_BACKEND_BUILDS_PLANS = 4,  /**< builds plans by a pgy_build_config; its network may have
                                      other outputs than the model that other runners get */
    PGY_BACKEND_IS_REFERENCE = 8   /**< computes what the standard defines, in float64 */
} pgy_backend_trait;

typedef struct pgy_backend {
    size_t size;
    uint32_t abi;              /**< PGY_BACKEND_ABI */
    const char *name;          /**< "onnxrt": the option is --<name> */
    const char *runner_prefix; /**< "onnxrt-runner" */
    const char *title;         /**< "ONNX Runtime", for help and messages */
    const char *description;   /**< one line, for help of --<name>; NULL: the option and those below
                                  are accepted but not shown */
    const pgy_option
        *options; /**< own option table (NULL: none); offsets into a struct of options_size bytes */
    size_t options_size;

    /** Can this runtime be had here? `why` gets one sentence when not: what was tried and how to
     * get it. May be slow (opens libraries). */
    pgy_status (*probe)(char *why, size_t why_size);
    /** New runner; cheap. `options` points to options_size bytes, filled by name or from the
     * command line, which live until `destroy`; NULL: defaults. */
    pgy_status (*create)(void **out, const pgy_backend_model *model, const void *options,
                         pgy_error *err);
    /** Loads the model, builds the session: everything slow. */
    pgy_status (*activate)(void *runner, pgy_error *err);
    /** Adds the metadata, in the model's order. Only when active. PGY_E_UNSUPPORTED: not known, and
     * nothing is checked. */
    pgy_status (*inputs)(void *runner, pgy_metadata *out, pgy_error *err);
    pgy_status (*outputs)(void *runner, pgy_metadata *out, pgy_error *err);
    /** `feed` has exactly the inputs, checked. Adds all outputs to `out` in the model's order;
     * *time_ns is the time of the inference call only (left alone: the host measures). */
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
} pgy_backend;

typedef const pgy_backend *(*pgy_backend_entry)(const pgy_backend_host *host);
#define PGY_BACKEND_SYMBOL "pgy_backend_v1"

#ifdef __cplusplus
}
#endif
#endif
