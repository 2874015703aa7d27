/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Typed arrays: element types, borrowed views, owned tensors, and ordered maps of named tensors.
 *
 * Two types show ownership: a pgy_tensor owns its memory (reference counted); a pgy_view borrows
 * it. Views are passed by value and have the layout of DLPack's DLTensor, so that either can be
 * cast to the other. Kernels, metrics and printers take views.
 *
 *     pgy_tensor *t = NULL;
 *     int64_t shape[] = {2, 3};
 *     if (pgy_tensor_create(&t, PGY_F32, 2, shape, &err)) ...
 *     float *x = pgy_tensor_data(t);
 *     ...
 *     pgy_tensor_release(t);
 */
#ifndef POLYGRAPHY_TENSOR_H
#define POLYGRAPHY_TENSOR_H

#include <polygraphy/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Element types -------------------------------------------------------------------------- */

/** Element types. The value is DLPack's DLDataType {code, bits, lanes} packed little-endian, which
 * makes pgy_view bit-compatible with DLTensor. Elements under 8 bits are packed, the first one in
 * the low bits. */
#define PGY_DTYPE(code, bits) ((code) | ((bits) << 8) | (1 << 16))
typedef enum pgy_dtype {
    PGY_DTYPE_NONE = 0,
    PGY_BOOL = PGY_DTYPE(6, 8),
    PGY_I2 = PGY_DTYPE(0, 2),
    PGY_I4 = PGY_DTYPE(0, 4),
    PGY_I8 = PGY_DTYPE(0, 8),
    PGY_I16 = PGY_DTYPE(0, 16),
    PGY_I32 = PGY_DTYPE(0, 32),
    PGY_I64 = PGY_DTYPE(0, 64),
    PGY_U2 = PGY_DTYPE(1, 2),
    PGY_U4 = PGY_DTYPE(1, 4),
    PGY_U8 = PGY_DTYPE(1, 8),
    PGY_U16 = PGY_DTYPE(1, 16),
    PGY_U32 = PGY_DTYPE(1, 32),
    PGY_U64 = PGY_DTYPE(1, 64),
    PGY_F16 = PGY_DTYPE(2, 16),
    PGY_F32 = PGY_DTYPE(2, 32),
    PGY_F64 = PGY_DTYPE(2, 64),
    PGY_BF16 = PGY_DTYPE(4, 16),
    PGY_C64 = PGY_DTYPE(5, 64),
    PGY_C128 = PGY_DTYPE(5, 128),
    PGY_F8E4M3FN = PGY_DTYPE(10, 8),
    PGY_F8E4M3FNUZ = PGY_DTYPE(11, 8),
    PGY_F8E5M2 = PGY_DTYPE(12, 8),
    PGY_F8E5M2FNUZ = PGY_DTYPE(13, 8),
    PGY_F8E8M0 = PGY_DTYPE(14, 8),
    PGY_F6E2M3 = PGY_DTYPE(15, 6),
    PGY_F6E3M2 = PGY_DTYPE(16, 6),
    PGY_F4E2M1 = PGY_DTYPE(17, 4),
    PGY_STRING = PGY_DTYPE(3, 128) /**< elements are pgy_string */
} pgy_dtype;

typedef enum pgy_dtype_kind {
    PGY_KIND_BOOL,
    PGY_KIND_SIGNED,
    PGY_KIND_UNSIGNED,
    PGY_KIND_FLOAT,
    PGY_KIND_COMPLEX,
    PGY_KIND_STRING
} pgy_dtype_kind;

typedef struct pgy_dtype_info {
    pgy_dtype dtype;
    const char *name;        /**< Polygraphy's name: "float32", "float8e4m3fn", "int4", "string" */
    int onnx;                /**< TensorProto.DataType */
    const char *onnx_name;   /**< "FLOAT" */
    const char *npy;         /**< npy descriptor without byte order: "f4"; NULL if NumPy has none */
    const char *safetensors; /**< "F32"; NULL if the format has none */
    unsigned bits;
    pgy_dtype_kind kind;
} pgy_dtype_info;

