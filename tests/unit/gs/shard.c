/* SPDX-License-Identifier: Apache-2.0 */
/* Models divided among devices: nodes and names are those of Polygraphy 0.53.6, cleaned up and
 * sorted; parts of weights put together are the weights. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include <polygraphy/shard.h>

#include "base/alloc.h"
#include "base/str.h"

#define FOLDER TEST_SOURCE_DIR "/tests/data/shard/"

static pgy_gs_graph *open_graph(const char *name)
{
    pgy_error err = {0};
    pgy_model *m = NULL;
    pgy_gs_graph *g = NULL;
    str path = {0};
    str_printf(&path, FOLDER "%s.onnx", name);
    if (pgy_model_load(&m, str_text(&path), NULL, &err) || pgy_gs_import(&g, m, &err))
        fail_msg("%s", err.text);
    pgy_model_destroy(m);
    str_deinit(&path);
    return g;
}

static pgy_shard_hints *open_hints(const char *name)
{
    pgy_error err = {0};
    pgy_shard_hints *h = NULL;
    str path = {0};
    str_printf(&path, FOLDER "hints_%s.json", name);
    if (pgy_shard_hints_load(&h, str_text(&path), &err)) fail_msg("%s", err.text);
    str_deinit(&path);
    return h;
}

static void shard(pgy_gs_graph *g, const pgy_shard_hints *h, int pattern)
{
    pgy_error err = {0};
    if (pgy_shard_context(g, h, pattern, &err)) fail_msg("%s", err.text);
}

/* "name: Op(a, b) -> c", one node a line; only those named shard_<n> or read by them. */
static void expect_node(const pgy_gs_graph *g, const char *name, const char *expected)
{
    str text = {0};
    const pgy_gs_node *n = pgy_gs_find_node(g, name);
    assert_non_null(n);
    str_printf(&text, "%s(", n->op);
    for (size_t i = 0; i < n->input_count; i++)
        str_printf(&text, "%s%s", i ? ", " : "", n->inputs[i]->name);
    str_append(&text, ") ->");
    for (size_t i = 0; i < n->output_count; i++) str_printf(&text, " %s", n->outputs[i]->name);
    assert_string_equal(str_text(&text), expected);
    str_deinit(&text);
}

static void expect_text(const pgy_gs_graph *g, const char *node, const char *attr,
                        const char *expected)
{
    const pgy_gs_attribute *a = pgy_gs_find_attr(pgy_gs_find_node(g, node), attr);
    assert_non_null(a);
    assert_int_equal(a->value->s.size, strlen(expected));
    assert_memory_equal(a->value->s.data, expected, strlen(expected));
}

static void expect_sorted(const pgy_gs_graph *g)
{
    for (size_t i = 0; i < g->node_count; i++)
        for (size_t k = 0; k < g->nodes[i]->input_count; k++) {
            const pgy_gs_tensor *t = g->nodes[i]->inputs[k];
            if (t->producer_count) assert_true(pgy_gs_node_index(t->producers[0]) < i);
        }
}

static void test_shard__native_context(void **state)
{
    (void)state;
    pgy_gs_graph *g = open_graph("attention");
    pgy_shard_hints *h = open_hints("attention");
    shard(g, h, 0);
    assert_int_equal(g->node_count, 26);
    expect_node(g, "shard_1", "Transpose(x) -> shard_0");
    expect_node(g, "shard_3", "DistCollective(shard_0) -> shard_2");
    expect_text(g, "shard_3", "collective_operation", "reduce_scatter");
    expect_text(g, "shard_3", "reduce_op", "max");
    expect_node(g, "shard_5", "Transpose(shard_2) -> shard_4");
    expect_node(g, "a_q_proj", "MatMul(shard_4, a_Wq) -> a_q");
    expect_node(g, "shard_7", "DistCollective(a_kt) -> shard_6");
    expect_text(g, "shard_7", "collective_operation", "all_gather");
    expect_text(g, "shard_7", "reduce_op", "none");
    expect_node(g, "a_scores", "MatMul(a_q, shard_6) -> a_s");
    expect_node(g, "a_sum", "MatMul(a_p, shard_8) -> a_o");
    expect_node(g, "shard_13", "DistCollective(b_v) -> shard_12");
    expect_node(g, "shard_15", "Transpose(y) -> shard_14");
    expect_node(g, "shard_19", "Transpose(shard_16) -> shard_18");
    assert_string_equal(g->outputs[0]->name, "shard_18");
    assert_int_equal(g->outputs[0]->dtype, PGY_F32);
    expect_sorted(g);
    pgy_shard_hints_destroy(h);
    pgy_gs_destroy(g);
}

