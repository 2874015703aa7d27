/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the outputs of a graph by name, wildcard or operator, or marks all values. Nodes stay,
 * even those that no output needs any more; dead-code elimination is a separate step. */
#include <ctype.h>
#include <string.h>

#include "base/log.h"
#include "base/sized.h"
#include "graph/graph.h"
#include "graph/side_table.h"

static const char LOG_PATH[] = "graph/outputs.c";

typedef struct chosen {
    pgy_graph *graph;
    pgy_value **values;
    size_t count;
    id_marks seen; /* values chosen so far, by id */
    bool failed;   /* out of memory */
} chosen;

static bool is_pattern(const char *text)
{
    return strpbrk(text, "*?[]") != NULL;
}

static void choose(chosen *c, pgy_value *v)
{
    if (!v || c->failed || id_marks_get(&c->seen, value_id(v))) return;
    c->failed = !id_marks_set(&c->seen, value_id(v));
    if (c->failed) return;
    c->values[c->count++] = v;
}

/* Adds the outputs of node n whose names match; pattern NULL matches all. @return the number of
 * matches */
static size_t choose_of_node(chosen *c, const pgy_node *n, const char *pattern)
{
    size_t found = 0;
    for (size_t i = 0; i < n->output_count; i++) {
        if (!n->outputs[i] || (pattern && !str_match_wildcard(pattern, n->outputs[i]->name)))
            continue;
        choose(c, n->outputs[i]);
        found++;
    }
    return found;
}

static void choose_matching(chosen *c, const char *pattern)
{
    size_t found = 0;
    for (size_t i = 0; i < c->graph->node_count; i++)
        if (strcmp(c->graph->nodes[i]->op_type, "Constant") != 0)
            found += choose_of_node(c, c->graph->nodes[i], pattern);
    if (!found && pattern) LOG(WARNING, "No tensor of the model matches pattern '%s'", pattern);
}

static void append_quoted(str *out, const char *text)
{
    str_printf(out, out->size ? ", '%s'" : "'%s'", text);
}

static void append_available(str *out, const chosen *c)
{
    const graph_level *level = level_of(c->graph);
    for (size_t i = 0; i < c->graph->node_count && out->size < 1024; i++)
        for (size_t k = 0; k < c->graph->nodes[i]->output_count; k++)
            if (c->graph->nodes[i]->outputs[k])
                append_quoted(out, c->graph->nodes[i]->outputs[k]->name);
    for (size_t i = 0; i < level->declared_count && out->size < 1024; i++)
        append_quoted(out, level->declared[i]->name);
}

static pgy_status missing_error(chosen *c, const char *const *names, size_t count, pgy_error *err)
{
    str missing = {0}, near = {0}, available = {0};
    suggestions like = {0};
    for (size_t i = 0; i < count; i++) {
        if (is_pattern(names[i]) || pgy_graph_find_value(c->graph, names[i])) continue;
        append_quoted(&missing, names[i]);
        if (!like.wanted) like.wanted = names[i];
    }
    graph_suggest(&like, c->graph);
    suggest_append(&near, &like);
    append_available(&available, c);
    pgy_error_set(err, PGY_E_NOT_FOUND,
                  "The following outputs were not found in the model: [%s]%s Available: [%s%s]",
                  str_text(&missing), near.size ? str_text(&near) : ".", str_text(&available),
                  available.size < 1024 ? "" : ", ...");
    str_deinit(&missing);
    str_deinit(&near);
    str_deinit(&available);
    return PGY_E_NOT_FOUND;
}

static pgy_status choose_names(chosen *c, const char *const *names, size_t count, pgy_error *err)
{
    for (size_t i = 0; i < count; i++) {
        pgy_value *v = pgy_graph_find_value(c->graph, names[i]);
        if (v)
            choose(c, v);
        else if (is_pattern(names[i]))
            choose_matching(c, names[i]);
        else
            return missing_error(c, names, count, err);
    }
    return PGY_OK;
}