/** @return the description of a type; for PGY_DTYPE_NONE and unknown values one named "none". Never
 * NULL. */
PGY_API const pgy_dtype_info *pgy_dtype_describe(pgy_dtype dtype);
PGY_API const char *pgy_dtype_name(pgy_dtype dtype);
/** @return PGY_DTYPE_NONE if there is no such type. Names are compared without case. */
PGY_API pgy_dtype pgy_dtype_from_name(const char *name);
PGY_API pgy_dtype pgy_dtype_from_onnx(int onnx);
/** All types in a fixed order. @return their number; *out is static. */
PGY_API size_t pgy_dtype_list(const pgy_dtype_info **out);
PGY_API bool pgy_dtype_is_float(pgy_dtype dtype);   /**< floats of any width, not complex */
PGY_API bool pgy_dtype_is_integer(pgy_dtype dtype); /**< signed and unsigned, not bool */

/** One element of a PGY_STRING tensor: `size` bytes, not necessarily terminated. */
typedef struct pgy_string {
    const char *data;
    size_t size;
} pgy_string;

/* ---- Views ---------------------------------------------------------------------------------- */

typedef enum pgy_device_type { PGY_DEVICE_CPU = 1, PGY_DEVICE_CUDA = 2 } pgy_device_type;
typedef struct pgy_device {
    int32_t type; /**< pgy_device_type, DLPack's codes */
    int32_t id;
} pgy_device;

#define PGY_MAX_RANK 64

/** A borrowed array with the layout of DLTensor. Functions of this library access elements on the
 * host only, and refuse a view whose `device` is another one (PGY_E_DEVICE). Device type 0 is the
 * host, too. */
typedef struct pgy_view {
    void *data;
    pgy_device device;
    int32_t rank;
    pgy_dtype dtype;
    int64_t *shape;
    int64_t *strides; /**< strides in elements; NULL: compact row-major. Must be NULL for types
                         under 8 bits */
    uint64_t byte_offset;
} pgy_view;

/** Gives the number of elements of a shape; 1 for rank 0. @return PGY_E_SHAPE on a negative
 * dimension or overflow */
PGY_API PGY_MUST_CHECK pgy_status pgy_shape_count(size_t *out, size_t rank, const int64_t *shape,
                                                  pgy_error *err);
/** Gives the bytes of `count` elements, rounded up for types under 8 bits. @return PGY_E_SHAPE on
 * overflow */
PGY_API PGY_MUST_CHECK pgy_status pgy_dtype_size_bytes(size_t *out, pgy_dtype dtype, size_t count,
                                                       pgy_error *err);

/** Makes a host view over compact row-major memory. `shape` is borrowed. */
PGY_API pgy_view pgy_view_of(void *data, pgy_dtype dtype, size_t rank, const int64_t *shape);
PGY_API size_t pgy_view_count(pgy_view v);      /**< number of elements; the shape must be valid */
PGY_API size_t pgy_view_size_bytes(pgy_view v); /**< bytes of the elements in compact order */
PGY_API bool pgy_view_is_compact(pgy_view v);   /**< row-major without gaps */
PGY_API bool pgy_view_same_shape(pgy_view a, pgy_view b);
PGY_API void *pgy_view_data(pgy_view v); /**< data + byte_offset */

/** Copies and converts between any two numeric types; strides of both sides are honoured.
 *
 * Float to float and int to float round to nearest even; narrowing floats overflow to infinity (or
 * to NaN or the largest value where the type has no infinity: `saturate` chooses). Float to integer
 * truncates by way of int64, as C on x86-64 does, NaN and values out of range included, then wraps:
 * NumPy's results. Integers wrap. Bool is x != 0.
 * @return PGY_E_SHAPE shapes differ; PGY_E_TYPE string on one side only */