static void test_shard__fused_context(void **state)
{
    (void)state;
    pgy_gs_graph *g = open_graph("attention");
    pgy_shard_hints *h = open_hints("fused");
    shard(g, h, 0);
    assert_null(pgy_gs_find_node(g, "a_scores"));
    assert_null(pgy_gs_find_node(g, "a_softmax"));
    expect_node(g, "shard_7", "Transpose(a_q) -> shard_6");
    expect_node(g, "shard_9", "Transpose(a_kt) -> shard_8");
    expect_node(g, "shard_10", "Attention(shard_6, shard_8, a_v) -> a_o");
    expect_node(g, "shard_15", "Attention(shard_11, shard_13, b_v) -> b_o");
    const pgy_gs_node *n = pgy_gs_find_node(g, "shard_10");
    assert_int_equal(pgy_gs_attr_as_int(n, "is_causal", -1), 1);
    assert_int_equal(pgy_gs_attr_as_int(n, "TRT_decomposable", -1), 0);
    assert_int_equal(pgy_gs_attr_as_int(n, "nb_rank", -1), 2);
    assert_true(pgy_gs_attr_as_float(n, "scale", 0) == 1.0F);
    expect_sorted(g);
    pgy_shard_hints_destroy(h);
    pgy_gs_destroy(g);
}

static void test_shard__v_has_its_own_axis(void **state)
{
    (void)state;
    pgy_gs_graph *g = open_graph("attention");
    pgy_shard_hints *h = open_hints("attention");
    h->k_axis = 1;
    h->v_axis = 2;
    h->kv_rank = 3;
    shard(g, h, 0);
    const int64_t *k = pgy_gs_find_attr(pgy_gs_find_node(g, "shard_7"), "perm")->value->ints;
    const int64_t *v = pgy_gs_find_attr(pgy_gs_find_node(g, "shard_13"), "perm")->value->ints;
    assert_memory_equal(k, ((int64_t[]){1, 0, 2}), 3 * sizeof *k);
    assert_memory_equal(v, ((int64_t[]){2, 1, 0}), 3 * sizeof *v);
    pgy_shard_hints_destroy(h);
    pgy_gs_destroy(g);
}

static void test_shard__whole_outputs_are_not_gathered(void **state)
{
    (void)state;
    pgy_gs_graph *g = open_graph("attention");
    pgy_shard_hints *h = open_hints("attention");
    ((pgy_attention_hint *)h->layers)[0].gather_q = true;
    shard(g, h, 0);
    assert_string_equal(g->outputs[0]->name, "y");
    pgy_shard_hints_destroy(h);
    pgy_gs_destroy(g);
}

/* The original gathers what it has gathered already. */
static void test_shard__shared_keys_are_gathered_once(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = open_graph("attention");
    pgy_shard_hints *h = open_hints("attention");
    assert_int_equal(
        pgy_gs_set_input(pgy_gs_find_node(g, "b_scores"), 1, pgy_gs_find_tensor(g, "a_kt"), &err),
        PGY_OK);
    shard(g, h, 0);
    expect_node(g, "shard_7", "DistCollective(a_kt) -> shard_6");
    expect_node(g, "a_scores", "MatMul(a_q, shard_6) -> a_s");
    expect_node(g, "b_scores", "MatMul(b_q, shard_6) -> b_s");
    expect_node(g, "shard_11", "DistCollective(b_v) -> shard_10");
    pgy_shard_hints_destroy(h);
    pgy_gs_destroy(g);
}

static void expect_failure(const char *hints, void (*change)(pgy_shard_hints *h), pgy_status status,
                           const char *part)
{
    pgy_error err = {0};
    pgy_gs_graph *g = open_graph("attention");
    pgy_shard_hints *h = open_hints(hints);
    change(h);
    assert_int_equal(pgy_shard_context(g, h, 0, &err), status);
    if (!strstr(err.text, part)) fail_msg("'%s' lacks '%s'", err.text, part);
    pgy_shard_hints_destroy(h);
    pgy_gs_destroy(g);
}

static void rename_input(pgy_shard_hints *h)
{
    ((pgy_shard_tensor *)h->inputs)[0].name = "z";
}
static void forget_rank(pgy_shard_hints *h)
{
    h->k_axis = 1;
}
static void large_axis(pgy_shard_hints *h)
{
    ((pgy_shard_tensor *)h->inputs)[0].axis = 3;
}

