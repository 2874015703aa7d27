/* SPDX-License-Identifier: Apache-2.0 */
/* Private interface of edit scripts: splits a line into pieces (words), binds them to the arguments
 * of a verb (command), and parses arguments. What is read from a line is in the arena of that line.
 */
#ifndef GS_SCRIPT_SCRIPT_H
#define GS_SCRIPT_SCRIPT_H

#include <polygraphy/gs_script.h>

#include "base/arena.h"
#include "gs/graph/gs.h"

/* ---- Lines (line.c) -------------------------------------------------------------------------- */

/* A word, a value or an item of a list, without its quotes. quoted[i] is '1' if text[i] was in
 * quotes or after a backslash, else '0'; both are terminated. */
typedef struct piece {
    const char *text, *quoted;
    size_t column; /* column in the line, from 1 */
} piece;
typedef struct piece_list {
    piece *items;
    size_t count, capacity;
} piece_list;
/* Splits the first line of a text into words; a backslash at its end joins the next line. *next:
 * where the rest begins; *lines: how many lines were read. */
pgy_status line_read(piece_list *out, const char **next, size_t *lines, const char *text, arena *a,
                     pgy_error *err) PGY_MUST_CHECK;
/* The piece without its first `offset` characters. */
piece piece_from(piece p, size_t offset);
/* The first unquoted character c, or NULL. */
const char *piece_find(piece p, char c);
bool piece_starts(piece p, const char *prefix); /* unquoted */
bool piece_is(piece p, const char *text);
/* Split at unquoted commas outside brackets. "" gives none, ",," three empty ones. */
pgy_status piece_split(piece_list *out, piece p, arena *a, pgy_error *err) PGY_MUST_CHECK;
/* Like piece_split, but the list may be in [brackets]. */
pgy_status piece_items(piece_list *out, piece p, arena *a, pgy_error *err) PGY_MUST_CHECK;
bool piece_push(piece_list *list, piece p, arena *a);

/* ---- Calls (call.c) -------------------------------------------------------------------------- */

typedef struct call call;
typedef struct verb {
    pgy_gs_verb text; /* must be first: the public table reads rows as pgy_gs_verb */
    pgy_status (*run)(pgy_gs_script *s, const call *c, pgy_error *err);
    bool adds_edges;
} verb;

typedef struct call_arg {
    const char *name; /* name of the argument: "node", "inputs", "--stable" */
    piece value;
} call_arg;
struct call {
    const verb *verb;
    call_arg args[24];
    size_t arg_count;
    piece_list rest;      /* words of a repeated argument, "..." in the usage text */
    piece_list attr_keys; /* names and values of attributes, in pairs */
    piece_list attrs;
    arena *memory;
    size_t column; /* column of the current argument, for errors */
};
/* Binds words to arguments by the grammar in verb->text.arguments. words[0] is the verb itself. */
pgy_status call_bind(call *out, const verb *v, const piece_list *words, arena *a,
                     pgy_error *err) PGY_MUST_CHECK;
const piece *call_get(const call *c, const char *name); /* NULL: not given */
bool call_has(const call *c, const char *name);
/* The argument's text; NULL: it is not given. */
const char *call_text(const call *c, const char *name);
/* Reads an integer argument, which must be in [low, high]; `fallback` if it is not given. */
pgy_status call_int(int64_t *out, const call *c, const char *name, int64_t low, int64_t high,
                    int64_t fallback, pgy_error *err) PGY_MUST_CHECK;
bool piece_int(int64_t *out, const char *text); /* false: the text is not an integer */

/* ---- Values (value.c, tensor.c, attr.c) ------------------------------------------------------ */

