/* SPDX-License-Identifier: Apache-2.0 */
/* Trees from the lists of TreeEnsemble: its nodes, then its leaves. A test for membership in a set
 * becomes a chain of tests for equality, whose passing sides are the same node. */
#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "ops/class_forest.h"

enum { MEMBER = FOREST_NEQ + 1 };

typedef struct builder {
    forest *f;
    const op_node *node;
    const int64_t *ids[2], *leafs[2]; /* children, [1] of a passed test; whether they are leaves */
    const int64_t *features, *missing, *modes, *targets, *roots;
    const double *splits, *weights, *members;
    uint32_t *places; /* of a node's first test, and of the first leaf */
    size_t node_count, leaf_count, member_count;
} builder;

int64_t forest_targets_version5(const op_node *n)
{
    const int64_t given = op_attr_int(n, "n_targets", 0);
    size_t count;
    const int64_t *ids = op_attr_ints(n, "leaf_targetids", &count);
    int64_t most = 1;
    for (size_t i = 0; i < count; i++)
        if (ids[i] >= most && ids[i] < INT64_MAX) most = ids[i] + 1;
    return given > 0 ? given : most;
}

/* ---- Lists ---------------------------------------------------------------------------------- */

static pgy_status read_ints(const int64_t **out, const builder *b, const char *name, size_t count,
                            pgy_error *err)
{
    size_t given;
    *out = op_attr_ints(b->node, name, &given);
    if ((*out || !count) && given == count) return PGY_OK;
    return op_error(b->node, err, PGY_E_ARGUMENT,
                    "attribute %s has %zu entries, but %zu are needed", name, given, count);
}

/* An attribute's tensor whose storage type must be `held`. */
static pgy_status read_tensor(const void **out, size_t *count, const builder *b, const char *name,
                              pgy_dtype held, pgy_error *err)
{
    const op_attr *a = op_attr_find(b->node, name);
    *out = NULL;
    *count = 0;
    if (!a) return PGY_OK;
    if (pgy_tensor_dtype(a->tensor) != held)
        return op_error(b->node, err, PGY_E_TYPE, "attribute %s cannot have type %s", name,
                        pgy_dtype_name(a->tensor_dtype));
    *out = pgy_tensor_data(a->tensor);
    *count = pgy_tensor_count(a->tensor);
    return PGY_OK;
}

static pgy_status read_doubles(const double **out, size_t *count, const builder *b,
                               const char *name, pgy_error *err)
{
    const void *data;
    const pgy_status st = read_tensor(&data, count, b, name, PGY_F64, err);
    *out = data;
    return st;
}

static pgy_status read_nodes(builder *b, pgy_error *err)
{
    const void *modes;
    size_t splits, missing;
    pgy_status st = read_tensor(&modes, &b->node_count, b, "nodes_modes", PGY_I64, err);
    const size_t n = b->node_count;
    b->modes = modes;
    if (!st) st = read_doubles(&b->splits, &splits, b, "nodes_splits", err);
    if (!st) st = read_ints(&b->features, b, "nodes_featureids", n, err);
    if (!st) st = read_ints(&b->ids[0], b, "nodes_falsenodeids", n, err);
    if (!st) st = read_ints(&b->ids[1], b, "nodes_truenodeids", n, err);
    if (!st) st = read_ints(&b->leafs[0], b, "nodes_falseleafs", n, err);
    if (!st) st = read_ints(&b->leafs[1], b, "nodes_trueleafs", n, err);
    b->missing = op_attr_ints(b->node, "nodes_missing_value_tracks_true", &missing);
    if (!st && missing) st = read_ints(&b->missing, b, "nodes_missing_value_tracks_true", n, err);
    if (!st && splits != n)
        st = op_error(b->node, err, PGY_E_ARGUMENT,
                      "attribute nodes_splits has %zu entries, but %zu are needed", splits, n);
    return st;
}

