/* SPDX-License-Identifier: Apache-2.0 */
/* Making and checking the parameters of the kernel for tree ensembles. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/forest.h"

/* Sizes of an attacker may give an address that is none; it is not used then. */
static const void *at_offset(const forest_params *p, uint64_t at)
{
    return (const void *)((uintptr_t)p + at);
}

/* Sets the arrays' places behind the header; returns the bytes in all. */
static uint64_t place(forest_view *v, const forest_params *p)
{
    uint64_t at = sizeof *p;
    v->p = p;
    v->base = at_offset(p, at);
    at = extent_add(at, extent_mul(p->base_count, sizeof(double)));
    v->labels = at_offset(p, at);
    at = extent_add(at, extent_mul(p->labels, sizeof(int64_t)));
    v->nodes = at_offset(p, at);
    at = extent_add(at, extent_mul(p->nodes, sizeof(forest_step)));
    v->weights = at_offset(p, at);
    at = extent_add(at, extent_mul(p->weights, sizeof(forest_share)));
    v->ranges = at_offset(p, at);
    at = extent_add(at, extent_mul(extent_add(p->leaves, 1), sizeof(uint32_t)));
    v->roots = at_offset(p, at);
    at = extent_add(at, extent_mul(p->roots, sizeof(uint32_t)));
    v->depths = at_offset(p, at);
    return extent_add(at, extent_mul(p->roots, sizeof(uint32_t)));
}

forest_view forest_view_of(const void *params)
{
    forest_view v;
    (void)place(&v, params);
    return v;
}

/* ---- Making --------------------------------------------------------------------------------- */

typedef struct maker {
    const forest *f;
    uint32_t *order, *number; /* old nodes in their new order; new number + 1 of old nodes */
    uint32_t *stack;
    size_t count;
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
        for (uint32_t k = 0; k < n->next[1]; k++) {
            const forest_weight *w = &m->f->weights[n->next[0] + k];
            weights[used++] = (forest_share){w->target, (float)w->value};
        }
        if (m->f->target_count > 1) memcpy(&s->split, &leaves, sizeof leaves);
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
        if (leaf) p->weights += n->next[1];
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
    const uint64_t few = 32768 / f->target_count / FOREST_LANES * FOREST_LANES;
    p->rows = x->rank == 2 ? (uint64_t)x->shape[0] : 1;
    p->features = (uint64_t)x->shape[x->rank - 1];
    p->targets = f->target_count;
    p->roots = f->root_count;
    p->base_count = f->base_count;
    p->block = few < FOREST_LANES ? FOREST_LANES : few > FOREST_ROWS ? FOREST_ROWS : few;
    p->join = f->join;
    p->transform = f->transform;
    p->classifies = strcmp(u->node->def->name, "TreeEnsembleClassifier") == 0;
    p->one_id = classes.one_id;
    p->positive = classes.positive;
    p->by_trees = p->rows < FOREST_LANES;
    p->labels = p->classifies ? f->target_count : 0;
}

/* Writes the least depth of a leaf of each tree, and whether all have it. Children lie behind their
 * parents, so they are measured first. */
static void measure_depths(const forest_view *v, uint32_t *depths, uint32_t *least, uint32_t *even)
{
    for (size_t i = v->p->nodes; i-- > 0;) {
        const forest_step *n = &v->nodes[i];
        const uint32_t a = n->next[0], b = n->next[1];
        least[i] = a == i ? 0 : 1 + (least[a] < least[b] ? least[a] : least[b]);
        even[i] = a == i || (even[a] && even[b] && least[a] == least[b]);
    }
    for (size_t i = 0; i < v->p->roots; i++) {
        const uint32_t depth = least[v->roots[i]];
        depths[i] = depth <= FOREST_DEPTH ? depth : FOREST_DEPTH;
        if (even[v->roots[i]] && depth <= FOREST_DEPTH) depths[i] |= FOREST_EVEN;
    }
}

static pgy_status make_params(kernel_plan *out, const maker *m, const kernel_problem *u,
                              pgy_error *err)
{
    forest_params head = {0};
    forest_view v;
    scores_labels labels = scores_labels_of(u->node, "classlabels_strings", "classlabels_int64s");
    forest_params_describe(&head, m->f, u);
    count_nodes(&head, m);
    const uint64_t bytes = place(&v, &head);
    forest_params *p = bytes == EXTENT_TOO_MUCH ? NULL : mem_calloc(1, bytes);
    if (!p) return no_memory(err);
    *p = head;
    (void)place(&v, p);
    memcpy((void *)(uintptr_t)v.base, m->f->base, head.base_count * sizeof(double));
    for (size_t i = 0; i < head.labels; i++)
        ((int64_t *)(uintptr_t)v.labels)[i] = labels.ints ? labels.ints[i] : (int64_t)i;
    make_steps(m, (forest_step *)(uintptr_t)v.nodes, (uint32_t *)(uintptr_t)v.ranges,
               (forest_share *)(uintptr_t)v.weights);
    for (size_t i = 0; i < head.roots; i++)
        ((uint32_t *)(uintptr_t)v.roots)[i] = m->number[m->f->roots[i]] - 1;
    measure_depths(&v, (uint32_t *)(uintptr_t)v.depths, m->order, m->stack);
    *out = (kernel_plan){.params = p, .params_bytes = bytes, .phases = 1, .in_place = -1};
    return PGY_OK;
}

