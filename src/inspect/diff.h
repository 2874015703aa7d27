/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of comparing two models. A side is one graph or function body of one of the two models,
 * with tables of its values and nodes. Invalid models are compared, too. Matched values and nodes
 * of the two sides point to each other (`pair`). */
#ifndef INSPECT_DIFF_H
#define INSPECT_DIFF_H

#include <polygraphy/diff.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"
#include "inspect/diff_links.h"

#define DIFF_NONE ((size_t)-1)
enum { DIFF_MAX_DEPTH = 64 };

typedef struct diff_side diff_side;
typedef struct diff_node diff_node;

typedef struct diff_value {
    const char *name;
    const diff_side *side;
    const pgy_onnx_tensor *weight; /* initializer, or the value of a Constant; or NULL */
    const pgy_onnx_sparse_tensor *sparse;
    const pgy_onnx_value_info *info; /* declared type and shape, or NULL */
    diff_node *producer;
    size_t output_index; /* among the producer's outputs */
    bool is_input, is_output, is_constant;
    struct diff_value *pair;
    uint64_t id;      /* number of the matched pair, the same on both sides; 0: unmatched */
    uint64_t forward; /* signature of all that leads to the value */
    uint64_t sink;    /* for a graph output: a number that its counterpart shares; else 0 */
    size_t *uses;     /* indices of the nodes that read the value, once per input */
    size_t use_count;
} diff_value;

struct diff_node {
    const pgy_onnx_node *proto;
    diff_value **inputs, **outputs; /* NULL: left out */
    size_t index;                   /* position in the file */
    diff_node *pair;
    uint64_t id;
    uint64_t local; /* hash of operator and attributes */
    uint64_t forward, backward, around;
};

struct diff_side {
    const diff_side *outer;
    pgy_onnx_node *const *protos;
    diff_node *nodes; /* all but Constant nodes that are weights */
    size_t node_count;
    diff_value *values;
    size_t value_count;
    diff_value **inputs, **outputs;
    size_t input_count, output_count;
    strmap names;                /* -> diff_value */
    diff_node **order;           /* in topological order; nodes in cycles come last */
    const pgy_onnx_graph *graph; /* one of these two */
    const pgy_onnx_function *function;
};

/* What diff_add attaches to its entry (diff_links.h). */
typedef struct diff_subject {
    const pgy_onnx_node *a, *b;          /* the nodes themselves */
    const diff_value *value_a, *value_b; /* or all nodes that read or produce these */
} diff_subject;

/* A pair of weights to compare, with the difference to report. */
typedef struct diff_weight {
    pgy_difference entry;
    pgy_weight_change change;
    const pgy_onnx_tensor *a, *b;
    diff_subject subject;
    bool dtype_differs, shape_differs;
    bool is_attribute; /* a tensor in an attribute, not a weight */
} diff_weight;

struct pgy_diff {
    pgy_model *a, *b;
    pgy_diff_options options;
    pgy_diff_summary summary;
    pgy_difference *items;
    size_t count, capacity;
    diff_weight *weights; /* pairs to compare in the current graph */
    size_t weight_count, weight_capacity;
    diff_link *pairs, *links;
    size_t pair_count, pair_capacity, link_count, link_capacity;
    diff_subject subject;
    arena memory;
    uint64_t next_id;
    bool failed; /* out of memory */
};

pgy_status diff_no_memory(pgy_error *err);

/* ---- diff_side.c ----------------------------------------------------------------------------- */
/* Makes the tables of a graph or function; `outer` may be NULL. Call diff_side_deinit in the end.
 */
pgy_status diff_side_init(diff_side *out, const pgy_onnx_graph *graph,
                          const pgy_onnx_function *function, const diff_side *outer, arena *memory,
                          pgy_error *err) PGY_MUST_CHECK;
void diff_side_deinit(diff_side *s);
static inline bool diff_is_weight(const diff_value *v)
{
    return v->weight || v->sparse;
}

/* ---- diff_hash.c ----------------------------------------------------------------------------- */
uint64_t diff_mix(uint64_t h, uint64_t v);
uint64_t diff_hash_text(const char *text);
uint64_t diff_hash_node(const pgy_onnx_node *n); /* operator and attributes, no names */
uint64_t diff_hash_type(const pgy_onnx_type *t); /* without names of dimensions */
uint64_t diff_hash_weight(const diff_value *v);  /* type and shape */
/* Compute the signatures of all nodes: forward and backward, and `around`, which covers `hops`
 * steps. */
void diff_sign_cones(diff_side *s);
void diff_sign_around(diff_side *s, size_t hops);

/* ---- diff_match.c ---------------------------------------------------------------------------- */
/* Pairs the values and nodes of two sides. */
pgy_status diff_match(pgy_diff *d, diff_side *a, diff_side *b, pgy_error *err) PGY_MUST_CHECK;
void diff_pair_values(pgy_diff *d, diff_value *a, diff_value *b);

