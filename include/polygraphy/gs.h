/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Graph surgery, with the concepts of onnx-graphsurgeon. To make editing easy, a graph may be
 * incomplete at any moment: inputs without a producer, two producers of one tensor, nodes in any
 * order. graph.h has the strict graph for analysis.
 *
 *     pgy_gs_graph *g = NULL;
 *     if (pgy_gs_import(&g, model, &err)) ...
 *     pgy_gs_node *add = pgy_gs_find_node(g, "add");
 *     if (pgy_gs_set_input(add, 1, bias, &err)) ...
 *     if (pgy_gs_cleanup(g, NULL, &err) || pgy_gs_toposort(g, NULL, &err)) ...
 *     if (pgy_gs_export(&edited, g, NULL, &err)) ...
 *     pgy_gs_destroy(g);
 *
 * A graph with all its subgraphs and functions is one document. Nodes and tensors made for a
 * document live as long as it and cannot be attached to another. Read the structs directly, but
 * change them only through the functions below, which keep both ends of every edge consistent.
 * Weights are read only when their values are requested. Parts that no edit touches keep their
 * bytes, unknown fields included.
 */
#ifndef POLYGRAPHY_GS_H
#define POLYGRAPHY_GS_H

#include <polygraphy/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pgy_gs_graph pgy_gs_graph;
typedef struct pgy_gs_node pgy_gs_node;
typedef struct pgy_gs_tensor pgy_gs_tensor;

typedef enum pgy_gs_kind { PGY_GS_VARIABLE, PGY_GS_CONSTANT } pgy_gs_kind;

/** A tensor. Two tensors are equal if their names are. The empty name marks an omitted optional
 * input or output; every such slot has its own object. */
struct pgy_gs_tensor {
    const char *name;
    pgy_gs_kind kind;
    pgy_value_kind type_kind; /**< kind of a variable; TENSOR unless the model says otherwise */
    pgy_dtype dtype;          /**< NONE: unknown; for a constant, the type of its values */
    int32_t rank;             /**< -1 = unknown; 0 = scalar */
    const pgy_dim *dims;      /**< value -1 with text NULL: unknown or dynamic */
    const pgy_onnx_tensor *stored; /**< for a constant: the record that export writes (under the
                                      tensor's name); NULL if only `sparse` is set */
    const pgy_onnx_sparse_tensor *sparse;
    const pgy_onnx_value_info *info; /**< the tensor's declaration in the file, or NULL */
    pgy_gs_node **producers;         /**< nodes that write it, in the order attached */
    size_t producer_count;
    pgy_gs_node **consumers; /**< nodes that read it, once per slot, in the order attached */
    size_t consumer_count;
    void *internal;
};

/** An attribute. The subgraphs of an attribute are in `graphs` and are edited in place; then
 * `value` gives type and doc string only. Any other `value` is replaced as a whole. */
typedef struct pgy_gs_attribute {
    const char *name;
    const pgy_onnx_attribute *value;
    pgy_gs_graph **graphs; /**< NULL: it has no subgraphs */
    size_t graph_count;
} pgy_gs_attribute;

struct pgy_gs_node {
    const char *name, *op, *domain, *overload; /**< "" if absent */
    const char *doc_string;
    const pgy_gs_attribute *attributes; /**< in order */
    size_t attribute_count;
    pgy_gs_tensor **inputs;
    size_t input_count;
    pgy_gs_tensor **outputs;
    size_t output_count;
    pgy_gs_graph *graph; /**< graph whose `nodes` contains it; NULL: removed, or not added yet */
    const pgy_onnx_node *stored; /**< the node in the file; NULL for new nodes */
    void *internal;
};

typedef struct pgy_gs_opset {
    const char *domain;
    int64_t version;
} pgy_gs_opset;

struct pgy_gs_graph {
    const char *name, *doc_string;
    pgy_gs_node **nodes;
    size_t node_count;
    pgy_gs_tensor **inputs, **outputs;
    size_t input_count, output_count;
    int64_t opset; /**< opset of the default domain */
    const pgy_gs_opset *imports;
    size_t import_count;
    int64_t ir_version; /**< 0: not set; export writes the smallest version that can express the
                           model */
    const char *producer_name, *producer_version;
    pgy_gs_graph **functions; /**< functions of the document, the same list for all of its graphs */
    size_t function_count;
    pgy_gs_graph *parent; /**< enclosing graph of a subgraph; NULL for the top and for functions */
    /* Set for functions only. (domain, name, overload) identifies a function. */
    bool is_function;
    const char *domain, *overload;
    /** The function's attributes; one without a value is required. */
    const pgy_gs_attribute *parameters;
    size_t parameter_count;
    const pgy_onnx_graph *stored; /**< the graph in the file; NULL for new graphs and functions */
    void *internal;
};

