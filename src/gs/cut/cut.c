/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a part out of a model: finds the part's inputs and outputs, and the constants that belong to
 * it. */
#include "gs/cut/cut.h"

#include <string.h>

#include "base/alloc.h"
#include "base/sized.h"
#include "gs/cut/calls.h"

static pgy_status push(value_list *list, pgy_value *v, pgy_error *err)
{
    void *items = list->items;
    size_t capacity = list->capacity;
    if (!mem_grow(&items, &capacity, list->count + 1, sizeof *list->items))
        return graph_no_memory(err);
    list->items = items;
    const char **names = mem_realloc_array(list->names, capacity, sizeof *names);
    if (!names) return graph_no_memory(err);
    list->names = names;
    list->capacity = capacity;
    list->items[list->count] = v;
    list->names[list->count++] = v->name;
    return PGY_OK;
}

static void value_list_free(value_list *list)
{
    mem_free(list->items);
    mem_free(list->names);
}

/* ---- Constants that become part of the cut --------------------------------------------------- */

static bool is_weight(const pgy_value *v)
{
    return v->initializer || v->sparse;
}

static bool is_inside(const pgy_cut *c, const pgy_value *v)
{
    return v->producer && v->graph == c->level && c->inside[v->producer->index];
}

typedef struct use_check {
    const pgy_cut *c;
    bool holds; /* all values checked so far are weights or depend on weights only */
} use_check;

static pgy_status check_use(pgy_value *v, void *user, pgy_error *err)
{
    (void)err;
    use_check *k = user;
    const bool made = v->producer && v->graph == k->c->level;
    if (!is_weight(v) && !(made && k->c->constant[v->producer->index])) k->holds = false;
    return PGY_OK;
}

static bool is_random(const pgy_node *n)
{
    return strstr(n->op_type, "Random") || !strcmp(n->op_type, "Multinomial") ||
           !strcmp(n->op_type, "Bernoulli");
}

static pgy_status find_constants(pgy_cut *c, pgy_error *err)
{
    const size_t count = c->level->node_count;
    pgy_status st = PGY_OK;
    c->constant = arena_alloc_array(&state_of(c->graph)->memory, count + 1, sizeof *c->constant);
    if (!c->constant) return graph_no_memory(err);
    for (size_t i = 0; !st && i < count; i++) {
        use_check k = {c, !is_random(c->level->nodes[i])};
        st = cut_each_use(c->level->nodes[i], check_use, &k, err);
        c->constant[i] = k.holds;
    }
    return st;
}

static pgy_status add_constant(pgy_value *v, void *user, pgy_error *err)
{
    (void)err;
    pgy_cut *c = user;
    if (!v->producer || v->graph != c->level || is_inside(c, v) || !c->constant[v->producer->index])
        return PGY_OK;
    c->inside[v->producer->index] = true;
    c->inside_count++;
    return PGY_OK;
}

/* Adds nodes that depend on weights only, such as Constant, so that their results do not become
 * inputs of the part. Nodes are sorted, so one pass from the end finds all. */
static pgy_status add_constants(pgy_cut *c, pgy_error *err)
{
    pgy_status st = find_constants(c, err);
    for (size_t i = c->level->node_count; !st && i-- > 0;)
        if (c->inside[i]) st = cut_each_use(c->level->nodes[i], add_constant, c, err);
    return st;
}

/* ---- Inputs and outputs of the part ---------------------------------------------------------- */

/* Appends a value to the list unless it is listed already. */
static pgy_status push_new(pgy_cut *c, value_list *list, pgy_value *v, pgy_error *err)
{
    if (id_marks_get(&c->listed, value_id(v))) return PGY_OK;
    if (!id_marks_set(&c->listed, value_id(v))) return graph_no_memory(err);
    return push(list, v, err);
}

static pgy_status take_input(pgy_value *v, void *user, pgy_error *err)
{
    pgy_cut *c = user;
    if (is_inside(c, v)) return PGY_OK;
    return push_new(c, is_weight(v) ? &c->weights : &c->inputs, v, err);
}

static pgy_status take_any_output(pgy_value *v, void *user, pgy_error *err)
{
    pgy_cut *c = user;
    return is_inside(c, v) ? push_new(c, &c->outputs, v, err) : PGY_OK;
}

/* A constant result that nodes outside the part read is not an output, because it is the same in
 * every run. */
static pgy_status take_output(pgy_value *v, void *user, pgy_error *err)
{
    const pgy_cut *c = user;
    if (is_inside(c, v) && c->constant[v->producer->index]) return PGY_OK;
    return take_any_output(v, user, err);
}

