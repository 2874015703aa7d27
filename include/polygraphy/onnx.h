/* SPDX-License-Identifier: Apache-2.0 */
/**
 * ONNX files: reads protobuf bytes into a read-only tree of plain structs, and writes such trees.
 *
 * A model is one arena plus the mapped file; every pointer below lives as long as the pgy_model.
 * Weights are views into the mapping, so the time to open a file depends on its nodes, not on its
 * weights. Unknown fields, and the bytes of all unchanged messages, are kept: loading and saving an
 * unmodified model gives identical bytes. To edit a model, use a graph (graph.h), which makes a new
 * tree.
 *
 *     pgy_model *model = NULL;
 *     if (pgy_model_load(&model, "net.onnx", NULL, &err)) ...
 *     const pgy_onnx_graph *g = pgy_model_proto(model)->graph;
 *     for (size_t i = 0; i < g->node_count; i++) puts(g->nodes[i]->op_type);
 *     pgy_model_destroy(model);
 *
 * Struct fields carry the names of onnx.proto. Texts end with a zero byte and are "" when absent.
 * They are UTF-8, unless the file has other bytes; then loading warns.
 */
#ifndef POLYGRAPHY_ONNX_H
#define POLYGRAPHY_ONNX_H

#include <polygraphy/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A range of bytes in the mapped file or in the model's arena. */
typedef struct pgy_bytes {
    const void *data;
    size_t size;
} pgy_bytes;

/** First member of every message: its bytes in the file and its unknown fields. */
typedef struct pgy_onnx_message {
    pgy_bytes raw; /**< its bytes in the file, without tag and length; data NULL: built or changed,
                      so saving encodes it */
    const pgy_bytes *unknown; /**< whole unknown fields, tags included, in order */
    size_t unknown_count;
    uint64_t present; /**< bit n: field number n (below 64) was in the file; tells 0 from absent */
} pgy_onnx_message;

typedef struct pgy_onnx_graph pgy_onnx_graph;
typedef struct pgy_onnx_type pgy_onnx_type;
typedef struct pgy_onnx_attribute pgy_onnx_attribute;

typedef struct pgy_onnx_string_entry { /* StringStringEntryProto */
    pgy_onnx_message message;
    const char *key, *value;
} pgy_onnx_string_entry;

typedef struct pgy_onnx_opset { /* OperatorSetIdProto */
    pgy_onnx_message message;
    const char *domain;
    int64_t version;
} pgy_onnx_opset;

typedef struct pgy_onnx_dim { /* TensorShapeProto.Dimension */
    pgy_onnx_message message;
    int64_t dim_value;     /**< valid if bit 1 of present */
    const char *dim_param; /**< valid if bit 2 of present */
    const char *denotation;
} pgy_onnx_dim;

typedef struct pgy_onnx_shape { /* TensorShapeProto */
    pgy_onnx_message message;
    pgy_onnx_dim *const *dims;
    size_t dim_count;
} pgy_onnx_shape;

typedef struct pgy_onnx_tensor_type { /* TypeProto.Tensor and .SparseTensor */
    pgy_onnx_message message;
    int32_t elem_type;
    pgy_onnx_shape *shape; /**< NULL = unknown rank */
} pgy_onnx_tensor_type;

typedef struct pgy_onnx_map_type { /* TypeProto.Map */
    pgy_onnx_message message;
    int32_t key_type;
    pgy_onnx_type *value_type;
} pgy_onnx_map_type;

typedef struct pgy_onnx_elem_type { /* TypeProto.Sequence and .Optional */
    pgy_onnx_message message;
    pgy_onnx_type *elem_type;
} pgy_onnx_elem_type;

typedef struct pgy_onnx_opaque_type { /* TypeProto.Opaque */
    pgy_onnx_message message;
    const char *domain, *name;
} pgy_onnx_opaque_type;

struct pgy_onnx_type { /* TypeProto: at most one of these is set */
    pgy_onnx_message message;
    pgy_onnx_tensor_type *tensor_type, *sparse_tensor_type;
    pgy_onnx_elem_type *sequence_type, *optional_type;
    pgy_onnx_map_type *map_type;
    pgy_onnx_opaque_type *opaque_type;
    const char *denotation;
};

typedef struct pgy_onnx_value_info { /* ValueInfoProto */
    pgy_onnx_message message;
    const char *name;
    pgy_onnx_type *type; /**< NULL if absent */
    const char *doc_string;
    pgy_onnx_string_entry *const *metadata_props;
    size_t metadata_prop_count;
} pgy_onnx_value_info;

typedef struct pgy_onnx_segment { /* TensorProto.Segment */
    pgy_onnx_message message;
    int64_t begin, end;
} pgy_onnx_segment;

