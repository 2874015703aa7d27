/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the parameters of the kernel for tree ensembles. */
#include <string.h>

#include "kernels/forest.h"

static bool check_head(kernel_extent *e, const forest_params *p)
{
    if (!extent_flag(e, &p->classifies) || !extent_flag(e, &p->one_id) ||
        !extent_flag(e, &p->positive) || !extent_flag(e, &p->simple) ||
        !extent_flag(e, &p->by_trees) || !extent_flag(e, &p->whole) ||
        !extent_flag(e, &p->picked) || !extent_flag(e, &p->ranked) || !extent_flag(e, &p->dense) ||
        !extent_flag(e, &p->transforms_one) || !extent_flag(e, &p->wide_scores))
        return false;
    if (!extent_level(e, p->level)) return false;
    if (!extent_enum(e, p->join, FOREST_MAX + 1, "way to join") ||
        !extent_enum(e, p->transform, SCORES_PROBIT + 1, "transform"))
        return false;
    if (!p->rows || !p->features || !p->width || p->width > FOREST_FEATURE || !p->targets ||
        p->features > FOREST_FEATURE || p->targets > UINT32_MAX)
        return extent_refuse(e, "shape");
    if (!p->nodes || p->nodes > UINT32_MAX || !p->leaves || p->weights > UINT32_MAX || !p->roots)
        return extent_refuse(e, "number of nodes");
    if (p->block < FOREST_GROUP || p->block > FOREST_ROWS || p->block % FOREST_GROUP)
        return extent_refuse(e, "block");
    if (p->type != PGY_F32 && p->type != PGY_F64 && p->type != PGY_I32 && p->type != PGY_I64)
        return extent_refuse(e, "type of features");
    if (p->picked ? p->columns && p->columns != p->width
                  : p->width != p->features || p->type != PGY_F32)
        return extent_refuse(e, "columns");
    if (p->ranked ? !p->picked : p->splits) return extent_refuse(e, "ranks");
    if (p->ranked && p->targets == 1 && p->weights != p->leaves)
        return extent_refuse(e, "number of weights");
    if (p->wide_scores && p->classifies) return extent_refuse(e, "type of scores");
    if (p->labels != (p->classifies ? p->targets : 0)) return extent_refuse(e, "labels");
    const bool few = p->classifies && p->targets <= 2;
    if (p->base_count && (few ? p->base_count > 2 : p->base_count != p->targets))
        return extent_refuse(e, "base values");
    return true;
}

/* The set at word k must lie inside; all others refer to the empty set at word 0. */
static bool check_set(const forest_view *v, uint64_t k)
{
    if (k + FOREST_SET_HEAD >= v->p->sets) return false;
    const uint64_t count = v->sets[k + 1];
    return k + FOREST_SET_HEAD + (count ? count : 1) <= v->p->sets;
}

static bool check_nodes(kernel_extent *e, const forest_view *v)
{
    const forest_params *p = v->p;
    if (p->sets && !check_set(v, 0)) return extent_refuse(e, "set");
    for (uint64_t i = 0; i < p->nodes; i++) {
        const forest_step *n = &v->nodes[i];
        const bool leaf = n->next[0] == i && n->next[1] == i;
        uint32_t range;
        memcpy(&range, &n->split, sizeof range);
        if ((n->feature & FOREST_FEATURE) >= p->width) return extent_refuse(e, "feature");
        if (p->sets && !forest_mask_of(n) && !check_set(v, range)) return extent_refuse(e, "set");
        if (leaf && (p->targets > 1 || p->ranked) && range >= p->leaves)
            return extent_refuse(e, "leaf");
        for (int side = 0; !leaf && side < 2; side++)
            if (n->next[side] <= i || n->next[side] >= p->nodes)
                return extent_refuse(e, "next node");
    }
    return true;
}

static bool check_word(const forest_word *w, uint64_t count)
{
    uint64_t end = w->first;
    for (int kind = 0; kind < FOREST_KINDS; kind++) {
        if (w->counts[kind] > FOREST_MOST_TESTS) return false;
        end += w->counts[kind];
    }
    return end <= count;
}

static bool check_tree(kernel_extent *e, const forest_view *v, const forest_tree *tree)
{
    const forest_params *p = v->p;
    const uint64_t values = (uint64_t)tree->words * FOREST_WORD;
    if (tree->whole > 1 || tree->words > FOREST_MOST_WORDS || tree->tables > FOREST_MOST_TABLES ||
        (uint64_t)tree->word + tree->words > p->words ||
        (uint64_t)tree->table + tree->tables > p->tables)
        return extent_refuse(e, "words of a tree");
    if (!tree->words && (tree->whole || p->tables)) return extent_refuse(e, "words of a tree");
    if (p->whole && !tree->whole) return extent_refuse(e, "exits");
    for (uint64_t i = tree->table; i < (uint64_t)tree->table + tree->tables; i++)
        if (v->tables[i].target >= p->targets || v->tables[i].first + values > p->values)
            return extent_refuse(e, "table");
    return true;
}

