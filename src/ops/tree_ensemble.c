/* SPDX-License-Identifier: Apache-2.0 */
/* TreeEnsemble: evaluates each tree for every row of features; the weights of the reached leaves
 * are combined per target and transformed. A path with more steps than nodes is a cycle and
 * fails. */
#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "ops/class_check.h"

static const op_attr_def ATTRS[] = {
    {"aggregate_function", OP_ATTR_INT, false, "1"},
    {"leaf_targetids", OP_ATTR_INTS, true, NULL},
    {"leaf_weights", OP_ATTR_TENSOR, true, NULL},
    {"membership_values", OP_ATTR_TENSOR, false, NULL},
    {"n_targets", OP_ATTR_INT, false, NULL},
    {"nodes_falseleafs", OP_ATTR_INTS, true, NULL},
    {"nodes_falsenodeids", OP_ATTR_INTS, true, NULL},
    {"nodes_featureids", OP_ATTR_INTS, true, NULL},
    {"nodes_hitrates", OP_ATTR_TENSOR, false, NULL},
    {"nodes_missing_value_tracks_true", OP_ATTR_INTS, false, NULL},
    {"nodes_modes", OP_ATTR_TENSOR, true, NULL},
    {"nodes_splits", OP_ATTR_TENSOR, true, NULL},
    {"nodes_trueleafs", OP_ATTR_INTS, true, NULL},
    {"nodes_truenodeids", OP_ATTR_INTS, true, NULL},
    {"post_transform", OP_ATTR_INT, false, "0"},
    {"tree_roots", OP_ATTR_INTS, true, NULL},
    {NULL},
};

enum mode { LEQ, LT, GTE, GT, EQ, NEQ, MEMBER };
enum join { AVERAGE, SUM, MIN, MAX };
enum transform { NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT };

static int64_t target_count(const op_node *n)
{
    const int64_t given = op_attr_int(n, "n_targets", 0);
    size_t count;
    const int64_t *ids = op_attr_ints(n, "leaf_targetids", &count);
    int64_t most = 1;
    for (size_t i = 0; i < count; i++)
        if (ids[i] >= most && ids[i] < INT64_MAX) most = ids[i] + 1;
    return given > 0 ? given : most;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    pgy_status st = rank_check(c, 0, 2, 2, err);
    if (st) return st;
    if (op_attr_int(c->node, "n_targets", 1) < 0)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute n_targets is %" PRId64 ", but must not be negative",
                        op_attr_int(c->node, "n_targets", 1));
    dim *dims = op_dims(c, 2);
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] =
        x->rank == 2 ? x->dims[0] : dim_unknown(c->dims, "the rank of the input is not known");
    dims[1] = dim_const(target_count(c->node));
    op_set_output(c, 0, x->dtype, 2, dims);
    return PGY_OK;
}

typedef struct forest {
    const op_node *node;
    const int64_t *ids[2], *leafs[2]; /* [0]: child of a node if its test is false, [1]: if true;
                                         whether that child is a leaf */
    const int64_t *features, *missing, *modes, *targets, *roots;
    const double *splits, *weights, *members;
    size_t *member_of; /* indexed by node: start in `members` of its set for the test MEMBER; the
                          set ends with NaN */
    size_t node_count, leaf_count, root_count, member_count, feature_count;
    int64_t target_count;
} forest;

static pgy_status read_ints(const int64_t **out, const forest *f, const char *name, size_t count,
                            pgy_error *err)
{
    size_t given;
    *out = op_attr_ints(f->node, name, &given);
    if (!*out || given == count) return PGY_OK;
    return op_error(f->node, err, PGY_E_ARGUMENT,
                    "attribute %s has %zu entries, but %zu are needed", name, given, count);
}

/* An attribute's tensor whose storage type must be `held`. */
static pgy_status read_tensor(const void **out, size_t *count, const forest *f, const char *name,
                              pgy_dtype held, pgy_error *err)
{
    const op_attr *a = op_attr_find(f->node, name);
    *out = NULL;
    *count = 0;
    if (!a) return PGY_OK;
    if (pgy_tensor_dtype(a->tensor) != held)
        return op_error(f->node, err, PGY_E_TYPE,
                        "attribute %s has type %s, which differs from the input's", name,
                        pgy_dtype_name(a->tensor_dtype));
    *out = pgy_tensor_data(a->tensor);
    *count = pgy_tensor_count(a->tensor);
    return PGY_OK;
}

