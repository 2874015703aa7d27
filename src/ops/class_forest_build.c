/* SPDX-License-Identifier: Apache-2.0 */
/* Trees from the lists of a node: the positions of children are looked up by tree and node id, and
 * everything that a walk relies on is checked, so that walking needs no checks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/class_forest.h"

/* A node's ids and its position in the lists; sorted by ids. */
typedef struct place {
    int64_t tree, node;
    uint32_t at;
} place;

typedef struct numbers {
    const float *floats;
    const double *doubles;
    size_t count;
} numbers;

typedef struct builder {
    forest *f;
    const op_node *node;
    const char *target; /* "target" or "class": start of attribute names */
    place *places;
    const int64_t *trees, *ids, *features, *missing, *next[2];
    const op_attr *modes;
    numbers values;
} builder;

static double number_at(const numbers *n, size_t i)
{
    return n->doubles ? n->doubles[i] : (double)n->floats[i];
}

/* A list of numbers from attribute `name` or, as a tensor, `name`_as_tensor. */
static pgy_status read_numbers(numbers *out, const op_node *n, const char *name, pgy_error *err)
{
    char tensor_name[64] = "";
    strncat(tensor_name, name, 32);
    strncat(tensor_name, "_as_tensor", 16);
    const op_attr *tensor = op_attr_find(n, tensor_name);
    out->floats = op_attr_floats(n, name, &out->count);
    out->doubles = NULL;
    if (!tensor) return PGY_OK;
    if (out->count)
        return op_error(n, err, PGY_E_ARGUMENT, "attributes %s and %s are both given; keep one",
                        name, tensor_name);
    if (pgy_tensor_dtype(tensor->tensor) != PGY_F64)
        return op_error(n, err, PGY_E_TYPE, "attribute %s has type %s, but must hold floats",
                        tensor_name, pgy_dtype_name(tensor->tensor_dtype));
    out->doubles = op_f64(tensor->tensor);
    out->count = pgy_tensor_count(tensor->tensor);
    return PGY_OK;
}

static pgy_status check_count(const op_node *n, const char *name, size_t count, const char *other,
                              size_t wanted, pgy_error *err)
{
    if (count == wanted) return PGY_OK;
    return op_error(n, err, PGY_E_ARGUMENT,
                    "attribute %s has %zu entries, but %s has %zu; they must have equally many",
                    name, count, other, wanted);
}

static pgy_status read_ints(const int64_t **out, const builder *b, const char *name, pgy_error *err)
{
    size_t count;
    *out = op_attr_ints(b->node, name, &count);
    return check_count(b->node, name, count, "nodes_modes", b->f->node_count, err);
}

static pgy_status read_lists(builder *b, pgy_error *err)
{
    size_t missing;
    b->modes = op_attr_find(b->node, "nodes_modes");
    b->f->node_count = b->modes ? b->modes->count : 0;
    if (!b->f->node_count || b->f->node_count > UINT32_MAX)
        return op_error(b->node, err, PGY_E_ARGUMENT,
                        "attribute nodes_modes has %zu entries, but must have 1 to %" PRIu32,
                        b->f->node_count, UINT32_MAX);
    pgy_status st = read_ints(&b->trees, b, "nodes_treeids", err);
    if (!st) st = read_ints(&b->ids, b, "nodes_nodeids", err);
    if (!st) st = read_ints(&b->features, b, "nodes_featureids", err);
    if (!st) st = read_ints(&b->next[0], b, "nodes_falsenodeids", err);
    if (!st) st = read_ints(&b->next[1], b, "nodes_truenodeids", err);
    if (!st) st = read_numbers(&b->values, b->node, "nodes_values", err);
    if (!st)
        st = check_count(b->node, "nodes_values", b->values.count, "nodes_modes", b->f->node_count,
                         err);
    if (st) return st;
    b->missing = op_attr_ints(b->node, "nodes_missing_value_tracks_true", &missing);
    if (!missing) return PGY_OK;
    return check_count(b->node, "nodes_missing_value_tracks_true", missing, "nodes_modes",
                       b->f->node_count, err);
}

static int compare_places(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->tree != y->tree) return x->tree < y->tree ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static pgy_status sort_places(builder *b, pgy_error *err)
{
    const size_t count = b->f->node_count;
    b->places = mem_calloc(count, sizeof *b->places);
    if (!b->places) return rule_no_memory(b->node, err);
    for (size_t i = 0; i < count; i++) b->places[i] = (place){b->trees[i], b->ids[i], (uint32_t)i};
    qsort(b->places, count, sizeof *b->places, compare_places);
    for (size_t i = 1; i < count; i++)
        if (!compare_places(&b->places[i - 1], &b->places[i]))
            return op_error(b->node, err, PGY_E_ARGUMENT,
                            "tree %" PRId64 " has two nodes with id %" PRId64, b->places[i].tree,
                            b->places[i].node);
    return PGY_OK;
}

