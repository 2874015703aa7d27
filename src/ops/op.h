/* SPDX-License-Identifier: Apache-2.0 */
/* Operators: the definition of each (versions, attributes, arity), its shape and type rule, and its
 * computation.
 *
 * An operator is one file that ends in a const table of op_def rows, one row per version range,
 * newest last. It also needs one line in ops.def. Two functions of each row serve shape inference,
 * constant folding, the reference backend and the tests of engine kernels:
 *
 *    infer  derives what is known of the outputs (type, symbolic shape, constant value)
 *           from what is known of the inputs
 *    eval   computes output values from input values; it runs only after infer, and its
 *           outputs are allocated already where infer gave a constant shape
 *
 * So the shape rule is written once.
 *
 * Tensors that operators compute with are held in a storage type: every float type as f64, signed
 * and small unsigned integers as i64, uint64 as u64, bool as bool (one byte, 0 or 1), complex as
 * c128, string as string. The declared type stands beside it. The executor wraps integer results to
 * the declared range and, in model precision, rounds floats to it; an operator rounds by itself
 * only where that is its meaning (Cast, QuantizeLinear). Operators know neither the file format nor
 * the graph. */
#ifndef OPS_OP_H
#define OPS_OP_H

#include <polygraphy/tensor.h>

#include "base/str.h"
#include "ops/dim.h"

/* The storage type (f64, i64, u64, bool, c128 or string) that holds values of a declared type. */
pgy_dtype op_storage(pgy_dtype declared);

/* ---- Attributes ------------------------------------------------------------------------------ */

typedef enum op_attr_kind {
    OP_ATTR_NONE,
    OP_ATTR_FLOAT,
    OP_ATTR_INT,
    OP_ATTR_STRING,
    OP_ATTR_TENSOR,
    OP_ATTR_GRAPH,
    OP_ATTR_FLOATS,
    OP_ATTR_INTS,
    OP_ATTR_STRINGS,
    OP_ATTR_TENSORS,
    OP_ATTR_GRAPHS,
    OP_ATTR_SPARSE_TENSOR,
    OP_ATTR_TYPE
} op_attr_kind;

/* An attribute as the node gives it; all pointers are borrowed from the graph. */
typedef struct op_attr {
    const char *name;
    op_attr_kind kind;
    int64_t i;
    float f;
    span s;
    const int64_t *ints;
    const float *floats;
    const span *strings;
    size_t count;           /* number of ints, floats or strings */
    pgy_tensor *tensor;     /* tensor in storage type (see tensor_dtype) */
    pgy_dtype tensor_dtype; /* declared type of `tensor` */
    void *graph;            /* the host's subgraph, for op_host.run_graph */
} op_attr;

/* The definition of an attribute in one version of an operator. */
typedef struct op_attr_def {
    const char *name;
    op_attr_kind kind;
    bool required;
    const char *fallback; /* default as text: "1", "0.01", "[1, 1]", "constant"; NULL = none */
    const char *choices;  /* allowed words of a string or of a list's strings, separated by blanks;
                             NULL = any */
    const char *range;    /* range of an int or of a list's ints: "1..", "0..1"; NULL = any */
} op_attr_def;

/* ---- Definition ------------------------------------------------------------------------------ */

typedef struct op_infer op_infer;
typedef struct op_eval op_eval;
typedef struct op_def op_def;
typedef struct op_signature op_signature;

enum op_flags {
    OP_VARIADIC_INPUTS = 1, /* max_inputs is no limit */
    OP_VARIADIC_OUTPUTS = 2,
    OP_RANDOM = 4,      /* not folded into a constant, because each run may give other results */
    OP_HAS_GRAPHS = 8,  /* needs op_host.run_graph */
    OP_SAME_TYPES = 16, /* all inputs have the type of input 0 (checked where both are known) */
    OP_SEQUENCES =
        32,        /* inputs may be sequences, optionals or maps; else only with OP_HAS_GRAPHS */
    OP_FILLS = 64, /* eval writes every element of outputs whose shapes infer made constant, so the
                      executor does not clear them */
    OP_KEEPS = 128 /* eval keeps what it makes of the attributes, see op_keep */
};

