/* SPDX-License-Identifier: Apache-2.0 */
/* Upper bounds of dimensions, from those of their atoms: unknown sizes that an operator bounds, and
 * minima with a number. Symbols have no upper bound. */
#include "ops/dim_expr.h"

#include "base/alloc.h"

/* Lower bound of an atom. An unknown with an upper limit is a size, so it is at least 0. */
static int64_t atom_least(const atom *a)
{
    return a->kind == ATOM_UNKNOWN && a->most != DIM_NO_LIMIT ? 0 : a->least;
}

/* Upper bound of a product of atoms, or DIM_NO_LIMIT. It exists only if no factor can be negative.
 */
static int64_t term_most(const term *t)
{
    int64_t product = 1;
    if (t->degree == 1) return t->atoms[0]->most;
    for (uint32_t i = 0; i < t->degree; i++) {
        const atom *a = t->atoms[i];
        if (atom_least(a) < 0 || a->most == DIM_NO_LIMIT) return DIM_NO_LIMIT;
        if (!i64_mul(&product, product, a->most < 0 ? 0 : a->most)) return DIM_NO_LIMIT;
    }
    return product;
}

/* A lower bound of at least 0, or -1 if the term may be negative. */
static int64_t term_least(const term *t)
{
    int64_t product = 1;
    for (uint32_t i = 0; i < t->degree; i++) {
        const int64_t least = atom_least(t->atoms[i]);
        if (least < 0) return -1;
        if (!i64_mul(&product, product, least)) return 0;
    }
    return product;
}

int64_t dim_most(dim d)
{
    if (dim_is_const(d)) return d.value;
    int64_t sum = d.expr->constant;
    for (size_t i = 0; i < d.expr->count; i++) {
        const int64_t factor = d.expr->items[i].factor;
        const term *t = d.expr->items[i].term;
        int64_t v = factor > 0 ? term_most(t) : term_least(t);
        if (factor > 0 ? v == DIM_NO_LIMIT : v < 0) return DIM_NO_LIMIT;
        if (!i64_mul(&v, v, factor) || !i64_add(&sum, sum, v)) return DIM_NO_LIMIT;
    }
    return sum;
}

int64_t dim_function_most(atom_kind kind, dim a, dim b)
{
    const int64_t x = dim_most(a), y = dim_most(b);
    if (kind == ATOM_MIN) return x < y ? x : y;
    if (kind == ATOM_MAX) return x > y ? x : y;
    if (x == DIM_NO_LIMIT || x < 0 || !dim_is_const(b) || b.value <= 0) return DIM_NO_LIMIT;
    return x / b.value;
}

bool dim_upper(int64_t *out, dim d)
{
    const int64_t most = dim_most(d);
    if (most == DIM_NO_LIMIT) return false;
    *out = most < 0 ? 0 : most;
    return true;
}