PGY_API PGY_MUST_CHECK pgy_status pgy_view_convert(pgy_view to, pgy_view from, bool saturate,
                                                   pgy_error *err);

/* ---- Tensors -------------------------------------------------------------------------------- */

typedef struct pgy_tensor pgy_tensor;

/** Creates a tensor of zeros, compact row-major. @param shape  rank entries, copied
 * @return PGY_E_SHAPE bad or huge shape, PGY_E_MEMORY */
PGY_API PGY_MUST_CHECK pgy_status pgy_tensor_create(pgy_tensor **out, pgy_dtype dtype, size_t rank,
                                                    const int64_t *shape, pgy_error *err);
/** Adopts memory: `free_data(data, user)` is called at the last release; NULL = never. Compact
 * row-major. On failure the memory stays the caller's. */
PGY_API PGY_MUST_CHECK pgy_status pgy_tensor_wrap(pgy_tensor **out, void *data, pgy_dtype dtype,
                                                  size_t rank, const int64_t *shape,
                                                  void (*free_data)(void *data, void *user),
                                                  void *user, pgy_error *err);
/** Copies any view to a compact row-major tensor, strings included. */
PGY_API PGY_MUST_CHECK pgy_status pgy_tensor_copy(pgy_tensor **out, pgy_view from, pgy_error *err);
/** Copies with conversion to another type, by the rules of pgy_view_convert. */
PGY_API PGY_MUST_CHECK pgy_status pgy_tensor_cast(pgy_tensor **out, pgy_view from, pgy_dtype dtype,
                                                  pgy_error *err);
/** Makes a tensor that shares the data of `t` but has another shape of equal element count. */
PGY_API PGY_MUST_CHECK pgy_status pgy_tensor_reshape(pgy_tensor **out, pgy_tensor *t, size_t rank,
                                                     const int64_t *shape, pgy_error *err);
PGY_API pgy_tensor *pgy_tensor_retain(pgy_tensor *t);
PGY_API void pgy_tensor_release(pgy_tensor *t); /**< NULL is fine */

PGY_API pgy_dtype pgy_tensor_dtype(const pgy_tensor *t);
PGY_API size_t pgy_tensor_rank(const pgy_tensor *t);
PGY_API const int64_t *pgy_tensor_shape(const pgy_tensor *t);
PGY_API size_t pgy_tensor_count(const pgy_tensor *t);
PGY_API size_t pgy_tensor_size_bytes(const pgy_tensor *t);
/** The elements, compact and row-major. NULL if the tensor is swapped out: call pgy_tensor_load
 * first. */
PGY_API void *pgy_tensor_data(const pgy_tensor *t);
PGY_API pgy_view pgy_tensor_view(const pgy_tensor *t);
/** Sets element i of a string tensor (copies). */
PGY_API PGY_MUST_CHECK pgy_status pgy_tensor_set_string(pgy_tensor *t, size_t i, const char *text,
                                                        size_t size, pgy_error *err);

/** Swaps to disk: a tensor larger than the threshold (POLYGRAPHY_ARRAY_SWAP_THRESHOLD_MB in MiB;
 * negative: never) moves to a temporary file, which is removed at the last release, at exit and on
 * signals. A tensor that has other references, or shares its elements with a reshaped tensor, stays
 * in memory. */
PGY_API PGY_MUST_CHECK pgy_status pgy_tensor_swap_out(pgy_tensor *t, pgy_error *err);
PGY_API bool pgy_tensor_is_swapped(const pgy_tensor *t);
/** Gives a tensor in memory with the contents of `t`: `t` itself, retained, or a new one read from
 * its file. */
PGY_API PGY_MUST_CHECK pgy_status pgy_tensor_load(pgy_tensor **out, pgy_tensor *t, pgy_error *err);
/** The threshold in MiB, from the environment; PGY_E_ARGUMENT if the variable is no integer. */
PGY_API PGY_MUST_CHECK pgy_status pgy_swap_threshold_mb(int64_t *out, pgy_error *err);