/** TensorProto. These are the stored fields; pgy_onnx_tensor_load decodes the elements. Typed lists
 * that are not packed in one piece in the file are collected in the arena. */
typedef struct pgy_onnx_tensor {
    pgy_onnx_message message;
    const int64_t *dims;
    size_t dim_count;
    int32_t data_type;
    const char *name, *doc_string;
    pgy_bytes raw_data; /**< may be empty: bit 9 of message.present tells whether the file has the
                           field */
    pgy_bytes float_data, double_data;      /**< little-endian packed */
    const int64_t *int32_data, *int64_data; /**< decoded varints (int32_data sign-extended) */
    size_t int32_count, int64_count;
    const uint64_t *uint64_data;
    size_t uint64_count;
    const pgy_bytes *string_data;
    size_t string_count;
    int32_t data_location; /**< 0 default, 1 external */
    pgy_onnx_string_entry *const *external_data;
    size_t external_data_count;
    pgy_onnx_segment *segment;
    pgy_onnx_string_entry *const *metadata_props;
    size_t metadata_prop_count;
} pgy_onnx_tensor;

typedef struct pgy_onnx_sparse_tensor { /* SparseTensorProto */
    pgy_onnx_message message;
    pgy_onnx_tensor *values, *indices;
    const int64_t *dims;
    size_t dim_count;
} pgy_onnx_sparse_tensor;

typedef struct pgy_onnx_quant_annotation { /* TensorAnnotation */
    pgy_onnx_message message;
    const char *tensor_name;
    pgy_onnx_string_entry *const *quant_parameter_tensor_names;
    size_t quant_parameter_tensor_name_count;
} pgy_onnx_quant_annotation;

/** AttributeProto.AttributeType */
typedef enum pgy_onnx_attribute_type {
    PGY_ATTR_UNDEFINED = 0,
    PGY_ATTR_FLOAT = 1,
    PGY_ATTR_INT = 2,
    PGY_ATTR_STRING = 3,
    PGY_ATTR_TENSOR = 4,
    PGY_ATTR_GRAPH = 5,
    PGY_ATTR_FLOATS = 6,
    PGY_ATTR_INTS = 7,
    PGY_ATTR_STRINGS = 8,
    PGY_ATTR_TENSORS = 9,
    PGY_ATTR_GRAPHS = 10,
    PGY_ATTR_SPARSE_TENSOR = 11,
    PGY_ATTR_SPARSE_TENSORS = 12,
    PGY_ATTR_TYPE_PROTO = 13,
    PGY_ATTR_TYPE_PROTOS = 14
} pgy_onnx_attribute_type;

struct pgy_onnx_attribute { /* AttributeProto */
    pgy_onnx_message message;
    const char *name, *ref_attr_name, *doc_string;
    int32_t type; /**< as stored; 0 in very old files: use pgy_onnx_attribute_kind */
    float f;
    int64_t i;
    pgy_bytes s;
    pgy_onnx_tensor *t;
    pgy_onnx_graph *g;
    pgy_onnx_sparse_tensor *sparse_tensor;
    pgy_onnx_type *tp;
    const float *floats;
    size_t float_count;
    const int64_t *ints;
    size_t int_count;
    const pgy_bytes *strings;
    size_t string_count;
    pgy_onnx_tensor *const *tensors;
    size_t tensor_count;
    pgy_onnx_graph *const *graphs;
    size_t graph_count;
    pgy_onnx_sparse_tensor *const *sparse_tensors;
    size_t sparse_tensor_count;
    pgy_onnx_type *const *type_protos;
    size_t type_proto_count;
};

typedef struct pgy_onnx_node { /* NodeProto */
    pgy_onnx_message message;
    const char *const *inputs;
    size_t input_count;
    const char *const *outputs;
    size_t output_count;
    const char *name, *op_type, *domain, *overload, *doc_string;
    pgy_onnx_attribute *const *attributes;
    size_t attribute_count;
    pgy_onnx_string_entry *const *metadata_props;
    size_t metadata_prop_count;
    /* device_configurations (multi-device) stay in message.unknown */
} pgy_onnx_node;

struct pgy_onnx_graph { /* GraphProto */
    pgy_onnx_message message;
    pgy_onnx_node *const *nodes;
    size_t node_count;
    const char *name, *doc_string;
    pgy_onnx_tensor *const *initializers;
    size_t initializer_count;
    pgy_onnx_sparse_tensor *const *sparse_initializers;
    size_t sparse_initializer_count;
    pgy_onnx_value_info *const *inputs;
    size_t input_count;
    pgy_onnx_value_info *const *outputs;
    size_t output_count;
    pgy_onnx_value_info *const *value_infos;
    size_t value_info_count;
    pgy_onnx_quant_annotation *const *quantization_annotations;
    size_t quantization_annotation_count;
    pgy_onnx_string_entry *const *metadata_props;
    size_t metadata_prop_count;
};