static void test_shard__bad_hints(void **state)
{
    (void)state;
    expect_failure("attention", rename_input, PGY_E_NOT_FOUND, "'z'");
    expect_failure("attention", forget_rank, PGY_E_SHAPE,
                   "tensor 'a_kt' is to be split along axis 1");
    expect_failure("attention", large_axis, PGY_E_SHAPE, "axis 3, but has rank 3");
}

static void test_shard__numbers_go_on(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = open_graph("scaled");
    pgy_shard_options o = pgy_shard_options_default();
    pgy_shard_hints *h = NULL;
    assert_int_equal(pgy_gs_set_node_name(g->nodes[0], "slice", &err), PGY_OK);
    assert_int_equal(pgy_shard_suggest(&h, g, &o, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "'slice'"));
    assert_int_equal(pgy_shard_name_nodes(g, &err), PGY_OK);
    assert_string_equal(g->nodes[1]->name, "slice_shard_0");
    o.pattern = 1;
    assert_int_equal(pgy_shard_suggest(&h, g, &o, &err), PGY_OK);
    assert_int_equal(h->layer_count, 1);
    assert_string_equal(h->layers[0].q, "q");
    assert_int_equal(h->kv_rank, 3);
    assert_int_equal(h->input_count, 3);
    assert_string_equal(h->inputs[0].name, "q");
    assert_string_equal(h->outputs[0].name, "y");
    shard(g, h, 1);
    expect_node(g, "shard_2", "DistCollective(q) -> shard_1");
    /* k is gathered before it is scaled */
    expect_node(g, "shard_8", "DistCollective(shard_3) -> shard_7");
    expect_node(g, "mul_k", "Mul(shard_7, k_scale) -> ks");
    pgy_shard_hints_destroy(h);
    pgy_gs_destroy(g);
}

/* ---- Weights ---- */

enum { RANKS = 2 };

static pgy_tensor *values(const pgy_gs_graph *g, const char *name)
{
    pgy_error err = {0};
    pgy_tensor *t = NULL;
    pgy_gs_tensor *found = pgy_gs_find_tensor(g, name);
    assert_non_null(found);
    if (pgy_gs_values(&t, found, &err)) fail_msg("%s", err.text);
    return t;
}

/* The parts of two ranks, side by side along the axis, are the whole. */
static void expect_parts(const pgy_gs_graph *whole, pgy_gs_graph *const parts[RANKS],
                         const char *name, size_t axis)
{
    pgy_tensor *w = values(whole, name);
    const int64_t *shape = pgy_tensor_shape(w);
    const size_t item = pgy_tensor_size_bytes(w) / pgy_tensor_count(w);
    const size_t row = (size_t)shape[1] * item, columns = axis ? row / RANKS : row;
    const size_t rows = (size_t)shape[0] / (axis ? 1 : RANKS);
    for (size_t r = 0; r < RANKS; r++) {
        pgy_tensor *p = values(parts[r], name);
        assert_int_equal(pgy_tensor_dtype(p), pgy_tensor_dtype(w));
        assert_int_equal(pgy_tensor_shape(p)[axis] * RANKS, shape[axis]);
        const char *from = (const char *)pgy_tensor_data(w) + (axis ? r * columns : r * rows * row);
        for (size_t i = 0; i < rows; i++)
            assert_memory_equal((char *)pgy_tensor_data(p) + i * columns, from + i * row, columns);
        pgy_tensor_release(p);
    }
    pgy_tensor_release(w);
}

static void cut(pgy_gs_graph *parts[RANKS], const pgy_gs_graph *g)
{
    pgy_error err = {0};
    pgy_shard_hints *h = open_hints("decoder");
    for (int64_t r = 0; r < RANKS; r++)
        if (pgy_gs_copy(&parts[r], g, &err) || pgy_shard_tensors(parts[r], h, r, &err))
            fail_msg("%s", err.text);
    pgy_shard_hints_destroy(h);
}

