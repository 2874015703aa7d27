/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a whole dim_table. The canonical form of expressions depends on the order of ids, so
 * entries are copied in the order in which they were interned, which keeps their ids. An entry
 * refers to older entries only. */
#include "base/alloc.h"
#include "ops/dim_expr.h"

typedef struct copier {
    dim_copy *map;
    dim_table *to;
    const void *(*owner)(const void *of, void *user);
    void *user;
} copier;

dim dim_copied(const dim_copy *c, dim d)
{
    if (!d.expr || dim_is_lost(d)) return d;
    return (dim){.expr = c->items[d.expr->id]};
}

void dim_copy_deinit(dim_copy *c)
{
    mem_free(c->items);
    *c = (dim_copy){0};
}

static void *copy_atom(const copier *c, const atom *from)
{
    atom *made = arena_alloc(&c->to->memory, sizeof *made);
    if (!made) return NULL;
    *made = *from;
    made->owner = from->owner ? c->owner(from->owner, c->user) : NULL;
    made->a = dim_copied(c->map, from->a);
    made->b = dim_copied(c->map, from->b);
    if (from->text && !(made->text = arena_strdup(&c->to->memory, from->text))) return NULL;
    return made;
}

static void *copy_term(const copier *c, const term *from)
{
    term *made = arena_alloc(&c->to->memory, sizeof *made);
    if (!made) return NULL;
    *made = *from;
    for (uint32_t i = 0; i < from->degree; i++) made->atoms[i] = c->map->items[from->atoms[i]->id];
    return made;
}

static void *copy_expr(const copier *c, const dim_expr *from)
{
    dim_expr *made = arena_alloc(&c->to->memory, sizeof *made);
    item *items = arena_alloc_array(&c->to->memory, from->count, sizeof *items);
    if (!made || !items) return NULL;
    for (size_t i = 0; i < from->count; i++)
        items[i] = (item){from->items[i].factor, c->map->items[from->items[i].term->id]};
    *made = (dim_expr){from->id, from->constant, from->count, items};
    return made;
}

/* Keys begin with 't' for terms, 'x' for expressions, and anything else for atoms. */
static void *copy_entry(const copier *c, const strmap_entry *e)
{
    if (e->key[0] == 't') return copy_term(c, e->value);
    return e->key[0] == 'x' ? copy_expr(c, e->value) : copy_atom(c, e->value);
}

bool dim_table_copy(dim_copy *out, dim_table *to, const dim_table *from,
                    const void *(*owner)(const void *of, void *user), void *user)
{
    const size_t count = from->terms.count;
    const copier c = {out, to, owner, user};
    *out = (dim_copy){.items = mem_calloc(count + 1, sizeof *out->items), .count = count + 1};
    if (!out->items) return false;
    for (size_t i = 0; i < count; i++) {
        const strmap_entry *e = &from->terms.entries[i];
        out->items[i + 1] = copy_entry(&c, e);
        if (!out->items[i + 1] || !strmap_put(&to->terms, e->key, out->items[i + 1])) return false;
    }
    to->unknown_count = from->unknown_count;
    to->named_count = from->named_count;
    to->failed = from->failed;
    return true;
}