static void unknown_type(const chosen *c, const char *op_type)
{
    suggestions like = {.wanted = op_type};
    str near = {0}, present = {0};
    for (size_t i = 0; i < c->graph->node_count; i++) {
        const char *other = c->graph->nodes[i]->op_type;
        bool seen = false;
        suggest_offer(&like, other);
        for (size_t k = 0; k < i && !seen && present.size < 512; k++)
            seen = !strcmp(c->graph->nodes[k]->op_type, other);
        if (!seen && present.size < 512) append_quoted(&present, other);
    }
    suggest_append(&near, &like);
    if (near.size)
        LOG(ERROR, "The model has no operator '%s'%s", op_type, str_text(&near));
    else
        LOG(ERROR, "The model has no operator '%s'. Available: [%s%s]", op_type, str_text(&present),
            present.size < 512 ? "" : ", ...");
    str_deinit(&near);
    str_deinit(&present);
}

static size_t choose_type(chosen *c, const char *op_type)
{
    size_t found = 0;
    for (size_t i = 0; i < c->graph->node_count; i++) {
        const pgy_node *n = c->graph->nodes[i];
        if (str_equal_nocase(n->op_type, op_type)) found += 1 + choose_of_node(c, n, NULL);
    }
    if (!found) unknown_type(c, op_type);
    return found;
}

static void exclude(chosen *c, const char *what)
{
    size_t kept = 0;
    const bool pattern = is_pattern(what);
    for (size_t i = 0; i < c->count; i++) {
        const char *name = c->values[i]->name;
        if (strcmp(name, what) != 0 && !(pattern && str_match_wildcard(what, name)))
            c->values[kept++] = c->values[i];
    }
    if (kept == c->count) LOG(WARNING, "Cannot exclude '%s': it is not an output", what);
    c->count = kept;
}

static pgy_status exclude_names(chosen *c, const char *const *names, size_t count, pgy_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_pattern(names[i]) && !pgy_graph_find_value(c->graph, names[i]))
            return missing_error(c, names, count, err);
        exclude(c, names[i]);
    }
    return PGY_OK;
}

static void replace_outputs(chosen *c)
{
    pgy_graph *g = c->graph;
    for (size_t i = 0; i < g->output_count; i++) g->outputs[i]->is_output = false;
    g->outputs = c->values;
    g->output_count = c->count;
    for (size_t i = 0; i < g->output_count; i++) g->outputs[i]->is_output = true;
    graph_mark_changed(g);
}

static pgy_status select_outputs(chosen *c, const pgy_output_selection *selection, pgy_error *err)
{
    const pgy_graph *g = c->graph;
    pgy_status st =
        choose_names(c, selection->names, selection->names ? selection->name_count : 0, err);
    if (st) return st;
    if (selection->mark_all) choose_matching(c, NULL);
    size_t found = 0;
    for (size_t i = 0; i < selection->op_type_count; i++)
        found += choose_type(c, selection->op_types[i]);
    const bool asked = selection->names || selection->mark_all || found;
    for (size_t i = 0; !asked && i < g->output_count; i++) choose(c, g->outputs[i]);
    if (c->failed) return graph_no_memory(err);
    st = exclude_names(c, selection->exclude, selection->exclude_count, err);
    if (!st && c->count == 0) st = pgy_error_set(err, PGY_E_NOT_FOUND, "No outputs were selected.");
    return st;
}

pgy_status pgy_graph_select_outputs(pgy_graph *g, const pgy_output_selection *given, pgy_error *err)
{
    if (!g || !given)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'g' and the selection must not be NULL");
    pgy_output_selection taken = {.size = sizeof taken};
    const pgy_output_selection *selection = &taken;
    pgy_status st = SIZED_TAKE(pgy_output_selection, &taken, given, err);
    if (st) return st;
    const size_t room = level_of(g)->values.count + g->output_count;
    chosen c = {.graph = g,
                .values = arena_alloc_array(&state_of(g)->memory, room, sizeof(pgy_value *))};
    if (!c.values) return graph_no_memory(err);
    st = select_outputs(&c, selection, err);
    id_marks_deinit(&c.seen);
    if (!st) replace_outputs(&c);
    return st;
}
