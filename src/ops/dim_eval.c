/* SPDX-License-Identifier: Apache-2.0 */
/* The number that a dimension has when its symbols have numbers. */
#include "base/alloc.h"
#include "ops/dim_expr.h"

const void *dim_symbol_of(dim d)
{
    const atom *a = dim_is_lost(d) ? NULL : dim_single_atom(d);
    return a && a->kind == ATOM_SYMBOL ? a : NULL;
}

static bool floor_of(int64_t *out, int64_t a, int64_t b)
{
    if (b == 0 || (a == INT64_MIN && b == -1)) return false;
    *out = a / b - (a % b != 0 && (a % b < 0) != (b < 0));
    return true;
}

static bool atom_value(int64_t *out, const atom *a, const dim_bound *bound, size_t count)
{
    int64_t x, y;
    for (size_t i = 0; i < count; i++) {
        if (bound[i].symbol != a) continue;
        *out = bound[i].value;
        return true;
    }
    if (a->kind == ATOM_SYMBOL || a->kind == ATOM_UNKNOWN || !dim_value(&x, a->a, bound, count) ||
        !dim_value(&y, a->b, bound, count))
        return false;
    if (a->kind == ATOM_FLOOR) return floor_of(out, x, y);
    *out = (a->kind == ATOM_MIN) == (x < y) ? x : y;
    return true;
}

bool dim_value(int64_t *out, dim d, const dim_bound *bound, size_t count)
{
    int64_t sum = d.value;
    if (dim_is_lost(d)) return false;
    if (d.expr) sum = d.expr->constant;
    for (size_t i = 0; d.expr && i < d.expr->count; i++) {
        const term *t = d.expr->items[i].term;
        int64_t product = d.expr->items[i].factor, v;
        for (uint32_t k = 0; k < t->degree; k++)
            if (!atom_value(&v, t->atoms[k], bound, count) || !i64_mul(&product, product, v))
                return false;
        if (!i64_add(&sum, sum, product)) return false;
    }
    *out = sum;
    return true;
}