/* op_def.user of a class that uses op_infer_elementwise: the integer arithmetic that it applies to
 * known elements. Members of a class without integer arithmetic start at OP_ARITH_COUNT. */
enum op_arith {
    OP_ARITH_NONE,
    OP_ARITH_ADD,
    OP_ARITH_SUB,
    OP_ARITH_MUL,
    OP_ARITH_DIV,
    OP_ARITH_MIN,
    OP_ARITH_MAX,
    OP_ARITH_COUNT
};

struct op_def {
    const char *name;   /* NULL ends a table */
    const char *domain; /* "" = ai.onnx */
    int since;          /* first opset version with this definition; valid up to the next row */
    int deprecated;     /* opset version that removed it; 0 = never */
    uint8_t min_inputs, max_inputs, min_outputs, max_outputs;
    uint8_t flags;
    const op_attr_def *attrs; /* ends with name NULL; may be NULL */
    const char *types; /* accepted declared types of input 0 as a word list, e.g. "float16 float32
                          float64"; "" = any; groups: "float" "int" "uint" "number" "all" */
    pgy_status (*infer)(op_infer *c, pgy_error *err);
    pgy_status (*eval)(op_eval *c, pgy_error *err);
    /* Number of floating-point operations of one run; a multiply-add counts as two. NULL = one per
     * output element. Called only if all shapes are constant. */
    double (*flops)(const op_infer *c);
    int user; /* selects the member of a class that shares infer and eval */
    const void *user_data;
    /* Types of inputs and outputs of operators outside ONNX's domain, see signature.h; may be NULL.
     */
    const char *signature;
    /* the parsed signature, for rows that plug-ins add at run time; else NULL */
    const op_signature *parsed;
    /* Bit i: if input i is declared float32, eval also accepts it as a float32 tensor, possibly at
     * an unaligned address. This saves widening weights to float64. */
    uint32_t narrow_inputs;
};

/* The newest row with since <= version. @return NULL if the operator is unknown (or newer than
 * `version`) */
const op_def *op_find(const char *domain, const char *name, int64_t version);
/* Adds rows behind the built-in ones. The caller keeps them alive as long as the process. @return
 * false if the table is full */
bool op_add_rows(const op_def *more, size_t count);
/* Row i of those that op_add_rows added; NULL after the last. */
const op_def *op_added(size_t i);
/* Number of rows of all built-in operators, and row i of them, in ops.def order. */
size_t op_table_count(void);
const op_def *op_table_at(size_t i);
/* The built-in rows sorted by name, domain and version, then the added rows. */
const op_def *op_sorted_at(size_t i);

/* ---- A node in use --------------------------------------------------------------------------- */

/* What is known of a value before it is computed. */
typedef struct op_value {
    pgy_dtype dtype;        /* declared; NONE = unknown */
    int32_t rank;           /* -1 = unknown */
    const dim *dims;        /* rank entries */
    const pgy_tensor *data; /* constant value in storage type, or NULL */
    const dim *elements; /* the elements of an integer tensor of rank 0 or 1, which may be symbolic;
                            NULL = unknown */
    size_t element_count;
    /* For a sequence or optional: description of its elements (dtype is NONE then, rank -1); else
     * NULL. */
    const struct op_value *sequence;
    bool optional;                /* the value is an optional; `sequence` describes its element */
    pgy_dtype map_key, map_value; /* of a map: types of its keys and values; else NONE */
} op_value;

/* What infer and eval see of a node. */
typedef struct op_node {
    const op_def *def;
    const char *name; /* name for messages; may be "" */
    int64_t opset;
    const op_attr *attrs;
    size_t attr_count;
    size_t input_count, output_count;
    /* the operator's signature if the caller has looked it up already; else NULL */
    const op_signature *signature;
} op_node;

