/* SPDX-License-Identifier: Apache-2.0 */
/* What fusing passes are written with: looking at the neighbourhood of a node, and putting one node
 * in the place of several.
 *
 * A rule looks at one node and rewrites what it recognises. Values in between must have no other
 * use (pattern_is_inner); the nodes that made them go away by themselves. A pattern is sticky:
 * after the first failure nothing happens any more. */
#ifndef TRANSFORM_PATTERN_H
#define TRANSFORM_PATTERN_H

#include "transform/fold.h"

typedef struct pattern pattern;
/* Rewrites around n, which is of a level of the graph; false: nothing was recognised. */
typedef bool (*pattern_rule)(pattern *p, pgy_node *n);

/* A node that a rule drops: its label, and where it stood. */
typedef struct pattern_part {
    const char *label;
    size_t index;
    struct pattern_part *next;
} pattern_part;

/* Who decides about rewrites, and is told of them. */
typedef struct pattern_watch {
    /* May rule number `rule` be tried at n? */
    bool (*admits)(size_t rule, const pgy_node *n, void *user);
    /* It was, at the node that made `at`; p->made and p->parts tell the rest. */
    pgy_status (*made)(size_t rule, const pgy_value *at, const pattern *p, void *user,
                       pgy_error *err);
    void *user;
} pattern_watch;

struct pattern {
    folder f; /* f.changes counts rewrites and removed nodes */
    const char *pass;
    size_t count;               /* of rewrites */
    pgy_node *made;             /* by the rule that is at work, last */
    pattern_part *parts;        /* that went for it, by index; memory of the round */
    bool standard;              /* only operators that the graph's own opset has */
    const pattern_watch *watch; /* NULL: all rewrites are wanted */
    pgy_status status;
    pgy_error *err;
};

/* Applies the rules (ends with NULL) to all nodes of all levels until nothing changes. */
pgy_status pattern_run(pgy_graph *g, const char *pass, const pattern_rule *rules, size_t *changes,
                       pgy_error *err) PGY_MUST_CHECK;
/* The same with standard operators only and under a watch. */
pgy_status pattern_run_watched(pgy_graph *g, const char *pass, const pattern_rule *rules,
                               const pattern_watch *watch, size_t *changes,
                               pgy_error *err) PGY_MUST_CHECK;

/* Applies rules to one level, as a pass of folding. */
pgy_status pattern_fold_level(folder *f, pgy_graph *level, const pattern_rule *rules,
                              pgy_error *err) PGY_MUST_CHECK;

/* ---- Looking --------------------------------------------------------------------------------- */

/* "Add", or with a domain "com.microsoft:FusedConv". */
bool pattern_is(const pgy_node *n, const char *op);
/* What makes v, in v's own level and by this operator, or NULL. */
pgy_node *pattern_from(const pgy_value *v, const char *op);
/* Made by a node, used once, by a node of the same level, and no output. */
bool pattern_is_inner(const pgy_value *v);
/* pattern_from, if v is inner. */
pgy_node *pattern_inner(const pgy_value *v, const char *op);
/* The only user of n's output 0, if that is inner and the user gives something, or NULL. */
pgy_node *pattern_user(const pgy_node *n);
pgy_value *pattern_input(const pgy_node *n, size_t i); /* NULL if omitted */
/* The other input of a node with two. */
pgy_value *pattern_other(const pgy_node *n, const pgy_value *v);

pgy_dtype pattern_dtype(const pgy_value *v);         /* NONE: not known */
bool pattern_is_float(const pgy_value *v);           /* float16, float32 or float64 */
int32_t pattern_rank(const pgy_value *v);            /* -1: not known */
int64_t pattern_size(const pgy_value *v, int32_t d); /* -1: not known; d < 0 counts from the end */
bool pattern_same_shape(const pgy_value *a, const pgy_value *b);
/* Are they equal in axis d of a and e of b? Negative axes count from the end. */
bool pattern_same_size(const pgy_value *a, int32_t d, const pgy_value *b, int32_t e);

