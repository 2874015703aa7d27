/* SPDX-License-Identifier: Apache-2.0 */
/* Dimensions as text, the way exporters write them. */
#include <inttypes.h>

#include "ops/dim_expr.h"

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

/* Next to a division sign, parentheses enclose everything but single atoms. */
static void print_dim(str *out, dim d, bool factor)
{
    if (!d.expr) {
        str_printf(out, "%" PRId64, d.value);
        return;
    }
    const dim_expr *e = d.expr;
    const bool enclosed = factor && !dim_single_atom(d);
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
