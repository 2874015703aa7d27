/* SPDX-License-Identifier: Apache-2.0 */
/* Dimensions that may be symbolic. A dim is an integer, or an expression over named symbols kept in
 * canonical form (a linear combination of interned terms), so that equal expressions are the same
 * pointer: N*2+1 == 1+N+N. Expressions are bounded in size; beyond that the result is a fresh
 * unknown symbol. Exact or unknown, never wrong. */
#ifndef OPS_DIM_H
#define OPS_DIM_H

#include <polygraphy/base.h>

#include "base/arena.h"
#include "base/str.h"

typedef struct dim_expr dim_expr;
typedef struct dim {
    int64_t value;        /* when expr is NULL */
    const dim_expr *expr; /* NULL = constant */
} dim;

/* Interns symbols and terms; one per graph. Zeroed is valid. */
typedef struct dim_table {
    arena memory;
    strmap terms;
    uint64_t unknown_count, named_count;
    const void *owner; /* whom new unknowns belong to, for reports */
    bool failed;       /* out of memory: results are unknown symbols of a static dummy */
} dim_table;
void dim_table_deinit(dim_table *t);

/* A table taken over into another one: which of the new dims each of the old ones is. */
typedef struct dim_copy {
    void **items; /* by id of what a dim is made of */
    size_t count;
} dim_copy;
/* Makes `to`, which is empty, a copy of `from`, with the same names and the same numbers to come.
 * `owner` gives whom an unknown belongs to from now on; it may give NULL. False: out of memory. */
bool dim_table_copy(dim_copy *out, dim_table *to, const dim_table *from,
                    const void *(*owner)(const void *of, void *user), void *user);
dim dim_copied(const dim_copy *c, dim d);
void dim_copy_deinit(dim_copy *c);

dim dim_const(int64_t v);
dim dim_symbol(dim_table *t, const char *name); /* named, >= 0 by definition */
dim dim_unknown(dim_table *t, const char *why); /* fresh, printed as "?" until it is named; `why`
                                                   (may be NULL) is kept for reports */
/* The same, being the size of something that is at most `limit`. */
dim dim_unknown_upto(dim_table *t, const char *why, dim limit);
bool dim_is_const(dim d);
bool dim_is_unknown(dim d);   /* exactly one fresh unknown */
bool dim_has_unknown(dim d);  /* somewhere in the expression */
const char *dim_why(dim d);   /* reason of the first unknown in it, or NULL */
const void *dim_owner(dim d); /* of the first unknown in it, or NULL */
/* Gives the unknowns of an expression names "unk__N", N counting from 0 and no symbol having that
 * name; those that have one keep it. */
void dim_name_unknowns(dim_table *t, dim d);
bool dim_is_named(dim d); /* no unknown in it lacks a name */

dim dim_add(dim_table *t, dim a, dim b);
dim dim_sub(dim_table *t, dim a, dim b);
dim dim_mul(dim_table *t, dim a, dim b);
dim dim_div_floor(dim_table *t, dim a, dim b); /* exact where divisible; b = 0 gives an unknown */
dim dim_div_ceil(dim_table *t, dim a, dim b);
dim dim_mod(dim_table *t, dim a, dim b);
dim dim_min(dim_table *t, dim a, dim b);
dim dim_max(dim_table *t, dim a, dim b);
dim dim_neg(dim_table *t, dim a);

bool dim_equal(dim a, dim b);        /* certainly equal */
bool dim_differ(dim a, dim b);       /* certainly different */
bool dim_is_positive(dim d);         /* certainly > 0, symbols counted as >= 0 */
bool dim_upper(int64_t *out, dim d); /* the most that it can be; false: that is not known */
bool dim_is_capped(
    dim a, dim b); /* a is Min(b, limit) with a limit > 0: where both broadcast, it is to b */
/* Text as exporters write it: "N", "2*N + 1", "floor((H - 1)/2)". */
void dim_print(str *out, dim d);

#endif
