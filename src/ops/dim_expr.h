/* SPDX-License-Identifier: Apache-2.0 */
/* The representation of symbolic dimensions, for the files dim*.c: a polynomial is a constant plus
 * integer multiples of terms, and a term is a sorted product of atoms. */
#ifndef OPS_DIM_EXPR_H
#define OPS_DIM_EXPR_H

#include "ops/dim.h"

enum { DIM_MAX_ITEMS = 12, DIM_MAX_DEGREE = 6 };

typedef enum atom_kind { ATOM_SYMBOL, ATOM_UNKNOWN, ATOM_FLOOR, ATOM_MIN, ATOM_MAX } atom_kind;

typedef struct atom {
    atom_kind kind;
    size_t id;
    int depth;         /* nesting depth of floors, minima and maxima: 1 + that of a and b */
    int64_t least;     /* lower bound; INT64_MIN: none */
    int64_t most;      /* upper bound; DIM_NO_LIMIT: none */
    const char *text;  /* for a symbol: its name; for an unknown: why it is unknown */
    const void *owner; /* for an unknown: dim_table.owner when it was made */
    uint64_t number;   /* for an unknown: N + 1 if its name is "unk__N"; 0: it has no name */
    dim a, b;
} atom;

typedef struct term {
    size_t id;
    uint32_t degree;
    const atom *atoms[DIM_MAX_DEGREE];
} term;

typedef struct item {
    int64_t factor;
    const term *term;
} item;

struct dim_expr {
    size_t id;
    int64_t constant;
    size_t count;
    const item *items;
};

/* A polynomial under construction. */
typedef struct poly {
    int64_t constant;
    size_t count;
    item items[DIM_MAX_ITEMS];
    bool overflow;
} poly;

/* ---- dim_upper.c ----------------------------------------------------------------------------- */

#define DIM_NO_LIMIT INT64_MAX
int64_t dim_most(dim d); /* upper bound of d, or DIM_NO_LIMIT */
int64_t dim_function_most(atom_kind kind, dim a, dim b);

/* ---- dim_expr.c ------------------------------------------------------------------------------ */

/* The result of every operation that runs out of memory. It equals nothing, not even itself. */
extern const dim_expr DIM_LOST;
dim dim_lost(dim_table *t);
static inline bool dim_is_lost(dim d)
{
    return d.expr == &DIM_LOST;
}

/* Return the one stored copy of a term or polynomial, so that equal ones have the same pointer. Out
 * of memory: NULL, or DIM_LOST for dims. */
const term *dim_intern_term(dim_table *t, const atom *const *atoms, uint32_t degree);
dim dim_intern(dim_table *t, const poly *p);
/* Gives the dim that consists of one atom. `key` is the atom's unique text in dim_table.terms. */
dim dim_intern_atom(dim_table *t, const char *key, const atom *wanted);
/* The atom if d consists of a single one, else NULL. */
const atom *dim_single_atom(dim d);

poly dim_poly(dim d);
void poly_add_constant(poly *p, int64_t v);
void poly_add_item(poly *p, int64_t factor, const term *what);
/* p += factor * q */
void poly_add_scaled(poly *p, const poly *q, int64_t factor);
/* p += factor * what * q, where NULL `what` means 1 */
void poly_add_product(dim_table *t, poly *p, const poly *q, int64_t factor, const term *what);
/* the polynomial as a dim; a fresh unknown if p overflowed */
dim poly_finish(dim_table *t, const poly *p);

#endif
