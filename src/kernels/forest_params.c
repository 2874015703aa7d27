/* SPDX-License-Identifier: Apache-2.0 */
/* Making the parameters of the kernel for tree ensembles. */
#include <math.h>
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
    const uint64_t ranked = p->ranked ? p->width : 0;
    uint64_t at = sizeof *p;
    v->p = p;
    v->base = next_array(p, &at, p->base_count, sizeof(double));
    v->labels = next_array(p, &at, p->labels, sizeof(int64_t));
    v->splits = next_array(p, &at, p->splits, sizeof(double));
    v->weights = next_array(p, &at, p->weights, sizeof(forest_share));
    v->nodes = next_array(p, &at, p->nodes, sizeof(forest_step));
    v->ranges = next_array(p, &at, extent_add(p->leaves, 1), sizeof(uint32_t));
    v->rank_features = next_array(p, &at, ranked, sizeof(uint32_t));
    v->rank_first = next_array(p, &at, ranked ? extent_add(ranked, 1) : 0, sizeof(uint32_t));
    v->trees = next_array(p, &at, p->roots, sizeof(forest_tree));
    v->columns = next_array(p, &at, p->columns, sizeof(uint32_t));
    v->words = next_array(p, &at, p->words, sizeof(forest_word));
    v->groups = next_array(p, &at, p->groups, sizeof(forest_word));
    v->tests = next_array(p, &at, p->tests, sizeof(forest_test));
    v->lanes = next_array(p, &at, p->lanes, sizeof(forest_lanes));
    v->exits = next_array(p, &at, extent_mul(p->words, FOREST_WORD), sizeof(uint32_t));
    v->tables = next_array(p, &at, p->tables, sizeof(forest_table));
    v->values = next_array(p, &at, p->values, sizeof(float));
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
    const uint64_t columns = extent_mul3(p->columns, FOREST_ROWS, sizeof(float));
    const uint64_t ranks = p->ranked ? extent_mul3(p->block, p->width, sizeof(float)) : 0;
    const uint64_t scores =
        extent_mul3(extent_add(p->block, 1), p->targets, sizeof(double) + sizeof(bool));
    return extent_add(extent_add(ranks, columns), scores);
}

/* ---- Making --------------------------------------------------------------------------------- */

typedef struct maker {
    const forest *f;
    uint32_t *order, *number; /* old nodes in their new order; new number + 1 of old nodes */
    uint32_t *stack;
    size_t count;
    const forest_ranks *ranks; /* NULL: none */
} maker;

/* Appends the nodes of one tree in the order in which a depth-first walk leaves them: children
 * first. */
static void list_tree(maker *m, uint32_t root)
{
    size_t depth = 0;
    if (m->number[root]) return;
    m->stack[depth++] = root;
    m->number[root] = 1;
    while (depth) {
        const uint32_t at = m->stack[depth - 1];
        const forest_node *n = &m->f->nodes[at];
        int side = 1;
        while (n->mode != FOREST_LEAF && side >= 0 && m->number[n->next[side]]) side--;
        if (n->mode == FOREST_LEAF || side < 0) {
            m->order[m->count++] = at;
            depth--;
            continue;
        }
        m->number[n->next[side]] = 1;
        m->stack[depth++] = n->next[side];
    }
}

/* Numbers the nodes so that children come behind their parents, the child of a failed test next to
 * its parent where it can be: the reverse of the list of all trees. */
static void number_trees(maker *m)
{
    for (size_t i = m->f->root_count; i-- > 0;) list_tree(m, m->f->roots[i]);
    for (size_t i = 0, k = m->count; i + 1 < k; i++) {
        const uint32_t held = m->order[i];
        m->order[i] = m->order[--k];
        m->order[k] = held;
    }
    for (size_t i = 0; i < m->count; i++) m->number[m->order[i]] = (uint32_t)i + 1;
}

/* v < s is v <= the number before s, and so all tests of most ensembles are of one kind. */
static bool is_shifted(const forest_node *n)
{
    return n->mode == FOREST_LT && (float)n->split > -INFINITY;
}

static void make_steps(const maker *m, forest_step *steps, uint32_t *ranges, forest_share *weights)
{
    uint32_t leaves = 0, used = 0;
    ranges[0] = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        const forest_node *n = &m->f->nodes[m->order[i]];
        forest_step *s = &steps[i];
        s->split = (float)n->split;
        if (is_shifted(n)) s->split = nextafterf(s->split, -INFINITY);
        if (n->mode != FOREST_LEAF) {
            s->feature = n->feature |
                         (uint32_t)(is_shifted(n) ? FOREST_LEQ : n->mode) << FOREST_MODE_BIT |
                         (uint32_t)n->missing << FOREST_MISSING_BIT;
            for (int side = 0; side < 2; side++) s->next[side] = m->number[n->next[side]] - 1;
            continue;
        }
        s->next[0] = s->next[1] = i;
        if (m->f->target_count == 1 && m->ranks)
            weights[used++] = (forest_share){.value = n->split};
        for (uint32_t k = 0; m->f->target_count > 1 && k < n->next[1]; k++) {
            const forest_weight *w = &m->f->weights[n->next[0] + k];
            weights[used++] = (forest_share){.target = w->target, .value = w->value};
        }
        if (m->f->target_count > 1 || m->ranks) memcpy(&s->split, &leaves, sizeof leaves);
        ranges[++leaves] = used;
    }
}

