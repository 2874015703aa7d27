/* SPDX-License-Identifier: Apache-2.0 */
/* Tree ensembles, against the reference definitions: all tests, transforms and ways to join, with
 * few and many rows. */
#include <cmocka.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "harness/extent_check.h"
#include "kernels/kernel.h"
#include "ops/op.h"

enum { MOST = 8192, MOST_FEATURES = 40, MOST_TREES = 19 };
static const char *const KERNELS[] = {"forest_portable", "forest_avx2", "forest_avx512"};
enum { MOST_ROWS = 70, MOST_TARGETS = 3 };

static const char *const MODES[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                    "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};

/* The size of trees: nodes have numbers below `nodes`, and one in `stop` ends a branch. */
typedef struct trees_size {
    uint32_t trees, nodes, stop, features;
    bool all_targets; /* each leaf has a weight for each target */
    bool doubles;     /* thresholds and weights are float64 */
    bool whole;       /* thresholds and features are whole numbers */
} trees_size;

/* A node with its attributes. */
typedef struct ensemble {
    trees_size size;
    int64_t tree[MOST], id[MOST], feature[MOST], missing[MOST], next[2][MOST];
    int64_t weight_tree[MOST], weight_node[MOST], weight_target[MOST];
    float value[MOST], weight[MOST], base[MOST_TARGETS];
    span mode[MOST];
    pgy_tensor *tensors[2]; /* of float64 numbers */
    size_t tensor_count;
    size_t count, weights;
    uint32_t targets;
    int64_t labels[MOST_TARGETS];
    op_attr attrs[20];
    op_node node;
} ensemble;

static uint32_t below(uint64_t *state, uint32_t limit)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % limit;
}

static float small(uint64_t *state)
{
    return (float)((int)below(state, 17) - 8) / 4;
}

static float whole(uint64_t *state)
{
    return (float)((int)below(state, 40) - 3);
}

static void put_node(ensemble *e, int64_t tree, int64_t id, int one, uint64_t *state)
{
    const size_t i = e->count++;
    const bool leaf = 2 * id + 2 >= e->size.nodes || (id > 0 && below(state, e->size.stop) == 0);
    e->tree[i] = tree;
    e->id[i] = id;
    e->feature[i] = leaf ? 0 : below(state, e->size.features);
    e->value[i] = e->size.whole ? whole(state) : small(state);
    e->missing[i] = below(state, 2);
    e->mode[i] = span_of(leaf ? "LEAF" : MODES[one >= 0 ? (uint32_t)one : below(state, 6)]);
    e->next[0][i] = leaf ? 0 : 2 * id + 1;
    e->next[1][i] = leaf ? 0 : 2 * id + 2;
    if (!leaf) {
        put_node(e, tree, 2 * id + 1, one, state);
        put_node(e, tree, 2 * id + 2, one, state);
        return;
    }
    for (uint32_t k = 0; k < (e->size.all_targets ? e->targets : 1); k++) {
        e->weight_tree[e->weights] = tree;
        e->weight_target[e->weights] = e->size.all_targets ? k : below(state, e->targets);
        e->weight_node[e->weights++] = id;
    }
}

static void put_ints(ensemble *e, const char *name, const int64_t *values, size_t count)
{
    e->attrs[e->node.attr_count++] =
        (op_attr){.name = name, .kind = OP_ATTR_INTS, .ints = values, .count = count};
}

static void put_floats(ensemble *e, const char *name, const float *values, size_t count)
{
    e->attrs[e->node.attr_count++] =
        (op_attr){.name = name, .kind = OP_ATTR_FLOATS, .floats = values, .count = count};
}

/* A number near x that float32 cannot hold. */
static double finer(double x, uint64_t i)
{
    return x + (double)((int)(i % 3) - 1) * 0x1p-40;
}

static void put_numbers(ensemble *e, const char *name, const char *tensor_name, const float *values,
                        size_t count)
{
    const int64_t shape[] = {(int64_t)count};
    if (!e->size.doubles) {
        put_floats(e, name, values, count);
        return;
    }
    pgy_tensor **t = &e->tensors[e->tensor_count++];
    assert_int_equal(pgy_tensor_create(t, PGY_F64, 1, shape, NULL), PGY_OK);
    for (size_t i = 0; i < count; i++) op_f64(*t)[i] = finer((double)values[i], i);
    e->attrs[e->node.attr_count++] = (op_attr){
        .name = tensor_name, .kind = OP_ATTR_TENSOR, .tensor = *t, .tensor_dtype = PGY_F64};
}

static void put_text(ensemble *e, const char *name, const char *text)
{
    e->attrs[e->node.attr_count++] =
        (op_attr){.name = name, .kind = OP_ATTR_STRING, .s = span_of(text)};
}