static void test_shard__tensor_parallel(void **state)
{
    (void)state;
    pgy_gs_graph *g = open_graph("decoder"), *parts[RANKS] = {NULL};
    cut(parts, g);
    static const char *const COLUMNS[] = {"Wq", "Wk", "Wv", "Wg", "Wu"};
    for (size_t i = 0; i < 5; i++) expect_parts(g, parts, COLUMNS[i], 1);
    expect_parts(g, parts, "Wo", 0);
    expect_parts(g, parts, "Wd", 0);
    for (size_t r = 0; r < RANKS; r++) {
        const pgy_gs_node *n = pgy_gs_find_node(parts[r], "attention");
        assert_int_equal(pgy_gs_attr_as_int(n, "num_q_heads", 0), 2);
        assert_int_equal(pgy_gs_attr_as_int(n, "num_kv_heads", 0), 1);
        assert_int_equal(pgy_gs_find_tensor(parts[r], "past")->dims[2].value, 1);
        assert_int_equal(pgy_gs_find_tensor(parts[r], "present")->dims[2].value, 1);
        expect_node(parts[r], "shard_1", "DistCollective(o) -> shard_0");
        expect_text(parts[r], "shard_1", "collective_operation", "all_reduce");
        expect_text(parts[r], "shard_1", "reduce_op", "sum");
        expect_node(parts[r], "shard_3", "DistCollective(d) -> shard_2");
        expect_node(parts[r], "residual_1", "Add(x, shard_0) -> r");
        expect_sorted(parts[r]);
        pgy_gs_destroy(parts[r]);
    }
    pgy_gs_destroy(g);
}

static void test_shard__quantized_weights(void **state)
{
    (void)state;
    pgy_gs_graph *g = open_graph("quantized"), *parts[RANKS] = {NULL};
    cut(parts, g);
    /* They are stored turned, so columns are rows; scales of blocks are cut alike. */
    expect_parts(g, parts, "Wq_q", 0);
    expect_parts(g, parts, "Wq_s", 0);
    expect_parts(g, parts, "Wo_q", 1);
    expect_parts(g, parts, "Wo_s", 1);
    for (size_t r = 0; r < RANKS; r++) pgy_gs_destroy(parts[r]);
    pgy_gs_destroy(g);
}

static void test_shard__sizes_that_cannot_be_divided(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = open_graph("decoder"), *other = NULL;
    pgy_shard_hints *h = open_hints("decoder");
    assert_int_equal(pgy_gs_copy(&other, g, &err), PGY_OK);
    h->nb_rank = 3;
    assert_int_equal(pgy_shard_tensors(g, h, 0, &err), PGY_E_SHAPE);
    assert_non_null(strstr(err.text, "cannot be split into 3 parts along axis 1"));
    h->nb_rank = 4;
    assert_int_equal(pgy_shard_tensors(other, h, 0, &err), PGY_E_SHAPE);
    assert_non_null(strstr(err.text, "num_kv_heads 2 cannot be divided by 4 ranks"));
    pgy_shard_hints_destroy(h);
    pgy_gs_destroy(other);
    pgy_gs_destroy(g);
}

/* ---- Refused allocations ---- */

static pgy_status whole_way(bool context, pgy_error *err)
{
    pgy_model *m = NULL, *made = NULL;
    pgy_gs_graph *g = NULL, *part = NULL;
    pgy_shard_hints *h = NULL;
    pgy_shard_options o = pgy_shard_options_default();
    o.nb_rank = 2;
    o.fused = true;
    pgy_status st =
        pgy_model_load(&m, context ? FOLDER "attention.onnx" : FOLDER "quantized.onnx", NULL, err);
    if (!st) st = pgy_gs_import(&g, m, err);
    if (!st) st = pgy_shard_name_nodes(g, err);
    if (!st) st = pgy_shard_suggest(&h, g, &o, err);
    if (!st) st = pgy_gs_copy(&part, g, err);
    if (!st) st = context ? pgy_shard_context(part, h, 0, err) : pgy_shard_tensors(part, h, 1, err);
    if (!st) st = pgy_gs_export(&made, part, NULL, err);
    pgy_model_destroy(made);
    pgy_shard_hints_destroy(h);
    pgy_gs_destroy(part);
    pgy_gs_destroy(g);
    pgy_model_destroy(m);
    return st;
}

static void refuse_each(bool context)
{
    pgy_status st = PGY_E_MEMORY;
    for (uint64_t n = 1; st; n++) {
        pgy_error err = {0};
        if (!mem_fail_nth(n)) skip();
        st = whole_way(context, &err);
        mem_fail_nth(0);
        if (st && st != PGY_E_MEMORY) fail_msg("allocation %d: %s", (int)n, err.text);
    }
}

static void test_shard__refused_allocations_context(void **state)
{
    (void)state;
    refuse_each(true);
}

static void test_shard__refused_allocations_tensors(void **state)
{
    (void)state;
    refuse_each(false);
}
