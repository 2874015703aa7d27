/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic and order of dimensions. Operations on plain numbers do not use the dim_table. All
 * others use polynomials (dim_expr.c). A floor, minimum or maximum that is no polynomial becomes an
 * atom: a new variable in polynomials. */
#include "ops/dim.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "ops/dim_expr.h"

enum { MAX_DEPTH = 6 }; /* nesting depth of floors, minima and maxima */

/* ---- Sums and products ----------------------------------------------------------------------- */

dim dim_add(dim_table *t, dim a, dim b)
{
    int64_t v;
    if (!a.expr && !b.expr && i64_add(&v, a.value, b.value)) return dim_const(v);
    if (dim_is_lost(a) || dim_is_lost(b)) return dim_lost(t);
    poly p = dim_poly(a);
    const poly q = dim_poly(b);
    poly_add_scaled(&p, &q, 1);
    return poly_finish(t, &p);
}

dim dim_sub(dim_table *t, dim a, dim b)
{
    int64_t v;
    if (!a.expr && !b.expr && b.value != INT64_MIN && i64_add(&v, a.value, -b.value))
        return dim_const(v);
    if (dim_is_lost(a) || dim_is_lost(b)) return dim_lost(t);
    poly p = dim_poly(a);
    const poly q = dim_poly(b);
    poly_add_scaled(&p, &q, -1);
    return poly_finish(t, &p);
}

dim dim_neg(dim_table *t, dim a)
{
    return dim_sub(t, dim_const(0), a);
}

dim dim_mul(dim_table *t, dim a, dim b)
{
    int64_t v;
    if (!a.expr && !b.expr && i64_mul(&v, a.value, b.value)) return dim_const(v);
    if (dim_is_lost(a) || dim_is_lost(b)) return dim_lost(t);
    const poly q = dim_poly(a), r = dim_poly(b);
    poly p = {0};
    poly_add_scaled(&p, &r, q.constant);
    for (size_t i = 0; i < q.count && !p.overflow; i++)
        poly_add_product(t, &p, &r, q.items[i].factor, q.items[i].term);
    return poly_finish(t, &p);
}

/* ---- Division ------------------------------------------------------------------------------- */

