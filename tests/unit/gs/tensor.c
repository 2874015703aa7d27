/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "graph_text.h"
#include "harness/model_builder.h"

static pgy_tensor *values_of(pgy_dtype dtype, size_t count, const void *data)
{
    pgy_error err = {0};
    pgy_tensor *t = NULL;
    const int64_t shape[] = {(int64_t)count};
    assert_int_equal(pgy_tensor_create(&t, dtype, 1, shape, &err), PGY_OK);
    memcpy(pgy_tensor_data(t), data, pgy_tensor_size_bytes(t));
    return t;
}

static void assert_text(const pgy_gs_tensor *t, const char *wanted)
{
    char *text = pgy_gs_tensor_text(t);
    assert_non_null(text);
    assert_string_equal(text, wanted);
    pgy_text_free(text);
}

static void test_tensor__texts_are_those_of_the_original(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    const pgy_dim dims[] = {{-1, "B"}, {3, NULL}, {-1, NULL}};
    const float ones[] = {1, 1};
    pgy_tensor *values = values_of(PGY_F32, 2, ones);
    pgy_gs_tensor *x, *u, *w, *s;
    assert_int_equal(pgy_gs_variable(&x, g, "x", PGY_F32, 3, dims, &err), PGY_OK);
    assert_int_equal(pgy_gs_variable(&u, g, "u", PGY_DTYPE_NONE, -1, NULL, &err), PGY_OK);
    assert_int_equal(pgy_gs_variable(&s, g, "s", PGY_I64, 0, NULL, &err), PGY_OK);
    assert_int_equal(pgy_gs_constant(&w, g, "w", values, &err), PGY_OK);
    assert_text(x, "Variable (x): (shape=['B', 3, None], dtype=float32)");
    assert_text(u, "Variable (u): (shape=None, dtype=None)");
    assert_text(s, "Variable (s): (shape=[], dtype=int64)");
    assert_text(w, "Constant (w): (shape=(2,), dtype=float32)");
    pgy_tensor_release(values);
    pgy_gs_destroy(g);
}

/* Every node that holds the tensor sees what became of it. */
static void test_tensor__becomes_a_constant_and_a_variable_again(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    pgy_gs_node *n = text_node(g, "Add", "n", "a b", "c");
    pgy_gs_tensor *a = n->inputs[0];
    const int64_t sevens[] = {7, 7, 7};
    pgy_tensor *values = values_of(PGY_I64, 3, sevens), *back = NULL;
    assert_int_equal(pgy_gs_to_constant(a, values, &err), PGY_OK);
    assert_int_equal(n->inputs[0]->kind, PGY_GS_CONSTANT);
    assert_int_equal(a->dtype, PGY_I64);
    assert_int_equal(a->rank, 1);
    assert_int_equal(a->dims[0].value, 3);
    assert_int_equal(pgy_gs_size_bytes(a), 24);
    assert_int_equal(pgy_gs_values(&back, a, &err), PGY_OK);
    assert_memory_equal(pgy_tensor_data(back), sevens, sizeof sevens);
    assert_int_equal(pgy_gs_set_type(a, PGY_F32, -1, NULL, &err), PGY_E_ARGUMENT);

    /* No shape is no shape: not a scalar. */
    assert_int_equal(pgy_gs_to_variable(a, PGY_DTYPE_NONE, -1, NULL, &err), PGY_OK);
    assert_int_equal(a->kind, PGY_GS_VARIABLE);
    assert_int_equal(a->dtype, PGY_I64);
    assert_int_equal(a->rank, -1);
    assert_null(a->stored);
    assert_int_equal(pgy_gs_values(&back, a, &err), PGY_E_NOT_FOUND);
    assert_string_equal(err.text, "tensor 'a' has no values, because it is a variable");
    assert_int_equal(pgy_gs_to_variable(a, PGY_F16, 0, NULL, &err), PGY_OK);
    assert_int_equal(a->dtype, PGY_F16);
    assert_int_equal(a->rank, 0);
    pgy_tensor_release(back);
    pgy_tensor_release(values);
    pgy_gs_destroy(g);
}