/* ---- Documents (import.c, export.c, document.c) ---------------------------------------------- */

/** Creates an empty graph, named "onnx_graphsurgeon_graph", of opset 11. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_create(pgy_gs_graph **out, pgy_error *err);
/** Makes the graph of a model, which it retains. Checks nothing except the protobuf structure.
 * Initializers that the model also lists as inputs, as in IR 3, become constants only. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_import(pgy_gs_graph **out, pgy_model *model,
                                                pgy_error *err);
PGY_API void pgy_gs_destroy(pgy_gs_graph *g); /**< only the top graph; NULL is fine */

typedef struct pgy_gs_export_options {
    size_t size;        /**< sizeof(pgy_gs_export_options) */
    bool no_type_check; /**< also write inputs and outputs without a type */
} pgy_gs_export_options;
/** Makes a new model, which shares data with the document and keeps it alive. An unchanged document
 * gives its original model, byte for byte. Otherwise nodes are written in list order; initializers
 * and value infos in the order of pgy_gs_tensors, then those of the file that no node uses. A
 * weight is written to the graph it was made for, which may enclose the subgraph that reads it;
 * models before IR 4 list weights as inputs, too. Order and undefined inputs are not checked.
 * @param options NULL for defaults @return PGY_E_FORMAT naming a cycle of nodes; PGY_E_TYPE for an
 * input or output of the top graph without a type */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_export(pgy_model **out, pgy_gs_graph *g,
                                                const pgy_gs_export_options *options,
                                                pgy_error *err);
/** Copies the whole document. The two share weights and attribute values, but an edit of one never
 * changes the other. The copy continues the counter of generated names. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_copy(pgy_gs_graph **out, const pgy_gs_graph *g,
                                              pgy_error *err);
/** Compares like onnx-graphsurgeon: opset, imports, functions' identities, inputs, outputs and
 * nodes. */
PGY_API bool pgy_gs_graph_equal(const pgy_gs_graph *a, const pgy_gs_graph *b);

PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_name(pgy_gs_graph *g, const char *name,
                                                  pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_doc(pgy_gs_graph *g, const char *text, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_producer(pgy_gs_graph *g, const char *name,
                                                      const char *version, pgy_error *err);
/** Sets the opset and the import of the default domain. Does not rewrite nodes: see
 * pgy_graph_convert_opset. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_opset(pgy_gs_graph *g, int64_t version,
                                                   pgy_error *err);
/** Adds or changes an import; version 0 removes it. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_import(pgy_gs_graph *g, const char *domain,
                                                    int64_t version, pgy_error *err);
PGY_API void pgy_gs_set_ir_version(pgy_gs_graph *g, int64_t version); /**< 0: chosen on export */

/* ---- Tensors (tensor.c) ---------------------------------------------------------------------- */

/** @param rank -1: unknown, then dims may be NULL; dims are copied */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_variable(pgy_gs_tensor **out, pgy_gs_graph *g,
                                                  const char *name, pgy_dtype dtype, int32_t rank,
                                                  const pgy_dim *dims, pgy_error *err);
/** Creates a constant, which retains `values`. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_constant(pgy_gs_tensor **out, pgy_gs_graph *g,
                                                  const char *name, pgy_tensor *values,
                                                  pgy_error *err);
/** Creates an omitted slot. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_omitted(pgy_gs_tensor **out, pgy_gs_graph *g,
                                                 pgy_error *err);
PGY_API bool pgy_gs_is_omitted(const pgy_gs_tensor *t);
/** Gives the elements of a constant, sparse ones as a dense tensor; the caller releases them.
 * @return PGY_E_NOT_FOUND for a variable */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_values(pgy_tensor **out, pgy_gs_tensor *t, pgy_error *err);
/** Bytes of a constant's elements, or of a variable by its type and shape; UINT64_MAX: unknown. */
PGY_API uint64_t pgy_gs_size_bytes(const pgy_gs_tensor *t);
/** Renames a tensor; with the empty name it becomes an omitted slot. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_rename(pgy_gs_tensor *t, const char *name, pgy_error *err);
/** Changes the declared type and shape of a variable (rank < 0: unknown shape); doc string,
 * denotations and metadata stay. @return PGY_E_ARGUMENT for a constant */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_type(pgy_gs_tensor *t, pgy_dtype dtype, int32_t rank,
                                                  const pgy_dim *dims, pgy_error *err);
/** Declares a sequence or optional. `kinds` go from the outside in: {PGY_VALUE_OPTIONAL,
 * PGY_VALUE_SEQUENCE} is an optional sequence of tensors with this type and shape. No kinds: a
 * tensor. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_nested_type(pgy_gs_tensor *t,
                                                         const pgy_value_kind *kinds, size_t depth,
                                                         pgy_dtype dtype, int32_t rank,
                                                         const pgy_dim *dims, pgy_error *err);
/** Turns the tensor itself into a constant, or replaces a constant's values: all nodes that read it
 * see the change. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_to_constant(pgy_gs_tensor *t, pgy_tensor *values,
                                                     pgy_error *err);
/** Turns a constant into a variable. dtype NONE keeps its type; rank -1 is an unknown shape. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_to_variable(pgy_gs_tensor *t, pgy_dtype dtype,
                                                     int32_t rank, const pgy_dim *dims,
                                                     pgy_error *err);
/** "Variable (x): (shape=['B', 3], dtype=float32)", "Constant (w): (shape=(2,), dtype=float32)".
 * Free with pgy_text_free; NULL: out of memory. */
PGY_API char *pgy_gs_tensor_text(const pgy_gs_tensor *t);

/* ---- Edges (edge.c) -------------------------------------------------------------------------- */
/* Every function here changes a node's slots and the tensors' use lists together. A tensor of
 * another document is PGY_E_ARGUMENT, a slot that does not exist PGY_E_NOT_FOUND. */

/** Sets slot i; i == input_count appends. The node is added at the end of the tensor's consumers
 * and removed from those of the tensor that was in the slot. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_input(pgy_gs_node *n, size_t i, pgy_gs_tensor *t,
                                                   pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_output(pgy_gs_node *n, size_t i, pgy_gs_tensor *t,
                                                    pgy_error *err);
/** Inserts a tensor before slot i; later slots move up. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_insert_input(pgy_gs_node *n, size_t i, pgy_gs_tensor *t,
                                                      pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_insert_output(pgy_gs_node *n, size_t i, pgy_gs_tensor *t,
                                                       pgy_error *err);
/** Removes slot i; later slots move down. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_remove_input(pgy_gs_node *n, size_t i, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_remove_output(pgy_gs_node *n, size_t i, pgy_error *err);
/** Replaces all slots: detaches all tensors, then attaches the new ones in order. The list may be
 * that of this or another node, because it is copied first. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_inputs(pgy_gs_node *n, pgy_gs_tensor *const *tensors,
                                                    size_t count, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_outputs(pgy_gs_node *n, pgy_gs_tensor *const *tensors,
                                                     size_t count, pgy_error *err);
/** Detaches a tensor from all nodes that read (write) it; the nodes lose those input (output)
 * slots. */
PGY_API void pgy_gs_clear_consumers(pgy_gs_tensor *t);
PGY_API void pgy_gs_clear_producers(pgy_gs_tensor *t);
/** Every reader of `from` reads `to` instead, in the same slots; graph outputs are not touched. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_replace_uses(pgy_gs_tensor *from, pgy_gs_tensor *to,
                                                      pgy_error *err);

/* The neighbours of a node or tensor; NULL if it does not exist. The order of arguments differs:
 * towards producers (tensor, producer), towards consumers (consumer, tensor). */
PGY_API pgy_gs_node *pgy_gs_node_i(const pgy_gs_node *n, size_t tensor, size_t producer);
PGY_API pgy_gs_node *pgy_gs_node_o(const pgy_gs_node *n, size_t consumer, size_t tensor);
PGY_API pgy_gs_tensor *pgy_gs_tensor_i(const pgy_gs_tensor *t, size_t tensor, size_t producer);
PGY_API pgy_gs_tensor *pgy_gs_tensor_o(const pgy_gs_tensor *t, size_t consumer, size_t tensor);

/* ---- Attributes (attribute.c) ---------------------------------------------------------------- */

/** A value for an attribute; make it with the functions below. Setting it copies arrays and texts
 * and retains tensors. */
typedef struct pgy_gs_attr {
    const char *name;
    pgy_onnx_attribute_type type;
    const char *ref; /**< not NULL: a reference to this attribute of the enclosing function */
    union {
        float f;
        int64_t i;
        const char *s;
        pgy_tensor *t;
        pgy_gs_graph *g; /**< graph made by pgy_gs_subgraph of the same document */
        const float *floats;
        const int64_t *ints;
        const char *const *strings;
        const pgy_onnx_attribute *stored; /**< of type UNDEFINED: any attribute, unchanged */
    } value;
    size_t count; /**< of lists */
} pgy_gs_attr;

PGY_API pgy_gs_attr pgy_gs_attr_float(const char *name, float value);
PGY_API pgy_gs_attr pgy_gs_attr_int(const char *name, int64_t value);
PGY_API pgy_gs_attr pgy_gs_attr_text(const char *name, const char *value);
PGY_API pgy_gs_attr pgy_gs_attr_dtype(const char *name, pgy_dtype value); /**< its ONNX number */
PGY_API pgy_gs_attr pgy_gs_attr_tensor(const char *name, pgy_tensor *value);
PGY_API pgy_gs_attr pgy_gs_attr_graph(const char *name, pgy_gs_graph *value);
PGY_API pgy_gs_attr pgy_gs_attr_floats(const char *name, const float *values, size_t count);
PGY_API pgy_gs_attr pgy_gs_attr_ints(const char *name, const int64_t *values, size_t count);
PGY_API pgy_gs_attr pgy_gs_attr_texts(const char *name, const char *const *values, size_t count);
PGY_API pgy_gs_attr pgy_gs_attr_ref(const char *name, const char *ref,
                                    pgy_onnx_attribute_type type);

/** Sets an attribute: replaces it, or adds it at the end. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_attr(pgy_gs_node *n, const pgy_gs_attr *a,
                                                  pgy_error *err);
PGY_API bool pgy_gs_remove_attr(pgy_gs_node *n,
                                const char *name); /**< false: the node has no such attribute */
PGY_API const pgy_gs_attribute *pgy_gs_find_attr(const pgy_gs_node *n, const char *name);
/** The attribute's value, or `fallback` if it does not exist or has another type. */
PGY_API int64_t pgy_gs_attr_as_int(const pgy_gs_node *n, const char *name, int64_t fallback);
PGY_API float pgy_gs_attr_as_float(const pgy_gs_node *n, const char *name, float fallback);

/* ---- Nodes (node.c) -------------------------------------------------------------------------- */

/** The parts of a new node; zero members that you do not need. */
typedef struct pgy_gs_node_spec {
    const char *op;
    const char *name, *domain; /**< NULL: "" */
    pgy_gs_tensor *const *inputs;
    size_t input_count;
    pgy_gs_tensor *const *outputs;
    size_t output_count;
    const pgy_gs_attr *attrs;
    size_t attr_count;
} pgy_gs_node_spec;
/** Creates a node, attaches it to its tensors and adds it at the end of g's list. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_add_node(pgy_gs_node **out, pgy_gs_graph *g,
                                                  const pgy_gs_node_spec *spec, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_op(pgy_gs_node *n, const char *op, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_node_name(pgy_gs_node *n, const char *name,
                                                       pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_domain(pgy_gs_node *n, const char *domain,
                                                    pgy_error *err);
/** Puts a node at place i of g's list: one that is in no list, or another one of this document,
 * which it moves. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_place_node(pgy_gs_node *n, pgy_gs_graph *g, size_t i,
                                                    pgy_error *err);
PGY_API size_t pgy_gs_node_index(const pgy_gs_node *n); /**< SIZE_MAX: in no list */
/** Takes a node out of its list but keeps its edges, as onnx-graphsurgeon does. */
PGY_API void pgy_gs_unlist_node(pgy_gs_node *n);
/** Takes a node out of its list and detaches it from its tensors. */
PGY_API void pgy_gs_remove_node(pgy_gs_node *n);
/** Compares name, operator, attributes, names of inputs and outputs, and domain. */
PGY_API bool pgy_gs_node_equal(const pgy_gs_node *a, const pgy_gs_node *b);

/* ---- Graphs (graph.c, walk.c) ---------------------------------------------------------------- */

PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_graph_inputs(pgy_gs_graph *g,
                                                          pgy_gs_tensor *const *tensors,
                                                          size_t count, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_graph_outputs(pgy_gs_graph *g,
                                                           pgy_gs_tensor *const *tensors,
                                                           size_t count, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_add_graph_input(pgy_gs_graph *g, pgy_gs_tensor *t,
                                                         pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_add_graph_output(pgy_gs_graph *g, pgy_gs_tensor *t,
                                                          pgy_error *err);
/** Creates an empty subgraph of g; set it as an attribute of one of g's nodes. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_subgraph(pgy_gs_graph **out, pgy_gs_graph *g,
                                                  const char *name, pgy_error *err);

typedef struct pgy_gs_tensor_list {
    pgy_gs_tensor **items;
    size_t count, capacity;
} pgy_gs_tensor_list;
PGY_API void pgy_gs_tensor_list_free(pgy_gs_tensor_list *list);
/** Lists the tensors of g, without its subgraphs, in order of first appearance: inputs of the
 * graph; inputs, then outputs, of each node; outputs of the graph. Omitted slots are left out. If
 * several tensors have one name, the list has the last one at the place of the first, with a
 * warning; with `strict` that is PGY_E_FORMAT. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_tensors(pgy_gs_tensor_list *out, const pgy_gs_graph *g,
                                                 bool strict, pgy_error *err);
/** Lists captured tensors: those that nodes of g, or of its subgraphs, read from outside g. In
 * order of first appearance. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_foreign_tensors(pgy_gs_tensor_list *out,
                                                         const pgy_gs_graph *g, pgy_error *err);
/** Finds a tensor or node of g, not of its subgraphs, by name; NULL: none. Of several nodes with
 * one name it gives the first in the list. The cost is that of a hash look-up, after edits, too. */
PGY_API pgy_gs_tensor *pgy_gs_find_tensor(const pgy_gs_graph *g, const char *name);
PGY_API pgy_gs_node *pgy_gs_find_node(const pgy_gs_graph *g, const char *name);
/** Like the functions above, but PGY_E_NOT_FOUND suggests similar names. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_get_tensor(pgy_gs_tensor **out, const pgy_gs_graph *g,
                                                    const char *name, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_get_node(pgy_gs_node **out, const pgy_gs_graph *g,
                                                  const char *name, pgy_error *err);

/** Iterates over the nodes of a graph while it is edited. It visits the nodes that were in the list
 * at the start, except those removed before their turn; it does not visit new ones.
 *
 *     pgy_gs_iter it = {0};
 *     for (pgy_gs_node *n; !(st = pgy_gs_next(&n, &it, g, &err)) && n;) ...
 *     pgy_gs_iter_end(&it);     // only needed if the loop ends early
 */
typedef struct pgy_gs_iter {
    pgy_gs_node **items;
    size_t count, next;
} pgy_gs_iter;
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_next(pgy_gs_node **out, pgy_gs_iter *it,
                                              const pgy_gs_graph *g, pgy_error *err);
PGY_API void pgy_gs_iter_end(pgy_gs_iter *it);

/* ---- Layers and registered operations (layer.c, registry.c) ---------------------------------- */

typedef enum pgy_gs_operand_kind {
    PGY_GS_TENSOR,  /**< the tensor itself */
    PGY_GS_NAME,    /**< a new variable "<text>_<n>" */
    PGY_GS_ARRAY,   /**< a new constant "onnx_graphsurgeon_constant_<n>" */
    PGY_GS_INTS,    /**< int64 constant "onnx_graphsurgeon_lst_constant_<n>" of rank 1 */
    PGY_GS_FLOATS,  /**< like INTS, but float32 */
    PGY_GS_INT,     /**< like INTS, but one int64 of rank 0 */
    PGY_GS_FLOAT,   /**< like INTS, but one float32 of rank 0 */
    PGY_GS_OMITTED, /**< left out */
} pgy_gs_operand_kind;

typedef struct pgy_gs_operand {
    pgy_gs_operand_kind kind;
    union {
        pgy_gs_tensor *tensor;
        const char *text;
        pgy_tensor *array;
        const int64_t *ints;
        const float *floats;
        int64_t i;
        float f;
    } value;
    size_t count; /**< of lists */
} pgy_gs_operand;

PGY_API pgy_gs_operand pgy_gs_tensor_operand(pgy_gs_tensor *t);
PGY_API pgy_gs_operand pgy_gs_name_operand(const char *text);
PGY_API pgy_gs_operand pgy_gs_array_operand(pgy_tensor *values);
PGY_API pgy_gs_operand pgy_gs_ints_operand(const int64_t *values, size_t count);
PGY_API pgy_gs_operand pgy_gs_floats_operand(const float *values, size_t count);
PGY_API pgy_gs_operand pgy_gs_int_operand(int64_t value);
PGY_API pgy_gs_operand pgy_gs_float_operand(float value);
PGY_API pgy_gs_operand pgy_gs_omitted_operand(void);

typedef struct pgy_gs_layer_spec {
    const char *op;
    const char *name;   /**< NULL: "onnx_graphsurgeon_node_<n>" */
    const char *domain; /**< NULL: "" */
    const pgy_gs_operand *inputs;
    size_t input_count;
    const pgy_gs_operand *outputs; /**< tensors, names or omitted slots */
    size_t output_count;
    const pgy_gs_attr *attrs;
    size_t attr_count;
} pgy_gs_layer_spec;
/** Appends a node and creates the tensors that its operands describe. Generated names take their
 * number from one counter per graph, which advances for each input, then each output, then the
 * node, and also on failed attempts. Names that a tensor or node of the graph has are skipped. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_layer(pgy_gs_node **out, pgy_gs_graph *g,
                                               const pgy_gs_layer_spec *spec, pgy_error *err);

/** A registered operation: builds its nodes and sets *out to the node whose outputs are the result.
 */
typedef struct pgy_gs_call {
    const pgy_gs_operand *inputs;
    size_t input_count;
    const pgy_gs_operand *outputs;
    size_t output_count;
    const pgy_gs_attr *attrs;
    size_t attr_count;
} pgy_gs_call;
typedef pgy_status (*pgy_gs_build)(pgy_gs_node **out, pgy_gs_graph *g, const pgy_gs_call *call,
                                   void *user, pgy_error *err);
typedef struct pgy_gs_operation {
    const char *name;
    const int64_t *opsets; /**< NULL: all */
    size_t opset_count;
    size_t min_inputs, max_inputs; /**< both 0: any number */
    const char *input_kinds; /**< one letter per input: 't' tensor, 'n' name, 'c' any constant, 'i'
                                integer(s), 'f' number(s), '?' anything; NULL: anything */
    pgy_gs_build build;
    void *user;
} pgy_gs_operation;
/** Registers an operation for this document; texts and lists are copied. Registering a name both
 * for all opsets and for some draws a warning. @return PGY_E_ARGUMENT for an invalid letter in
 * input_kinds */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_register(pgy_gs_graph *g,
                                                  const pgy_gs_operation *operation,
                                                  pgy_error *err);
/** Calls the operation registered for the graph's opset, else the one for all opsets, else the
 * local function of that name. @return PGY_E_NOT_FOUND listing the opsets that have the operation,
 * or similar names; PGY_E_ARGUMENT for inputs that do not match, naming operation and input, and
 * for operations that invoke each other endlessly */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_invoke(pgy_gs_node **out, pgy_gs_graph *g,
                                                const char *name, const pgy_gs_call *call,
                                                pgy_error *err);

/* ---- Functions (function.c) ------------------------------------------------------------------ */

/** Creates an empty function of the document. domain NULL: "onnx_graphsurgeon". */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_function(pgy_gs_graph **out, pgy_gs_graph *g,
                                                  const char *name, const char *domain,
                                                  pgy_error *err);
/** Adds an attribute to a function: a required one, or with `value` (of the same name) one with
 * that default. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_add_parameter(pgy_gs_graph *function, const char *name,
                                                       const pgy_gs_attr *value, pgy_error *err);
PGY_API pgy_gs_graph *pgy_gs_find_function(const pgy_gs_graph *g, const char *domain,
                                           const char *name, const char *overload);
/** Removes a function from the document. @return PGY_E_ARGUMENT naming a remaining call of it */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_remove_function(pgy_gs_graph *function, pgy_error *err);
/** Inlines the call n of a local function; *done false: n is not such a call. Names of the body get
 * the suffix "_<n's name or number>" to be unique. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_inline_call(bool *done, pgy_gs_node *n, pgy_error *err);
/** Inlines all calls of local functions, including those inside functions, and removes the
 * functions. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_inline_functions(pgy_gs_graph *g, pgy_error *err);

/* ---- Cleaning and sorting (cleanup.c, toposort.c) -------------------------------------------- */

typedef struct pgy_gs_cleanup_options {
    size_t size;                     /**< sizeof(pgy_gs_cleanup_options) */
    bool remove_unused_node_outputs; /**< remove outputs that no node reads: trailing ones are
                                        removed, others become omitted slots. Required outputs stay,
                                        and so do variadic ones (of Split, If, Loop) */
    bool remove_unused_graph_inputs; /**< of g itself only, because inputs of subgraphs and
                                        functions are matched by position */
    bool keep_subgraphs;             /**< do not go into subgraphs */
    bool keep_functions;             /**< do not go into functions; always so if g is a function */
} pgy_gs_cleanup_options;
/** Dead-code elimination: detaches graph inputs from producers, then removes nodes that no graph
 * output needs, and weights and value infos that no node uses. Inputs and outputs stay, even
 * outputs without a producer.
 * @param options NULL for defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_cleanup(pgy_gs_graph *g,
                                                 const pgy_gs_cleanup_options *options,
                                                 pgy_error *err);

typedef struct pgy_gs_sort_options {
    size_t size; /**< sizeof(pgy_gs_sort_options) */
    bool stable; /**< move only nodes that must move; else sort by level, like onnx-graphsurgeon */
    bool keep_subgraphs, keep_functions; /**< do not sort the nodes in them */
    bool functions_only;                 /**< sort the list of functions, and no nodes */
    bool nodes_only; /**< sort nodes, and not the list of functions; always so if g is a function */
} pgy_gs_sort_options;
/** Sorts by level: a node's level is 1 more than the highest level of its producers. Within a
 * level, nodes are in the order of a depth-first search over the list that finishes producers
 * first. Functions come before functions that call them. @return PGY_E_FORMAT naming the nodes of a
 * cycle; then nothing has moved */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_toposort(pgy_gs_graph *g,
                                                  const pgy_gs_sort_options *options,
                                                  pgy_error *err);

/* ---- Folding (fold*.c) ----------------------------------------------------------------------- */

typedef enum pgy_gs_partitioning {
    PGY_GS_PARTITION_NONE,     /**< evaluate everything at once; if that fails, fold nothing */
    PGY_GS_PARTITION_BASIC,    /**< evaluate each result alone, so that failures stay local */
    PGY_GS_PARTITION_RECURSIVE /**< also evaluate parts of a result that fails */
} pgy_gs_partitioning;

typedef struct pgy_gs_fold_options {
    size_t size;         /**< sizeof(pgy_gs_fold_options) */
    bool keep_shapes;    /**< do not fold Shape, Size, and Gather and Slice of Shape */
    bool keep_subgraphs; /**< do not go into subgraphs */
    bool keep_functions; /**< do not go into functions */
    bool keep_ifs;       /**< do not put the branch in place of an If with a constant condition */
    pgy_gs_partitioning partitioning;
    bool fail; /**< an evaluation that fails is an error; else a warning names node and operator */
    uint64_t size_threshold; /**< larger results are not folded; UINT64_MAX: no limit */
    /** True: fold neither the node nor nodes that depend on it. NULL: fold all. */
    bool (*exclude)(const pgy_gs_node *n, void *user);
    void *user;
} pgy_gs_fold_options;
PGY_API pgy_gs_fold_options pgy_gs_fold_options_default(void);
/** Constant folding: turns tensors that depend on constants only into constants; objects and names
 * stay the same. Their producers keep their inputs, lose their outputs and stay in the list until a
 * cleanup. The list may be in any order. @param options NULL for defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_fold_constants(pgy_gs_graph *g,
                                                        const pgy_gs_fold_options *options,
                                                        pgy_error *err);

#ifdef __cplusplus
}
#endif

#include <polygraphy/gs_pattern.h>

#endif
