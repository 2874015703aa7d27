/* SPDX-License-Identifier: Apache-2.0 */
/* The state that all levels of a graph share, the levels, and their values by name. */
#include "base/alloc.h"
#include "graph/edit.h"

pgy_status graph_no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while building the graph");
}

void state_destroy(graph_state *s)
{
    for (size_t i = 0; i < s->tensor_count; i++) pgy_tensor_release(s->tensors[i]);
    for (size_t i = 0; i < s->level_count; i++) strmap_deinit(&level_of(s->levels[i])->values);
    mem_free(s->tensors);
    mem_free(s->levels);
    strmap_deinit(&s->names);
    strmap_deinit(&s->functions);
    strmap_deinit(&s->operators);
    dim_table_deinit(&s->dims);
    arena_deinit(&s->memory);
    mem_free(s);
}

pgy_status state_keep_tensor(graph_state *s, pgy_tensor *t, pgy_error *err)
{
    void *tensors = s->tensors;
    if (!mem_grow(&tensors, &s->tensor_capacity, s->tensor_count + 1, sizeof *s->tensors)) {
        pgy_tensor_release(t);
        return graph_no_memory(err);
    }
    s->tensors = tensors;
    s->tensors[s->tensor_count++] = t;
    return PGY_OK;
}

pgy_status level_create(pgy_graph **out, graph_state *s, pgy_graph *parent, pgy_error *err)
{
    void *levels = s->levels;
    pgy_graph *g = arena_alloc(&s->memory, sizeof *g);
    graph_level *level = arena_alloc(&s->memory, sizeof *level);
    if (!g || !level ||
        !mem_grow(&levels, &s->level_capacity, s->level_count + 1, sizeof *s->levels))
        return graph_no_memory(err);
    s->levels = levels;
    level->id = s->level_count;
    s->levels[s->level_count++] = g;
    g->internal = level;
    g->parent = parent;
    g->name = "";
    level->state = s;
    if (parent) {
        g->model = parent->model;
        level->opsets = level_of(parent)->opsets;
        level->opset_count = level_of(parent)->opset_count;
        level->default_opset = level_of(parent)->default_opset;
        level->depth = level_of(parent)->depth + 1;
        level->is_function = level_of(parent)->is_function;
    }
    if (level->depth > GRAPH_MAX_DEPTH)
        return pgy_error_set(err, PGY_E_FORMAT, "subgraphs are nested more than %d deep",
                             GRAPH_MAX_DEPTH);
    *out = g;
    return PGY_OK;
}

/* ---- Names ---------------------------------------------------------------------------------- */

enum { FEW_LEVELS = 8 };

/* If memory runs out, the index would be incomplete, so it is dropped and later look-ups search all
 * levels. */
void level_count_name(graph_state *s, const char *name, int change)
{
    if (!s->names_gathered) return;
    const uintptr_t count = (uintptr_t)strmap_get(&s->names, name);
    if (strmap_put(&s->names, name, (void *)(count + (uintptr_t)change))) return;
    strmap_deinit(&s->names);
    s->names_gathered = false;
}

static void count_names(graph_state *s, const strmap *values, int change)
{
    for (size_t i = 0; s->names_gathered && i < values->count; i++)
        level_count_name(s, values->entries[i].key, change);
}

bool level_put_value(pgy_graph *g, const char *name, value_box *box)
{
    graph_state *s = state_of(g);
    strmap *values = &level_of(g)->values;
    const bool is_new = s->names_gathered && !strmap_has(values, name);
    if (!strmap_put(values, name, box)) return false;
    if (is_new) level_count_name(s, name, 1);
    return true;
}

strmap level_take_values(pgy_graph *g)
{
    strmap values = level_of(g)->values;
    count_names(state_of(g), &values, -1);
    level_of(g)->values = (strmap){0};
    return values;
}

/* A name must be free in the level, in its subgraphs and in the enclosing levels. All levels are
 * searched, because that is simpler and gives the same names every time. Graphs with more than a
 * few levels keep an index of all names. */
static bool value_has_name(const char *name, const void *user)
{
    graph_state *s = (graph_state *)user;
    if (!s->names_gathered && s->level_count > FEW_LEVELS) {
        s->names_gathered = true;
        for (size_t i = 0; i < s->level_count; i++)
            count_names(s, &level_of(s->levels[i])->values, 1);
    }
    if (s->names_gathered) return strmap_get(&s->names, name) != NULL;
    for (size_t i = 0; i < s->level_count; i++)
        if (strmap_has(&level_of(s->levels[i])->values, name)) return true;
    return false;
}

const char *graph_free_name(graph_state *s, const char *stem, name_is_taken taken, const void *user)
{
    str name = {0};
    str_append(&name, stem);
    if (taken)
        name_make_free(&name, &s->name_count, taken, user);
    else
        name_make_free(&name, &s->name_count, value_has_name, s);
    const char *kept = name.failed ? NULL : arena_strdup(&s->memory, str_text(&name));
    str_deinit(&name);
    return kept;
}

/* ---- Values of a level ---------------------------------------------------------------------- */

pgy_value *level_add_value(pgy_graph *g, const char *name)
{
    graph_state *s = state_of(g);
    value_box *box = arena_alloc(&s->memory, sizeof *box);
    if (!box || !level_put_value(g, name, box)) return NULL;
    box->id = s->value_count++;
    box->value = (pgy_value){.name = name, .rank = -1, .graph = g, .internal = box};
    box->declared.rank = box->known.rank = -1;
    return &box->value;
}

pgy_value *level_resolve(const pgy_graph *g, const char *name)
{
    for (; g; g = g->parent) {
        pgy_value *v = strmap_get(&level_of(g)->values, name);
        if (v) return v;
    }
    return NULL;
}

pgy_value *pgy_graph_find_value(const pgy_graph *g, const char *name)
{
    return strmap_get(&level_of(g)->values, name);
}
