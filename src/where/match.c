/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs the tensors of two models: by name, then by structure. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "where/where.h"

void where_rows_deinit(where_rows *rows)
{
    strmap_deinit(&rows->by_a);
    strmap_deinit(&rows->by_b);
    mem_free(rows->items);
    *rows = (where_rows){0};
}

where_row *where_row_of(const where_rows *rows, const pgy_value *b)
{
    const size_t at = b ? (uintptr_t)strmap_get(&rows->by_b, b->name) : 0;
    return at ? &rows->items[at - 1] : NULL;
}

where_row *where_row_of_a(const where_rows *rows, const char *name)
{
    const size_t at = (uintptr_t)strmap_get(&rows->by_a, name);
    return at ? &rows->items[at - 1] : NULL;
}

/* Weights and constants are part of their consumers; sequences cannot be compared as tensors. */
static bool is_candidate(const pgy_value *v)
{
    return v && v->name[0] && v->producer && v->kind == PGY_VALUE_TENSOR &&
           !node_is(v->producer, "Constant");
}

static where_row *append(where_rows *rows)
{
    if (!mem_grow((void **)&rows->items, &rows->capacity, rows->count + 1, sizeof *rows->items))
        return NULL;
    where_row *r = &rows->items[rows->count++];
    *r = (where_row){.line = {.node = "",
                              .op_type = "",
                              .module = "",
                              .rank = -1,
                              .error = NAN,
                              .handed = NAN,
                              .made = NAN,
                              .amplification = NAN,
                              .allowed = NAN,
                              .floor_times = NAN,
                              .note = "it was not reached"}};
    return r;
}

static pgy_status add(where_rows *rows, pgy_value *a, pgy_value *b, arena *memory, pgy_error *err)
{
    where_row *r = append(rows);
    if (!r) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    r->a = a;
    r->b = b;
    r->is_output = b->is_output;
    r->line.name = arena_strdup(memory, a ? a->name : b->name);
    r->line.other_name = arena_strdup(memory, b->name);
    r->line.node = arena_strdup(memory, node_label(b->producer));
    r->line.op_type = arena_strdup(memory, b->producer->op_type);
    r->line.module = where_module(b->producer, memory);
    r->line.dtype = b->dtype;
    uint64_t count = b->rank < 0 || b->dtype == PGY_DTYPE_NONE ? 0 : 1;
    for (int32_t d = 0; d < b->rank; d++)
        count = b->dims[d].value < 0 || count > (UINT64_MAX >> 8) / ((uint64_t)b->dims[d].value + 1)
                    ? 0
                    : count * (uint64_t)b->dims[d].value;
    r->size_bytes = (count * pgy_dtype_describe(b->dtype)->bits + 7) / 8;
    const bool kept = r->line.name && r->line.other_name && r->line.node && r->line.op_type &&
                      r->line.module &&
                      strmap_put(&rows->by_a, r->line.name, (void *)(uintptr_t)rows->count) &&
                      strmap_put(&rows->by_b, b->name, (void *)(uintptr_t)rows->count);
    return kept ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* The value of a that pairs with v: an input of the same name, a weight in the same place, or a
 * tensor that is paired already. */
static bool pairs(const where_rows *rows, const pgy_value *a, const pgy_value *b)
{
    if (!a || !b) return a == b;
    if (!a->producer || !b->producer) return !a->producer && !b->producer;
    const size_t at = (uintptr_t)strmap_get(&rows->by_b, b->name);
    return at ? rows->items[at - 1].a == a
              : node_is(a->producer, "Constant") && node_is(b->producer, "Constant");
}

/* The node of a that has the operator of n and reads the tensors that are paired with its inputs.
 * Among several, the first whose outputs are not paired by name. */
static pgy_node *twin(const where_rows *rows, const pgy_graph *a, const pgy_graph *b,
                      const pgy_node *n)
{
    for (size_t i = 0; i < a->node_count; i++) {
        pgy_node *m = a->nodes[i];
        if (strcmp(m->op_type, n->op_type) || strcmp(m->domain, n->domain) ||
            m->input_count != n->input_count || m->output_count != n->output_count)
            continue;
        bool same = true, any = false, named = false;
        for (size_t k = 0; same && k < n->input_count; k++) {
            same = pairs(rows, m->inputs[k], n->inputs[k]);
            any |= m->inputs[k] && m->inputs[k]->producer;
            /* an input or weight of another name does not pair by place alone at the start */
            any |= m->inputs[k] && n->inputs[k] && !strcmp(m->inputs[k]->name, n->inputs[k]->name);
        }
        for (size_t k = 0; k < m->output_count; k++)
            named |= m->outputs[k] && pgy_graph_find_value(b, m->outputs[k]->name);
        for (size_t k = 0; !named && k < rows->count; k++)
            named = m->output_count && rows->items[k].a == m->outputs[0];
        if (same && any && !named) return m;
    }
    return NULL;
}

static pgy_status match_node(where_rows *rows, strvec *unmatched, const pgy_graph *a,
                             const pgy_graph *b, const pgy_node *n, arena *memory, pgy_error *err)
{
    const pgy_node *other = NULL;
    bool looked = false;
    pgy_status st = PGY_OK;
    for (size_t k = 0; !st && k < n->output_count; k++) {
        pgy_value *v = n->outputs[k];
        if (!is_candidate(v)) continue;
        pgy_value *w = a ? pgy_graph_find_value(a, v->name) : NULL;
        if (a && !is_candidate(w)) {
            if (!looked) other = twin(rows, a, b, n);
            looked = true;
            w = other ? other->outputs[k] : NULL;
        }
        if (!a || is_candidate(w))
            st = add(rows, w, v, memory, err);
        else if (v->is_output && !strvec_push(unmatched, v->name))
            st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    return st;
}

pgy_status where_match(where_rows *out, strvec *unmatched, pgy_graph *a, pgy_graph *b,
                       arena *memory, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < b->node_count; i++)
        st = match_node(out, unmatched, a, b, b->nodes[i], memory, err);
    return st;
}

static pgy_status add_stored(where_rows *rows, const char *name, const pgy_tensor *t, arena *memory,
                             pgy_error *err)
{
    where_row *r = append(rows);
    const char *kept = r ? arena_strdup(memory, name) : NULL;
    if (!kept || !strmap_put(&rows->by_b, kept, (void *)(uintptr_t)rows->count))
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    r->line.name = r->line.other_name = kept;
    r->line.dtype = pgy_tensor_dtype(t);
    r->size_bytes = r->line.dtype == PGY_STRING ? 0 : pgy_tensor_size_bytes(t);
    r->is_output = true;
    return PGY_OK;
}

pgy_status where_match_stored(where_rows *out, strvec *unmatched, const pgy_tensor_map *a,
                              const pgy_tensor_map *b, arena *memory, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_tensor_map_count(a); i++)
        st = add_stored(out, pgy_tensor_map_name(a, i), pgy_tensor_map_at(a, i), memory, err);
    for (size_t i = 0; !st && i < pgy_tensor_map_count(b); i++) {
        const char *name = pgy_tensor_map_name(b, i);
        if (!pgy_tensor_map_find(a, name) && !strvec_push(unmatched, name))
            st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    return st;
}
