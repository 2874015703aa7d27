/* SPDX-License-Identifier: Apache-2.0 */
/* Selection in order: gather the format choices of each node, cost them by estimates, find the best
 * layouts; then repeat with measured times. The layouts of the first solution get a small advantage
 * there, so that noise does not change the choice. */
#include "engine/select/select.h"

#include <string.h>

#include "engine/build/config.h"
#include "engine/build/progress.h"

static const double ADVANTAGE = 0.98; /* factor on the costs of layouts that the estimates prefer */

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while kernels are chosen");
}

static pgy_status gather(selection *s, build_node *nodes, pgy_error *err)
{
    s->nodes = arena_alloc_array(s->memory, s->count + 1, sizeof *s->nodes);
    s->masks = arena_alloc_array(s->memory, s->b->tensor_count + 1, 1);
    if (!s->nodes || !s->masks) return no_memory(err);
    memset(s->masks, 1 << KERNEL_LINEAR, s->b->tensor_count);
    const pgy_build_config *config = s->b->options->config;
    pgy_status st = PGY_OK;
    const build_costs c = build_expect_costs(s->b->graph, s->timing ? s->timing->left_ns : 0);
    progress_expect_costs(c.kernels, c.times + c.packing);
    progress_start(config, PROGRESS_KERNELS, PROGRESS_PROGRAM, s->count);
    for (size_t i = 0; !st && i < s->count; i++) {
        s->nodes[i].n = &nodes[i];
        st = select_gather(s, &s->nodes[i], err);
        if (!st) st = progress_step(config, PROGRESS_KERNELS, i, err);
    }
    progress_finish(config, PROGRESS_KERNELS);
    return st;
}

static pgy_status choose(uint32_t *choices, selection *s, pgy_error *err)
{
    select_estimate(s);
    pgy_status st = select_layouts(s, choices, false, err);
    if (st || !s->timing) return st;
    st = select_measure(s, err);
    for (size_t i = 0; !st && i < s->count; i++)
        if (s->nodes[i].choice_count > 1) s->nodes[i].choices[choices[i]].cost_ns *= ADVANTAGE;
    return st ? st : select_layouts(s, choices, true, err);
}

/* Stores the choices in the nodes: each gets the problem as its kernel accepts it. */
static pgy_status hand_over(const selection *s, const uint32_t *choices, pgy_error *err)
{
    for (size_t i = 0; i < s->count; i++) {
        const select_node *n = &s->nodes[i];
        const select_choice *f = &n->choices[choices[i]];
        kernel_problem problem;
        if (f->variant == SELECT_NONE) {
            n->n->cost_ns = f->cost_ns;
            if (n->n->is_view) {
                n->n->problem.inputs[0].layout = select_layout_of(f->places[0]);
                n->n->problem.inputs[0].space = select_space_of(f->places[0]);
            }
            continue;
        }
        const select_variant *v = &n->variants[f->variant];
        if (!select_problem(&problem, n, v))
            return node_error(n->n->node, err, PGY_E_INTERNAL,
                              "kernel '%s' refuses a problem that it accepted before",
                              v->kernel->name);
        n->n->problem = problem;
        n->n->kernel = v->kernel;
        n->n->cost_ns = v->estimate_ns;
    }
    return PGY_OK;
}

pgy_status select_kernels(builder *b, build_node *nodes, size_t count, arena *memory,
                          pgy_error *err)
{
    selection s = {
        .b = b, .memory = memory, .count = count, .timing = b->options->timing, .scale = 1};
    uint32_t *choices = arena_alloc_array(memory, count + 1, sizeof *choices);
    pgy_status st = choices ? config_cpu_level(&s.level, b->options->config, err) : no_memory(err);
    if (!st) st = gather(&s, nodes, err);
    if (!st) st = choose(choices, &s, err);
    if (!st) st = hand_over(&s, choices, err);
    strmap_deinit(&s.kernels);
    strmap_deinit(&s.limited);
    return st;
}