static void put_attributes(ensemble *e, bool classes, size_t targets, bool missing)
{
    put_ints(e, "nodes_treeids", e->tree, e->count);
    put_ints(e, "nodes_nodeids", e->id, e->count);
    put_ints(e, "nodes_featureids", e->feature, e->count);
    put_ints(e, "nodes_falsenodeids", e->next[0], e->count);
    put_ints(e, "nodes_truenodeids", e->next[1], e->count);
    put_numbers(e, "nodes_values", "nodes_values_as_tensor", e->value, e->count);
    if (missing) put_ints(e, "nodes_missing_value_tracks_true", e->missing, e->count);
    e->attrs[e->node.attr_count++] = (op_attr){
        .name = "nodes_modes", .kind = OP_ATTR_STRINGS, .strings = e->mode, .count = e->count};
    put_ints(e, classes ? "class_treeids" : "target_treeids", e->weight_tree, e->weights);
    put_ints(e, classes ? "class_nodeids" : "target_nodeids", e->weight_node, e->weights);
    put_ints(e, classes ? "class_ids" : "target_ids", e->weight_target, e->weights);
    put_numbers(e, classes ? "class_weights" : "target_weights",
                classes ? "class_weights_as_tensor" : "target_weights_as_tensor", e->weight,
                e->weights);
    if (classes)
        put_ints(e, "classlabels_int64s", e->labels, targets);
    else
        e->attrs[e->node.attr_count++] =
            (op_attr){.name = "n_targets", .kind = OP_ATTR_INT, .i = (int64_t)targets};
}

/* Makes trees whose tests are all of mode `one`, or of any mode if it is negative. */
static void make_ensemble(ensemble *e, const trees_size *size, bool classes, size_t targets,
                          int one, uint64_t *state)
{
    *e = (ensemble){.size = *size, .labels = {-7, 5, 11}, .targets = (uint32_t)targets};
    for (uint32_t t = 0; t < size->trees; t++) put_node(e, t, 0, one, state);
    for (size_t i = 0; i < e->weights; i++) e->weight[i] = small(state);
    for (size_t i = 0; i < targets; i++) e->base[i] = small(state);
    const char *name = classes ? "TreeEnsembleClassifier" : "TreeEnsembleRegressor";
    put_attributes(e, classes, targets, one < 0 || below(state, 2));
    e->node.def = op_find("ai.onnx.ml", name, 3);
    e->node.name = "trees";
    e->node.opset = 3;
    e->node.attrs = e->attrs;
    e->node.input_count = 1;
    e->node.output_count = classes ? 2 : 1;
}

/* What the definition computes: labels, if any, and scores. */
static void run_definition(double *scores, int64_t *labels, const ensemble *e, const double *x,
                           pgy_dtype type, const int64_t *shape)
{
    op_tensor in = {.dtype = type}, out[2] = {{0}};
    const bool wanted[] = {true, true};
    const op_host host = {0};
    const size_t last = e->node.output_count - 1;
    pgy_error err = {0};
    assert_int_equal(pgy_tensor_create(&in.value, op_storage(type), 2, shape, &err), PGY_OK);
    for (size_t i = 0; i < pgy_tensor_count(in.value); i++) {
        if (op_storage(type) == PGY_I64)
            op_i64(in.value)[i] = (int64_t)x[i];
        else
            op_f64(in.value)[i] = x[i];
    }
    if (op_run(&e->node, &in, out, wanted, &host, &err)) fail_msg("%s", err.text);
    memcpy(scores, op_f64(out[last].value), pgy_tensor_size_bytes(out[last].value));
    if (last) memcpy(labels, op_i64(out[0].value), pgy_tensor_size_bytes(out[0].value));
    op_tensor_release(&in);
    op_tensor_release(&out[0]);
    op_tensor_release(&out[1]);
}

static void expect_equal(const float *z, const double *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const float w = (float)wanted[i];
        if (z[i] != w && !(isnan(z[i]) && isnan(w)))
            fail_msg("score %zu is %g, should be %g", i, (double)z[i], (double)w);
    }
}