static int64_t floor_div(int64_t a, int64_t b)
{
    const int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t floor_mod(int64_t a, int64_t b)
{
    const int64_t r = a % b;
    return r && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        const int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

/* Divides monomials; NULL *out means 1. False: not divisible. */
static bool divide_terms(dim_table *t, const term **out, const term *a, const term *b)
{
    const atom *rest[DIM_MAX_DEGREE];
    uint32_t n = 0, j = 0;
    for (uint32_t i = 0; i < a->degree; i++) {
        if (j < b->degree && a->atoms[i] == b->atoms[j])
            j++;
        else
            rest[n++] = a->atoms[i];
    }
    if (j < b->degree) return false;
    *out = n ? dim_intern_term(t, rest, n) : NULL;
    return !n || *out;
}

/* The exact quotient a / b by long division, b having at least one monomial. */
static bool divide_exactly(dim_table *t, dim *out, dim a, dim b)
{
    poly rest = dim_poly(a), quotient = {0};
    const poly by = dim_poly(b);
    const item lead = by.items[0];
    for (int step = 0; step < DIM_MAX_ITEMS && rest.count; step++) {
        const term *what = NULL;
        if (rest.items[0].factor == INT64_MIN || rest.items[0].factor % lead.factor) return false;
        if (!divide_terms(t, &what, rest.items[0].term, lead.term)) return false;
        const int64_t factor = rest.items[0].factor / lead.factor;
        if (what)
            poly_add_item(&quotient, factor, what);
        else
            poly_add_constant(&quotient, factor);
        poly_add_product(t, &rest, &by, -factor, what);
        if (rest.overflow || quotient.overflow) return false;
    }
    if (rest.count || rest.constant) return false;
    *out = dim_intern(t, &quotient);
    return true;
}

static int depth_of(dim d)
{
    int depth = 0;
    for (size_t i = 0; d.expr && i < d.expr->count; i++)
        for (uint32_t j = 0; j < d.expr->items[i].term->degree; j++)
            if (d.expr->items[i].term->atoms[j]->depth > depth)
                depth = d.expr->items[i].term->atoms[j]->depth;
    return depth;
}

/* Lower bound of a term; INT64_MIN if it has none. */
static int64_t term_least(const term *t)
{
    int64_t product = 1;
    for (uint32_t i = 0; i < t->degree; i++)
        if (t->atoms[i]->least < 0 || !i64_mul(&product, product, t->atoms[i]->least))
            return INT64_MIN;
    return product;
}

static int64_t poly_least(const poly *p)
{
    int64_t sum = p->constant;
    if (p->overflow) return INT64_MIN;
    for (size_t i = 0; i < p->count; i++) {
        int64_t least = term_least(p->items[i].term);
        if (p->items[i].factor < 0 || least < 0) return INT64_MIN;
        if (!i64_mul(&least, least, p->items[i].factor) || !i64_add(&sum, sum, least))
            return INT64_MIN;
    }
    return sum;
}

static bool poly_nonnegative(const poly *p)
{
    return poly_least(p) >= 0;
}

static int64_t dim_least(dim d)
{
    const poly p = dim_poly(d);
    return poly_least(&p);
}

static int64_t function_least(atom_kind kind, dim a, dim b)
{
    const int64_t x = dim_least(a), y = dim_least(b);
    if (kind == ATOM_MAX) return x > y ? x : y;
    if (kind == ATOM_MIN) return x < y ? x : y;
    if (x < 0 || y < 0) return INT64_MIN;
    return dim_is_const(b) && b.value > 0 ? x / b.value : 0;
}

static dim function_atom(dim_table *t, atom_kind kind, dim a, dim b)
{
    char key[128];
    const int depth = 1 + (depth_of(a) > depth_of(b) ? depth_of(a) : depth_of(b));
    if (depth > MAX_DEPTH) return dim_unknown(t, "expression too large");
    snprintf(key, sizeof key, "f%d:%zx,%" PRId64 ":%zx,%" PRId64, (int)kind,
             a.expr ? a.expr->id : 0, a.value, b.expr ? b.expr->id : 0, b.value);
    const atom wanted = {.kind = kind,
                         .depth = depth,
                         .a = a,
                         .b = b,
                         .least = function_least(kind, a, b),
                         .most = dim_function_most(kind, a, b)};
    return dim_intern_atom(t, key, &wanted);
}

/* floor(p / by) for by > 1: whole multiples leave the floor, common factors cancel, and a floor
 * inside a floor is one: floor((floor(x / m) + c) / by) = floor((x + c*m) / (m*by)). */
static dim floor_by_constant(dim_table *t, dim a, int64_t by)
{
    poly outside = {0}, inside = {0};
    const poly p = dim_poly(a);
    int64_t common = by;
    outside.constant = floor_div(p.constant, by);
    inside.constant = floor_mod(p.constant, by);
    for (size_t i = 0; i < p.count; i++) {
        const int64_t whole = floor_div(p.items[i].factor, by);
        const int64_t rest = floor_mod(p.items[i].factor, by);
        if (whole) poly_add_item(&outside, whole, p.items[i].term);
        if (rest) poly_add_item(&inside, rest, p.items[i].term);
        if (rest) common = gcd(common, rest);
    }
    if (inside.count == 0) return poly_finish(t, &outside);
    by /= common;
    inside.constant = floor_div(inside.constant, common);
    for (size_t i = 0; i < inside.count; i++) inside.items[i].factor /= common;
    const item *only = inside.items;
    if (by > 1 && inside.count == 1 && only->factor == 1 && only->term->degree == 1) {
        const atom *nested = only->term->atoms[0];
        int64_t product, shift;
        if (nested->kind == ATOM_FLOOR && !nested->b.expr && nested->b.value > 0 &&
            i64_mul(&product, nested->b.value, by) &&
            i64_mul(&shift, inside.constant, nested->b.value)) {
            const dim merged =
                floor_by_constant(t, dim_add(t, nested->a, dim_const(shift)), product);
            return dim_add(t, poly_finish(t, &outside), merged);
        }
    }
    const dim rest = poly_finish(t, &inside);
    const dim floored = by == 1 ? rest : function_atom(t, ATOM_FLOOR, rest, dim_const(by));
    return dim_add(t, poly_finish(t, &outside), floored);
}

dim dim_div_floor(dim_table *t, dim a, dim b)
{
    dim exact;
    if (dim_is_lost(a) || dim_is_lost(b)) return dim_lost(t);
    if (!b.expr) {
        if (b.value == 0) return dim_unknown(t, "division by zero");
        if (b.value == INT64_MIN || a.value == INT64_MIN)
            return dim_unknown(t, "the number overflows int64");
        if (b.value < 0) return dim_div_floor(t, dim_neg(t, a), dim_const(-b.value));
        if (!a.expr) return dim_const(floor_div(a.value, b.value));
        return b.value == 1 ? a : floor_by_constant(t, a, b.value);
    }
    if (!a.expr && a.value == 0) return a;
    if (divide_exactly(t, &exact, a, b)) return exact;
    return function_atom(t, ATOM_FLOOR, a, b);
}

dim dim_div_ceil(dim_table *t, dim a, dim b)
{
    if (!b.expr && b.value > 0) return dim_div_floor(t, dim_add(t, a, dim_const(b.value - 1)), b);
    return dim_neg(t, dim_div_floor(t, dim_neg(t, a), b));
}

dim dim_mod(dim_table *t, dim a, dim b)
{
    if (!b.expr && b.value == 0) return dim_unknown(t, "division by zero");
    return dim_sub(t, a, dim_mul(t, b, dim_div_floor(t, a, b)));
}

/* ---- Order ---------------------------------------------------------------------------------- */

/* The polynomial a - b. It needs no dim_table; `overflow` is set if it has too many terms or too
 * large factors. */
static poly difference(dim a, dim b)
{
    poly p = dim_poly(a);
    const poly q = dim_poly(b);
    poly_add_scaled(&p, &q, -1);
    return p;
}

static bool at_least(dim a, dim b)
{
    if (!a.expr && !b.expr) return a.value >= b.value;
    const poly p = difference(a, b);
    return poly_nonnegative(&p);
}

static dim extremum(dim_table *t, atom_kind kind, dim a, dim b)
{
    if (dim_is_lost(a) || dim_is_lost(b)) return dim_lost(t);
    if (at_least(a, b)) return kind == ATOM_MAX ? a : b;
    if (at_least(b, a)) return kind == ATOM_MAX ? b : a;
    const size_t ia = a.expr ? a.expr->id : 0, ib = b.expr ? b.expr->id : 0;
    return ia <= ib ? function_atom(t, kind, a, b) : function_atom(t, kind, b, a);
}

dim dim_min(dim_table *t, dim a, dim b)
{
    return extremum(t, ATOM_MIN, a, b);
}

dim dim_max(dim_table *t, dim a, dim b)
{
    return extremum(t, ATOM_MAX, a, b);
}

bool dim_equal(dim a, dim b)
{
    return a.expr == b.expr && (a.expr ? a.expr != &DIM_LOST : a.value == b.value);
}

bool dim_differ(dim a, dim b)
{
    if (!a.expr && !b.expr) return a.value != b.value;
    if (dim_is_lost(a) || dim_is_lost(b)) return false;
    poly up = difference(a, b), down = difference(b, a);
    poly_add_constant(&up, -1);
    poly_add_constant(&down, -1);
    return poly_nonnegative(&up) || poly_nonnegative(&down);
}

bool dim_is_positive(dim d)
{
    if (!d.expr) return d.value > 0;
    poly p = dim_poly(d);
    poly_add_constant(&p, -1);
    return poly_nonnegative(&p);
}

bool dim_is_capped(dim a, dim b)
{
    const atom *min = dim_single_atom(a);
    if (!min || min->kind != ATOM_MIN) return false;
    return (dim_equal(min->a, b) && dim_is_positive(min->b)) ||
           (dim_equal(min->b, b) && dim_is_positive(min->a));
}