static pgy_status read_nodes(forest *f, pgy_error *err)
{
    size_t splits;
    const size_t n = f->node_count;
    pgy_status st =
        read_tensor((const void **)&f->splits, &splits, f, "nodes_splits", PGY_F64, err);
    if (!st) st = read_ints(&f->features, f, "nodes_featureids", n, err);
    if (!st) st = read_ints(&f->ids[0], f, "nodes_falsenodeids", n, err);
    if (!st) st = read_ints(&f->ids[1], f, "nodes_truenodeids", n, err);
    if (!st) st = read_ints(&f->leafs[0], f, "nodes_falseleafs", n, err);
    if (!st) st = read_ints(&f->leafs[1], f, "nodes_trueleafs", n, err);
    if (!st) st = read_ints(&f->missing, f, "nodes_missing_value_tracks_true", n, err);
    if (!st && splits != n)
        st = op_error(f->node, err, PGY_E_ARGUMENT,
                      "attribute nodes_splits has %zu entries, but %zu are needed", splits, n);
    return st;
}

static pgy_status check_nodes(const forest *f, pgy_error *err)
{
    for (size_t i = 0; i < f->node_count; i++) {
        if (f->features[i] < 0 || (uint64_t)f->features[i] >= f->feature_count)
            return op_error(f->node, err, PGY_E_ARGUMENT,
                            "node %zu tests feature %" PRId64 ", but there are only %zu features",
                            i, f->features[i], f->feature_count);
        for (int side = 0; side < 2; side++) {
            const size_t limit = f->leafs[side][i] ? f->leaf_count : f->node_count;
            if (f->ids[side][i] < 0 || (uint64_t)f->ids[side][i] >= limit)
                return op_error(f->node, err, PGY_E_ARGUMENT,
                                "a branch of node %zu leads to %" PRId64
                                ", which is not in [0, %zu)",
                                i, f->ids[side][i], limit);
        }
    }
    for (size_t i = 0; i < f->leaf_count; i++)
        if (f->targets[i] < 0 || f->targets[i] >= f->target_count)
            return op_error(f->node, err, PGY_E_ARGUMENT,
                            "leaf %zu has target %" PRId64 ", but n_targets is %" PRId64, i,
                            f->targets[i], f->target_count);
    for (size_t i = 0; i < f->root_count; i++)
        if (f->roots[i] < 0 || (uint64_t)f->roots[i] >= f->node_count)
            return op_error(f->node, err, PGY_E_ARGUMENT,
                            "tree_roots[%zu] is %" PRId64 ", but there are only %zu nodes", i,
                            f->roots[i], f->node_count);
    return PGY_OK;
}

/* Sets member_of: the sets of all nodes with test MEMBER lie in one list, in the order of the
 * nodes. */
static pgy_status place_members(forest *f, const op_eval *c, pgy_error *err)
{
    size_t at = 0;
    pgy_status st =
        workspace_alloc((void **)&f->member_of, c, f->node_count, sizeof *f->member_of, err);
    for (size_t i = 0; !st && i < f->node_count; i++) {
        if (f->modes[i] < LEQ || f->modes[i] > MEMBER)
            return op_error(f->node, err, PGY_E_ARGUMENT,
                            "nodes_modes[%zu] is %" PRId64 ", which is not a known mode", i,
                            f->modes[i]);
        if (f->modes[i] != MEMBER) continue;
        f->member_of[i] = at;
        while (at < f->member_count && !isnan(f->members[at])) at++;
        if (at++ >= f->member_count)
            return op_error(f->node, err, PGY_E_ARGUMENT,
                            "membership_values lacks the set of node %zu", i);
    }
    return st;
}

static pgy_status prepare(forest *f, const op_eval *c, pgy_error *err)
{
    f->node = c->node;
    f->feature_count = (size_t)in_shape(c, 0)[1];
    f->target_count = target_count(c->node);
    f->roots = op_attr_ints(c->node, "tree_roots", &f->root_count);
    pgy_status st =
        read_tensor((const void **)&f->modes, &f->node_count, f, "nodes_modes", PGY_I64, err);
    if (!st) st = read_nodes(f, err);
    if (!st)
        st = read_tensor((const void **)&f->weights, &f->leaf_count, f, "leaf_weights", PGY_F64,
                         err);
    if (!st) st = read_ints(&f->targets, f, "leaf_targetids", f->leaf_count, err);
    if (!st)
        st = read_tensor((const void **)&f->members, &f->member_count, f, "membership_values",
                         PGY_F64, err);
    if (!st) st = place_members(f, c, err);
    return st ? st : check_nodes(f, err);
}

static bool is_member(const forest *f, size_t node, double x)
{
    for (size_t i = f->member_of[node]; !isnan(f->members[i]); i++)
        if (f->members[i] == x) return true;
    return false;
}

static bool goes_true(const forest *f, size_t node, double x)
{
    const double split = f->splits[node];
    if (isnan(x)) return f->missing ? f->missing[node] != 0 : f->modes[node] == NEQ;
    switch (f->modes[node]) {
    case LEQ: return x <= split;
    case LT: return x < split;
    case GTE: return x >= split;
    case GT: return x > split;
    case EQ: return x == split;
    case NEQ: return x != split;
    default: return is_member(f, node, x);
    }
}