/* Adds results of the part's nodes that nothing reads to its outputs. */
static pgy_status take_ends(pgy_cut *c, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < c->level->node_count; i++) {
        const pgy_node *n = c->level->nodes[i];
        for (size_t k = 0; !st && c->inside[i] && k < n->output_count; k++)
            if (n->outputs[k] && !n->outputs[k]->consumer_count)
                st = take_any_output(n->outputs[k], c, err);
    }
    return st;
}

static pgy_status take_outputs(pgy_cut *c, cut_take take, pgy_error *err)
{
    const pgy_graph *g = c->level;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++)
        if (!c->inside[i]) st = cut_each_use(g->nodes[i], take, c, err);
    for (size_t i = 0; !st && i < g->output_count; i++) st = take(g->outputs[i], c, err);
    return st;
}

static pgy_status find_outputs(pgy_cut *c, const pgy_cut_selection *s, pgy_error *err)
{
    const bool only_between = !s->node_count && !s->module_count && s->to_count;
    pgy_status st = PGY_OK;
    id_marks_clear(&c->listed);
    for (size_t i = 0; !st && i < s->to_count; i++) {
        pgy_value *v = pgy_graph_find_value(c->level, s->to[i]);
        if (v) st = take_any_output(v, c, err);
    }
    if (!st && !only_between) st = take_outputs(c, take_output, err);
    if (!st && !c->outputs.count) st = take_ends(c, err);
    if (!st && !c->outputs.count) st = take_outputs(c, take_any_output, err);
    return st;
}

static pgy_status find_borders(pgy_cut *c, const pgy_cut_selection *s, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < c->level->node_count; i++)
        if (c->inside[i]) st = cut_each_use(c->level->nodes[i], take_input, c, err);
    if (!st) st = find_outputs(c, s, err);
    if (!st && !c->outputs.count)
        st = pgy_error_set(
            err, PGY_E_ARGUMENT,
            "the selected part has no outputs: nothing outside of it reads its values");
    return st;
}

static pgy_status copy_iterations(pgy_cut *c, const pgy_cut_selection *s, pgy_error *err)
{
    int64_t *list = arena_alloc_array(&c->memory, s->iteration_count + 1, sizeof *list);
    if (!list) return graph_no_memory(err);
    for (size_t i = 0; i < s->iteration_count; i++) {
        list[i] = s->iterations[i];
        if (list[i] < 0)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "iteration %lld does not exist: iterations count from 0",
                                 (long long)list[i]);
    }
    c->iterations = list;
    c->iteration_count = s->iteration_count;
    return PGY_OK;
}

pgy_status pgy_cut_create(pgy_cut **out, pgy_model *model, const pgy_cut_selection *selection,
                          pgy_error *err)
{
    if (!out || !model || !selection)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'out', 'model' and 'selection' must not be NULL");
    pgy_cut_selection s = {.size = sizeof s};
    pgy_status st = SIZED_TAKE(pgy_cut_selection, &s, selection, err);
    if (st) return st;
    pgy_cut *c = mem_calloc(1, sizeof *c);
    if (!c) return graph_no_memory(err);
    st = copy_iterations(c, &s, err);
    if (!st) st = cut_enter_calls(&c->model, &s, &c->only_under, model, &c->memory, err);
    if (!st) st = pgy_graph_import(&c->graph, c->model, err);
    if (!st) st = pgy_graph_sort(c->graph, err);
    if (!st) st = cut_level(c, &s, err);
    for (size_t i = 0; !st && i < c->level->node_count; i++)
        st = node_captures(c->level->nodes[i], err);
    if (!st) st = cut_select(c, &s, err);
    if (!st) st = add_constants(c, err);
    if (!st) st = find_borders(c, &s, err);
    if (!st) {
        *out = c;
        c = NULL;
    }
    pgy_cut_destroy(c);
    return st;
}

void pgy_cut_destroy(pgy_cut *c)
{
    if (!c) return;
    value_list_free(&c->inputs);
    value_list_free(&c->outputs);
    value_list_free(&c->weights);
    id_marks_deinit(&c->listed);
    pgy_graph_destroy(c->graph);
    pgy_model_destroy(c->model);
    arena_deinit(&c->memory);
    mem_free(c);
}

size_t pgy_cut_node_count(const pgy_cut *c)
{
    return c->inside_count;
}

const char *const *pgy_cut_inputs(const pgy_cut *c, size_t *count)
{
    *count = c->inputs.count;
    return c->inputs.names;
}

const char *const *pgy_cut_outputs(const pgy_cut *c, size_t *count)
{
    *count = c->outputs.count;
    return c->outputs.names;
}

pgy_model *pgy_cut_source(const pgy_cut *c)
{
    return c->model;
}

bool pgy_cut_is_top(const pgy_cut *c)
{
    return c->level == c->graph;
}