const op_attr *op_attr_find(const op_node *n,
                            const char *name); /* The attribute as the node gives it, or NULL. */
/* The node's value, else the definition's default, else `fallback`. */
int64_t op_attr_int(const op_node *n, const char *name, int64_t fallback);
double op_attr_float(const op_node *n, const char *name, double fallback);
bool op_attr_is(const op_node *n, const char *name, const char *text,
                const char *fallback); /* string equality */
/* The node's list, else NULL with *count 0: the operator applies defaults of lists itself. */
const int64_t *op_attr_ints(const op_node *n, const char *name, size_t *count);
const float *op_attr_floats(const op_node *n, const char *name, size_t *count);
/* Checks the arity, the kinds of the given attributes, and that no required attribute is missing.
 * The executor and the graph call this once per node, so infer and eval may rely on it.
 * PGY_E_FORMAT */
pgy_status op_check_node(const op_node *n, pgy_error *err) PGY_MUST_CHECK;
/* Whether input or output i must not be omitted, by the signature of the node's opset, or for
 * inputs without a signature by the arity. Every input that the node lists in a variadic list is
 * required. */
bool op_requires_input(const op_node *n, size_t i);
bool op_requires_output(const op_node *n, size_t i);
/* Checks that no required input is omitted (PGY_E_FORMAT) and that declared types fit the signature
 * of the node's opset, def->types and OP_SAME_TYPES (PGY_E_TYPE); unknown types (NONE) pass. infer
 * and eval rely on it. */
pgy_status op_check_inputs(const op_infer *c, pgy_error *err) PGY_MUST_CHECK;
/* Checks that every required output of a node in a graph has a name. PGY_E_FORMAT */
pgy_status op_check_named(const op_infer *c, pgy_error *err) PGY_MUST_CHECK;
/* Checks the output types that infer set against the signature. PGY_E_TYPE */
pgy_status op_check_outputs(const op_infer *c, pgy_error *err) PGY_MUST_CHECK;
/* Whether a word list like "float int64 bool" contains `dtype`; "" contains every type. */
bool op_type_in(const char *words, pgy_dtype dtype);

/* ---- Inference ------------------------------------------------------------------------------- */

struct op_infer {
    const op_node *node;
    const op_value *inputs; /* node->input_count; an omitted optional input has dtype NONE, rank -1,
                               absent bit */
    const bool *present;    /* per input */
    op_value *outputs;  /* node->output_count; infer fills them; they start zeroed with rank -1 */
    const bool *wanted; /* for each output: whether it has a name */
    dim_table *dims;
    arena *memory; /* memory of output arrays; lives as long as the inference or the evaluation */
    const struct op_host *host;
    const char *why;  /* set by op_set_unknown: for reports */
    bool shapes_only; /* nobody asks for elements of outputs, so a rule may save their making */
};

bool op_has_input(const op_infer *c, size_t i);
dim *op_dims(op_infer *c, size_t rank); /* array in c->memory; NULL if out of memory */
/* Sets output i. It keeps the pointer `dims`, which must come from op_dims or from an input. */
void op_set_output(op_infer *c, size_t i, pgy_dtype dtype, int32_t rank, const dim *dims);
void op_set_like(op_infer *c, size_t i, size_t input); /* takes type and shape from an input */
void op_set_unknown(op_infer *c, size_t i, pgy_dtype dtype, int32_t rank,
                    const char *why); /* rank >= 0: fresh unknown dims */
/* Sets the known elements of an integer output of rank 0 or 1 whose shape is set already.
 * `elements` must come from op_dims or from an input. */
void op_set_elements(op_infer *c, size_t i, const dim *elements, size_t count);
/* Normalises an axis to [0, rank). PGY_E_SHAPE names node, value and rank. */
pgy_status op_axis(size_t *out, const op_node *n, int64_t axis, int32_t rank,
                   pgy_error *err) PGY_MUST_CHECK;