static void test_tensor__omitted_slots_are_never_one(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    pgy_gs_tensor *a, *b;
    pgy_tensor *values = values_of(PGY_F32, 0, "");
    assert_int_equal(pgy_gs_omitted(&a, g, &err), PGY_OK);
    assert_int_equal(pgy_gs_omitted(&b, g, &err), PGY_OK);
    assert_ptr_not_equal(a, b);
    assert_true(pgy_gs_is_omitted(a));
    assert_int_equal(pgy_gs_to_constant(a, values, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_add_graph_input(g, a, &err), PGY_E_ARGUMENT);
    assert_null(pgy_gs_find_tensor(g, ""));
    pgy_tensor_release(values);
    pgy_gs_destroy(g);
}

static void test_tensor__sizes(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    const pgy_dim fixed[] = {{3, NULL}, {5, NULL}}, open[] = {{3, NULL}, {-1, "N"}};
    pgy_gs_tensor *t;
    assert_int_equal(pgy_gs_variable(&t, g, "t", PGY_F16, 2, fixed, &err), PGY_OK);
    assert_int_equal(pgy_gs_size_bytes(t), 30);
    assert_int_equal(pgy_gs_set_type(t, PGY_I4, 2, fixed, &err), PGY_OK);
    assert_int_equal(pgy_gs_size_bytes(t), 8); /* half a byte each, rounded up */
    assert_int_equal(pgy_gs_set_type(t, PGY_F16, 2, open, &err), PGY_OK);
    assert_true(pgy_gs_size_bytes(t) == UINT64_MAX);
    assert_int_equal(pgy_gs_set_type(t, PGY_F16, 2, NULL, &err), PGY_E_ARGUMENT);
    pgy_gs_destroy(g);
}

static void test_tensor__is_found_by_its_new_name(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    pgy_gs_node *n = text_node(g, "Op", "n", "a", "b");
    assert_int_equal(pgy_gs_rename(n->inputs[0], "other", &err), PGY_OK);
    assert_null(pgy_gs_find_tensor(g, "a"));
    assert_ptr_equal(pgy_gs_find_tensor(g, "other"), n->inputs[0]);
    assert_node(g, "n", "Op(other -> b)");
    assert_int_equal(pgy_gs_rename(n->inputs[0], "", &err), PGY_OK);
    assert_null(pgy_gs_find_tensor(g, "other"));
    assert_int_equal(pgy_gs_rename(n->inputs[0], "a", &err), PGY_OK);
    assert_ptr_equal(pgy_gs_find_tensor(g, "a"), n->inputs[0]);
    pgy_gs_destroy(g);
}

static void test_tensor__sparse_values_are_made_dense(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_model *m = NULL;
    pgy_gs_graph *g = NULL;
    assert_int_equal(pgy_model_load(&m, TEST_SOURCE_DIR "/tests/data/onnx/sparse.onnx", NULL, &err),
                     PGY_OK);
    assert_int_equal(pgy_gs_import(&g, m, &err), PGY_OK);
    pgy_gs_tensor_list list = {0};
    size_t seen = 0;
    assert_int_equal(pgy_gs_tensors(&list, g, true, &err), PGY_OK);
    for (size_t i = 0; i < list.count; i++) {
        pgy_tensor *values = NULL;
        const pgy_gs_tensor *t = list.items[i];
        if (!t->sparse) continue;
        assert_int_equal(t->kind, PGY_GS_CONSTANT);
        assert_int_equal(pgy_gs_values(&values, list.items[i], &err), PGY_OK);
        assert_int_equal(pgy_tensor_rank(values), t->rank);
        assert_int_equal(pgy_tensor_size_bytes(values), pgy_gs_size_bytes(t));
        pgy_tensor_release(values);
        seen++;
    }
    assert_true(seen > 0);
    pgy_gs_tensor_list_free(&list);
    pgy_gs_destroy(g);
    pgy_model_destroy(m);
}

static void test_tensor__names_are_utf_8(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    pgy_gs_tensor *t = NULL;
    pgy_gs_node *n = NULL;
    const pgy_dim dims[] = {{-1, "N\xff"}};
    assert_int_equal(pgy_gs_variable(&t, g, "a\xff", PGY_F32, -1, NULL, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "the text is not UTF-8: 'a' is followed by byte 0xff");
    assert_int_equal(pgy_gs_variable(&t, g, "a", PGY_F32, 1, dims, &err), PGY_E_ARGUMENT);
    assert_null(t);
    assert_int_equal(pgy_gs_variable(&t, g, "\xc3\xa4", PGY_F32, -1, NULL, &err), PGY_OK);
    assert_int_equal(pgy_gs_rename(t, "\xc3", &err), PGY_E_ARGUMENT);
    assert_string_equal(t->name, "\xc3\xa4");
    const pgy_gs_node_spec spec = {.op = "Re\x80lu"};
    assert_int_equal(pgy_gs_add_node(&n, g, &spec, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_set_import(g, "x\xfe", 1, &err), PGY_E_ARGUMENT);
    pgy_gs_destroy(g);
}
