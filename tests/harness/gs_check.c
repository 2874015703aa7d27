/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/gs_check.h"

#include <stdio.h>
#include <string.h>

static char problem[512];

static size_t count_tensor(pgy_gs_tensor *const *list, size_t count, const pgy_gs_tensor *t)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) found += list[i] == t;
    return found;
}

static size_t count_node(pgy_gs_node *const *list, size_t count, const pgy_gs_node *n)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) found += list[i] == n;
    return found;
}

static bool check_tensor(const pgy_gs_tensor *t)
{
    if (!t->name || (t->rank > 0 && !t->dims)) {
        snprintf(problem, sizeof problem, "tensor '%s' lacks its name or dimensions",
                 t->name ? t->name : "");
        return false;
    }
    for (size_t i = 0; i < t->consumer_count; i++) {
        const pgy_gs_node *n = t->consumers[i];
        if (count_tensor(n->inputs, n->input_count, t) !=
            count_node(t->consumers, t->consumer_count, n)) {
            snprintf(problem, sizeof problem, "'%s' and its reader '%s' disagree", t->name,
                     n->name);
            return false;
        }
    }
    for (size_t i = 0; i < t->producer_count; i++) {
        const pgy_gs_node *n = t->producers[i];
        if (count_tensor(n->outputs, n->output_count, t) !=
            count_node(t->producers, t->producer_count, n)) {
            snprintf(problem, sizeof problem, "'%s' and its maker '%s' disagree", t->name, n->name);
            return false;
        }
    }
    return true;
}

static bool check_node(const pgy_gs_node *n)
{
    for (size_t i = 0; i < n->input_count; i++) {
        const pgy_gs_tensor *t = n->inputs[i];
        if (!count_node(t->consumers, t->consumer_count, n)) {
            snprintf(problem, sizeof problem, "'%s' reads '%s', which does not know", n->name,
                     t->name);
            return false;
        }
        if (!check_tensor(t)) return false;
    }
    for (size_t i = 0; i < n->output_count; i++) {
        const pgy_gs_tensor *t = n->outputs[i];
        if (!count_node(t->producers, t->producer_count, n)) {
            snprintf(problem, sizeof problem, "'%s' makes '%s', which does not know", n->name,
                     t->name);
            return false;
        }
        if (!check_tensor(t)) return false;
    }
    return true;
}

static bool check_graph(const pgy_gs_graph *g)
{
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_gs_node *n = g->nodes[i];
        if (n->graph != g || pgy_gs_node_index(n) != i) {
            snprintf(problem, sizeof problem, "node %zu '%s' does not know where it is", i,
                     n->name);
            return false;
        }
        if (!check_node(n)) return false;
        for (size_t a = 0; a < n->attribute_count; a++)
            for (size_t k = 0; n->attributes[a].graphs && k < n->attributes[a].graph_count; k++) {
                if (n->attributes[a].graphs[k]->parent != g) {
                    snprintf(problem, sizeof problem, "graph %zu of '%s' has another parent", k,
                             n->name);
                    return false;
                }
                if (!check_graph(n->attributes[a].graphs[k])) return false;
            }
    }
    for (size_t i = 0; i < g->input_count; i++)
        if (!check_tensor(g->inputs[i])) return false;
    for (size_t i = 0; i < g->output_count; i++)
        if (!check_tensor(g->outputs[i])) return false;
    return true;
}

const char *gs_check(const pgy_gs_graph *top)
{
    problem[0] = '\0';
    if (!check_graph(top)) return problem;
    for (size_t i = 0; i < top->function_count; i++)
        if (!check_graph(top->functions[i])) return problem;
    return NULL;
}