/* ---- Named tensors -------------------------------------------------------------------------- */

/** Insertion-ordered map from names to tensors; owns a reference to each. */
typedef struct pgy_tensor_map pgy_tensor_map;
PGY_API PGY_MUST_CHECK pgy_status pgy_tensor_map_create(pgy_tensor_map **out, pgy_error *err);
PGY_API void pgy_tensor_map_destroy(pgy_tensor_map *m);
PGY_API void pgy_tensor_map_clear(pgy_tensor_map *m);
PGY_API size_t pgy_tensor_map_count(const pgy_tensor_map *m);
PGY_API const char *pgy_tensor_map_name(const pgy_tensor_map *m, size_t i);
PGY_API pgy_tensor *pgy_tensor_map_at(const pgy_tensor_map *m, size_t i); /**< borrowed */
PGY_API pgy_tensor *pgy_tensor_map_find(const pgy_tensor_map *m,
                                        const char *name); /**< borrowed or NULL */
/** Adds a tensor, or replaces one at its place; retains it. */
PGY_API PGY_MUST_CHECK pgy_status pgy_tensor_map_set(pgy_tensor_map *m, const char *name,
                                                     pgy_tensor *t, pgy_error *err);
/** Like pgy_tensor_map_set, but takes over the caller's reference, also on failure. */
PGY_API PGY_MUST_CHECK pgy_status pgy_tensor_map_adopt(pgy_tensor_map *m, const char *name,
                                                       pgy_tensor *t, pgy_error *err);
/** Makes a map that shares the tensors. */
PGY_API PGY_MUST_CHECK pgy_status pgy_tensor_map_copy(pgy_tensor_map **out, const pgy_tensor_map *m,
                                                      pgy_error *err);

/** A cache that the caller keeps in a buffer, so that no run copies it. */
typedef struct pgy_kept_cache {
    const char *input, *output; /**< the past, and the past with new rows behind it */
    /** [batch, heads, rows, size]. The first rows of each head are the past. The tensor of `input`
     * in a feed tells how many; its own elements are not read. */
    pgy_tensor *buffer;
    /** Out: how many rows `output` has. They are in the buffer, and the outputs lack it. -1: the
     * runner cannot; the buffer is as it was, and the outputs have `output` as ever. */
    int64_t length;
} pgy_kept_cache;

/* ---- Metadata of named tensors -------------------------------------------------------------- */

/** The kind of an input or output. Elements of a sequence `s` are tensors named `s[0]`, `s[1]`, ...
 * (of a nested one `s[0][1]`); `s[]`, a tensor of shape (0,), stands for an empty sequence. An
 * empty optional is left out; any other follows the rules for its element. A map `m` is a vector of
 * keys `m[keys]` and one of values `m[values]`. An output that is a sequence of maps with the same
 * keys is `s[keys]` and a matrix `s[values]` with a row per map; maps with other keys are
 * `s[0][keys]`, `s[0][values]`, ... */
typedef enum pgy_form {
    PGY_FORM_TENSOR,
    PGY_FORM_SEQUENCE,
    PGY_FORM_OPTIONAL, /**< an optional tensor */
    PGY_FORM_OPTIONAL_SEQUENCE,
    PGY_FORM_OTHER, /**< sparse tensors: cannot be passed in or out */
    PGY_FORM_MAP
} pgy_form;

/** Known properties of an input or output before data exist. Dimensions: >= 0 fixed, -1 unknown;
 * dim_names[i] (may be NULL) names an unknown one. rank -1: unknown rank. dtype NONE: unknown type.
 * min/max are optional bounds. Type and shape of a sequence or optional are those of its elements.
 */
typedef struct pgy_tensor_info {
    const char *name;
    pgy_dtype dtype;
    int32_t rank;
    const int64_t *shape;
    const char *const *dim_names;         /**< NULL, or rank entries of which each may be NULL */
    const int64_t *min_shape, *max_shape; /**< NULL, or rank entries */
    pgy_form form;
} pgy_tensor_info;