static pgy_status find_leaf(size_t *out, const forest *f, size_t node, const double *x,
                            pgy_error *err)
{
    for (size_t steps = 0; steps < f->node_count; steps++) {
        const bool side = goes_true(f, node, x[f->features[node]]);
        const size_t next = (size_t)f->ids[side][node];
        if (f->leafs[side][node]) {
            *out = next;
            return PGY_OK;
        }
        node = next;
    }
    return op_error(f->node, err, PGY_E_ARGUMENT, "the nodes of the tree at node %zu form a cycle",
                    node);
}

static double joined(int64_t how, double a, double b, size_t trees)
{
    switch (how) {
    case AVERAGE: return a + b / (double)trees;
    case SUM: return a + b;
    case MIN: return b < a ? b : a;
    default: return b > a ? b : a;
    }
}

/* Inverse of the normal distribution function, by Newton's method from a rough start. */
static double probit(double p)
{
    if (!(p > 0 && p < 1)) return p == 0 ? -INFINITY : p == 1 ? INFINITY : (double)NAN;
    const double l = log(4 * p * (1 - p)), k = 4.33 + l / 2;
    double z = copysign(sqrt(2 * (sqrt(k * k - l / 0.147) - k)), p - 0.5);
    for (int i = 0; i < 8; i++) {
        const double error = 0.5 * erfc(-z / sqrt(2.0)) - p;
        z -= error * sqrt(2 * acos(-1.0)) * exp(z * z / 2);
    }
    return z;
}

static void softmax(double *y, size_t count, bool keep_zeros)
{
    double top = -INFINITY, sum = 0;
    for (size_t i = 0; i < count; i++) top = y[i] > top ? y[i] : top;
    for (size_t i = 0; i < count; i++) {
        y[i] = keep_zeros && y[i] == 0 ? 0 : exp(y[i] - top);
        sum += y[i];
    }
    for (size_t i = 0; i < count && sum > 0; i++) y[i] /= sum;
}

static void transform_row(double *y, size_t count, int64_t how)
{
    if (how == SOFTMAX || how == SOFTMAX_ZERO) softmax(y, count, how == SOFTMAX_ZERO);
    for (size_t i = 0; how == LOGISTIC && i < count; i++) y[i] = 1 / (1 + exp(-y[i]));
    for (size_t i = 0; how == PROBIT && i < count; i++) y[i] = probit(y[i]);
}

static pgy_status run_row(const forest *f, const double *x, double *y, bool *seen, pgy_error *err)
{
    const int64_t how = op_attr_int(f->node, "aggregate_function", SUM);
    const bool extreme = how == MIN || how == MAX;
    for (int64_t i = 0; i < f->target_count; i++) seen[i] = false;
    for (size_t i = 0; i < f->root_count; i++) {
        size_t leaf = 0;
        const pgy_status st = find_leaf(&leaf, f, (size_t)f->roots[i], x, err);
        if (st) return st;
        const size_t target = (size_t)f->targets[leaf];
        const double weight = f->weights[leaf];
        y[target] =
            extreme && !seen[target] ? weight : joined(how, y[target], weight, f->root_count);
        seen[target] = true;
    }
    transform_row(y, (size_t)f->target_count, op_attr_int(f->node, "post_transform", NONE));
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    forest f = {0};
    bool *seen = NULL;
    const int64_t how = op_attr_int(c->node, "aggregate_function", SUM);
    const int64_t after = op_attr_int(c->node, "post_transform", NONE);
    pgy_status st = inputs_check(c, "F", err);
    if (!st && (how < AVERAGE || how > MAX || after < NONE || after > PROBIT))
        st = op_error(c->node, err, PGY_E_ARGUMENT,
                      "attributes aggregate_function and post_transform are %" PRId64
                      " and %" PRId64 "; one is out of range",
                      how, after);
    if (!st) st = prepare(&f, c, err);
    if (!st) st = workspace_alloc((void **)&seen, c, (size_t)f.target_count, sizeof *seen, err);
    for (size_t row = 0; !st && row < (size_t)in_shape(c, 0)[0]; row++)
        st = run_row(&f, in_f64(c, 0) + row * f.feature_count,
                     out_f64(c, 0) + row * (size_t)f.target_count, seen, err);
    mem_free(f.member_of);
    mem_free(seen);
    return st;
}

const op_def OP_tree_ensemble[] = {
    {"TreeEnsemble", "ai.onnx.ml", 5, 0, 1, 1, 1, 1, 0, ATTRS, "float16 float32 float64", infer,
     eval, NULL, .signature = "T = float16 float32 float64; X:T -> Y:T"},
    {NULL},
};
