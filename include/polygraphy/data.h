/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Input data: loaders (generated data, files, a list, a callback, a Python script) and feed files.
 *
 * A data loader gives one map of named tensors per iteration, in order:
 *
 *     pgy_random_options o = pgy_random_options_default();
 *     o.iterations = 3;
 *     pgy_data_loader *l = NULL;
 *     if (pgy_random_loader_create(&l, &o, &err)) ...
 *     if (pgy_data_loader_set_metadata(l, inputs, &err)) ...
 *     while (!(st = pgy_data_loader_next(&feed, l, &err)) && feed) {
 *         ...
 *         pgy_tensor_map_destroy(feed);
 *     }
 *     pgy_data_loader_destroy(l);
 */
#ifndef POLYGRAPHY_DATA_H
#define POLYGRAPHY_DATA_H

#include <polygraphy/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pgy_data_loader pgy_data_loader;

/** Functions of the caller's own loader. `next` gives a new map, or NULL at the end. Optional
 * functions may be NULL. */
typedef struct pgy_data_loader_functions {
    size_t size;
    pgy_status (*next)(pgy_tensor_map **out, void *user, pgy_error *err);
    pgy_status (*rewind)(void *user, pgy_error *err); /**< optional: makes `next` begin again */
    pgy_status (*set_metadata)(void *user, const pgy_metadata *inputs,
                               pgy_error *err); /**< optional: borrowed for the loader's life */
    void (*destroy)(void *user);                /**< optional */
} pgy_data_loader_functions;
PGY_API PGY_MUST_CHECK pgy_status pgy_data_loader_create(pgy_data_loader **out,
                                                         const pgy_data_loader_functions *functions,
                                                         void *user, pgy_error *err);
PGY_API void pgy_data_loader_destroy(pgy_data_loader *l);
PGY_API PGY_MUST_CHECK pgy_status pgy_data_loader_set_metadata(pgy_data_loader *l,
                                                               const pgy_metadata *inputs,
                                                               pgy_error *err);
/** Gives the next map, which the caller destroys; *out is NULL at the end. */
PGY_API PGY_MUST_CHECK pgy_status pgy_data_loader_next(pgy_tensor_map **out, pgy_data_loader *l,
                                                       pgy_error *err);
/** Starts again from the first map. @return PGY_E_UNSUPPORTED for loaders that cannot */
PGY_API PGY_MUST_CHECK pgy_status pgy_data_loader_rewind(pgy_data_loader *l, pgy_error *err);
/** True if the loader can make maps for other metadata than the first (generated data and lists
 * can). */
PGY_API bool pgy_data_loader_can_regenerate(const pgy_data_loader *l);

/* ---- Generated ------------------------------------------------------------------------------ */

/** The inputs that a range applies to: all, or those of integer type (not bool), or those of float
 * type. A range for one kind of type takes precedence over one for all. */
typedef enum pgy_range_kind { PGY_RANGE_ALL, PGY_RANGE_INTEGERS, PGY_RANGE_FLOATS } pgy_range_kind;

/** Range of the values of one input ("" = all others); for integers both ends are included. */
typedef struct pgy_value_range {
    const char *name;
    pgy_range_kind kind;
    double low, high;
    bool is_integer; /**< both ends were given as integers: low_int, high_int are exact */
    int64_t low_int, high_int;
} pgy_value_range;

typedef struct pgy_random_options {
    size_t size;
    uint32_t seed;              /**< iteration i uses seed + i; default 1 */
    size_t iterations;          /**< default 1 */
    const pgy_metadata *inputs; /**< shapes (and types) by name or wildcard; may be NULL; copied */
    const pgy_value_range *ranges; /**< default [0, 1]; copied */
    size_t range_count;
    bool torch_floats; /**< draw floats from torch's generator instead of NumPy's; ranges still
                          apply */
    bool strict;       /**< a shape in `inputs` that its input cannot have is PGY_E_SHAPE; otherwise
                          it draws a warning, and the default shape is used */
} pgy_random_options;
PGY_API pgy_random_options pgy_random_options_default(void);
/** Generates the original's data, bit for bit: iteration i draws from NumPy's RandomState(seed +
 * i). */