/* The same, or the axis of a is cut off at a number that is meant to be enough for that of b. */
bool pattern_covers(const pgy_value *a, int32_t d, const pgy_value *b, int32_t e);

/* Are all sizes known, and are there so many elements at most? */
bool pattern_has_at_most(const pgy_value *v, int64_t count);

bool pattern_is_constant(const pattern *p, const pgy_value *v);
/* Elements of a float constant as float64 (released by the caller), or NULL. */
pgy_tensor *pattern_floats(pattern *p, pgy_value *v);
/* A float constant of one element. */
bool pattern_scalar(pattern *p, pgy_value *v, double *out);
/* Is v a constant that is this number, as far as its type can hold it? */
bool pattern_scalar_is(pattern *p, pgy_value *v, double wanted);
bool pattern_close(const pgy_value *like, double a, double b);
bool pattern_ints(pattern *p, pgy_value *v, const int64_t **out, size_t *count);

int64_t pattern_int(const pgy_node *n, const char *name, int64_t fallback);
double pattern_float(const pgy_node *n, const char *name, double fallback);
bool pattern_text_is(const pgy_node *n, const char *name, const char *text, const char *fallback);

/* A product, taken apart through inner values: factor times the values. */
enum { PATTERN_MAX_FACTORS = 6, PATTERN_MAX_STEPS = 64 };
typedef struct pattern_product {
    double factor;
    pgy_value *values[PATTERN_MAX_FACTORS];
    size_t count; /* PATTERN_MAX_FACTORS + 1: too many */
    size_t steps; /* taken while it was taken apart: chains may be long */
} pattern_product;
/* Mul, Div by a constant, Pow with 2 or 3; a value that is none of these is one factor. */
pattern_product pattern_factors(pattern *p, pgy_value *v);

/* ---- Making ---------------------------------------------------------------------------------- */

/* A node that makes the outputs of `last`, which goes away with all that only it needed. Its name
 * is made of those that the rule drops, joined by " + ". NULL: out of memory. */
pgy_node *pattern_put(pattern *p, pgy_node *last, const char *op, pgy_value *const *inputs,
                      size_t count);
/* The same with other outputs: some of `last` and others, whose makers must have been `last` or
 * nodes that the caller drops. */
pgy_node *pattern_put_outputs(pattern *p, pgy_node *last, const char *op, pgy_value *const *inputs,
                              size_t count, pgy_value *const *outputs, size_t output_count);
/* A node before `before` that makes a value of its own; nothing goes. */
pgy_node *pattern_add(pattern *p, pgy_node *before, const char *op, pgy_value *const *inputs,
                      size_t count, pgy_value *output);
/* The same with several outputs, some of which nodes may still make that the caller drops. */
pgy_node *pattern_add_outputs(pattern *p, pgy_node *before, const char *op,
                              pgy_value *const *inputs, size_t count, pgy_value *const *outputs,
                              size_t output_count);
/* n goes, and whatever only it needed. */
void pattern_drop(pattern *p, pgy_node *n);
void pattern_set_int(pattern *p, pgy_node *n, const char *name, int64_t value);
void pattern_set_float(pattern *p, pgy_node *n, const char *name, double value);
void pattern_set_ints(pattern *p, pgy_node *n, const char *name, const int64_t *values,
                      size_t count);
void pattern_set_floats(pattern *p, pgy_node *n, const char *name, const double *values,
                        size_t count);
void pattern_set_text(pattern *p, pgy_node *n, const char *name, const char *text);
/* Attribute `name` as another node has it, if it has it. */
void pattern_copy(pattern *p, pgy_node *n, const pgy_node *from, const char *name);
/* A new weight of a level, rounded from float64 once. NULL: out of memory. */
pgy_value *pattern_weight(pattern *p, pgy_graph *level, const char *stem, pgy_dtype dtype,
                          size_t rank, const int64_t *shape, const double *values);
/* A constant under another shape of as many elements. */
pgy_value *pattern_reshaped(pattern *p, pgy_value *v, size_t rank, const int64_t *shape);

#endif