/** Insertion-ordered list of pgy_tensor_info; owns copies of everything. */
typedef struct pgy_metadata pgy_metadata;
PGY_API PGY_MUST_CHECK pgy_status pgy_metadata_create(pgy_metadata **out, pgy_error *err);
PGY_API void pgy_metadata_destroy(pgy_metadata *m);
PGY_API PGY_MUST_CHECK pgy_status pgy_metadata_set(pgy_metadata *m, const pgy_tensor_info *info,
                                                   pgy_error *err);
PGY_API size_t pgy_metadata_count(const pgy_metadata *m);
PGY_API const pgy_tensor_info *pgy_metadata_at(const pgy_metadata *m, size_t i);
PGY_API const pgy_tensor_info *pgy_metadata_find(const pgy_metadata *m, const char *name);
/** Makes metadata from the type and shape of every tensor of a map. */
PGY_API PGY_MUST_CHECK pgy_status pgy_metadata_from_map(pgy_metadata **out,
                                                        const pgy_tensor_map *map, pgy_error *err);
/** Writes Polygraphy's notation: {x [dtype=float32, shape=(1, 'N', -1)],\n y}. Free with
 * pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_metadata_text(char **out, const pgy_metadata *m,
                                                    pgy_error *err);
PGY_API void pgy_text_free(char *text);

/* ---- Text and files ------------------------------------------------------------------------- */

/** How NumPy prints an array. Zero means NumPy's default. */
typedef struct pgy_text_options {
    size_t size;        /**< sizeof(pgy_text_options) */
    int64_t edge_items; /**< elements shown at each end of an axis of a summarised array; default 3;
                           negative: all */
    int64_t threshold;  /**< arrays with more elements are summarised; default 1000 */
    int64_t line_width; /**< width of lines; default 75; negative: break only between rows */
} pgy_text_options;
PGY_API PGY_MUST_CHECK pgy_status pgy_view_text(char **out, pgy_view v,
                                                const pgy_text_options *options, pgy_error *err);

/** .npy, versions 1 to 3, either byte order and memory order (loaded as row-major). */
PGY_API PGY_MUST_CHECK pgy_status pgy_npy_load(pgy_tensor **out, const char *path, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_npy_parse(pgy_tensor **out, const void *data,
                                                size_t size_bytes, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_npy_save(const char *path, pgy_view v, pgy_error *err);
/** .npz: zip of .npy members, stored or deflated; names without the ".npy". */
PGY_API PGY_MUST_CHECK pgy_status pgy_npz_load(pgy_tensor_map **out, const char *path,
                                               pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_npz_parse(pgy_tensor_map **out, const void *data,
                                                size_t size_bytes, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_npz_save(const char *path, const pgy_tensor_map *m,
                                               pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_safetensors_load(pgy_tensor_map **out, const char *path,
                                                       pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_safetensors_parse(pgy_tensor_map **out, const void *data,
                                                        size_t size_bytes, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_safetensors_save(const char *path, const pgy_tensor_map *m,
                                                       pgy_error *err);
/** One ONNX TensorProto per file. *name (may be NULL) receives its name, owned, "" if it has none.
 */
PGY_API PGY_MUST_CHECK pgy_status pgy_tensorproto_load(pgy_tensor **out, char **name,
                                                       const char *path, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_tensorproto_parse(pgy_tensor **out, char **name,
                                                        const void *data, size_t size_bytes,
                                                        pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_tensorproto_save(const char *path, const char *name,
                                                       pgy_view v, pgy_error *err);
/** Raw files: the elements only, row-major, without a header. */
PGY_API PGY_MUST_CHECK pgy_status pgy_raw_load(pgy_tensor **out, const char *path, pgy_dtype dtype,
                                               size_t rank, const int64_t *shape, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_raw_save(const char *path, pgy_view v, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