PGY_API PGY_MUST_CHECK pgy_status pgy_random_loader_create(pgy_data_loader **out,
                                                           const pgy_random_options *options,
                                                           pgy_error *err);

/* ---- From elsewhere ------------------------------------------------------------------------- */

/** Gives the maps of a list, sharing their tensors. */
PGY_API PGY_MUST_CHECK pgy_status pgy_list_loader_create(pgy_data_loader **out,
                                                         const pgy_tensor_map *const *maps,
                                                         size_t count, pgy_error *err);
/** Reads files in order, each when it is needed: feed-list JSON (or one map), a folder of such JSON
 * files, .npz, .npy (one input: the name is the file's stem, matched by position), .safetensors, a
 * folder of ONNX test data (input_0.pb ... or test_data_set_N folders; names by position from the
 * metadata when the protos have none). */
PGY_API PGY_MUST_CHECK pgy_status pgy_file_loader_create(pgy_data_loader **out,
                                                         const char *const *paths, size_t count,
                                                         pgy_error *err);
/** script: "file.py" or "file.py:function" (default load_data). Runs in a helper Python process;
 * arrays travel as bytes over a pipe. Generators, lists and single dicts are accepted; the script's
 * own traceback is the error text (logged at ERROR). */
PGY_API PGY_MUST_CHECK pgy_status pgy_script_loader_create(pgy_data_loader **out,
                                                           const char *script, pgy_error *err);

/* ---- Feed files ------------------------------------------------------------------------------ */

/** Loads all iterations of one feed file (or map). */
PGY_API PGY_MUST_CHECK pgy_status pgy_feeds_load(pgy_tensor_map ***out, size_t *count,
                                                 const char *path, pgy_error *err);
PGY_API void pgy_feeds_free(pgy_tensor_map **maps, size_t count);
PGY_API PGY_MUST_CHECK pgy_status pgy_feeds_save(const char *path,
                                                 const pgy_tensor_map *const *maps, size_t count,
                                                 pgy_error *err);
/** Writes a feed list map by map: a path with an extension is one file; one without is a folder of
 * numbered files, which must be absent or empty. Tensors are written at once, so memory does not
 * grow. */
typedef struct pgy_feed_writer pgy_feed_writer;
PGY_API PGY_MUST_CHECK pgy_status pgy_feed_writer_create(pgy_feed_writer **out, const char *path,
                                                         pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_feed_writer_add(pgy_feed_writer *w,
                                                      const pgy_tensor_map *feed, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_feed_writer_finish(pgy_feed_writer *w, pgy_error *err);
PGY_API void pgy_feed_writer_destroy(
    pgy_feed_writer *w); /**< without finish, a single file is not created */
/** Writes <dir>/<10-digit index>/<name>.bin with the elements only. */
PGY_API PGY_MUST_CHECK pgy_status pgy_feed_save_blob(const char *dir, size_t index,
                                                     const pgy_tensor_map *feed, pgy_error *err);

/* ---- Matching data to a runner's inputs ------------------------------------------------------ */

/** Makes a map with exactly the tensors of `inputs`, in their order. Tensors of the feed are
 * matched by name, then substring, then position, and cast and reshaped where needed, each with a
 * warning.
 * @return PGY_E_ARGUMENT naming an input without data */
PGY_API PGY_MUST_CHECK pgy_status pgy_feed_match(pgy_tensor_map **out, const pgy_tensor_map *feed,
                                                 const pgy_metadata *inputs, pgy_error *err);
/** Reshapes or permutes `t` to fit `shape` (-1: dynamic). *out is `t` itself, retained, if that is
 * impossible. */
PGY_API PGY_MUST_CHECK pgy_status pgy_match_shape(pgy_tensor **out, pgy_tensor *t, size_t rank,
                                                  const int64_t *shape, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
