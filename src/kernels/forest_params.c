/* SPDX-License-Identifier: Apache-2.0 */
/* Making the parameters of the kernel for tree ensembles. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/forest.h"

/* Sizes of an attacker may give an address that is none; it is not used then. */
static const void *at_offset(const forest_params *p, uint64_t at)
{
    return (const void *)((uintptr_t)p + at);
}

/* The place of the next array; moves *at behind it. */
static const void *next_array(const forest_params *p, uint64_t *at, uint64_t count, uint64_t size)
{
    const void *place = at_offset(p, *at);
    *at = extent_add(*at, extent_mul(count, size));
    return place;
}

uint64_t forest_place(forest_view *v, const forest_params *p)
{
    const uint64_t picked = p->picked ? p->width : 0;
    uint64_t at = sizeof *p;
    v->p = p;
    v->base = next_array(p, &at, p->base_count, sizeof(double));
    v->labels = next_array(p, &at, p->labels, sizeof(int64_t));
    v->splits = next_array(p, &at, p->splits, sizeof(double));
    v->weights = next_array(p, &at, p->weights, sizeof(forest_share));
    v->nodes = next_array(p, &at, p->nodes, sizeof(forest_step));
    v->ranges = next_array(p, &at, extent_add(p->leaves, 1), sizeof(uint32_t));
    v->sets = next_array(p, &at, p->sets, sizeof(uint32_t));
    v->pick_features = next_array(p, &at, picked, sizeof(uint32_t));
    v->pick_first = next_array(p, &at, picked ? extent_add(picked, 1) : 0, sizeof(uint32_t));
    v->trees = next_array(p, &at, p->roots, sizeof(forest_tree));
    v->columns = next_array(p, &at, p->columns, sizeof(uint32_t));
    v->bit_columns = next_array(p, &at, p->bit_columns, sizeof(forest_bits_column));
    v->words = next_array(p, &at, p->words, sizeof(forest_word));
    v->groups = next_array(p, &at, p->groups, sizeof(forest_word));
    v->tests = next_array(p, &at, p->tests, sizeof(forest_test));
    v->lanes = next_array(p, &at, p->lanes, sizeof(forest_lanes));
    v->choices = next_array(p, &at, p->choices, sizeof(forest_choice));
    v->choice_words = next_array(p, &at, p->choice_words, sizeof(uint32_t));
    v->exits = next_array(p, &at, extent_mul(p->words, FOREST_WORD), sizeof(uint32_t));
    v->tables = next_array(p, &at, p->tables, sizeof(forest_table));
    v->values = next_array(p, &at, p->ranked ? 0 : p->values, sizeof(float));
    if (p->ranked) at = extent_round_up(at, sizeof(double));
    v->wide_values = next_array(p, &at, p->ranked ? p->values : 0, sizeof(double));
    return at;
}

forest_view forest_view_of(const void *params)
{
    forest_view v;
    (void)forest_place(&v, params);
    return v;
}

uint64_t forest_scratch(const forest_params *p)
{
    const uint64_t columns =
        extent_mul3(extent_add(p->columns, p->bit_columns), FOREST_ROWS, sizeof(float));
    const uint64_t picked =
        forest_picks_rows(p) ? extent_mul3(p->block, p->width, sizeof(float)) : 0;
    const uint64_t places =
        forest_walks_sets(p) ? extent_mul3(p->block, p->width, sizeof(uint32_t)) : 0;
    const uint64_t scores =
        extent_mul3(extent_add(p->block, 1), p->targets, sizeof(double) + sizeof(bool));
    return extent_add(extent_add(picked, places), extent_add(columns, scores));
}

bool forest_is_dense(const forest_view *v)
{
    const forest_params *p = v->p;
    if (p->targets == 1) return true;
    for (uint64_t i = 0; i <= p->leaves; i++)
        if (v->ranges[i] != i * p->targets) return false;
    for (uint64_t i = 0; i < p->weights; i++)
        if (v->weights[i].target != i % p->targets) return false;
    return true;
}

/* ---- Making --------------------------------------------------------------------------------- */