static void count_nodes(forest_params *p, const maker *m)
{
    p->nodes = m->count;
    p->simple = true;
    for (size_t i = 0; i < m->count; i++) {
        const forest_node *n = &m->f->nodes[m->order[i]];
        const bool leaf = n->mode == FOREST_LEAF;
        p->leaves += leaf;
        if (leaf && m->f->target_count > 1) p->weights += n->next[1];
        if (leaf && m->f->target_count == 1 && m->ranks) p->weights++;
        if (!leaf && ((n->mode != FOREST_LEQ && !is_shifted(n)) || n->missing)) p->simple = false;
    }
}

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static pgy_status number_nodes(maker *m, const forest *f, pgy_error *err)
{
    m->f = f;
    m->order = mem_calloc(f->node_count, sizeof *m->order);
    m->number = mem_calloc(f->node_count, sizeof *m->number);
    m->stack = mem_calloc(f->node_count + 1, sizeof *m->stack);
    if (!m->order || !m->number || !m->stack) return no_memory(err);
    number_trees(m);
    return PGY_OK;
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
    p->classifies = strcmp(u->node->def->name, "TreeEnsembleClassifier") == 0;
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

/* Parameters without sweeps. */
static pgy_status make_plain(forest_params **out, const maker *m, const kernel_problem *u,
                             pgy_error *err)
{
    forest_params head = {0};
    forest_view v;
    scores_labels labels = scores_labels_of(u->node, "classlabels_strings", "classlabels_int64s");
    forest_params_describe(&head, m->f, u);
    count_nodes(&head, m);
    head.doubles = u->inputs[0].dtype == PGY_F64;
    head.ranked = m->ranks != NULL;
    head.width = m->ranks ? m->ranks->columns : head.features;
    head.splits = m->ranks ? m->ranks->count : 0;
    const uint64_t bytes = forest_place(&v, &head);
    forest_params *p = bytes == EXTENT_TOO_MUCH ? NULL : mem_calloc(1, bytes);
    if (!p) return no_memory(err);
    *p = head;
    (void)forest_place(&v, p);
    forest_tree *trees = (forest_tree *)(uintptr_t)v.trees;
    memcpy((void *)(uintptr_t)v.base, m->f->base, head.base_count * sizeof(double));
    for (size_t i = 0; i < head.labels; i++)
        ((int64_t *)(uintptr_t)v.labels)[i] = labels.ints ? labels.ints[i] : (int64_t)i;
    if (m->ranks) {
        put(v.splits, m->ranks->splits, head.splits, sizeof *v.splits);
        put(v.rank_features, m->ranks->features, head.width, sizeof *v.rank_features);
        put(v.rank_first, m->ranks->first, head.width + 1, sizeof *v.rank_first);
    }
    make_steps(m, (forest_step *)(uintptr_t)v.nodes, (uint32_t *)(uintptr_t)v.ranges,
               (forest_share *)(uintptr_t)v.weights);
    for (size_t i = 0; i < head.roots; i++) trees[i].root = m->number[m->f->roots[i]] - 1;
    measure_depths(&v, trees, m->order, m->stack);
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
        put(v.words, s.words, head.words, sizeof *s.words);
        put(v.groups, s.groups, head.groups, sizeof *s.groups);
        put(v.tests, s.tests, head.tests, sizeof *s.tests);
        put(v.lanes, s.lanes, head.lanes, sizeof *s.lanes);
        put(v.exits, s.exits, head.words * FOREST_WORD, sizeof *s.exits);
        put(v.tables, s.tables, head.tables, sizeof *s.tables);
        put(v.values, s.values, head.values, sizeof *s.values);
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

pgy_status forest_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    const bool classes = strcmp(u->node->def->name, "TreeEnsembleClassifier") == 0;
    const int64_t targets =
        classes
            ? (int64_t)scores_labels_of(u->node, "classlabels_strings", "classlabels_int64s").count
            : op_attr_int(u->node, "n_targets", 1);
    const kernel_tensor *x = &u->inputs[0];
    forest f = {0};
    forest_ranks ranks = {0};
    maker m = {0};
    pgy_status st = forest_init(&f, u->node, classes, targets, err);
    if (!st) st = forest_check_features(&f, u->node, (size_t)x->shape[x->rank - 1], err);
    if (!st && f.feature_count > FOREST_FEATURE)
        st = pgy_error_set(err, PGY_E_UNSUPPORTED, "%s '%s': a node tests feature %zu, too many",
                           u->node->def->name, u->node->name, f.feature_count - 1);
    if (!st && forest_needs_ranks(u)) {
        if (!forest_ranks_make(&ranks, &f)) st = no_memory(err);
        m.ranks = &ranks;
    }
    if (!st) st = number_nodes(&m, &f, err);
    if (!st) st = make_params(out, &m, u, err);
    if (!st) share_work(out, out->params);
    mem_free(m.order);
    mem_free(m.number);
    mem_free(m.stack);
    forest_ranks_free(&ranks);
    forest_deinit(&f);
    return st;
}
