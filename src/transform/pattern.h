/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for fusing passes: they inspect the neighbourhood of a node and replace several nodes by
 * one.
 *
 * A rule looks at one node and rewrites what it recognises. Inner values must have no other use
 * (pattern_is_inner); their producers are removed automatically. A pattern is sticky: after the
 * first failure all calls do nothing. */
#ifndef TRANSFORM_PATTERN_H
#define TRANSFORM_PATTERN_H

#include "transform/fold.h"

typedef struct pattern pattern;
/* Tries to rewrite the nodes around n; false: nothing was recognised. */
typedef bool (*pattern_rule)(pattern *p, pgy_node *n);

/* A node that a rule replaced: its label, and its index in the node list. */
typedef struct pattern_part {
    const char *label;
    size_t index;
    struct pattern_part *next;
} pattern_part;

/* Callbacks that allow or forbid rewrites, and are told of each. */
typedef struct pattern_watch {
    /* May the rule with this index in the list of rules be tried at n? */
    bool (*admits)(size_t rule, const pgy_node *n, void *user);
    /* Called after rule `rule` rewrote the node that made `at`; p->made and p->parts have the
     * details. */
    pgy_status (*made)(size_t rule, const pgy_value *at, const pattern *p, void *user,
                       pgy_error *err);
    void *user;
} pattern_watch;

struct pattern {
    folder f; /* edits of the graph; f.changes counts rewrites and removed nodes */
    const char *pass;
    size_t count;        /* number of rewrites */
    pgy_node *made;      /* last node made by the current rule */
    pattern_part *parts; /* nodes that `made` replaced, in order of index; freed after the round */
    bool standard;       /* rules may make only operators that the graph's own opset has */
    const pattern_watch *watch; /* NULL: every rewrite is allowed */
    pgy_status status;
    pgy_error *err;
};

/* Sets the watch of all calls of pattern_run for this graph; NULL: none. */
void pattern_set_watch(pgy_graph *g, const pattern_watch *watch);
/* Applies the rules (ends with NULL) to all nodes of all levels until nothing changes. */
pgy_status pattern_run(pgy_graph *g, const char *pass, const pattern_rule *rules, size_t *changes,
                       pgy_error *err) PGY_MUST_CHECK;
/* Does the same as pattern_run, with standard operators only and with a watch. */
pgy_status pattern_run_watched(pgy_graph *g, const char *pass, const pattern_rule *rules,
                               const pattern_watch *watch, size_t *changes,
                               pgy_error *err) PGY_MUST_CHECK;

/* Applies rules to one level, as a pass of folding. */
pgy_status pattern_fold_level(folder *f, pgy_graph *level, const pattern_rule *rules,
                              pgy_error *err) PGY_MUST_CHECK;

/* ---- Looking --------------------------------------------------------------------------------- */

/* "Add", or with a domain "com.microsoft:FusedConv". */
bool pattern_is(const pgy_node *n, const char *op);
/* The producer of v if it is in v's level and has this operator, or NULL. */
pgy_node *pattern_from(const pgy_value *v, const char *op);
/* True if a node makes v, v is no graph output, and its only use is one input of one node of the
 * same graph: only then may a rule remove v. */
bool pattern_is_inner(const pgy_value *v);
/* Does the same as pattern_from, but only if v is inner. */
pgy_node *pattern_inner(const pgy_value *v, const char *op);
/* The only user of n's output 0 if that value is inner and the user has an output, or NULL. */
pgy_node *pattern_user(const pgy_node *n);
pgy_value *pattern_input(const pgy_node *n, size_t i); /* NULL if omitted */
/* The input of a binary node that is not v. */
pgy_value *pattern_other(const pgy_node *n, const pgy_value *v);

pgy_dtype pattern_dtype(const pgy_value *v); /* NONE: not known */
bool pattern_is_float(const pgy_value *v);   /* float16, float32 or float64 */
int32_t pattern_rank(const pgy_value *v);    /* -1: not known */
int64_t pattern_size(const pgy_value *v,
                     int32_t d); /* size of axis d, from the end if d < 0; -1: unknown */
bool pattern_same_shape(const pgy_value *a, const pgy_value *b);
/* Are they equal in axis d of a and e of b? Negative axes count from the end. */
bool pattern_same_size(const pgy_value *a, int32_t d, const pgy_value *b, int32_t e);

/* True for equal sizes, and if the axis of a was sliced at a constant bound so large that it is
 * meant to cover the axis of b. */
bool pattern_covers(const pgy_value *a, int32_t d, const pgy_value *b, int32_t e);

/* Are all sizes known, with at most `count` elements? */
bool pattern_has_at_most(const pgy_value *v, int64_t count);

