/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of the ensembles in ai.onnx.ml: walking them, and what their scores become. */
#include "ops/class_forest.h"

#include <math.h>

#include "base/alloc.h"
#include "base/cancel.h"

void forest_deinit(forest *f)
{
    mem_free(f->nodes);
    mem_free(f->weights);
    mem_free(f->roots);
    mem_free((void *)(uintptr_t)f->base);
    *f = (forest){0};
}

/* ---- Cycles --------------------------------------------------------------------------------- */

enum colour { NEW, OPEN, DONE };

/* Walks depth first from one root; a node that is met while it is open closes a cycle. */
static size_t cycle_below(const forest *f, uint32_t root, uint8_t *colour, uint32_t *stack)
{
    size_t depth = 0;
    stack[depth++] = root;
    while (depth) {
        const uint32_t at = stack[depth - 1];
        const forest_node *n = &f->nodes[at];
        int side = 0;
        if (n->mode != FOREST_LEAF) {
            colour[at] = OPEN;
            while (side < 2 && colour[n->next[side]] == DONE) side++;
        }
        if (n->mode == FOREST_LEAF || side == 2) {
            colour[at] = DONE;
            depth--;
            continue;
        }
        if (colour[n->next[side]] == OPEN) return at;
        stack[depth++] = n->next[side];
    }
    return f->node_count;
}

pgy_status forest_find_cycle(size_t *at, const forest *f, const op_node *n, pgy_error *err)
{
    pgy_status st = PGY_OK;
    uint8_t *colour = mem_calloc(f->node_count + 1, 1);
    uint32_t *stack = mem_calloc(f->node_count + 1, sizeof *stack);
    *at = f->node_count;
    if (!colour || !stack) st = rule_no_memory(n, err);
    for (size_t i = 0; !st && i < f->root_count && *at == f->node_count; i++) {
        if (colour[f->roots[i]] == NEW) *at = cycle_below(f, f->roots[i], colour, stack);
        if (i % 1024 == 0) st = cancel_check(err);
    }
    mem_free(colour);
    mem_free(stack);
    return st;
}

/* ---- Walks and scores ----------------------------------------------------------------------- */

static bool passes(const forest_node *n, double x)
{
    if (n->missing && isnan(x)) return true;
    switch (n->mode) {
    case FOREST_LEQ: return x <= n->split;
    case FOREST_LT: return x < n->split;
    case FOREST_GTE: return x >= n->split;
    case FOREST_GT: return x > n->split;
    case FOREST_EQ: return x == n->split;
    default: return x != n->split;
    }
}

const forest_node *forest_leaf(const forest *f, uint32_t root, const double *x)
{
    const forest_node *n = &f->nodes[root];
    while (n->mode != FOREST_LEAF) n = &f->nodes[n->next[passes(n, x[n->feature])]];
    return n;
}

static double joined(forest_join how, double a, double b, bool seen)
{
    switch (how) {
    case FOREST_MIN: return !seen || b < a ? b : a;
    case FOREST_MAX: return !seen || b > a ? b : a;
    default: return a + b;
    }
}

void forest_sum(const forest *f, const double *x, double *y, bool *seen)
{
    for (size_t i = 0; i < f->target_count; i++) {
        y[i] = 0;
        seen[i] = false;
    }
    for (size_t i = 0; i < f->root_count; i++) {
        const forest_node *leaf = forest_leaf(f, f->roots[i], x);
        if (f->target_count == 1) {
            y[0] = joined(f->join, y[0], leaf->split, seen[0]);
            seen[0] = true;
            continue;
        }
        const forest_weight *w = f->weights + leaf->next[0];
        for (uint32_t k = 0; k < leaf->next[1]; k++) {
            y[w[k].target] = joined(f->join, y[w[k].target], w[k].value, seen[w[k].target]);
            seen[w[k].target] = true;
        }
    }
}

void forest_finish_targets(const forest *f, double *y, const bool *seen)
{
    for (size_t i = 0; i < f->target_count; i++) {
        if (f->join == FOREST_AVERAGE) y[i] /= (double)f->root_count;
        if (f->base_count && (seen[i] || f->target_count == 1)) y[i] += f->base[i];
    }
    if (f->target_count == 1 && !f->transforms_one)
        scores_apply_single(y, f->transform, SCORES_SINGLE);
    else
        scores_apply(y, f->target_count, f->transform);
}

forest_classes forest_classes_of(const forest *f)
{
    forest_classes c = {f->target_count == 2 && f->weight_count > 0, true};
    for (size_t i = 0; i < f->weight_count; i++) {
        if (f->weights[i].target != f->weights[0].target) c.one_id = false;
        if (f->weights[i].value < 0) c.positive = false;
    }
    return c;
}

/* Chooses between two classes by the score of the second one. */
static scores_pair choose(size_t *label, bool *literal, forest_classes classes, double score,
                          scores_pair pair)
{
    *literal = !classes.one_id;
    *label = score > (classes.one_id && classes.positive ? 0.5 : 0);
    if (!classes.one_id) return pair;
    return classes.positive ? SCORES_COMPLEMENT : SCORES_OPPOSITE;
}

static void finish_one(size_t *label, bool *literal, const forest *f, double *y)
{
    if (f->base_count == 1) y[0] += f->base[0];
    if (f->base_count == 2) y[0] += f->base[1];
    choose(label, literal, (forest_classes){0}, y[0], SCORES_SINGLE);
    if (f->base_count != 2) scores_apply_single(y, f->transform, SCORES_SINGLE);
}

/* Two classes. ONNX leaves open what one or two base values mean here. */
static void finish_two(size_t *label, bool *literal, const forest *f, forest_classes classes,
                       double *y, const bool *seen)
{
    const bool second = seen[1];
    scores_pair pair = SCORES_SINGLE;
    bool first = seen[0];
    if (f->base_count == 2 && second) {
        y[1] = f->base[1] + y[0];
        y[0] = first ? -y[1] : 0;
    } else if (f->base_count == 2) {
        y[0] = first ? y[0] + f->base[0] : 0;
    } else if (f->base_count == 1) {
        y[0] = first ? y[0] + f->base[0] : 0;
    } else {
        pair = SCORES_OPPOSITE;
    }
    pair = choose(label, literal, classes, second ? y[1] : first ? y[0] : 0, pair);
    if (second || f->base_count == 2)
        scores_apply(y, 2, f->transform);
    else
        scores_apply_single(y, f->transform, pair);
}

bool forest_finish_classes(size_t *label, bool *literal, const forest *f, forest_classes classes,
                           double *y, bool *seen)
{
    bool any = false;
    *label = 0;
    *literal = false;
    if (f->target_count == 1) {
        finish_one(label, literal, f, y);
        return true;
    }
    if (f->target_count == 2) {
        finish_two(label, literal, f, classes, y, seen);
        return true;
    }
    for (size_t i = 0; i < f->target_count; i++) {
        if (f->base_count) {
            y[i] += f->base[i];
            seen[i] = true;
        }
        if (seen[i] && (!any || y[i] > y[*label])) *label = i;
        any = any || seen[i];
    }
    scores_apply(y, f->target_count, f->transform);
    return any;
}