typedef struct maker {
    forest_nodes nodes;
    const forest_picks *picks; /* NULL: none */
} maker;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static void forest_params_describe(forest_params *p, const forest *f, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0];
    const forest_classes classes = forest_classes_of(f);
    const uint64_t few = 32768 / f->target_count / FOREST_GROUP * FOREST_GROUP;
    p->rows = x->rank == 2 ? (uint64_t)x->shape[0] : 1;
    p->features = (uint64_t)x->shape[x->rank - 1];
    p->targets = f->target_count;
    p->roots = f->root_count;
    p->base_count = f->base_count;
    p->block = few < FOREST_GROUP ? FOREST_GROUP : few > FOREST_ROWS ? FOREST_ROWS : few;
    p->join = f->join;
    p->transform = f->transform;
    p->level = u->self->needs;
    p->type = (uint32_t)x->dtype;
    p->transforms_one = f->transforms_one;
    p->wide_scores = forest_is_version5(u->node) && x->dtype == PGY_F64;
    p->classifies = forest_is_classifier(u->node);
    p->one_id = classes.one_id;
    p->positive = classes.positive;
    p->by_trees = p->rows < FOREST_LANES;
    p->labels = p->classifies ? f->target_count : 0;
}

/* Writes the least depth of a leaf of each tree, and whether all have it. Children lie behind their
 * parents, so they are measured first. */
static void measure_depths(const forest_view *v, forest_tree *trees, uint32_t *least,
                           uint32_t *even)
{
    for (size_t i = v->p->nodes; i-- > 0;) {
        const forest_step *n = &v->nodes[i];
        const uint32_t a = n->next[0], b = n->next[1];
        least[i] = a == i ? 0 : 1 + (least[a] < least[b] ? least[a] : least[b]);
        even[i] = a == i || (even[a] && even[b] && least[a] == least[b]);
    }
    for (size_t i = 0; i < v->p->roots; i++) {
        const uint32_t root = trees[i].root, depth = least[root];
        trees[i].depth = depth <= FOREST_DEPTH ? depth : FOREST_DEPTH;
        if (even[root] && depth <= FOREST_DEPTH) trees[i].depth |= FOREST_EVEN;
    }
}

static void put(const void *to, const void *from, uint64_t count, size_t size)
{
    if (count) memcpy((void *)(uintptr_t)to, from, count * size);
}

enum { MOST_SETS = 1 << 24 };

/* Parameters without sweeps. */
static pgy_status make_plain(forest_params **out, const maker *m, const kernel_problem *u,
                             pgy_error *err)
{
    forest_params head = {0};
    forest_view v;
    scores_labels labels = scores_labels_of(u->node, "classlabels_strings", "classlabels_int64s");
    forest_params_describe(&head, m->nodes.f, u);
    forest_nodes_count(&head, &m->nodes);
    head.picked = m->picks != NULL;
    head.ranked = m->nodes.ranked;
    head.width = m->picks ? m->picks->columns : head.features;
    head.splits = m->picks ? m->picks->count : 0;
    const uint64_t bytes = forest_place(&v, &head);
    if (head.sets > MOST_SETS)
        return pgy_error_set(err, PGY_E_UNSUPPORTED, "%s '%s': sets of nodes are too large",
                             u->node->def->name, u->node->name);
    forest_params *p = bytes == EXTENT_TOO_MUCH ? NULL : mem_calloc(1, bytes);
    if (!p) return no_memory(err);
    *p = head;
    (void)forest_place(&v, p);
    forest_tree *trees = (forest_tree *)(uintptr_t)v.trees;
    memcpy((void *)(uintptr_t)v.base, m->nodes.f->base, head.base_count * sizeof(double));
    for (size_t i = 0; i < head.labels; i++)
        ((int64_t *)(uintptr_t)v.labels)[i] = labels.ints ? labels.ints[i] : (int64_t)i;
    if (m->picks) {
        put(v.splits, m->picks->splits, head.splits, sizeof *v.splits);
        put(v.pick_features, m->picks->features, head.width, sizeof *v.pick_features);
        put(v.pick_first, m->picks->first, head.width + 1, sizeof *v.pick_first);
    }
    forest_nodes_write(&m->nodes, &v);
    p->dense = forest_is_dense(&v);
    for (size_t i = 0; i < head.roots; i++)
        trees[i].root = m->nodes.number[m->nodes.f->roots[i]] - 1;
    measure_depths(&v, trees, m->nodes.order, m->nodes.stack);
    *out = p;
    return PGY_OK;
}