/* Gives the integer values of input i (a shape, axes, a scalar...) as dims, from op_value.data or
 * .elements. False: unknown. */
bool op_input_ints(const op_infer *c, size_t i, const dim **out, size_t *count);
/* Gives the values of an integer input as numbers. False: one of them is not constant. The array
 * lives in c->memory. */
bool op_input_constants(const op_infer *c, size_t i, const int64_t **out, size_t *count);
/* Product of dims [from, to): 1 if empty. */
dim op_dims_product(op_infer *c, const dim *dims, size_t from, size_t to);
/* Broadcasts several shapes as NumPy does. PGY_E_SHAPE names both shapes. */
pgy_status op_broadcast(op_infer *c, int32_t *rank, const dim **dims, const op_value *values,
                        size_t count, pgy_error *err) PGY_MUST_CHECK;
/* Merges two dims that must be equal into the more exact one; false if they certainly differ. */
bool op_unify(dim *out, dim a, dim b);
/* Appends a shape like "(N, 3, 224, 224)" for messages. */
void op_print_shape(str *out, int32_t rank, const dim *dims);
pgy_status op_error(const op_node *n, pgy_error *err, pgy_status st, const char *format, ...)
    PGY_PRINTF(4, 5); /* "Conv 'n3': ..." */

/* Shape rules that many operators use as op_def.infer, or call from it. */
pgy_status op_infer_same(op_infer *c, pgy_error *err); /* every output like input 0 */
pgy_status op_infer_elementwise(
    op_infer *c, pgy_error *err); /* broadcast of all inputs, type of input 0; propagates integer
                                     `elements` by the op_arith in def->user */
pgy_status op_infer_broadcast(
    op_infer *c, pgy_dtype dtype,
    pgy_error *err); /* broadcast of all inputs into output 0 of type `dtype` (comparisons) */

/* ---- Evaluation ------------------------------------------------------------------------------ */

/* A value at run time: its declared type, and its tensor in storage type or its sequence. If both
 * pointers are NULL, the value is absent. */
typedef struct op_tensor {
    pgy_dtype dtype;
    pgy_tensor *value;
    struct op_sequence *sequence;
} op_tensor;

typedef struct op_sequence {
    op_tensor *items;
    size_t count;
    int refs;
    bool none; /* an optional without an element; an optional with an element is held as that
        element */
    bool map;  /* a map: the items are a vector of its keys and one of its values */
} op_sequence;

/* An input or output of an attribute's subgraph, as the subgraph declares it. */
typedef struct op_graph_port {
    const char *name;
    op_value declared;
} op_graph_port;

/* What an operator keeps of one node from run to run. */
typedef struct op_kept {
    void *data; /* NULL: nothing yet */
    void (*destroy)(void *data);
} op_kept;

/* Services and settings of the executor that operators use. */
typedef struct op_host {
    /* Runs an attribute's subgraph; the caller owns its `output_count` outputs. */
    pgy_status (*run_graph)(void *graph, const op_tensor *inputs, size_t input_count,
                            op_tensor *outputs, size_t output_count, void *user, pgy_error *err);
    /* Infers an attribute's subgraph for these inputs. */
    pgy_status (*infer_graph)(void *graph, const op_value *inputs, size_t input_count,
                              op_value *outputs, size_t output_count, void *user, pgy_error *err);
    /* Describes input or output i of an attribute's subgraph. False: it has no such one. */
    bool (*graph_port)(op_graph_port *out, const void *graph, bool is_output, size_t i);
    uint64_t max_bytes;   /* limit for one tensor; 0 = none */
    uint32_t seed;        /* of random operators */
    bool model_precision; /* floats are rounded to the declared type after every operator */
    op_kept *kept;        /* of this node, if it is OP_KEEPS; NULL: nothing can be kept */
    void *user;
} op_host;