typedef struct pgy_onnx_function { /* FunctionProto */
    pgy_onnx_message message;
    const char *name, *domain, *overload, *doc_string;
    const char *const *inputs;
    size_t input_count;
    const char *const *outputs;
    size_t output_count;
    const char *const *attributes; /**< names of the attributes that have no default */
    size_t attribute_count;
    pgy_onnx_attribute *const *attribute_protos; /**< the attributes that have a default */
    size_t attribute_proto_count;
    pgy_onnx_node *const *nodes;
    size_t node_count;
    pgy_onnx_opset *const *opset_imports;
    size_t opset_import_count;
    pgy_onnx_value_info *const *value_infos;
    size_t value_info_count;
    pgy_onnx_string_entry *const *metadata_props;
    size_t metadata_prop_count;
} pgy_onnx_function;

typedef struct pgy_onnx_model { /* ModelProto; training_info and configuration stay in
                                   message.unknown */
    pgy_onnx_message message;
    int64_t ir_version, model_version;
    const char *producer_name, *producer_version, *domain, *doc_string;
    pgy_onnx_opset *const *opset_imports;
    size_t opset_import_count;
    pgy_onnx_graph *graph;
    pgy_onnx_string_entry *const *metadata_props;
    size_t metadata_prop_count;
    pgy_onnx_function *const *functions;
    size_t function_count;
} pgy_onnx_model;

/* ---- Loading -------------------------------------------------------------------------------- */

typedef struct pgy_model pgy_model; /**< owner: mapping, arena, external files; reference counted */

typedef struct pgy_model_load_options {
    size_t size;                   /**< sizeof(pgy_model_load_options) */
    const char *external_data_dir; /**< NULL: the model's own folder */
    bool ignore_external_data;     /**< load the structure only: reading an external weight fails */
    bool allow_outside; /**< accept external data outside that folder (absolute paths, "..", links)
                         */
} pgy_model_load_options;

/** @param options NULL for defaults
 *  @return PGY_E_IO, PGY_E_FORMAT with byte offset and message path, PGY_E_NOT_FOUND */
PGY_API PGY_MUST_CHECK pgy_status pgy_model_load(pgy_model **out, const char *path,
                                                 const pgy_model_load_options *options,
                                                 pgy_error *err);
/** Reads a model from memory. `data` is copied, unless keep_alive: then it must outlive the model.
 */
PGY_API PGY_MUST_CHECK pgy_status pgy_model_parse(pgy_model **out, const void *data,
                                                  size_t size_bytes, bool keep_alive,
                                                  const pgy_model_load_options *options,
                                                  pgy_error *err);
PGY_API pgy_model *pgy_model_retain(pgy_model *m);
PGY_API void pgy_model_destroy(pgy_model *m); /**< drops a reference; NULL is fine */
PGY_API const pgy_onnx_model *pgy_model_proto(const pgy_model *m);
/** The path it was loaded from, "" if from memory. */
PGY_API const char *pgy_model_path(const pgy_model *m);
PGY_API const char *pgy_model_external_data_dir(const pgy_model *m);
/** True if a tensor has external data. Then a runtime needs the path, or a single file from
 * pgy_model_save. */
PGY_API bool pgy_model_has_external_data(const pgy_model *m);
/** Bytes of the model with all weights embedded. */
PGY_API uint64_t pgy_model_size_bytes(const pgy_model *m);
/** Version of an opset ("" or "ai.onnx" is the default domain); 0 if not imported. */
PGY_API int64_t pgy_model_opset(const pgy_onnx_model *m, const char *domain);

/** Type of an attribute; if `type` is missing, derived from the fields that are set. */
PGY_API pgy_onnx_attribute_type pgy_onnx_attribute_kind(const pgy_onnx_attribute *a);
/** Number of items of an attribute that is a list; 0 for the other kinds. */
PGY_API size_t pgy_onnx_attribute_count(const pgy_onnx_attribute *a);
PGY_API const pgy_onnx_attribute *pgy_onnx_node_attribute(const pgy_onnx_node *n,
                                                          const char *name); /**< or NULL */

/** Gives the decoded elements of a tensor. It shares the mapping if the bytes can be used in place,
 * and then keeps the model alive; else it copies. External data are mapped on first use and
 * checked: name inside the folder, offset and length inside the file, length equal to the shape.
 * @return PGY_E_FORMAT, PGY_E_IO naming tensor and file */
