/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolic dimensions as polynomials: a constant plus integer multiples of monomials, a monomial
 * being a sorted product of atoms (named symbols, fresh unknowns, floors, minima, maxima).
 * Everything is interned by a text key made of ids, so equal values are one pointer. Monomials are
 * kept in graded lexicographic order, which makes long division exact wherever a quotient exists.
 * What grows past the limits becomes a fresh unknown. */
#include "ops/dim.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

enum { MAX_ITEMS = 12, MAX_DEGREE = 6, MAX_DEPTH = 6, KEY_BYTES = 512 };

typedef enum atom_kind { ATOM_SYMBOL, ATOM_UNKNOWN, ATOM_FLOOR, ATOM_MIN, ATOM_MAX } atom_kind;

typedef struct atom {
    atom_kind kind;
    size_t id;
    int depth;         /* of nesting in a and b */
    int64_t least;     /* lower bound; INT64_MIN: none */
    const char *text;  /* name of a symbol; why an unknown is one */
    const void *owner; /* of an unknown */
    uint64_t number;   /* in the name of an unknown, from 1; 0: it has none */
    dim a, b;
} atom;

typedef struct term {
    size_t id;
    uint32_t degree;
    const atom *atoms[MAX_DEGREE];
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

/* A polynomial being worked on. */
typedef struct poly {
    int64_t constant;
    size_t count;
    item items[MAX_ITEMS];
    bool overflow;
} poly;

/* What an operation gives when memory has run out: equal to nothing, itself included. */
static const atom LOST_ATOM = {.kind = ATOM_UNKNOWN, .least = INT64_MIN, .text = "out of memory"};
static const term LOST_TERM = {.degree = 1, .atoms = {&LOST_ATOM}};
static const item LOST_ITEM = {1, &LOST_TERM};
static const dim_expr LOST = {.count = 1, .items = &LOST_ITEM};

void dim_table_deinit(dim_table *t)
{
    strmap_deinit(&t->terms);
    arena_deinit(&t->memory);
    *t = (dim_table){0};
}

static dim lost(dim_table *t)
{
    t->failed = true;
    return (dim){.expr = &LOST};
}

dim dim_const(int64_t v)
{
    return (dim){.value = v};
}

bool dim_is_const(dim d)
{
    return !d.expr;
}

/* ---- Interning ------------------------------------------------------------------------------ */

static int compare_terms(const term *a, const term *b)
{
    if (a->degree != b->degree) return a->degree > b->degree ? -1 : 1;
    for (uint32_t i = 0; i < a->degree; i++)
        if (a->atoms[i] != b->atoms[i]) return a->atoms[i]->id < b->atoms[i]->id ? -1 : 1;
    return 0;
}

static const term *intern_term(dim_table *t, const atom *const *atoms, uint32_t degree)
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

static dim intern_poly(dim_table *t, const poly *p)
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
    if (!made || !items || !strmap_put(&t->terms, key, made)) return lost(t);
    memcpy(items, p->items, p->count * sizeof *items);
    *made = (dim_expr){t->terms.count, p->constant, p->count, items};
    return (dim){.expr = made};
}

/* The dim that is one atom; `key` names the atom. */
static dim intern_atom(dim_table *t, const char *key, const atom *wanted)
{
    const atom *found = strmap_get(&t->terms, key);
    if (!found) {
        atom *made = arena_alloc(&t->memory, sizeof *made);
        if (!made || !strmap_put(&t->terms, key, made)) return lost(t);
        *made = *wanted;
        made->id = t->terms.count;
        found = made;
    }
    const term *single = intern_term(t, &found, 1);
    if (!single) return lost(t);
    const poly p = {.count = 1, .items = {{1, single}}};
    return intern_poly(t, &p);
}

dim dim_symbol(dim_table *t, const char *name)
{
    str key = {0};
    str_printf(&key, "s%s", name);
    const atom *found = strmap_get(&t->terms, str_text(&key));
    const char *text = found ? found->text : arena_strdup(&t->memory, name);
    const atom wanted = {.kind = ATOM_SYMBOL, .least = 0, .text = text};
    const dim d = key.failed || !text ? lost(t) : intern_atom(t, str_text(&key), &wanted);
    str_deinit(&key);
    return d;
}