static pgy_status read_lists(builder *b, pgy_error *err)
{
    pgy_status st = read_nodes(b, err);
    if (!st) st = read_doubles(&b->weights, &b->leaf_count, b, "leaf_weights", err);
    if (!st) st = read_ints(&b->targets, b, "leaf_targetids", b->leaf_count, err);
    if (!st) st = read_doubles(&b->members, &b->member_count, b, "membership_values", err);
    b->roots = op_attr_ints(b->node, "tree_roots", &b->f->root_count);
    return st;
}

/* ---- Checks --------------------------------------------------------------------------------- */

static pgy_status check_node(const builder *b, size_t i, pgy_error *err)
{
    if (b->modes[i] < FOREST_LEQ || b->modes[i] > MEMBER)
        return op_error(b->node, err, PGY_E_ARGUMENT,
                        "nodes_modes[%zu] is %" PRId64 ", which is not a known mode", i,
                        b->modes[i]);
    if (b->features[i] < 0 || b->features[i] > UINT32_MAX - 1)
        return op_error(b->node, err, PGY_E_ARGUMENT,
                        "nodes_featureids[%zu] is %" PRId64 ", which is no feature", i,
                        b->features[i]);
    for (int side = 0; side < 2; side++) {
        const size_t limit = b->leafs[side][i] ? b->leaf_count : b->node_count;
        if (b->ids[side][i] < 0 || (uint64_t)b->ids[side][i] >= limit)
            return op_error(b->node, err, PGY_E_ARGUMENT,
                            "a branch of node %zu leads to %" PRId64 ", which is not in [0, %zu)",
                            i, b->ids[side][i], limit);
    }
    return PGY_OK;
}

static pgy_status check_lists(const builder *b, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < b->node_count; i++) st = check_node(b, i, err);
    for (size_t i = 0; !st && i < b->leaf_count; i++)
        if (b->targets[i] < 0 || (uint64_t)b->targets[i] >= b->f->target_count)
            st = op_error(b->node, err, PGY_E_ARGUMENT,
                          "leaf %zu has target %" PRId64 ", but n_targets is %zu", i, b->targets[i],
                          b->f->target_count);
    for (size_t i = 0; !st && i < b->f->root_count; i++)
        if (b->roots[i] < 0 || (uint64_t)b->roots[i] >= b->node_count)
            st = op_error(b->node, err, PGY_E_ARGUMENT,
                          "tree_roots[%zu] is %" PRId64 ", but there are only %zu nodes", i,
                          b->roots[i], b->node_count);
    return st;
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

/* Numbers the tests. The sets of all nodes that test for membership lie in one list, in the order
 * of the nodes; each ends with NaN. */
static pgy_status place_nodes(builder *b, pgy_error *err)
{
    size_t at = 0, member = 0;
    if (b->node_count > UINT32_MAX || b->member_count > UINT32_MAX || b->leaf_count > UINT32_MAX)
        return op_error(b->node, err, PGY_E_ARGUMENT, "there are too many nodes");
    b->places = mem_calloc(b->node_count + 1, sizeof *b->places);
    if (!b->places) return rule_no_memory(b->node, err);
    for (size_t i = 0; i < b->node_count; i++) {
        const size_t first = member;
        b->places[i] = (uint32_t)at++;
        if (b->modes[i] != MEMBER) continue;
        while (member < b->member_count && !isnan(b->members[member])) member++;
        if (member++ >= b->member_count)
            return op_error(b->node, err, PGY_E_ARGUMENT,
                            "membership_values lacks the set of node %zu", i);
        if (member - first > 2) at += member - first - 2;
    }
    b->places[b->node_count] = (uint32_t)at;
    b->f->node_count = at + b->leaf_count;
    if (b->f->node_count > UINT32_MAX)
        return op_error(b->node, err, PGY_E_ARGUMENT, "there are too many nodes");
    return PGY_OK;
}

static uint32_t child_of(const builder *b, size_t i, int side)
{
    const size_t id = (size_t)b->ids[side][i];
    return b->leafs[side][i] ? b->places[b->node_count] + (uint32_t)id : b->places[id];
}

