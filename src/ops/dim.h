/* SPDX-License-Identifier: Apache-2.0 */
/* Dimensions that may be symbolic. A dim is an integer, or an expression over named symbols kept in
 * canonical form (a linear combination of interned terms), so that equal expressions are the same
 * pointer: N*2+1 == 1+N+N. Expressions are bounded in size: a larger result becomes a fresh unknown
 * symbol. A result is exact or unknown, never wrong. */
#ifndef OPS_DIM_H
#define OPS_DIM_H

#include <polygraphy/base.h>

#include "base/arena.h"
#include "base/str.h"

typedef struct dim_expr dim_expr;
typedef struct dim {
    int64_t value;        /* the number, valid if expr is NULL */
    const dim_expr *expr; /* the expression; NULL = the dim is a number */
} dim;

/* Interns symbols and terms; one per graph. A zeroed table is valid. */
typedef struct dim_table {
    arena memory;
    strmap terms;
    uint64_t unknown_count, named_count;
    /* recorded in new unknowns: the node whose shape rule makes them, for reports */
    const void *owner;
    bool failed; /* out of memory: results are the dummy DIM_LOST */
    /* Only numbers matter: an unknown is DIM_LOST, which equals nothing, and costs no memory. */
    bool numbers_only;
} dim_table;
void dim_table_deinit(dim_table *t);

/* Maps the dims of a table to those of its copy. */
typedef struct dim_copy {
    void **items; /* copies of terms, atoms and expressions, indexed by the id of the original */
    size_t count;
} dim_copy;
/* Copies `from` into the empty table `to`; later unknowns get the same names in both. `owner` maps
 * an unknown's owner to the one in the copy, or to NULL. False: out of memory. */
bool dim_table_copy(dim_copy *out, dim_table *to, const dim_table *from,
                    const void *(*owner)(const void *of, void *user), void *user);
dim dim_copied(const dim_copy *c, dim d);
void dim_copy_deinit(dim_copy *c);

static inline dim dim_const(int64_t v)
{
    return (dim){.value = v};
}
dim dim_symbol(dim_table *t, const char *name); /* named, >= 0 by definition */
dim dim_unknown(dim_table *t, const char *why); /* fresh, printed as "?" until it is named; `why`
                                                   (may be NULL) is kept for reports */
/* Makes a fresh unknown for a size that is at most `limit`. */
dim dim_unknown_upto(dim_table *t, const char *why, dim limit);
static inline bool dim_is_const(dim d)
{
    return !d.expr;
}
bool dim_is_unknown(dim d);  /* true if d is a single unknown, not an expression with other parts */
bool dim_has_unknown(dim d); /* True if the expression has an unknown. */
/* why the first unknown in d is unknown; NULL: not stated, or d has no unknown */
const char *dim_why(dim d);
const void *dim_owner(dim d); /* Owner of the first unknown in it, or NULL. */
/* Names the unnamed unknowns of an expression "unk__N". N counts from 0 and skips names of
 * symbols. */
void dim_name_unknowns(dim_table *t, dim d);
bool dim_is_named(dim d); /* true if every unknown in d has a name */

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
bool dim_upper(int64_t *out, dim d); /* gives an upper bound; false: none is known */
/* True if a is Min(b, limit) with limit > 0: then a valid broadcast of both gives b. */
bool dim_is_capped(dim a, dim b);
/* The number of a symbol. */
typedef struct dim_bound {
    const void *symbol; /* dim_symbol_of */
    int64_t value;
} dim_bound;
/* What identifies the symbol that d consists of; NULL: d is something else. */
const void *dim_symbol_of(dim d);
/* The number of d when its symbols have these. False: it has another symbol or an unknown, or a
 * number overflows. */
bool dim_value(int64_t *out, dim d, const dim_bound *bound, size_t count);
/* Text as exporters write it: "N", "2*N + 1", "floor((H - 1)/2)". */
void dim_print(str *out, dim d);

#endif