dim dim_unknown(dim_table *t, const char *why)
{
    char key[32];
    const char *text = why ? arena_strdup(&t->memory, why) : NULL;
    if (why && !text) return lost(t);
    const atom wanted = {.kind = ATOM_UNKNOWN, .least = INT64_MIN, .text = text, .owner = t->owner};
    snprintf(key, sizeof key, "u%" PRIu64, t->unknown_count++);
    return intern_atom(t, key, &wanted);
}

static const atom *single_atom(dim d)
{
    if (!d.expr || d.expr->constant || d.expr->count != 1) return NULL;
    const item *only = d.expr->items;
    return only->factor == 1 && only->term->degree == 1 ? only->term->atoms[0] : NULL;
}

bool dim_is_unknown(dim d)
{
    const atom *a = single_atom(d);
    return a && a->kind == ATOM_UNKNOWN;
}

/* The first unknown of an expression; unnamed: the first without a name. */
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

/* Atoms are interned by what they are, which a name does not change. */
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

static poly poly_of(dim d)
{
    poly p = {.constant = d.value};
    if (!d.expr) return p;
    p.constant = d.expr->constant;
    p.count = d.expr->count;
    memcpy(p.items, d.expr->items, p.count * sizeof *p.items);
    return p;
}

static void add_constant(poly *p, int64_t v)
{
    if (!i64_add(&p->constant, p->constant, v)) p->overflow = true;
}

static void add_item(poly *p, int64_t factor, const term *what)
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
    if (p->count == MAX_ITEMS) {
        p->overflow = true;
        return;
    }
    memmove(p->items + at + 1, p->items + at, (p->count - at) * sizeof *p->items);
    p->items[at] = (item){factor, what};
    p->count++;
}

/* p += factor * q */
static void add_scaled(poly *p, const poly *q, int64_t factor)
{
    int64_t v;
    if (!i64_mul(&v, q->constant, factor))
        p->overflow = true;
    else
        add_constant(p, v);
    for (size_t i = 0; i < q->count && !p->overflow; i++) {
        if (!i64_mul(&v, q->items[i].factor, factor))
            p->overflow = true;
        else
            add_item(p, v, q->items[i].term);
    }
}

static const term *multiply_terms(dim_table *t, const term *a, const term *b)
{
    const atom *atoms[MAX_DEGREE];
    if (a->degree + b->degree > MAX_DEGREE) return NULL;
    uint32_t i = 0, j = 0, n = 0;
    while (i < a->degree || j < b->degree) {
        const bool from_a = j == b->degree || (i < a->degree && a->atoms[i]->id <= b->atoms[j]->id);
        atoms[n++] = from_a ? a->atoms[i++] : b->atoms[j++];
    }
    return intern_term(t, atoms, n);
}

/* p += factor * what * q, `what` NULL being 1 */
static void add_product(dim_table *t, poly *p, const poly *q, int64_t factor, const term *what)
{
    int64_t v;
    if (!what) {
        add_scaled(p, q, factor);
        return;
    }
    if (q->constant) {
        if (!i64_mul(&v, q->constant, factor))
            p->overflow = true;
        else
            add_item(p, v, what);
    }
    for (size_t i = 0; i < q->count && !p->overflow; i++) {
        const term *product = multiply_terms(t, q->items[i].term, what);
        if (!product || !i64_mul(&v, q->items[i].factor, factor))
            p->overflow = true;
        else
            add_item(p, v, product);
    }
}

static dim finish(dim_table *t, const poly *p)
{
    if (p->overflow) return dim_unknown(t, "expression too large");
    return intern_poly(t, p);
}

static bool is_lost(dim d)
{
    return d.expr == &LOST;
}

dim dim_add(dim_table *t, dim a, dim b)
{
    if (is_lost(a) || is_lost(b)) return lost(t);
    poly p = poly_of(a);
    const poly q = poly_of(b);
    add_scaled(&p, &q, 1);
    return finish(t, &p);
}