static const place *find_place(const builder *b, int64_t tree, int64_t node)
{
    const place key = {tree, node, 0};
    return bsearch(&key, b->places, b->f->node_count, sizeof key, compare_places);
}

static uint8_t mode_of(span text)
{
    static const char *const NAMES[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                        "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    uint8_t mode = 0;
    while (mode < FOREST_LEAF && !span_equals(text, NAMES[mode])) mode++;
    return mode;
}

static pgy_status make_branch(builder *b, size_t i, pgy_error *err)
{
    forest_node *n = &b->f->nodes[i];
    if (b->features[i] < 0 || b->features[i] > UINT32_MAX - 1)
        return op_error(b->node, err, PGY_E_ARGUMENT,
                        "nodes_featureids[%zu] is %" PRId64 ", which is no feature", i,
                        b->features[i]);
    n->feature = (uint32_t)b->features[i];
    if (n->feature >= b->f->feature_count) b->f->feature_count = (size_t)n->feature + 1;
    for (int side = 0; side < 2; side++) {
        const place *child = find_place(b, b->trees[i], b->next[side][i]);
        if (!child)
            return op_error(b->node, err, PGY_E_ARGUMENT,
                            "node %" PRId64 " of tree %" PRId64 " leads to node %" PRId64
                            ", which the tree does not have",
                            b->ids[i], b->trees[i], b->next[side][i]);
        n->next[side] = child->at;
    }
    return PGY_OK;
}

static pgy_status make_nodes(builder *b, pgy_error *err)
{
    forest *f = b->f;
    pgy_status st = PGY_OK;
    f->nodes = mem_calloc(f->node_count, sizeof *f->nodes);
    f->roots = mem_calloc(f->node_count, sizeof *f->roots);
    if (!f->nodes || !f->roots) return rule_no_memory(b->node, err);
    for (size_t i = 0; !st && i < f->node_count; i++) {
        forest_node *n = &f->nodes[i];
        n->mode = mode_of(b->modes->strings[i]);
        n->split = number_at(&b->values, i);
        n->missing = b->missing && b->missing[i] == 1;
        if (n->mode != FOREST_LEAF) st = make_branch(b, i, err);
        if (!i || b->trees[i] != b->trees[i - 1]) f->roots[f->root_count++] = (uint32_t)i;
    }
    return st;
}

static pgy_status check_trees(const builder *b, pgy_error *err)
{
    size_t at;
    const pgy_status st = forest_find_cycle(&at, b->f, b->node, err);
    if (st || at == b->f->node_count) return st;
    return op_error(b->node, err, PGY_E_ARGUMENT,
                    "node %" PRId64 " of tree %" PRId64 " is part of a cycle", b->ids[at],
                    b->trees[at]);
}

typedef struct weight_lists {
    const int64_t *targets, *nodes, *trees;
    numbers values;
    size_t count;
    char names[4][32];
} weight_lists;

static pgy_status read_weights(weight_lists *w, const builder *b, pgy_error *err)
{
    static const char *const ENDS[] = {"_ids", "_nodeids", "_treeids", "_weights"};
    size_t nodes, trees;
    for (int i = 0; i < 4; i++) {
        w->names[i][0] = 0;
        strncat(w->names[i], b->target, 16);
        strncat(w->names[i], ENDS[i], 12);
    }
    w->targets = op_attr_ints(b->node, w->names[0], &w->count);
    w->nodes = op_attr_ints(b->node, w->names[1], &nodes);
    w->trees = op_attr_ints(b->node, w->names[2], &trees);
    pgy_status st = check_count(b->node, w->names[1], nodes, w->names[0], w->count, err);
    if (!st) st = check_count(b->node, w->names[2], trees, w->names[0], w->count, err);
    if (!st) st = read_numbers(&w->values, b->node, w->names[3], err);
    if (!st) st = check_count(b->node, w->names[3], w->values.count, w->names[0], w->count, err);
    if (!st && w->count > UINT32_MAX)
        st = op_error(b->node, err, PGY_E_ARGUMENT, "attribute %s has %zu entries, too many",
                      w->names[0], w->count);
    return st;
}

static pgy_status find_leaf_of(const place **out, const builder *b, const weight_lists *w, size_t i,
                               pgy_error *err)
{
    *out = find_place(b, w->trees[i], w->nodes[i]);
    if (!*out)
        return op_error(b->node, err, PGY_E_ARGUMENT,
                        "%s[%zu] is %" PRId64 ", but tree %" PRId64 " has no such node",
                        w->names[1], i, w->nodes[i], w->trees[i]);
    if (w->targets[i] < 0 || (uint64_t)w->targets[i] >= b->f->target_count)
        return op_error(b->node, err, PGY_E_ARGUMENT,
                        "%s[%zu] is %" PRId64 ", which is not in [0, %zu)", w->names[0], i,
                        w->targets[i], b->f->target_count);
    return PGY_OK;
}

/* Counts the weights of each leaf, then puts them side by side. Weights of inner nodes, which old
 * converters wrote, do not count. */
static pgy_status make_weights(builder *b, pgy_error *err)
{
    forest *f = b->f;
    weight_lists w;
    const place *leaf;
    pgy_status st = read_weights(&w, b, err);
    if (st) return st;
    f->weights = mem_calloc(w.count + 1, sizeof *f->weights);
    if (!f->weights) return rule_no_memory(b->node, err);
    for (size_t i = 0; !st && i < w.count; i++) {
        st = find_leaf_of(&leaf, b, &w, i, err);
        if (!st && f->nodes[leaf->at].mode == FOREST_LEAF) f->nodes[leaf->at].next[1]++;
    }
    for (size_t i = 0; !st && i < f->node_count; i++) {
        forest_node *n = &f->nodes[i];
        if (n->mode != FOREST_LEAF) continue;
        n->next[0] = (uint32_t)f->weight_count;
        f->weight_count += n->next[1];
        n->next[1] = 0;
    }
    for (size_t i = 0; !st && i < w.count; i++) {
        st = find_leaf_of(&leaf, b, &w, i, err);
        if (st) break;
        forest_node *n = &f->nodes[leaf->at];
        if (n->mode != FOREST_LEAF) continue;
        const double value = number_at(&w.values, i);
        if (!n->next[1]) n->split = value;
        f->weights[n->next[0] + n->next[1]++] = (forest_weight){(uint32_t)w.targets[i], value};
    }
    return st;
}

static pgy_status make_base(builder *b, bool classes, pgy_error *err)
{
    forest *f = b->f;
    numbers base;
    pgy_status st = read_numbers(&base, b->node, "base_values", err);
    if (st) return st;
    const bool few = classes && f->target_count <= 2;
    if (base.count && (few ? base.count > 2 : base.count != f->target_count))
        return op_error(b->node, err, PGY_E_ARGUMENT,
                        "attribute base_values has %zu numbers, but must have none or %s%zu",
                        base.count, few ? "at most " : "", few ? 2 : f->target_count);
    double *copy = mem_calloc(base.count + 1, sizeof *copy);
    if (!copy) return rule_no_memory(b->node, err);
    for (size_t i = 0; i < base.count; i++) copy[i] = number_at(&base, i);
    f->base = copy;
    f->base_count = base.count;
    return PGY_OK;
}

static forest_join join_of(const op_node *n)
{
    static const char *const NAMES[] = {"AVERAGE", "SUM", "MIN"};
    size_t i = 0;
    while (i < FOREST_MAX && !op_attr_is(n, "aggregate_function", NAMES[i], "SUM")) i++;
    return (forest_join)i;
}

pgy_status forest_init(forest *f, const op_node *n, bool classes, int64_t target_count,
                       pgy_error *err)
{
    builder b = {.f = f, .node = n, .target = classes ? "class" : "target"};
    *f = (forest){.join = classes ? FOREST_SUM : join_of(n), .transform = scores_transform_of(n)};
    if (target_count < 1 || target_count > UINT32_MAX)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "the trees have %" PRId64 " targets, but must have 1 to %" PRIu32,
                        target_count, UINT32_MAX);
    f->target_count = (size_t)target_count;
    pgy_status st = read_lists(&b, err);
    if (!st) st = sort_places(&b, err);
    if (!st) st = make_nodes(&b, err);
    if (!st) st = check_trees(&b, err);
    if (!st) st = make_weights(&b, err);
    if (!st) st = make_base(&b, classes, err);
    mem_free(b.places);
    return st;
}

pgy_status forest_check_features(const forest *f, const op_node *n, size_t features, pgy_error *err)
{
    if (f->feature_count <= features) return PGY_OK;
    return op_error(n, err, PGY_E_SHAPE,
                    "a node tests feature %zu, but input 0 has only %zu features",
                    f->feature_count - 1, features);
}