bool pattern_is_constant(const pattern *p, const pgy_value *v);
/* Elements of a float constant as float64 (released by the caller), or NULL. */
pgy_tensor *pattern_floats(pattern *p, pgy_value *v);
/* Reads a float constant of one element; false: v is none. */
bool pattern_scalar(pattern *p, pgy_value *v, double *out);
/* Is v a constant equal to this number, within the precision of its type? */
bool pattern_scalar_is(pattern *p, pgy_value *v, double wanted);
bool pattern_close(const pgy_value *like, double a, double b);
/* May a number become an attribute of an operator that computes tensors like this one? Attributes
 * are float32, which is too coarse for float64. With pattern.standard rewrites are measured, so any
 * number may. */
bool pattern_fits_attribute(const pattern *p, const pgy_value *like, double number);
bool pattern_ints(pattern *p, pgy_value *v, const int64_t **out, size_t *count);

int64_t pattern_int(const pgy_node *n, const char *name, int64_t fallback);
double pattern_float(const pgy_node *n, const char *name, double fallback);
bool pattern_text_is(const pgy_node *n, const char *name, const char *text, const char *fallback);

/* A product, decomposed through values without other users: `factor` times all of `values`. */
enum { PATTERN_MAX_FACTORS = 6, PATTERN_MAX_STEPS = 64 };
typedef struct pattern_product {
    double factor;
    pgy_value *values[PATTERN_MAX_FACTORS];
    size_t count; /* number of values; PATTERN_MAX_FACTORS + 1: too many to list */
    size_t steps; /* steps of the decomposition so far; bounded, because chains may be long */
} pattern_product;
/* Decomposes Mul, Div by a constant, and Pow with 2 or 3; any other value is one factor. */
pattern_product pattern_factors(pattern *p, pgy_value *v);

/* ---- Making ---------------------------------------------------------------------------------- */

/* Makes a node for the outputs of `last`, and drops `last` with all nodes that only it needed. The
 * new name joins the names of the dropped nodes by " + ". NULL: out of memory. */
pgy_node *pattern_put(pattern *p, pgy_node *last, const char *op, pgy_value *const *inputs,
                      size_t count);
/* Does the same for other outputs, which `last` or nodes that the caller drops must have made. */
pgy_node *pattern_put_outputs(pattern *p, pgy_node *last, const char *op, pgy_value *const *inputs,
                              size_t count, pgy_value *const *outputs, size_t output_count);
/* Adds a node before `before` that makes a new value, and returns the value; its producer is the
 * node, for attributes. The value is named after `stem`, or if that is NULL after output 0 of
 * `before`. NULL: an input is NULL, or a failure. */
pgy_value *pattern_make(pattern *p, pgy_node *before, const char *stem, const char *op,
                        pgy_value *const *inputs, size_t count);
/* A new constant list of int64 for a node before `before`, named as pattern_make names. NULL: a
 * failure. */
pgy_value *pattern_list(pattern *p, const pgy_node *before, const char *stem, const int64_t *values,
                        size_t count);
/* Adds a node before `before` that makes `output`; drops nothing. */
pgy_node *pattern_add(pattern *p, pgy_node *before, const char *op, pgy_value *const *inputs,
                      size_t count, pgy_value *output);
/* Does the same with several outputs; their present producers, if any, are nodes that the caller
 * drops. */
pgy_node *pattern_add_outputs(pattern *p, pgy_node *before, const char *op,
                              pgy_value *const *inputs, size_t count, pgy_value *const *outputs,
                              size_t output_count);
/* Drops n and all nodes that only it needed. */
void pattern_drop(pattern *p, pgy_node *n);
void pattern_set_int(pattern *p, pgy_node *n, const char *name, int64_t value);
void pattern_set_float(pattern *p, pgy_node *n, const char *name, double value);
void pattern_set_ints(pattern *p, pgy_node *n, const char *name, const int64_t *values,
                      size_t count);
void pattern_set_floats(pattern *p, pgy_node *n, const char *name, const double *values,
                        size_t count);
void pattern_set_text(pattern *p, pgy_node *n, const char *name, const char *text);
/* Copies attribute `name` of `from`, if it has one. */
void pattern_copy(pattern *p, pgy_node *n, const pgy_node *from, const char *name);
/* Copies attribute `source` of `from`, if it has one, and names it `name`. */
void pattern_copy_as(pattern *p, pgy_node *n, const char *name, const pgy_node *from,
                     const char *source);
/* A new value of a level, for a node that the caller adds. NULL: a failure. */
pgy_value *pattern_value(pattern *p, pgy_graph *level, const char *stem);
/* A new weight of a level, rounded from float64 once. NULL: out of memory. */
pgy_value *pattern_weight(pattern *p, pgy_graph *level, const char *stem, pgy_dtype dtype,
                          size_t rank, const int64_t *shape, const double *values);
/* A new weight of a level with the elements of t. */
pgy_value *pattern_tensor(pattern *p, pgy_graph *level, const char *stem, pgy_tensor *t);
/* A constant with another shape of the same number of elements. */
pgy_value *pattern_reshaped(pattern *p, pgy_value *v, size_t rank, const int64_t *shape);

#endif