static void share_work(kernel_plan *out, const forest_params *p)
{
    const uint64_t blocks = (p->rows + p->block - 1) / p->block;
    const uint64_t groups = p->rows * p->roots / 256 + 1;
    out->scratch_bytes =
        forest_columns(p) + p->block * p->targets * (sizeof(double) + sizeof(bool));
    out->parts = (uint32_t)(blocks < 1024 ? blocks : 1024);
    if (!p->by_trees) return;
    out->phases = 2;
    out->parts = (uint32_t)(groups < 64 ? groups : 64);
    out->workspace_bytes = p->rows * p->roots * sizeof(uint32_t);
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
    maker m = {0};
    pgy_status st = forest_init(&f, u->node, classes, targets, err);
    if (!st) st = forest_check_features(&f, u->node, (size_t)x->shape[x->rank - 1], err);
    if (!st && f.feature_count > FOREST_FEATURE)
        st = pgy_error_set(err, PGY_E_UNSUPPORTED, "%s '%s': a node tests feature %zu, too many",
                           u->node->def->name, u->node->name, f.feature_count - 1);
    if (!st) st = number_nodes(&m, &f, err);
    if (!st) st = make_params(out, &m, u, err);
    if (!st) share_work(out, out->params);
    mem_free(m.order);
    mem_free(m.number);
    mem_free(m.stack);
    forest_deinit(&f);
    return st;
}

/* ---- Checking ------------------------------------------------------------------------------- */

static bool check_head(kernel_extent *e, const forest_params *p)
{
    if (!extent_flag(e, &p->classifies) || !extent_flag(e, &p->one_id) ||
        !extent_flag(e, &p->positive) || !extent_flag(e, &p->simple) ||
        !extent_flag(e, &p->by_trees))
        return false;
    if (!extent_enum(e, p->join, FOREST_MAX + 1, "way to join") ||
        !extent_enum(e, p->transform, SCORES_PROBIT + 1, "transform"))
        return false;
    if (!p->rows || !p->features || !p->targets || p->features > FOREST_FEATURE ||
        p->targets > UINT32_MAX)
        return extent_refuse(e, "shape");
    if (!p->nodes || p->nodes > UINT32_MAX || !p->leaves || p->weights > UINT32_MAX || !p->roots)
        return extent_refuse(e, "number of nodes");
    if (p->block < FOREST_LANES || p->block > FOREST_ROWS) return extent_refuse(e, "block");
    if (p->labels != (p->classifies ? p->targets : 0)) return extent_refuse(e, "labels");
    const bool few = p->classifies && p->targets <= 2;
    if (p->base_count && (few ? p->base_count > 2 : p->base_count != p->targets))
        return extent_refuse(e, "base values");
    return true;
}

static bool check_nodes(kernel_extent *e, const forest_view *v)
{
    const forest_params *p = v->p;
    for (uint64_t i = 0; i < p->nodes; i++) {
        const forest_step *n = &v->nodes[i];
        const bool leaf = n->next[0] == i && n->next[1] == i;
        uint32_t range;
        memcpy(&range, &n->split, sizeof range);
        if ((n->feature & FOREST_FEATURE) >= p->features) return extent_refuse(e, "feature");
        if (leaf && p->targets > 1 && range >= p->leaves) return extent_refuse(e, "leaf");
        for (int side = 0; !leaf && side < 2; side++)
            if (n->next[side] <= i || n->next[side] >= p->nodes)
                return extent_refuse(e, "next node");
    }
    return true;
}

bool forest_check(kernel_extent *e, const forest_params *p, uint64_t bytes)
{
    forest_view v;
    if (!check_head(e, p)) return false;
    if (place(&v, p) != bytes) return extent_refuse(e, "size of the parameters");
    if (!check_nodes(e, &v)) return false;
    for (uint64_t i = 0; i < p->weights; i++)
        if (v.weights[i].target >= p->targets) return extent_refuse(e, "target");
    for (uint64_t i = 0; i < p->leaves; i++)
        if (v.ranges[i] > v.ranges[i + 1]) return extent_refuse(e, "weights of a leaf");
    if (v.ranges[p->leaves] > p->weights) return extent_refuse(e, "weights of a leaf");
    for (uint64_t i = 0; i < p->roots; i++)
        if (v.roots[i] >= p->nodes || v.depths[i] % FOREST_EVEN > FOREST_DEPTH ||
            v.depths[i] / FOREST_EVEN > 1)
            return extent_refuse(e, "root");
    return true;
}