/* Appends sweeps to the parameters. */
static pgy_status add_sweeps(kernel_plan *out, forest_params *plain, pgy_error *err)
{
    forest_sweeps s = {0};
    forest_view v;
    forest_params head = *plain;
    (void)forest_place(&v, plain);
    const bool made = forest_sweeps_make(&s, &head, &v);
    const uint64_t bytes = forest_place(&v, &head);
    forest_params *p = made && bytes != EXTENT_TOO_MUCH ? mem_realloc(plain, bytes) : NULL;
    if (p) {
        *p = head;
        (void)forest_place(&v, p);
        put(v.trees, s.trees, head.roots, sizeof *s.trees);
        put(v.columns, s.columns, head.columns, sizeof *s.columns);
        put(v.bit_columns, s.bit_columns, head.bit_columns, sizeof *s.bit_columns);
        put(v.words, s.words, head.words, sizeof *s.words);
        put(v.groups, s.groups, head.groups, sizeof *s.groups);
        put(v.tests, s.tests, head.tests, sizeof *s.tests);
        put(v.lanes, s.lanes, head.lanes, sizeof *s.lanes);
        put(v.choices, s.choices, head.choices, sizeof *s.choices);
        put(v.choice_words, s.choice_words, head.choice_words, sizeof *s.choice_words);
        put(v.exits, s.exits, head.words * FOREST_WORD, sizeof *s.exits);
        put(v.tables, s.tables, head.tables, sizeof *s.tables);
        put(v.values, s.values, head.ranked ? 0 : head.values, sizeof *s.values);
        put(v.wide_values, s.wide_values, head.ranked ? head.values : 0, sizeof *s.wide_values);
        *out = (kernel_plan){.params = p, .params_bytes = bytes, .phases = 1, .in_place = -1};
    } else {
        mem_free(plain);
    }
    forest_sweeps_free(&s);
    return p ? PGY_OK : no_memory(err);
}

static pgy_status make_params(kernel_plan *out, const maker *m, const kernel_problem *u,
                              pgy_error *err)
{
    forest_params *plain = NULL;
    const pgy_status st = make_plain(&plain, m, u, err);
    return st ? st : add_sweeps(out, plain, err);
}

static void share_work(kernel_plan *out, const forest_params *p)
{
    const uint64_t blocks = (p->rows + p->block - 1) / p->block;
    const uint64_t parts = p->rows * p->roots / 512 + 1;
    out->scratch_bytes = forest_scratch(p);
    out->parts = (uint32_t)(blocks < 1024 ? blocks : 1024);
    if (!p->by_trees) return;
    out->phases = 2;
    out->parts = (uint32_t)(parts < 64 ? parts : 64);
    out->workspace_bytes = p->rows * forest_found(p) * sizeof(uint32_t);
}

bool forest_is_classifier(const op_node *n)
{
    return strcmp(n->def->name, "TreeEnsembleClassifier") == 0;
}

bool forest_is_version5(const op_node *n)
{
    return strcmp(n->def->name, "TreeEnsemble") == 0;
}

static pgy_status read_forest(forest *f, const op_node *n, pgy_error *err)
{
    if (forest_is_version5(n)) return forest_init_version5(f, n, err);
    if (!forest_is_classifier(n))
        return forest_init(f, n, false, op_attr_int(n, "n_targets", 1), err);
    const scores_labels labels = scores_labels_of(n, "classlabels_strings", "classlabels_int64s");
    return forest_init(f, n, true, (int64_t)labels.count, err);
}

pgy_status forest_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    const kernel_tensor *x = &u->inputs[0];
    forest f = {0};
    forest_picks picks = {0};
    maker m = {.nodes = {.ranked = forest_needs_ranks(u)}};
    pgy_status st = read_forest(&f, u->node, err);
    if (!st) st = forest_check_features(&f, u->node, (size_t)x->shape[x->rank - 1], err);
    if (!st && f.feature_count > FOREST_FEATURE)
        st = pgy_error_set(err, PGY_E_UNSUPPORTED, "%s '%s': a node tests feature %zu, too many",
                           u->node->def->name, u->node->name, f.feature_count - 1);
    if (!st && !forest_sets_fit(&f)) m.nodes.ranked = true;
    if (!st && (m.nodes.ranked || x->dtype != PGY_F32)) {
        if (!forest_picks_make(&picks, &f, m.nodes.ranked)) st = no_memory(err);
        m.picks = &picks;
    }
    if (!st && !forest_nodes_make(&m.nodes, &f)) st = no_memory(err);
    if (!st) st = make_params(out, &m, u, err);
    if (!st) share_work(out, out->params);
    forest_nodes_free(&m.nodes);
    forest_picks_free(&picks);
    forest_deinit(&f);
    return st;
}
