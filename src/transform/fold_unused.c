/* SPDX-License-Identifier: Apache-2.0 */
/* Removes functions that neither a graph nor a called function calls, and imports of domains
 * without nodes. The default domain stays imported. */
#include <stdio.h>

#include "transform/fold.h"

typedef struct uses {
    strmap functions; /* the graph_functions that are called; keys are their addresses */
    strmap domains;
} uses;

static const char *domain_of(const char *domain)
{
    return domain_is_default(domain) ? "" : domain;
}

static const char *address(char *text, size_t size, const graph_function *fn)
{
    snprintf(text, size, "%p", (const void *)fn);
    return text;
}

/* Adds the body of a called function to the levels to visit. */
static pgy_status note_call(folder *f, uses *u, graph_function *fn, pgy_error *err)
{
    char key[32];
    pgy_graph *body = NULL;
    if (strmap_has(&u->functions, address(key, sizeof key, fn))) return PGY_OK;
    if (!strmap_put(&u->functions, key, fn)) return graph_no_memory(err);
    for (size_t i = 0; i < fn->proto->opset_import_count; i++)
        if (!strmap_put(&u->domains, domain_of(fn->proto->opset_imports[i]->domain), f))
            return graph_no_memory(err);
    const pgy_status st = function_body(&body, fn, f->graph, err);
    return st ? st : fold_list_levels(f, body, err);
}

static pgy_status note_uses(folder *f, uses *u, pgy_error *err)
{
    f->level_count = 0;
    pgy_status st = fold_list_levels(f, f->graph, err);
    for (size_t i = 0; !st && i < f->level_count; i++) {
        for (size_t k = 0; !st && k < f->levels[i]->node_count; k++) {
            const pgy_node *n = f->levels[i]->nodes[k];
            graph_function *fn = NULL;
            if (!strmap_put(&u->domains, domain_of(n->domain), f)) return graph_no_memory(err);
            st = function_find(&fn, f->levels[i], n, err);
            if (!st && fn) st = note_call(f, u, fn, err);
        }
    }
    return st;
}

static pgy_status drop_functions(folder *f, const uses *u, pgy_error *err)
{
    strmap kept = {0}, *all = &f->state->functions;
    char key[32];
    for (size_t i = 0; i < all->count; i++) {
        const strmap_entry *e = &all->entries[i];
        if (!strmap_has(&u->functions, address(key, sizeof key, e->value))) continue;
        if (!strmap_put(&kept, e->key, e->value)) {
            strmap_deinit(&kept);
            return graph_no_memory(err);
        }
    }
    if (kept.count != all->count) graph_mark_changed(f->graph);
    strmap_deinit(all);
    *all = kept;
    return PGY_OK;
}

static pgy_status drop_imports(folder *f, const uses *u, pgy_error *err)
{
    graph_level *top = level_of(f->graph);
    /* In the memory of the model, because exported models outlive the graph. */
    pgy_onnx_opset **kept = pgy_model_alloc(f->graph->model, top->opset_count + 1, sizeof *kept);
    size_t count = 0;
    if (!kept) return graph_no_memory(err);
    for (size_t i = 0; i < top->opset_count; i++) {
        const char *domain = domain_of(top->opsets[i]->domain);
        if (!*domain || strmap_has(&u->domains, domain)) kept[count++] = top->opsets[i];
    }
    if (count == top->opset_count) return PGY_OK;
    for (size_t i = 0; i < f->level_count; i++) {
        graph_level *level = level_of(f->levels[i]);
        if (level->is_function) continue;
        level->opsets = kept;
        level->opset_count = count;
    }
    graph_mark_changed(f->graph);
    return PGY_OK;
}

pgy_status fold_unused(folder *f, pgy_error *err)
{
    uses u = {0};
    pgy_status st = note_uses(f, &u, err);
    if (!st) st = drop_functions(f, &u, err);
    if (!st) st = drop_imports(f, &u, err);
    strmap_deinit(&u.functions);
    strmap_deinit(&u.domains);
    return st;
}