typedef struct type_spec {
    pgy_value_kind kinds[8]; /* of sequences and optionals, from the outside in */
    size_t depth;            /* number of `kinds`; 0: a tensor */
    bool has_kind;           /* seq(...), optional(...) or tensor(...) was written */
    pgy_dtype dtype;         /* PGY_DTYPE_NONE: not given */
    bool has_shape;          /* "[...]" was there */
    int32_t rank;            /* -1: unknown */
    pgy_dim *dims;
} type_spec;
/* FLOAT, FLOAT[2,N,?], [2,3], FLOAT[*], seq(FLOAT[N]), optional(seq(FLOAT)), tensor(FLOAT) */
pgy_status value_type(type_spec *out, piece p, arena *a, pgy_error *err) PGY_MUST_CHECK;
/* Declares the type of a variable. It becomes a sequence or optional if the type says so, or stays
 * one. */
pgy_status value_apply_type(pgy_gs_tensor *t, const type_spec *type, pgy_error *err) PGY_MUST_CHECK;
/* 2,3,N or [2,3,N] */
pgy_status value_shape(type_spec *out, piece p, arena *a, pgy_error *err) PGY_MUST_CHECK;
/* ones[2,3], INT64[2]=1,2, FLOAT=0.5, [1,2], 3, @file.npy. *plain: a number or a list without type.
 */
pgy_status value_tensor(pgy_tensor **out, bool *plain, piece p, arena *a,
                        pgy_error *err) PGY_MUST_CHECK;
/* 3, 0.5, text, [1,2], int:3, tensor:ones[2], type:FLOAT, ref:name:INT. The caller releases a
 * tensor in it: *held. */
pgy_status value_attr(pgy_gs_attr *out, pgy_tensor **held, const char *name, piece p, arena *a,
                      pgy_error *err) PGY_MUST_CHECK;
bool value_is_number(const char *text);
/* An element type by its ONNX or NumPy name. */
pgy_status value_dtype(pgy_dtype *out, const char *name, pgy_error *err) PGY_MUST_CHECK;
/* The error for a text that is not a value of the type. */
pgy_status value_bad_element(const char *text, const pgy_dtype_info *type, pgy_error *err);

/* ---- The script (script.c) ------------------------------------------------------------------- */

struct pgy_gs_script {
    pgy_gs_graph *top, *current;
    pgy_gs_tensor_list declared; /* made by verbs `variable` and `constant`, used or not */
    size_t checks_left;          /* nodes that searches for cycles may still visit */
};

/* ---- References (ref.c) ---------------------------------------------------------------------- */

/* A node by name, or the producer of a tensor: @tensor. Two nodes of that name are an error. */
pgy_status ref_node(pgy_gs_node **out, pgy_gs_script *s, piece p, pgy_error *err) PGY_MUST_CHECK;
/* The argument `name` of a call as a node; NULL if it is not given. */
pgy_status ref_node_arg(pgy_gs_node **out, pgy_gs_script *s, const call *c, const char *name,
                        pgy_error *err) PGY_MUST_CHECK;
/* Finds a tensor of the current graph, of an enclosing one, or declared; NULL: none has the name.
 */
pgy_gs_tensor *ref_find_tensor(const pgy_gs_script *s, const char *name);
/* One item: a tensor, $out, $in, $none, const:... New constants get generated names. @param anchor
 * the node that $in and $out refer to; NULL: none */
pgy_status ref_tensor(pgy_gs_tensor **out, pgy_gs_script *s, piece p, const pgy_gs_node *anchor,
                      arena *a, pgy_error *err) PGY_MUST_CHECK;
pgy_status ref_tensor_arg(pgy_gs_tensor **out, pgy_gs_script *s, const call *c, const char *name,
                          pgy_error *err) PGY_MUST_CHECK;
/* A list of such items. */
typedef struct tensor_refs {
    pgy_gs_tensor **items;
    size_t count;
} tensor_refs;
pgy_status ref_tensors(tensor_refs *out, pgy_gs_script *s, piece p, const pgy_gs_node *anchor,
                       arena *a, pgy_error *err) PGY_MUST_CHECK;