struct op_eval {
    const op_node *node;
    const op_tensor *inputs;
    /* dtype is set. If infer gave a constant shape, value is allocated even if the output is not
     * wanted, and zeroed unless OP_FILLS. Otherwise it is NULL, and eval must call op_output. */
    op_tensor *outputs;
    const bool *wanted;
    const op_host *host;
};

bool op_has_value(const op_eval *c, size_t i);
/* What op_keep kept in an earlier run of this node, for this run alone; or NULL. */
void *op_find_kept(const op_eval *c);
/* Keeps data that follow from the attributes for the next run, or destroys them if that is not
 * possible. To be called at the end of eval, also for what op_find_kept gave. */
void op_keep(const op_eval *c, void *data, void (*destroy)(void *data));
/* Allocates output i and releases its earlier value. The declared type is `dtype`; NONE means the
 * type that infer gave. */
pgy_status op_output(op_eval *c, size_t i, pgy_dtype dtype, size_t rank, const int64_t *shape,
                     pgy_error *err) PGY_MUST_CHECK;
/* Makes `output` share the data of `input` under the shape that infer set (Reshape, Identity,
 * Squeeze...). */
pgy_status op_forward(op_eval *c, size_t output, size_t input, pgy_error *err) PGY_MUST_CHECK;
/* Gives the elements of an integer input (axes, shapes) as a pointer into its i64 tensor. */
pgy_status op_eval_ints(const op_eval *c, size_t input, const int64_t **out, size_t *count,
                        pgy_error *err) PGY_MUST_CHECK;
/* The float of a one-element input; `fallback` if the input is absent. */
double op_eval_scalar(const op_eval *c, size_t input, double fallback);
/* Wraps i64/u64/f64 storage to the declared range in place: integers wrap in two's complement;
 * floats are rounded if `round_floats`. */
void op_conform(pgy_tensor *value, pgy_dtype declared, bool round_floats);
/* Converts a tensor of a declared type to storage type and back. If both types are equal, the
 * result shares the data. */
pgy_status op_to_storage(pgy_tensor **out, pgy_tensor *t, pgy_error *err) PGY_MUST_CHECK;
pgy_status op_from_storage(pgy_tensor **out, pgy_tensor *value, pgy_dtype declared,
                           pgy_error *err) PGY_MUST_CHECK;
/* Converts t from storage type to its declared type, in place; does nothing if t has no tensor. */
pgy_status op_tensor_settle(op_tensor *t, pgy_error *err) PGY_MUST_CHECK;

/* Runs one node: infer with the concrete inputs, allocate the outputs, eval, op_conform. The caller
 * releases the outputs with op_tensor_release. */
pgy_status op_run(const op_node *n, const op_tensor *inputs, op_tensor *outputs, const bool *wanted,
                  const op_host *host, pgy_error *err) PGY_MUST_CHECK;
/* Infers the outputs for given inputs without computing them; the results live in `memory`. Inputs
 * may be held in their declared types; then infer sees only the elements of small tensors, which
 * include shapes and axes. */
pgy_status op_foresee(const op_value **outputs, const op_node *n, const op_tensor *inputs,
                      const bool *wanted, const op_host *host, arena *memory,
                      pgy_error *err) PGY_MUST_CHECK;
void op_tensor_release(op_tensor *t);
/* Gives another reference to the same tensor or sequence. */
op_tensor op_tensor_retain(const op_tensor *t);
/* A sequence of `count` empty items with one reference; NULL if out of memory. */
op_sequence *op_sequence_create(size_t count);
void op_sequence_release(op_sequence *s); /* NULL is fine */

/* The elements of a tensor whose storage type is f64 or i64; the caller has checked the type. */
static inline double *op_f64(const pgy_tensor *t)
{
    return (double *)pgy_tensor_data(t);
}
static inline int64_t *op_i64(const pgy_tensor *t)
{
    return (int64_t *)pgy_tensor_data(t);
}

#endif
