/* SPDX-License-Identifier: Apache-2.0 */
/* The local functions of a model. Functions that call each other can stand for any number of nodes,
 * so they are counted before any is copied. */
#include "viewer/graph_function.h"

#include <string.h>

#include "base/alloc.h"

/* Nodes of all copies together: what is drawn, and what is counted. */
enum { COPY_LIMIT = 20000, COUNT_LIMIT = 200000, CALL_DEPTH = 32 };

typedef struct counter {
    graph_functions *functions;
    uint32_t *sizes; /* of functions: nodes of a copy, + 1; 0: not counted yet */
} counter;

static bool append_key(str *key, const char *domain, const char *name, const char *overload)
{
    str_clear(key);
    str_printf(key, "%s:%s:%s", strcmp(domain, "ai.onnx") ? domain : "", name, overload);
    return !key->failed;
}

/* Gives the index of the function that a node calls, + 1; 0: it is an operator. */
static size_t place_of(graph_functions *f, const pgy_onnx_node *n)
{
    if (!f->places.count) return 0;
    str key = {0};
    size_t at = 0;
    if (append_key(&key, n->domain, n->op_type, n->overload))
        at = (size_t)(uintptr_t)strmap_get(&f->places, str_text(&key));
    str_deinit(&key);
    return at;
}

const pgy_onnx_function *graph_function_of(graph_functions *f, const pgy_onnx_node *n)
{
    const size_t at = place_of(f, n);
    return at ? f->model->functions[at - 1] : NULL;
}

static uint32_t add(uint32_t a, uint32_t b)
{
    return a > COUNT_LIMIT || b > COUNT_LIMIT || a + b > COUNT_LIMIT ? COUNT_LIMIT + 1 : a + b;
}

static uint32_t count_calls(counter *c, pgy_onnx_node *const *nodes, size_t count, int depth);

/* Nodes of a copy of the function. One that calls itself exceeds all limits. */
static uint32_t count_copy(counter *c, size_t at, int depth)
{
    const pgy_onnx_function *f = c->functions->model->functions[at];
    if (c->sizes[at]) return c->sizes[at] - 1;
    if (depth > CALL_DEPTH) return COUNT_LIMIT + 1;
    c->sizes[at] = COUNT_LIMIT + 2;
    const uint32_t own = f->node_count + f->input_count + f->output_count > COUNT_LIMIT
                             ? COUNT_LIMIT + 1
                             : (uint32_t)(f->node_count + f->input_count + f->output_count);
    const uint32_t size = add(own, count_calls(c, f->nodes, f->node_count, depth + 1));
    c->sizes[at] = size + 1;
    return size;
}

static uint32_t count_bodies(counter *c, const pgy_onnx_node *n, int depth)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < n->attribute_count; i++) {
        const pgy_onnx_attribute *a = n->attributes[i];
        if (a->g) sum = add(sum, count_calls(c, a->g->nodes, a->g->node_count, depth + 1));
        for (size_t k = 0; k < a->graph_count; k++)
            sum =
                add(sum, count_calls(c, a->graphs[k]->nodes, a->graphs[k]->node_count, depth + 1));
    }
    return sum;
}

/* Nodes that are drawn in addition if all calls in a list of nodes get copies. */
static uint32_t count_calls(counter *c, pgy_onnx_node *const *nodes, size_t count, int depth)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < count && sum <= COUNT_LIMIT; i++) {
        const size_t at = place_of(c->functions, nodes[i]);
        if (at) sum = add(sum, count_copy(c, at - 1, depth + 1));
        if (depth <= CALL_DEPTH) sum = add(sum, count_bodies(c, nodes[i], depth));
    }
    return sum;
}

bool graph_functions_start(graph_functions *f, const pgy_onnx_model *model)
{
    *f = (graph_functions){.model = model};
    if (!model->function_count || !model->graph) return true;
    str key = {0};
    counter c = {f, mem_calloc(model->function_count, sizeof *c.sizes)};
    bool ok = c.sizes != NULL;
    for (size_t i = 0; ok && i < model->function_count; i++) {
        const pgy_onnx_function *x = model->functions[i];
        ok = append_key(&key, x->domain, x->name, x->overload) &&
             (strmap_has(&f->places, str_text(&key)) ||
              strmap_put(&f->places, str_text(&key), (void *)(i + 1)));
    }
    if (ok) {
        const uint32_t size = count_calls(&c, model->graph->nodes, model->graph->node_count, 0);
        f->copies = size <= COPY_LIMIT;
        f->explode = size > COUNT_LIMIT;
    }
    mem_free(c.sizes);
    str_deinit(&key);
    return ok;
}

void graph_functions_deinit(graph_functions *f)
{
    strmap_deinit(&f->places);
}
