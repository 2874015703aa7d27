/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions in canonical form. Terms, atoms and expressions are interned by a text key made of
 * ids, so equal ones have the same pointer. Terms are in graded lexicographic order, so long
 * division finds every exact quotient. A result beyond the limits becomes a fresh unknown. */
#include "ops/dim_expr.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

enum { KEY_BYTES = 512 };

static const atom LOST_ATOM = {
    .kind = ATOM_UNKNOWN, .least = INT64_MIN, .most = DIM_NO_LIMIT, .text = "it was not kept"};
static const term LOST_TERM = {.degree = 1, .atoms = {&LOST_ATOM}};
static const item LOST_ITEM = {1, &LOST_TERM};
const dim_expr DIM_LOST = {.count = 1, .items = &LOST_ITEM};

void dim_table_deinit(dim_table *t)
{
    strmap_deinit(&t->terms);
    arena_deinit(&t->memory);
    *t = (dim_table){0};
}

dim dim_lost(dim_table *t)
{
    t->failed = !t->numbers_only;
    return (dim){.expr = &DIM_LOST};
}

/* ---- Interning ------------------------------------------------------------------------------ */

static int compare_terms(const term *a, const term *b)
{
    if (a->degree != b->degree) return a->degree > b->degree ? -1 : 1;
    for (uint32_t i = 0; i < a->degree; i++)
        if (a->atoms[i] != b->atoms[i]) return a->atoms[i]->id < b->atoms[i]->id ? -1 : 1;
    return 0;
}

const term *dim_intern_term(dim_table *t, const atom *const *atoms, uint32_t degree)
{
    char key[KEY_BYTES];
    int n = snprintf(key, sizeof key, "t");
    for (uint32_t i = 0; i < degree; i++)
        n += snprintf(key + n, sizeof key - (size_t)n, "%zx,", atoms[i]->id);
    term *found = strmap_get(&t->terms, key);
    if (found) return found;
    term *made = arena_alloc(&t->memory, sizeof *made);
    if (!made || !strmap_put(&t->terms, key, made)) return NULL;
    made->id = t->terms.count;
    made->degree = degree;
    memcpy(made->atoms, atoms, degree * sizeof *atoms);
    return made;
}

dim dim_intern(dim_table *t, const poly *p)
{
    char key[KEY_BYTES];
    if (p->count == 0) return dim_const(p->constant);
    int n = snprintf(key, sizeof key, "x%" PRId64, p->constant);
    for (size_t i = 0; i < p->count; i++)
        n += snprintf(key + n, sizeof key - (size_t)n, ";%" PRId64 "*%zx", p->items[i].factor,
                      p->items[i].term->id);
    dim_expr *found = strmap_get(&t->terms, key);
    if (found) return (dim){.expr = found};
    dim_expr *made = arena_alloc(&t->memory, sizeof *made);
    item *items = arena_alloc_array(&t->memory, p->count, sizeof *items);
    if (!made || !items || !strmap_put(&t->terms, key, made)) return dim_lost(t);
    memcpy(items, p->items, p->count * sizeof *items);
    *made = (dim_expr){t->terms.count, p->constant, p->count, items};
    return (dim){.expr = made};
}

/* Gives the dim that consists of one atom. `key` is the atom's unique text in dim_table.terms. */
dim dim_intern_atom(dim_table *t, const char *key, const atom *wanted)
{
    const atom *found = strmap_get(&t->terms, key);
    if (!found) {
        atom *made = arena_alloc(&t->memory, sizeof *made);
        if (!made || !strmap_put(&t->terms, key, made)) return dim_lost(t);
        *made = *wanted;
        made->id = t->terms.count;
        found = made;
    }
    const term *single = dim_intern_term(t, &found, 1);
    if (!single) return dim_lost(t);
    const poly p = {.count = 1, .items = {{1, single}}};
    return dim_intern(t, &p);
}

dim dim_symbol(dim_table *t, const char *name)
{
    str key = {0};
    str_printf(&key, "s%s", name);
    const atom *found = strmap_get(&t->terms, str_text(&key));
    const char *text = found ? found->text : arena_strdup(&t->memory, name);
    const atom wanted = {.kind = ATOM_SYMBOL, .least = 0, .most = DIM_NO_LIMIT, .text = text};
    const dim d = key.failed || !text ? dim_lost(t) : dim_intern_atom(t, str_text(&key), &wanted);
    str_deinit(&key);
    return d;
}

dim dim_unknown(dim_table *t, const char *why)
{
    return dim_unknown_upto(t, why, (dim){.value = DIM_NO_LIMIT});
}

dim dim_unknown_upto(dim_table *t, const char *why, dim limit)
{
    char key[32];
    if (t->numbers_only) return dim_lost(t);
    const char *text = why ? arena_strdup(&t->memory, why) : NULL;
    if (why && !text) return dim_lost(t);
    const atom wanted = {.kind = ATOM_UNKNOWN,
                         .least = INT64_MIN,
                         .most = dim_most(limit),
                         .text = text,
                         .owner = t->owner};
    snprintf(key, sizeof key, "u%" PRIu64, t->unknown_count++);
    return dim_intern_atom(t, key, &wanted);
}