static bool check_choices(kernel_extent *e, const forest_view *v)
{
    const forest_params *p = v->p;
    if (p->choices > FOREST_MOST_CHOICES || p->choice_words > UINT32_MAX ||
        (p->choices && !p->groups))
        return extent_refuse(e, "choices");
    for (uint64_t i = 0; i < p->choices; i++) {
        const forest_choice *c = &v->choices[i];
        const uint64_t words = extent_mul3((uint64_t)c->last + 2, p->groups, FOREST_GROUP);
        if (c->feature >= p->width || c->last > FOREST_MOST_CHOICE ||
            extent_add(c->first, words) > p->choice_words)
            return extent_refuse(e, "choices");
    }
    return true;
}

static bool check_sweeps(kernel_extent *e, const forest_view *v)
{
    const forest_params *p = v->p;
    if (p->columns > FOREST_COLUMNS || p->bit_columns > FOREST_COLUMNS ||
        p->words > UINT32_MAX / FOREST_WORD ||
        (p->groups && (!p->by_trees || p->words != p->roots ||
                       p->groups != extent_round_up(p->roots, FOREST_GROUP) / FOREST_GROUP)) ||
        (p->by_trees && (p->tests || p->columns || p->bit_columns || p->tables)))
        return extent_refuse(e, "words");
    for (uint64_t i = 0; i < p->columns; i++)
        if (v->columns[i] >= p->width) return extent_refuse(e, "feature");
    for (uint64_t i = 0; i < p->bit_columns; i++)
        if (v->bit_columns[i].column >= p->columns) return extent_refuse(e, "feature");
    for (uint64_t i = 0; i < p->tests; i++)
        if (v->tests[i].column >= p->columns + p->bit_columns) return extent_refuse(e, "feature");
    for (uint64_t i = 0; i < p->lanes * FOREST_GROUP; i++)
        if (v->lanes[i / FOREST_GROUP].column[i % FOREST_GROUP] >= p->width)
            return extent_refuse(e, "feature");
    if (!check_choices(e, v)) return false;
    for (uint64_t i = 0; i < p->words; i++)
        if (!check_word(&v->words[i], p->tests)) return extent_refuse(e, "tests");
    for (uint64_t i = 0; i < p->groups; i++)
        if (!check_word(&v->groups[i], p->lanes)) return extent_refuse(e, "tests");
    for (uint64_t i = 0; i < p->words * FOREST_WORD; i++)
        if (v->exits[i] >= p->nodes) return extent_refuse(e, "exit");
    for (uint64_t i = 0; i < p->roots; i++)
        if (!check_tree(e, v, &v->trees[i])) return false;
    return true;
}

static bool check_picks(kernel_extent *e, const forest_view *v)
{
    const forest_params *p = v->p;
    for (uint64_t i = 0; p->picked && i < p->width; i++) {
        const uint32_t first = v->pick_first[i], end = v->pick_first[i + 1];
        if (v->pick_features[i] >= p->features || first > end || end > p->splits ||
            ((uint64_t)end - first + 1) & (end - first))
            return extent_refuse(e, "ranks");
    }
    return true;
}

bool forest_check(kernel_extent *e, const forest_params *p, uint64_t bytes)
{
    forest_view v;
    if (!check_head(e, p)) return false;
    if (forest_place(&v, p) != bytes) return extent_refuse(e, "size of the parameters");
    if (!check_nodes(e, &v) || !check_picks(e, &v)) return false;
    for (uint64_t i = 0; i < p->weights; i++)
        if (v.weights[i].target >= p->targets) return extent_refuse(e, "target");
    for (uint64_t i = 0; i < p->leaves; i++)
        if (v.ranges[i] > v.ranges[i + 1]) return extent_refuse(e, "weights of a leaf");
    if (v.ranges[p->leaves] > p->weights || (p->dense && !forest_is_dense(&v)))
        return extent_refuse(e, "weights of a leaf");
    for (uint64_t i = 0; i < p->roots; i++)
        if (v.trees[i].root >= p->nodes || v.trees[i].depth % FOREST_EVEN > FOREST_DEPTH ||
            v.trees[i].depth / FOREST_EVEN > 1)
            return extent_refuse(e, "root");
    return check_sweeps(e, &v);
}
