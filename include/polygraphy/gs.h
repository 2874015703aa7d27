/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Graph surgery: the model of onnx-graphsurgeon. A graph here may be unfinished at any moment
 * (inputs that nobody makes, two producers of one tensor, nodes in any order), which is what makes
 * editing easy; graph.h is the strict form for analysis.
 *
 *     pgy_gs_graph *g = NULL;
 *     if (pgy_gs_import(&g, model, &err)) ...
 *     pgy_gs_node *add = pgy_gs_find_node(g, "add");
 *     if (pgy_gs_set_input(add, 1, bias, &err)) ...
 *     if (pgy_gs_cleanup(g, NULL, &err) || pgy_gs_toposort(g, NULL, &err)) ...
 *     if (pgy_gs_export(&edited, g, NULL, &err)) ...
 *     pgy_gs_destroy(g);
 *
 * A graph with all its subgraphs and functions is one document; what is made for a document lives
 * as long as it and cannot be attached in another. The structs are read by anyone and changed
 * through the functions below only: these keep both ends of every edge in step. Weights are never
 * read unless their values are asked for. Whatever an edit does not touch keeps its bytes, fields
 * this library does not know included.
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

/** A tensor. Two tensors are equal if their names are; the empty name stands for an optional input
 * or output that is left out, and every such slot has an object of its own. */
struct pgy_gs_tensor {
    const char *name;
    pgy_gs_kind kind;
    pgy_value_kind type_kind;      /**< of a variable; TENSOR unless the model says otherwise */
    pgy_dtype dtype;               /**< NONE = unknown; of a constant: that of its values */
    int32_t rank;                  /**< -1 = unknown; 0 = scalar */
    const pgy_dim *dims;           /**< value -1 with text NULL: unknown or dynamic */
    const pgy_onnx_tensor *stored; /**< of a constant: the record it will be written as (its name
                                        is not used), or NULL while only `sparse` is there */
    const pgy_onnx_sparse_tensor *sparse;
    const pgy_onnx_value_info *info; /**< as declared in the file, or NULL */
    pgy_gs_node **producers;         /**< nodes that make it, in the order they were attached */
    size_t producer_count;
    pgy_gs_node **consumers; /**< nodes that read it, once per slot, in the order attached */
    size_t consumer_count;
    void *internal;
};

/** An attribute. Those that hold graphs have `graphs`, which are edited in place; `value` is
 * replaced as a whole (of attributes with graphs it gives type and doc string only). */
typedef struct pgy_gs_attribute {
    const char *name;
    const pgy_onnx_attribute *value;
    pgy_gs_graph **graphs; /**< NULL: holds none */
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
    pgy_gs_graph *graph; /**< whose list it is in; NULL: in none (removed, or not yet added) */
    const pgy_onnx_node *stored; /**< as in the file; NULL for new nodes */
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
    int64_t opset; /**< of the default domain */
    const pgy_gs_opset *imports;
    size_t import_count;
    int64_t ir_version; /**< 0: not set, the smallest that can carry the model is written */
    const char *producer_name, *producer_version;
    pgy_gs_graph **functions; /**< of the document: the same list for all of its graphs */
    size_t function_count;
    pgy_gs_graph *parent; /**< enclosing graph of a subgraph; NULL for the top and for functions */
    /* Of a function; identity is (domain, name, overload). */
    bool is_function;
    const char *domain, *overload;
    const pgy_gs_attribute *parameters; /**< attributes of a function; no value: required */
    size_t parameter_count;
    const pgy_onnx_graph *stored; /**< as in the file; NULL for new graphs and functions */
    void *internal;
};

/* ---- Documents (import.c, export.c, document.c) ---------------------------------------------- */

/** An empty graph: named "onnx_graphsurgeon_graph", of opset 11. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_create(pgy_gs_graph **out, pgy_error *err);
/** The graph of a model, which is retained. Nothing but the structure of protobuf is checked.
 * Initializers that the graph lists as inputs too are no inputs any more, as in IR 3. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_import(pgy_gs_graph **out, pgy_model *model,
                                                pgy_error *err);
PGY_API void pgy_gs_destroy(pgy_gs_graph *g); /**< only the top graph; NULL is fine */