dim dim_sub(dim_table *t, dim a, dim b)
{
    if (is_lost(a) || is_lost(b)) return lost(t);
    poly p = poly_of(a);
    const poly q = poly_of(b);
    add_scaled(&p, &q, -1);
    return finish(t, &p);
}

dim dim_neg(dim_table *t, dim a)
{
    return dim_sub(t, dim_const(0), a);
}

dim dim_mul(dim_table *t, dim a, dim b)
{
    if (is_lost(a) || is_lost(b)) return lost(t);
    const poly q = poly_of(a), r = poly_of(b);
    poly p = {0};
    add_scaled(&p, &r, q.constant);
    for (size_t i = 0; i < q.count && !p.overflow; i++)
        add_product(t, &p, &r, q.items[i].factor, q.items[i].term);
    return finish(t, &p);
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

/* a / b for monomials; *out NULL means 1. False: not divisible. */
static bool divide_terms(dim_table *t, const term **out, const term *a, const term *b)
{
    const atom *rest[MAX_DEGREE];
    uint32_t n = 0, j = 0;
    for (uint32_t i = 0; i < a->degree; i++) {
        if (j < b->degree && a->atoms[i] == b->atoms[j])
            j++;
        else
            rest[n++] = a->atoms[i];
    }
    if (j < b->degree) return false;
    *out = n ? intern_term(t, rest, n) : NULL;
    return !n || *out;
}

/* The exact quotient a / b by long division, b having at least one monomial. */
static bool divide_exactly(dim_table *t, dim *out, dim a, dim b)
{
    poly rest = poly_of(a), quotient = {0};
    const poly by = poly_of(b);
    const item lead = by.items[0];
    for (int step = 0; step < MAX_ITEMS && rest.count; step++) {
        const term *what = NULL;
        if (rest.items[0].factor == INT64_MIN || rest.items[0].factor % lead.factor) return false;
        if (!divide_terms(t, &what, rest.items[0].term, lead.term)) return false;
        const int64_t factor = rest.items[0].factor / lead.factor;
        if (what)
            add_item(&quotient, factor, what);
        else
            add_constant(&quotient, factor);
        add_product(t, &rest, &by, -factor, what);
        if (rest.overflow || quotient.overflow) return false;
    }
    if (rest.count || rest.constant) return false;
    *out = intern_poly(t, &quotient);
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

/* Lower bounds; INT64_MIN where there is none. */
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
    const poly p = poly_of(d);
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
    const atom wanted = {
        .kind = kind, .depth = depth, .a = a, .b = b, .least = function_least(kind, a, b)};
    return intern_atom(t, key, &wanted);
}

/* floor(p / by) for by > 1: whole multiples leave the floor, common factors cancel, and a floor
 * inside a floor is one: floor((floor(x / m) + c) / by) = floor((x + c*m) / (m*by)). */
static dim floor_by_constant(dim_table *t, dim a, int64_t by)
{
    poly outside = {0}, inside = {0};
    const poly p = poly_of(a);
    int64_t common = by;
    outside.constant = floor_div(p.constant, by);
    inside.constant = floor_mod(p.constant, by);
    for (size_t i = 0; i < p.count; i++) {
        const int64_t whole = floor_div(p.items[i].factor, by);
        const int64_t rest = floor_mod(p.items[i].factor, by);
        if (whole) add_item(&outside, whole, p.items[i].term);
        if (rest) add_item(&inside, rest, p.items[i].term);
        if (rest) common = gcd(common, rest);
    }
    if (inside.count == 0) return finish(t, &outside);
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
            return dim_add(t, finish(t, &outside), merged);
        }
    }
    const dim rest = finish(t, &inside);
    const dim floored = by == 1 ? rest : function_atom(t, ATOM_FLOOR, rest, dim_const(by));
    return dim_add(t, finish(t, &outside), floored);
}