/* Makes the tests of node i; *member is the place of its set. Nothing equals the NaN of an empty
 * one. */
static void make_tests(const builder *b, size_t i, size_t *member)
{
    const bool set = b->modes[i] == MEMBER;
    const uint32_t end = b->places[i + 1];
    forest_node test = {.feature = (uint32_t)b->features[i],
                        .mode = set ? FOREST_EQ : (uint8_t)b->modes[i],
                        .missing = b->missing && b->missing[i] == 1,
                        .next = {0, child_of(b, i, 1)}};
    if (test.feature >= b->f->feature_count) b->f->feature_count = (size_t)test.feature + 1;
    for (uint32_t at = b->places[i]; at < end; at++) {
        test.split = set ? b->members[*member] : b->splits[i];
        test.next[0] = at + 1 < end ? at + 1 : child_of(b, i, 0);
        if (set && !isnan(test.split)) ++*member;
        b->f->nodes[at] = test;
    }
    if (set) ++*member; /* the NaN at the end */
}

static pgy_status make_nodes(builder *b, pgy_error *err)
{
    forest *f = b->f;
    size_t member = 0;
    const size_t tests = b->places[b->node_count];
    double *base = mem_calloc(1, sizeof *base);
    f->base = base;
    f->nodes = mem_calloc(f->node_count + 1, sizeof *f->nodes);
    f->roots = mem_calloc(f->root_count + 1, sizeof *f->roots);
    f->weights = mem_calloc(b->leaf_count + 1, sizeof *f->weights);
    if (!base || !f->nodes || !f->roots || !f->weights) return rule_no_memory(b->node, err);
    for (size_t i = 0; i < b->node_count; i++) make_tests(b, i, &member);
    for (size_t i = 0; i < f->root_count; i++) f->roots[i] = b->places[b->roots[i]];
    f->weight_count = b->leaf_count;
    for (size_t i = 0; i < b->leaf_count; i++) {
        f->nodes[tests + i] =
            (forest_node){.mode = FOREST_LEAF, .split = b->weights[i], .next = {(uint32_t)i, 1}};
        f->weights[i] = (forest_weight){(uint32_t)b->targets[i], b->weights[i]};
    }
    return PGY_OK;
}

static pgy_status check_cycles(const builder *b, pgy_error *err)
{
    size_t at, i = 0;
    const pgy_status st = forest_find_cycle(&at, b->f, b->node, err);
    if (st || at == b->f->node_count) return st;
    while (b->places[i + 1] <= at) i++;
    return op_error(b->node, err, PGY_E_ARGUMENT, "node %zu is part of a cycle", i);
}

static pgy_status read_finish(forest *f, const op_node *n, pgy_error *err)
{
    const int64_t join = op_attr_int(n, "aggregate_function", FOREST_SUM);
    const int64_t transform = op_attr_int(n, "post_transform", SCORES_NONE);
    const int64_t targets = forest_targets_version5(n);
    if (join < FOREST_AVERAGE || join > FOREST_MAX || transform < SCORES_NONE ||
        transform > SCORES_PROBIT)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "attributes aggregate_function and post_transform are %" PRId64
                        " and %" PRId64 "; one is out of range",
                        join, transform);
    if (targets > UINT32_MAX)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "the trees have %" PRId64 " targets, but must have 1 to %" PRIu32, targets,
                        UINT32_MAX);
    f->join = (forest_join)join;
    f->transform = (scores_transform)transform;
    f->transforms_one = true;
    f->target_count = (size_t)targets;
    return PGY_OK;
}

pgy_status forest_init_version5(forest *f, const op_node *n, pgy_error *err)
{
    builder b = {.f = f, .node = n};
    *f = (forest){0};
    pgy_status st = read_finish(f, n, err);
    if (!st) st = read_lists(&b, err);
    if (!st) st = check_lists(&b, err);
    if (!st) st = place_nodes(&b, err);
    if (!st) st = make_nodes(&b, err);
    if (!st) st = check_cycles(&b, err);
    mem_free(b.places);
    return st;
}