PGY_API PGY_MUST_CHECK pgy_status pgy_onnx_tensor_load(pgy_tensor **out, pgy_model *m,
                                                       const pgy_onnx_tensor *t, pgy_error *err);
/** Gives shape and type without reading data. `shape` is borrowed from the model. @return
 * PGY_E_FORMAT for an invalid shape or type */
PGY_API PGY_MUST_CHECK pgy_status pgy_onnx_tensor_info(pgy_tensor_info *out,
                                                       const pgy_onnx_tensor *t, pgy_error *err);
/** Gives a value info as tensor info, with its arrays in the model's arena. Sequences and maps have
 * dtype NONE and rank -1. */
PGY_API PGY_MUST_CHECK pgy_status pgy_onnx_value_info_describe(pgy_tensor_info *out, pgy_model *m,
                                                               const pgy_onnx_value_info *v,
                                                               pgy_error *err);

/* ---- Building and saving -------------------------------------------------------------------- */

/** Creates a model whose tree the caller builds: allocate messages with pgy_model_alloc, fill them,
 * then call pgy_model_set_proto. The tree may refer to messages of other models that pgy_model_keep
 * retains. */
PGY_API PGY_MUST_CHECK pgy_status pgy_model_create(pgy_model **out, pgy_error *err);
PGY_API void *pgy_model_alloc(pgy_model *m, size_t count,
                              size_t item_bytes); /**< zeroed, arena; NULL if out of memory */
PGY_API const char *pgy_model_strdup(pgy_model *m, const char *text); /**< arena */
PGY_API PGY_MUST_CHECK pgy_status pgy_model_keep(pgy_model *m, pgy_model *source,
                                                 pgy_error *err); /**< retains source with m */
PGY_API PGY_MUST_CHECK pgy_status pgy_model_keep_tensor(pgy_model *m, pgy_tensor *t,
                                                        pgy_error *err); /**< retains t with m */
PGY_API void pgy_model_set_proto(pgy_model *m, pgy_onnx_model *proto);
/** Makes a TensorProto whose raw_data is a view of `t`, which is retained. Strings become
 * string_data. */
PGY_API PGY_MUST_CHECK pgy_status pgy_model_tensor(pgy_onnx_tensor **out, pgy_model *m,
                                                   const char *name, pgy_tensor *t, pgy_error *err);

/** Makes a copy of the record `like` (of m or of a model that m keeps) without elements: raw_data
 * is present and empty. */
PGY_API PGY_MUST_CHECK pgy_status pgy_model_empty_tensor(pgy_onnx_tensor **out, pgy_model *m,
                                                         const pgy_onnx_tensor *like,
                                                         pgy_error *err);
/** Computes the elements of a tensor, with the type and shape of its record. */
typedef pgy_status (*pgy_make_tensor)(pgy_tensor **out, void *user, pgy_error *err);
/** Makes a copy of the record `like` whose elements `make` computes on demand: each time the tensor
 * is loaded, and one tensor after the other when the model is saved. Do not read its raw_data.
 * `user` must live as long as the model (memory of pgy_model_alloc does). */
PGY_API PGY_MUST_CHECK pgy_status pgy_model_computed_tensor(pgy_onnx_tensor **out, pgy_model *m,
                                                            const pgy_onnx_tensor *like,
                                                            pgy_make_tensor make, void *user,
                                                            pgy_error *err);

typedef struct pgy_model_save_options {
    size_t size;        /**< sizeof(pgy_model_save_options) */
    bool external_data; /**< move tensors of at least size_threshold bytes out of the file */
    const char *external_data_path; /**< file name relative to the model's folder; NULL or "" =
                                       <model file>.data */
    uint64_t size_threshold;        /**< bytes; pgy_model_save_options_default sets 1024 */
    bool one_file_per_tensor;
    bool embed; /**< move all external weights into the file, even those that could stay external,
                   unless the result has 2e9 bytes or more */
} pgy_model_save_options;
PGY_API pgy_model_save_options pgy_model_save_options_default(void);

/** Writes the model to a temporary file and renames it. Without external_data, external weights
 * stay external if the target is in the same folder (unless `embed`), and are embedded otherwise. A
 * result of 2e9 bytes or more gets external data, with a warning, unless it was one file before. An
 * unchanged model gives identical bytes. */
PGY_API PGY_MUST_CHECK pgy_status pgy_model_save(pgy_model *m, const char *path,
                                                 const pgy_model_save_options *options,
                                                 pgy_error *err);
/** Writes the model into one buffer with all weights, for runtimes that read from memory. Free with
 * pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_model_serialize(void **out, size_t *size_bytes, pgy_model *m,
                                                      pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