dim dim_div_floor(dim_table *t, dim a, dim b)
{
    dim exact;
    if (is_lost(a) || is_lost(b)) return lost(t);
    if (!b.expr) {
        if (b.value == 0) return dim_unknown(t, "division by zero");
        if (b.value == INT64_MIN || a.value == INT64_MIN) return dim_unknown(t, "integer overflow");
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

/* a - b, without a table; overflow when it does not fit. */
static poly difference(dim a, dim b)
{
    poly p = poly_of(a);
    const poly q = poly_of(b);
    add_scaled(&p, &q, -1);
    return p;
}

static bool at_least(dim a, dim b)
{
    const poly p = difference(a, b);
    return poly_nonnegative(&p);
}

static dim extremum(dim_table *t, atom_kind kind, dim a, dim b)
{
    if (is_lost(a) || is_lost(b)) return lost(t);
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
    return a.expr == b.expr && (a.expr ? a.expr != &LOST : a.value == b.value);
}

bool dim_differ(dim a, dim b)
{
    if (!a.expr && !b.expr) return a.value != b.value;
    if (is_lost(a) || is_lost(b)) return false;
    poly up = difference(a, b), down = difference(b, a);
    add_constant(&up, -1);
    add_constant(&down, -1);
    return poly_nonnegative(&up) || poly_nonnegative(&down);
}

bool dim_is_positive(dim d)
{
    poly p = poly_of(d);
    add_constant(&p, -1);
    return poly_nonnegative(&p);
}

bool dim_is_capped(dim a, dim b)
{
    const atom *min = single_atom(a);
    if (!min || min->kind != ATOM_MIN) return false;
    return (dim_equal(min->a, b) && dim_is_positive(min->b)) ||
           (dim_equal(min->b, b) && dim_is_positive(min->a));
}

/* ---- Text ----------------------------------------------------------------------------------- */

static void print_dim(str *out, dim d, bool factor);

static void print_atom(str *out, const atom *a)
{
    if (a->kind == ATOM_SYMBOL) {
        str_append(out, a->text);
    } else if (a->kind == ATOM_UNKNOWN) {
        if (a->number)
            str_printf(out, "unk__%" PRIu64, a->number - 1);
        else
            str_append(out, "?");
    } else if (a->kind == ATOM_FLOOR) {
        str_append(out, "floor(");
        print_dim(out, a->a, true);
        str_append(out, "/");
        print_dim(out, a->b, true);
        str_append(out, ")");
    } else {
        str_append(out, a->kind == ATOM_MIN ? "Min(" : "Max(");
        print_dim(out, a->a, false);
        str_append(out, ", ");
        print_dim(out, a->b, false);
        str_append(out, ")");
    }
}

static void print_item(str *out, const item *what, bool first)
{
    const int64_t f = what->factor;
    const uint64_t size = f < 0 ? 0 - (uint64_t)f : (uint64_t)f;
    if (first)
        str_append(out, f < 0 ? "-" : "");
    else
        str_append(out, f < 0 ? " - " : " + ");
    if (size != 1) str_printf(out, "%" PRIu64 "*", size);
    for (uint32_t i = 0; i < what->term->degree; i++) {
        if (i) str_append(out, "*");
        print_atom(out, what->term->atoms[i]);
    }
}

/* Beside a division sign, all but single atoms are put in parentheses. */
static void print_dim(str *out, dim d, bool factor)
{
    if (!d.expr) {
        str_printf(out, "%" PRId64, d.value);
        return;
    }
    const dim_expr *e = d.expr;
    const bool enclosed = factor && !single_atom(d);
    if (enclosed) str_append(out, "(");
    for (size_t i = 0; i < e->count; i++) print_item(out, &e->items[i], i == 0);
    if (e->constant) {
        const uint64_t size = e->constant < 0 ? 0 - (uint64_t)e->constant : (uint64_t)e->constant;
        str_printf(out, " %c %" PRIu64, e->constant < 0 ? '-' : '+', size);
    }
    if (enclosed) str_append(out, ")");
}

void dim_print(str *out, dim d)
{
    print_dim(out, d, false);
}