/* The list as operands of pgy_gs_layer, which makes the constants. Their tensors are in `held`;
 * free with ref_operands_release. */
typedef struct operand_refs {
    pgy_gs_operand *items;
    pgy_tensor **held;
    size_t count;
} operand_refs;
pgy_status ref_operands(operand_refs *out, pgy_gs_script *s, piece p, const pgy_gs_node *anchor,
                        arena *a, pgy_error *err) PGY_MUST_CHECK;
void ref_operands_release(operand_refs *refs);
/* The same for outputs of a new node: an unknown name becomes a new tensor. */
pgy_status ref_new_outputs(operand_refs *out, pgy_gs_script *s, const piece *list, arena *a,
                           pgy_error *err) PGY_MUST_CHECK;
/* The attributes of a call; their tensors are in `held`, one entry each. */
typedef struct attr_refs {
    pgy_gs_attr *items;
    pgy_tensor **held;
    size_t count;
} attr_refs;
pgy_status ref_attrs(attr_refs *out, const pgy_gs_script *s, const call *c,
                     pgy_error *err) PGY_MUST_CHECK;
void ref_attrs_release(attr_refs *refs);
/* A free name for a node (or tensor) of the level, generated as pgy_gs_layer does. */
const char *ref_new_name(pgy_gs_graph *g, const char *base, bool of_node, arena *a);

/* ---- Helpers of several verbs (nodes.c) ------------------------------------------------------ */

/* Index of t among the graph's outputs; g->output_count: it is no output. */
size_t graph_output_index(const pgy_gs_graph *g, const pgy_gs_tensor *t);
/* Makes t output i of the graph. */
pgy_status graph_set_output(pgy_gs_graph *g, size_t i, pgy_gs_tensor *t, arena *a,
                            pgy_error *err) PGY_MUST_CHECK;
/* Checks the number of an input or output (`what`), of which n has `count`. */
pgy_status node_slot(size_t *out, const pgy_gs_node *n, size_t count, const char *what,
                     int64_t slot, pgy_error *err) PGY_MUST_CHECK;

/* Verbs, by file; the table is in verbs.c. */
#define VERB(name) pgy_status name(pgy_gs_script *s, const call *c, pgy_error *err)
VERB(verb_insert);
VERB(verb_layer);
VERB(verb_remove);
VERB(verb_replace);
VERB(verb_replace_region);
VERB(verb_rename);
VERB(verb_rename_node);
VERB(verb_place);
VERB(verb_set_attr);
VERB(verb_remove_attr);
VERB(verb_set_input);
VERB(verb_set_output);
VERB(verb_insert_input);
VERB(verb_remove_input);
VERB(verb_remove_output);
VERB(verb_set_inputs);
VERB(verb_set_outputs);
VERB(verb_replace_uses);
VERB(verb_set_io);
VERB(verb_add_input);
VERB(verb_add_output);
VERB(verb_set_input_shape);
VERB(verb_set_type);
VERB(verb_variable);
VERB(verb_constant);
VERB(verb_to_constant);
VERB(verb_to_variable);
VERB(verb_fold);
VERB(verb_cleanup);
VERB(verb_sort);
VERB(verb_extract);
VERB(verb_inline);
VERB(verb_infer_shapes);
VERB(verb_set_opset);
VERB(verb_set_import);
VERB(verb_set_name);
VERB(verb_set_doc);
VERB(verb_set_producer);
VERB(verb_set_ir_version);
VERB(verb_new_subgraph);
VERB(verb_new_function);
VERB(verb_add_parameter);
VERB(verb_call);
VERB(verb_remove_function);
VERB(verb_enter);
VERB(verb_enter_function);
VERB(verb_leave);
#undef VERB

/* Look-ups in the table of verbs. */
const verb *verb_find(const char *name); /* NULL: no such verb */
const verb *verb_at(size_t i);           /* NULL: i is after the last verb */

#endif