typedef struct pgy_gs_export_options {
    size_t size;        /**< sizeof(pgy_gs_export_options) */
    bool no_type_check; /**< write inputs and outputs without type, too */
} pgy_gs_export_options;
/** A new model, which shares what it can with the document and keeps it alive. An unchanged
 * document gives the model it came from, byte for byte. Otherwise nodes are written in list order;
 * initializers and value infos in the order of pgy_gs_tensors, then those of the file that no node
 * uses. A weight is written on the level it was made for, which may be outside of the subgraph that
 * reads it; models before IR 4 list weights as inputs too. Nodes that depend on each other in a
 * circle are PGY_E_FORMAT naming the circle; an input or output of the top graph without type is
 * PGY_E_TYPE. Order and undefined inputs are not checked.
 * @param options NULL for defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_export(pgy_model **out, pgy_gs_graph *g,
                                                const pgy_gs_export_options *options,
                                                pgy_error *err);
/** A document of its own with the same graph: weights and attribute values are shared, nothing that
 * is done to one shows in the other. The counter of generated names goes on where it was. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_copy(pgy_gs_graph **out, const pgy_gs_graph *g,
                                              pgy_error *err);
/** Like pgy_gs_graph_equal of the reference: opset, imports, functions' identities, inputs, outputs
 * and nodes. */
PGY_API bool pgy_gs_graph_equal(const pgy_gs_graph *a, const pgy_gs_graph *b);

PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_name(pgy_gs_graph *g, const char *name,
                                                  pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_doc(pgy_gs_graph *g, const char *text, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_producer(pgy_gs_graph *g, const char *name,
                                                      const char *version, pgy_error *err);
/** Also changes the import of the default domain. Nodes are not rewritten: see
 * pgy_graph_convert_opset. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_opset(pgy_gs_graph *g, int64_t version,
                                                   pgy_error *err);
/** Adds or changes an import; version 0 removes it. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_import(pgy_gs_graph *g, const char *domain,
                                                    int64_t version, pgy_error *err);
PGY_API void pgy_gs_set_ir_version(pgy_gs_graph *g, int64_t version); /**< 0: chosen on export */

/* ---- Tensors (tensor.c) ---------------------------------------------------------------------- */

/** @param rank -1: unknown; dims are copied (may be NULL then) */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_variable(pgy_gs_tensor **out, pgy_gs_graph *g,
                                                  const char *name, pgy_dtype dtype, int32_t rank,
                                                  const pgy_dim *dims, pgy_error *err);
/** Keeps a reference to `values`. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_constant(pgy_gs_tensor **out, pgy_gs_graph *g,
                                                  const char *name, pgy_tensor *values,
                                                  pgy_error *err);
/** An omitted slot. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_omitted(pgy_gs_tensor **out, pgy_gs_graph *g,
                                                 pgy_error *err);
PGY_API bool pgy_gs_is_omitted(const pgy_gs_tensor *t);
/** Elements of a constant; the caller releases them. Sparse ones are made dense. PGY_E_NOT_FOUND
 * for a variable. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_values(pgy_tensor **out, pgy_gs_tensor *t, pgy_error *err);
/** Bytes of a constant's elements, or of a variable's of this type and shape; UINT64_MAX: unknown.
 */
PGY_API uint64_t pgy_gs_size_bytes(const pgy_gs_tensor *t);
/** With the empty name the tensor becomes an omitted slot. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_rename(pgy_gs_tensor *t, const char *name, pgy_error *err);
/** Changes what a variable declares (rank < 0: the shape is unknown); doc string, denotations and
 * metadata stay. PGY_E_ARGUMENT for
 * a constant. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_type(pgy_gs_tensor *t, pgy_dtype dtype, int32_t rank,
                                                  const pgy_dim *dims, pgy_error *err);
/** The same for sequences and optionals, `kinds` from the outside in: {PGY_VALUE_OPTIONAL,
 * PGY_VALUE_SEQUENCE} is an optional sequence of tensors of this type. They have no shape
 * themselves. No kinds: a tensor. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_nested_type(pgy_gs_tensor *t,
                                                         const pgy_value_kind *kinds, size_t depth,
                                                         pgy_dtype dtype, int32_t rank,
                                                         const pgy_dim *dims, pgy_error *err);
/** The tensor itself becomes a constant (or has other values): every node that holds it sees it. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_to_constant(pgy_gs_tensor *t, pgy_tensor *values,
                                                     pgy_error *err);
/** The reverse. dtype NONE keeps the type it had; rank -1 is an unknown shape. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_to_variable(pgy_gs_tensor *t, pgy_dtype dtype,
                                                     int32_t rank, const pgy_dim *dims,
                                                     pgy_error *err);
/** "Variable (x): (shape=['B', 3], dtype=float32)", "Constant (w): (shape=(2,), dtype=float32)".
 * Free with pgy_text_free; NULL: out of memory. */
PGY_API char *pgy_gs_tensor_text(const pgy_gs_tensor *t);

/* ---- Edges (edge.c) -------------------------------------------------------------------------- */
/* Every function here changes a node's slots and the tensors' use lists together. A tensor of
 * another document is PGY_E_ARGUMENT, a slot that does not exist PGY_E_NOT_FOUND. */

/** i == input_count appends. The tensor gets the node at the end of its consumers; what was in the
 * slot loses it. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_input(pgy_gs_node *n, size_t i, pgy_gs_tensor *t,
                                                   pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_output(pgy_gs_node *n, size_t i, pgy_gs_tensor *t,
                                                    pgy_error *err);
/** Puts a tensor before slot i; the others move up. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_insert_input(pgy_gs_node *n, size_t i, pgy_gs_tensor *t,
                                                      pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_insert_output(pgy_gs_node *n, size_t i, pgy_gs_tensor *t,
                                                       pgy_error *err);
/** Removes slot i; the others move down. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_remove_input(pgy_gs_node *n, size_t i, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_remove_output(pgy_gs_node *n, size_t i, pgy_error *err);
/** All at once: detaches all, then attaches each in order. The list may be the node's own or that
 * of another node: it is copied first. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_inputs(pgy_gs_node *n, pgy_gs_tensor *const *tensors,
                                                    size_t count, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_outputs(pgy_gs_node *n, pgy_gs_tensor *const *tensors,
                                                     size_t count, pgy_error *err);
/** Empties the list of readers (of makers): the slots go from those nodes. */
PGY_API void pgy_gs_clear_consumers(pgy_gs_tensor *t);
PGY_API void pgy_gs_clear_producers(pgy_gs_tensor *t);
/** Every reader of `from` reads `to` instead, in the same slots; graph outputs are not touched. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_replace_uses(pgy_gs_tensor *from, pgy_gs_tensor *to,
                                                      pgy_error *err);

/* The neighbours of a node or tensor; NULL where there is none. Mind the order of arguments: going
 * up (tensor, producer), going down (consumer, tensor). */
PGY_API pgy_gs_node *pgy_gs_node_i(const pgy_gs_node *n, size_t tensor, size_t producer);
PGY_API pgy_gs_node *pgy_gs_node_o(const pgy_gs_node *n, size_t consumer, size_t tensor);
PGY_API pgy_gs_tensor *pgy_gs_tensor_i(const pgy_gs_tensor *t, size_t tensor, size_t producer);
PGY_API pgy_gs_tensor *pgy_gs_tensor_o(const pgy_gs_tensor *t, size_t consumer, size_t tensor);

/* ---- Attributes (attribute.c) ---------------------------------------------------------------- */

/** The value of an attribute to be set; make one with the functions below. Arrays and texts are
 * copied, tensors retained. */
typedef struct pgy_gs_attr {
    const char *name;
    pgy_onnx_attribute_type type;
    const char *ref; /**< not NULL: refers to this attribute of the enclosing function */
    union {
        float f;
        int64_t i;
        const char *s;
        pgy_tensor *t;
        pgy_gs_graph *g; /**< made by pgy_gs_subgraph of the same document */
        const float *floats;
        const int64_t *ints;
        const char *const *strings;
        const pgy_onnx_attribute *stored; /**< with type UNDEFINED: any attribute, as it is */
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

/** Sets or replaces; a new one goes to the end. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_attr(pgy_gs_node *n, const pgy_gs_attr *a,
                                                  pgy_error *err);
PGY_API bool pgy_gs_remove_attr(pgy_gs_node *n, const char *name); /**< false: had none */
PGY_API const pgy_gs_attribute *pgy_gs_find_attr(const pgy_gs_node *n, const char *name);
/** The number, or `fallback` if there is no such attribute or it is of another type. */
PGY_API int64_t pgy_gs_attr_as_int(const pgy_gs_node *n, const char *name, int64_t fallback);
PGY_API float pgy_gs_attr_as_float(const pgy_gs_node *n, const char *name, float fallback);

/* ---- Nodes (node.c) -------------------------------------------------------------------------- */

/** What a new node is made of; zero what is not wanted. */
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
/** A node that is attached to its tensors and at the end of g's list. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_add_node(pgy_gs_node **out, pgy_gs_graph *g,
                                                  const pgy_gs_node_spec *spec, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_op(pgy_gs_node *n, const char *op, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_node_name(pgy_gs_node *n, const char *name,
                                                       pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_set_domain(pgy_gs_node *n, const char *domain,
                                                    pgy_error *err);
/** Puts a node that is in no list (or moves one of this document) to place i of g's list. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_place_node(pgy_gs_node *n, pgy_gs_graph *g, size_t i,
                                                    pgy_error *err);
PGY_API size_t pgy_gs_node_index(const pgy_gs_node *n); /**< SIZE_MAX: in no list */
/** Takes a node out of its list; its edges stay, as in the reference. */
PGY_API void pgy_gs_unlist_node(pgy_gs_node *n);
/** Takes a node out of its list and off its tensors. */
PGY_API void pgy_gs_remove_node(pgy_gs_node *n);
/** Name, operator, attributes, names of inputs and outputs, domain. */
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
/** An empty subgraph of g, to be set as an attribute of one of g's nodes. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_subgraph(pgy_gs_graph **out, pgy_gs_graph *g,
                                                  const char *name, pgy_error *err);

typedef struct pgy_gs_tensor_list {
    pgy_gs_tensor **items;
    size_t count, capacity;
} pgy_gs_tensor_list;
PGY_API void pgy_gs_tensor_list_free(pgy_gs_tensor_list *list);
/** Tensors of this level by first appearance: inputs of the graph; of every node the inputs, then
 * the outputs; outputs of the graph. Omitted ones are not among them. Different tensors of one name
 * draw a warning, or are PGY_E_FORMAT if `strict`; the last one is taken, at the place of the
 * first.
 */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_tensors(pgy_gs_tensor_list *out, const pgy_gs_graph *g,
                                                 bool strict, pgy_error *err);
/** Tensors that nodes of this level, or of subgraphs inside it, use and that are not of this level:
 * those taken from outside. By first appearance. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_foreign_tensors(pgy_gs_tensor_list *out,
                                                         const pgy_gs_graph *g, pgy_error *err);
/** By name, on this level; NULL: none. At the price of a look-up, whatever was edited. Of several
 * nodes of one name the first in the list. */
PGY_API pgy_gs_tensor *pgy_gs_find_tensor(const pgy_gs_graph *g, const char *name);
PGY_API pgy_gs_node *pgy_gs_find_node(const pgy_gs_graph *g, const char *name);
/** The same; PGY_E_NOT_FOUND suggests the names that come nearest. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_get_tensor(pgy_gs_tensor **out, const pgy_gs_graph *g,
                                                    const char *name, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_get_node(pgy_gs_node **out, const pgy_gs_graph *g,
                                                  const char *name, pgy_error *err);

/** Nodes of a level while it is being edited: those that were there at the start are visited,
 * except those that have left the list by then; new ones are not.
 *
 *     pgy_gs_iter it = {0};
 *     for (pgy_gs_node *n; !(st = pgy_gs_next(&n, &it, g, &err)) && n;) ...
 *     pgy_gs_iter_end(&it);     // only needed where the loop was left early
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
    PGY_GS_TENSOR,  /**< as it is */
    PGY_GS_NAME,    /**< a new variable "<text>_<n>" */
    PGY_GS_ARRAY,   /**< a new constant "onnx_graphsurgeon_constant_<n>" */
    PGY_GS_INTS,    /**< int64 constant "onnx_graphsurgeon_lst_constant_<n>" of rank 1 */
    PGY_GS_FLOATS,  /**< the same, float32 */
    PGY_GS_INT,     /**< the same, int64 of rank 0 */
    PGY_GS_FLOAT,   /**< the same, float32 of rank 0 */
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
    const pgy_gs_operand *outputs; /**< tensors, names or omitted */
    size_t output_count;
    const pgy_gs_attr *attrs;
    size_t attr_count;
} pgy_gs_layer_spec;
/** Appends a node and makes what its operands ask for, with generated names: one counter per graph,
 * which goes on at every attempt, for each input, then each output, then the node. A name that a
 * tensor (a node) of the graph has is passed over. */
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
/** Registers for this document; texts and lists are copied. Registering one name for all opsets and
 * for some draws a warning. A wrong letter is PGY_E_ARGUMENT. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_register(pgy_gs_graph *g,
                                                  const pgy_gs_operation *operation,
                                                  pgy_error *err);
/** Calls what is registered for the graph's opset, else for all, else the local function of that
 * name. PGY_E_NOT_FOUND lists the opsets for which there is one, or similar names; inputs that do
 * not fit are PGY_E_ARGUMENT naming operation and place, and so are operations that invoke each
 * other without end. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_invoke(pgy_gs_node **out, pgy_gs_graph *g,
                                                const char *name, const pgy_gs_call *call,
                                                pgy_error *err);

/* ---- Functions (function.c) ------------------------------------------------------------------ */

/** An empty function of the document. domain NULL: "onnx_graphsurgeon". */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_function(pgy_gs_graph **out, pgy_gs_graph *g,
                                                  const char *name, const char *domain,
                                                  pgy_error *err);
/** A required attribute, or with a value (its name is the parameter's) one with a default. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_add_parameter(pgy_gs_graph *function, const char *name,
                                                       const pgy_gs_attr *value, pgy_error *err);
PGY_API pgy_gs_graph *pgy_gs_find_function(const pgy_gs_graph *g, const char *domain,
                                           const char *name, const char *overload);
/** Takes a function out of the document. PGY_E_ARGUMENT names a call of it that is left. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_remove_function(pgy_gs_graph *function, pgy_error *err);
/** Puts the body of the function that n calls in its place; *done false: n calls none. Names of the
 * body get "_<n's name or number>" so that they are free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_inline_call(bool *done, pgy_gs_node *n, pgy_error *err);
/** All calls of local functions, those inside functions included; then no function is left. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_inline_functions(pgy_gs_graph *g, pgy_error *err);

/* ---- Cleaning and sorting (cleanup.c, toposort.c) -------------------------------------------- */

typedef struct pgy_gs_cleanup_options {
    size_t size;                     /**< sizeof(pgy_gs_cleanup_options) */
    bool remove_unused_node_outputs; /**< leave out outputs that nobody reads: at the end they go,
                                        before it they become omitted. Those that the operator
                                        must have stay, and so do lists (of Split, If, Loop) */
    bool remove_unused_graph_inputs; /**< of g itself: places of inputs mean something in subgraphs
                                        and functions */
    bool keep_subgraphs;             /**< do not go into subgraphs */
    bool keep_functions;             /**< do not go into functions; of a function: the default */
} pgy_gs_cleanup_options;
/** Cuts producers off graph inputs, then removes every node that no graph output needs, and weights
 * and value infos that no node uses. Inputs and outputs stay, also those that nothing makes.
 * @param options NULL for defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_cleanup(pgy_gs_graph *g,
                                                 const pgy_gs_cleanup_options *options,
                                                 pgy_error *err);

typedef struct pgy_gs_sort_options {
    size_t size; /**< sizeof(pgy_gs_sort_options) */
    bool stable; /**< move only what must move; else by level, as the reference does */
    bool keep_subgraphs, keep_functions; /**< do not sort the nodes in them */
    bool functions_only;                 /**< sort the list of functions, and no nodes */
    bool nodes_only;                     /**< the reverse; of a function: always */
} pgy_gs_sort_options;
/** By level: a node's is 1 more than the highest of its producers; within one, the order in which a
 * walk over the list that settles producers first settles them. Functions come before those that
 * call them. PGY_E_FORMAT names the nodes of a circle; then nothing has moved. */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_toposort(pgy_gs_graph *g,
                                                  const pgy_gs_sort_options *options,
                                                  pgy_error *err);

/* ---- Folding (fold*.c) ----------------------------------------------------------------------- */

typedef enum pgy_gs_partitioning {
    PGY_GS_PARTITION_NONE,     /**< one evaluation; if it fails nothing is folded */
    PGY_GS_PARTITION_BASIC,    /**< each result alone: failures stay local */
    PGY_GS_PARTITION_RECURSIVE /**< parts of a failing piece are tried too */
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
    bool (*exclude)(const pgy_gs_node *n, void *user); /**< NULL: none; true blocks consumers too */
    void *user;
} pgy_gs_fold_options;
PGY_API pgy_gs_fold_options pgy_gs_fold_options_default(void);
/** Tensors that depend on constants alone become constants: the same objects, under the same names.
 * Their producers keep their inputs, lose their outputs and stay in the list until a cleanup. The
 * list may be in any order. @param options NULL for defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_gs_fold_constants(pgy_gs_graph *g,
                                                        const pgy_gs_fold_options *options,
                                                        pgy_error *err);

#ifdef __cplusplus
}
#endif

#include <polygraphy/gs_pattern.h>

#endif