const atom *dim_single_atom(dim d)
{
    if (!d.expr || d.expr->constant || d.expr->count != 1) return NULL;
    const item *only = d.expr->items;
    return only->factor == 1 && only->term->degree == 1 ? only->term->atoms[0] : NULL;
}

bool dim_is_unknown(dim d)
{
    const atom *a = dim_single_atom(d);
    return a && a->kind == ATOM_UNKNOWN;
}

/* Finds the first unknown in d; if `unnamed`, the first one that has no name yet. */
static const atom *find_unknown(dim d, bool unnamed)
{
    for (size_t i = 0; d.expr && i < d.expr->count; i++) {
        const term *t = d.expr->items[i].term;
        for (uint32_t k = 0; k < t->degree; k++) {
            const atom *a = t->atoms[k];
            if (a->kind == ATOM_UNKNOWN && !(unnamed && a->number)) return a;
            const atom *inner = find_unknown(a->a, unnamed);
            if (!inner) inner = find_unknown(a->b, unnamed);
            if (inner) return inner;
        }
    }
    return NULL;
}

bool dim_has_unknown(dim d)
{
    return find_unknown(d, false) != NULL;
}

const char *dim_why(dim d)
{
    const atom *a = find_unknown(d, false);
    return a ? a->text : NULL;
}

const void *dim_owner(dim d)
{
    const atom *a = find_unknown(d, false);
    return a ? a->owner : NULL;
}

bool dim_is_named(dim d)
{
    return !find_unknown(d, true);
}

/* Names may be set later, because they are not part of an atom's key. */
void dim_name_unknowns(dim_table *t, dim d)
{
    atom *a = (atom *)find_unknown(d, true);
    char key[32];
    for (; a && a != &LOST_ATOM; a = (atom *)find_unknown(d, true)) {
        do snprintf(key, sizeof key, "sunk__%" PRIu64, t->named_count++);
        while (strmap_get(&t->terms, key));
        a->number = t->named_count;
    }
}

/* ---- Polynomials ---------------------------------------------------------------------------- */

poly dim_poly(dim d)
{
    poly p = {.constant = d.value};
    if (!d.expr) return p;
    p.constant = d.expr->constant;
    p.count = d.expr->count;
    memcpy(p.items, d.expr->items, p.count * sizeof *p.items);
    return p;
}

void poly_add_constant(poly *p, int64_t v)
{
    if (!i64_add(&p->constant, p->constant, v)) p->overflow = true;
}

void poly_add_item(poly *p, int64_t factor, const term *what)
{
    size_t at = 0;
    if (factor == 0) return;
    while (at < p->count && compare_terms(p->items[at].term, what) < 0) at++;
    if (at < p->count && p->items[at].term == what) {
        if (!i64_add(&p->items[at].factor, p->items[at].factor, factor)) p->overflow = true;
        if (p->items[at].factor == 0) {
            p->count--;
            memmove(p->items + at, p->items + at + 1, (p->count - at) * sizeof *p->items);
        }
        return;
    }
    if (p->count == DIM_MAX_ITEMS) {
        p->overflow = true;
        return;
    }
    memmove(p->items + at + 1, p->items + at, (p->count - at) * sizeof *p->items);
    p->items[at] = (item){factor, what};
    p->count++;
}

/* p += factor * q */
void poly_add_scaled(poly *p, const poly *q, int64_t factor)
{
    int64_t v;
    if (!i64_mul(&v, q->constant, factor))
        p->overflow = true;
    else
        poly_add_constant(p, v);
    for (size_t i = 0; i < q->count && !p->overflow; i++) {
        if (!i64_mul(&v, q->items[i].factor, factor))
            p->overflow = true;
        else
            poly_add_item(p, v, q->items[i].term);
    }
}

static const term *multiply_terms(dim_table *t, const term *a, const term *b)
{
    const atom *atoms[DIM_MAX_DEGREE];
    if (a->degree + b->degree > DIM_MAX_DEGREE) return NULL;
    uint32_t i = 0, j = 0, n = 0;
    while (i < a->degree || j < b->degree) {
        const bool from_a = j == b->degree || (i < a->degree && a->atoms[i]->id <= b->atoms[j]->id);
        atoms[n++] = from_a ? a->atoms[i++] : b->atoms[j++];
    }
    return dim_intern_term(t, atoms, n);
}

/* p += factor * what * q, where NULL `what` means 1 */
void poly_add_product(dim_table *t, poly *p, const poly *q, int64_t factor, const term *what)
{
    int64_t v;
    if (!what) {
        poly_add_scaled(p, q, factor);
        return;
    }
    if (q->constant) {
        if (!i64_mul(&v, q->constant, factor))
            p->overflow = true;
        else
            poly_add_item(p, v, what);
    }
    for (size_t i = 0; i < q->count && !p->overflow; i++) {
        const term *product = multiply_terms(t, q->items[i].term, what);
        if (!product || !i64_mul(&v, q->items[i].factor, factor))
            p->overflow = true;
        else
            poly_add_item(p, v, product);
    }
}

dim poly_finish(dim_table *t, const poly *p)
{
    if (p->overflow) return dim_unknown(t, "expression too large");
    return dim_intern(t, p);
}