static void run_kernel(const char *name, const ensemble *e, const double *x, pgy_dtype type,
                       const int64_t *shape, size_t targets)
{
    static union {
        float floats[MOST_ROWS * MOST_FEATURES];
        double doubles[MOST_ROWS * MOST_FEATURES];
        int32_t ints[MOST_ROWS * MOST_FEATURES];
        int64_t longs[MOST_ROWS * MOST_FEATURES];
    } own;
    static double wanted[MOST_ROWS * MOST_TARGETS];
    static int64_t wanted_labels[MOST_ROWS], labels[MOST_ROWS];
    static float z[MOST_ROWS * MOST_TARGETS];
    const bool classes = e->node.output_count == 2;
    const int64_t out_shape[] = {shape[0], (int64_t)targets};
    const kernel *k = kernel_find(name, 2);
    kernel_problem u = {.node = &e->node, .input_count = 1, .output_count = e->node.output_count};
    kernel_plan plan = {0};
    pgy_error err = {0};
    double cost;
    if (!k) return; /* not for this processor */
    u.inputs[0] = (kernel_tensor){.dtype = type, .rank = 2, .shape = shape};
    u.outputs[0] = (kernel_tensor){.dtype = PGY_I64, .rank = 1, .shape = shape};
    u.outputs[classes] = (kernel_tensor){.dtype = PGY_F32, .rank = 2, .shape = out_shape};
    assert_true(kernel_accept(k, &u, &cost));
    if (k->prepare(&plan, &u, &err)) fail_msg("%s", err.text);
    run_definition(wanted, wanted_labels, e, x, type, shape);
    for (int64_t i = 0; i < shape[0] * shape[1]; i++) {
        if (type == PGY_F32) own.floats[i] = (float)x[i];
        if (type == PGY_F64) own.doubles[i] = x[i];
        if (type == PGY_I32) own.ints[i] = (int32_t)x[i];
        if (type == PGY_I64) own.longs[i] = (int64_t)x[i];
    }
    void *tensors[] = {&own, classes ? (void *)labels : z, z};
    for (uint32_t parts = 1; parts <= plan.parts; parts += 3) {
        memset(z, 0x55, sizeof z);
        kernel_run_alone(k, &plan, tensors, parts);
        expect_equal(z, wanted, (size_t)shape[0] * targets);
        if (classes) assert_memory_equal(labels, wanted_labels, (size_t)shape[0] * sizeof *labels);
    }
    extent_check(k, &plan, &u, tensors);
    kernel_plan_deinit(&plan);
}

static void run_rounds(int rounds, const trees_size *sizes, uint32_t size_count, uint64_t seed)
{
    static const char *const JOINS[] = {"SUM", "AVERAGE", "MIN", "MAX"};
    static const char *const TRANSFORMS[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"};
    static double x[MOST_ROWS * MOST_FEATURES];
    static ensemble e;
    for (int round = 0; round < rounds; round++) {
        const trees_size *size = &sizes[below(&seed, size_count)];
        const bool classes = round % 2;
        const size_t targets = 1 + below(&seed, MOST_TARGETS);
        const int64_t shape[] = {1 + (int64_t)below(&seed, round % 3 ? 10 : MOST_ROWS),
                                 size->features};
        make_ensemble(&e, size, classes, targets, round % 7 < 6 ? round % 7 : -1, &seed);
        if (!classes) put_text(&e, "aggregate_function", JOINS[below(&seed, 4)]);
        put_text(&e, "post_transform", TRANSFORMS[below(&seed, 2) * below(&seed, 4)]);
        if (below(&seed, 2)) put_floats(&e, "base_values", e.base, targets);
        for (int64_t i = 0; i < shape[0] * shape[1]; i++)
            x[i] = size->whole       ? (double)whole(&seed)
                   : below(&seed, 9) ? (double)small(&seed)
                                     : (double)NAN;
        static const pgy_dtype WHOLE[] = {PGY_I32, PGY_I64, PGY_F32};
        const pgy_dtype type = size->whole                        ? WHOLE[below(&seed, 3)]
                               : size->doubles && below(&seed, 4) ? PGY_F64
                                                                  : PGY_F32;
        for (int64_t i = 0; type == PGY_F64 && i < shape[0] * shape[1]; i++)
            x[i] = finer(x[i], below(&seed, 3));
        for (size_t i = 0; i < 3; i++) run_kernel(KERNELS[i], &e, x, type, shape, targets);
        for (size_t i = 0; i < e.tensor_count; i++) pgy_tensor_release(e.tensors[i]);
    }
}

static void test_forest__equals_the_definition(void **state)
{
    static const trees_size SIZES[] = {{9, 15, 4, 5, false, false, false},
                                       {MOST_TREES, 15, 9, 40, true, false, false}};
    (void)state;
    run_rounds(400, SIZES, 2, 7);
}

/* Trees of several words, and ones whose lower parts are walked. */
static void test_forest__equals_the_definition_for_large_trees(void **state)
{
    static const trees_size SIZES[] = {{3, 127, 50, 6, true, false, false},
                                       {2, 511, 50, 40, false, false, false},
                                       {2, 1023, 90, 7, true, false, false},
                                       {2, 2047, 90, 33, false, false, false}};
    (void)state;
    run_rounds(120, SIZES, 4, 11);
}

static void test_forest__equals_the_definition_in_float64(void **state)
{
    static const trees_size SIZES[] = {{9, 15, 4, 5, false, true, false},
                                       {MOST_TREES, 31, 9, 40, true, true, false},
                                       {2, 1023, 90, 7, true, true, false}};
    (void)state;
    run_rounds(300, SIZES, 3, 13);
}

static void test_forest__equals_the_definition_for_integers(void **state)
{
    static const trees_size SIZES[] = {{9, 15, 4, 5, false, false, true},
                                       {MOST_TREES, 31, 9, 40, true, true, true},
                                       {2, 1023, 90, 7, true, false, true}};
    (void)state;
    run_rounds(300, SIZES, 3, 17);
}