/* ---- diff_text.c ----------------------------------------------------------------------------- */
/* Texts are in d->memory. Out of memory they are "" and d->failed is set. */
const char *diff_text(pgy_diff *d, str *s); /* takes the text over */
const char *diff_text_type(pgy_diff *d, const pgy_onnx_type *t);
const char *diff_text_tensor(pgy_diff *d, const pgy_onnx_tensor *t);
const char *diff_text_attribute(pgy_diff *d, const pgy_onnx_attribute *a);
const char *diff_text_props(pgy_diff *d, pgy_onnx_string_entry *const *items, size_t count);
const char *diff_text_int(pgy_diff *d, int64_t v);
const char *diff_text_node(pgy_diff *d,
                           const pgy_onnx_node *n); /* its name, or the names of its outputs */
const char *diff_domain(const pgy_onnx_node *n);    /* "" for ONNX's own */

/* ---- diff_entries.c -------------------------------------------------------------------------- */
/* Adds a difference to the list; its names and texts must live as long as d. */
void diff_add(pgy_diff *d, pgy_difference e);
/* Adds a difference of kind CHANGED if two texts differ. Two NULLs are equal. */
void diff_add_texts(pgy_diff *d, pgy_difference e, const char *before, const char *after);
void diff_add_props(pgy_diff *d, pgy_difference e, pgy_onnx_string_entry *const *a, size_t a_count,
                    pgy_onnx_string_entry *const *b, size_t b_count);
void diff_add_weight(pgy_diff *d, const char *path, const diff_value *a, const diff_value *b);
/* Compares two tensors that are not initializers: those of attributes, or parts of sparse tensors.
 */
void diff_add_tensors(pgy_diff *d, pgy_difference e, const pgy_onnx_tensor *a,
                      const pgy_onnx_tensor *b, bool is_attribute);

/* ---- diff_links.c ---------------------------------------------------------------------------- */
/* Remembers the matched nodes of two sides. */
void diff_link_pairs(pgy_diff *d, const diff_side *a);
/* Links an entry to the nodes of d->subject. */
void diff_link_entry(pgy_diff *d, size_t entry);

/* ---- diff_graph.c, diff_node.c --------------------------------------------------------------- */
/* Compares two graphs or functions, including subgraphs. */
pgy_status diff_graphs(pgy_diff *d, const char *path, const pgy_onnx_graph *a,
                       const pgy_onnx_graph *b, const diff_side *outer_a, const diff_side *outer_b,
                       size_t depth, pgy_error *err) PGY_MUST_CHECK;
pgy_status diff_functions(pgy_diff *d, const pgy_onnx_function *a, const pgy_onnx_function *b,
                          pgy_error *err) PGY_MUST_CHECK;
/* Compares a pair of nodes: operator, attributes, sources of the inputs, names. */
pgy_status diff_nodes(pgy_diff *d, const char *path, const diff_node *a, const diff_node *b,
                      const diff_side *side_a, const diff_side *side_b, size_t depth,
                      pgy_error *err) PGY_MUST_CHECK;

/* ---- diff_weights.c -------------------------------------------------------------------------- */
/* Compares the pairs in d->weights, adds entries, and empties the list. */
pgy_status diff_weights(pgy_diff *d, pgy_error *err) PGY_MUST_CHECK;

/* ---- diff_source.c --------------------------------------------------------------------------- */
/* The bytes of one side's weight, in a file or in memory. */
typedef struct diff_source {
    const uint8_t *data;
    const file_map *map; /* NULL: only in memory */
    size_t offset;       /* of the first byte, in the mapped file */
    size_t size_bytes;
    pgy_tensor *decoded; /* owner of `data`, or NULL */
} diff_source;
/* PGY_E_FORMAT and PGY_E_IO as pgy_onnx_tensor_load. The caller owns out->decoded. */
pgy_status diff_locate(diff_source *out, pgy_model *m, const pgy_onnx_tensor *t, pgy_dtype dtype,
                       pgy_error *err) PGY_MUST_CHECK;
/* Bytes [at, at + size) of a source; *out points into it or into the buffer. */
bool diff_fetch(const uint8_t **out, const diff_source *s, size_t at, size_t size,
                uint8_t *buffer) PGY_MUST_CHECK;
/* Do both sources have the same bytes of the same file, or the same memory? */
bool diff_same_place(const diff_source *a, const diff_source *b);
const char *diff_storage(const pgy_onnx_tensor *t); /* "external", "raw", "typed" */

/* ---- diff_tally.c ---------------------------------------------------------------------------- */
/* Sums over consecutive elements of a weight; `a` is the model before the change. */
typedef struct diff_tally {
    double changed, beyond, nan_a, nan_b, sum_abs, sum_square, sum_aa, sum_ab, sum_bb;
    double max_abs, max_rel;
    size_t max_at; /* index of the element with the largest absolute difference */
} diff_tally;
/* Adds elements given as float64; `first` is the index of a[0]. */
void diff_tally_add(diff_tally *t, const double *a, const double *b, size_t count, size_t first,
                    double atol, double rtol);
/* Adds elements that are equal in both models. */
void diff_tally_add_equal(diff_tally *t, const double *a, size_t count);
void diff_tally_join(diff_tally *to, const diff_tally *from);

#endif
