/* SPDX-License-Identifier: Apache-2.0 */
/* The reference backend through its own interface: precision modes, subgraphs, functions, messages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include <polygraphy/backend.h>
#include <polygraphy/onnx.h>

#include "base/alloc.h"
#include "harness/model_builder.h"

extern const pgy_backend BACKEND_opref;

typedef struct session {
    pgy_backend_model source;
    void *runner;
    pgy_tensor_map *feed, *out;
    pgy_error err;
} session;

typedef struct settings {
    const char *precision, *substitute;
} settings;

static void open_session(session *s, model_builder *b, const char *precision)
{
    const settings options = {precision};
    *s = (session){.source = {.size = sizeof(pgy_backend_model)}};
    s->source.model = builder_finish_bytes(b);
    assert_int_equal(BACKEND_opref.create(&s->runner, &s->source, &options, &s->err), PGY_OK);
    assert_int_equal(pgy_tensor_map_create(&s->feed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_create(&s->out, NULL), PGY_OK);
}

static void start(session *s, model_builder *b, const char *precision)
{
    open_session(s, b, precision);
    if (BACKEND_opref.activate(s->runner, &s->err)) fail_msg("%s", s->err.text);
}

static void finish(session *s)
{
    pgy_tensor_map_destroy(s->feed);
    pgy_tensor_map_destroy(s->out);
    BACKEND_opref.destroy(s->runner);
    pgy_model_destroy(s->source.model);
}

static void feed(session *s, const char *name, pgy_dtype dtype, int64_t count, const void *values)
{
    pgy_tensor *t = NULL;
    const int64_t shape[] = {count};
    assert_int_equal(pgy_tensor_create(&t, dtype, count < 0 ? 0 : 1, shape, NULL), PGY_OK);
    memcpy(pgy_tensor_data(t), values, pgy_tensor_size_bytes(t));
    assert_int_equal(pgy_tensor_map_set(s->feed, name, t, NULL), PGY_OK);
    pgy_tensor_release(t);
}

static void run(session *s)
{
    int64_t time_ns = -1;
    pgy_tensor_map_clear(s->out);
    if (BACKEND_opref.infer(s->runner, s->feed, s->out, &time_ns, &s->err))
        fail_msg("%s", s->err.text);
    assert_true(time_ns >= 0);
}

static const float *floats(session *s, const char *name)
{
    const pgy_tensor *t = pgy_tensor_map_find(s->out, name);
    assert_non_null(t);
    assert_int_equal(pgy_tensor_dtype(t), PGY_F32);
    return pgy_tensor_data(t);
}

/* (x + 1e8) - 1e8: float64 keeps x, float32 loses it. */
static void cancel_model(model_builder *b)
{
    const float big = 1e8f;
    *b = builder_start(17);
    builder_input(b, "x", PGY_F32, "N");
    builder_floats(b, "big", "", &big);
    builder_node(b, "Add", "x big", "t");
    builder_node(b, "Sub", "t big", "y");
    builder_output(b, "y", PGY_F32, "N");
}

static void test_opref__float64_does_not_round_in_between(void **state)
{
    (void)state;
    model_builder b;
    session s;
    const float x[] = {1.25f, -3};
    cancel_model(&b);
    start(&s, &b, NULL);
    feed(&s, "x", PGY_F32, 2, x);
    run(&s);
    assert_float_equal(floats(&s, "y")[0], 1.25, 0);
    assert_float_equal(floats(&s, "y")[1], -3, 0);
    finish(&s);
}

static void test_opref__model_precision_rounds_every_tensor(void **state)
{
    (void)state;
    model_builder b;
    session s;
    const float x[] = {1.25f, -12};
    cancel_model(&b);
    start(&s, &b, "model");
    feed(&s, "x", PGY_F32, 2, x);
    run(&s);
    assert_float_equal(floats(&s, "y")[0], 0, 0);
    assert_float_equal(floats(&s, "y")[1], -16, 0); /* float32 steps by 8 there, ties to even */
    finish(&s);
}

static void test_opref__metadata(void **state)
{
    (void)state;
    model_builder b;
    session s;
    pgy_metadata *m = NULL;
    cancel_model(&b);
    start(&s, &b, NULL);
    assert_int_equal(pgy_metadata_create(&m, NULL), PGY_OK);
    assert_int_equal(BACKEND_opref.inputs(s.runner, m, NULL), PGY_OK);
    assert_int_equal(BACKEND_opref.outputs(s.runner, m, NULL), PGY_OK);
    assert_int_equal(pgy_metadata_count(m), 2);
    const pgy_tensor_info *y = pgy_metadata_find(m, "y");
    assert_int_equal(y->dtype, PGY_F32);
    assert_int_equal(y->rank, 1);
    assert_int_equal(y->shape[0], -1);
    assert_string_equal(y->dim_names[0], "N");
    pgy_metadata_destroy(m);
    finish(&s);
}

static void test_opref__runs_again_and_after_reactivation(void **state)
{
    (void)state;
    model_builder b;
    session s;
    const float x[] = {2};
    cancel_model(&b);
    start(&s, &b, NULL);
    feed(&s, "x", PGY_F32, 1, x);
    run(&s);
    run(&s);
    BACKEND_opref.deactivate(s.runner);
    assert_int_equal(BACKEND_opref.activate(s.runner, &s.err), PGY_OK);
    run(&s);
    assert_float_equal(floats(&s, "y")[0], 2, 0);
    finish(&s);
}

static void test_opref__integers_wrap_to_their_type(void **state)
{
    (void)state;
    session s;
    const int32_t x[] = {2147483647};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_I32, "1");
    builder_node(&b, "Add", "x x", "y");
    builder_output(&b, "y", PGY_I32, "1");
    start(&s, &b, NULL);
    feed(&s, "x", PGY_I32, 1, x);
    run(&s);
    assert_int_equal(((const int32_t *)pgy_tensor_data(pgy_tensor_map_find(s.out, "y")))[0], -2);
    finish(&s);
}

static void test_opref__output_that_is_an_input_or_a_weight(void **state)
{
    (void)state;
    session s;
    const float x[] = {5}, w[] = {7};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "1");
    builder_floats(&b, "w", "1", w);
    builder_node(&b, "Neg", "x", "unused");
    builder_output(&b, "x", PGY_F32, "1");
    builder_output(&b, "w", PGY_F32, "1");
    start(&s, &b, NULL);
    feed(&s, "x", PGY_F32, 1, x);
    run(&s);
    assert_float_equal(floats(&s, "x")[0], 5, 0);
    assert_float_equal(floats(&s, "w")[0], 7, 0);
    finish(&s);
}

static void test_opref__unknown_operators_are_all_listed(void **state)
{
    (void)state;
    session s;
    model_builder b = builder_start(17);
    builder_opset(&b, "com.example", 3);
    builder_input(&b, "x", PGY_F32, "1");
    builder_node(&b, "com.example:Foo", "x", "a");
    builder_node(&b, "NoSuchOp", "a", "b");
    builder_node(&b, "com.example:Foo", "b", "y");
    builder_output(&b, "y", PGY_F32, "1");
    open_session(&s, &b, NULL);
    assert_int_equal(BACKEND_opref.activate(s.runner, &s.err), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(s.err.text, "[Op: Foo | Domain: com.example | Opset: 3 | Node: n0]"));
    assert_non_null(strstr(s.err.text, "[Op: NoSuchOp | Domain: ai.onnx | Opset: 17 | Node: n1]"));
    assert_non_null(strstr(s.err.text, "2 of the model's operators"));
    finish(&s);
}

static void test_opref__contradiction_is_found_before_data(void **state)
{
    (void)state;
    session s;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 3");
    builder_floats(&b, "w", "4, 5", NULL);
    builder_node(&b, "MatMul", "x w", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    open_session(&s, &b, NULL);
    assert_int_equal(BACKEND_opref.activate(s.runner, &s.err), PGY_E_SHAPE);
    assert_non_null(strstr(s.err.text, "n0"));
    finish(&s);
}

/* z = scale(x, 3) + scale(x, default), scale(x, by) = x * Constant(value_float = by) */
static void test_opref__functions_with_attributes(void **state)
{
    (void)state;
    session s;
    const float x[] = {1, 2};
    model_builder b = builder_start(17);
    builder_opset(&b, "local", 1);
    model_builder body = builder_function(&b, "local", "Scale", "a", "r", "by");
    builder_attr_ref(&body, builder_node(&body, "Constant", "", "factor"), "value_float",
                     PGY_ATTR_FLOAT, "by");
    builder_node(&body, "Mul", "a factor", "r");
    builder_end_function(&body);
    builder_input(&b, "x", PGY_F32, "2");
    builder_attr_float(&b, builder_node(&b, "local:Scale", "x", "p"), "by", 3);
    builder_attr_float(&b, builder_node(&b, "local:Scale", "p", "q"), "by", 5);
    builder_node(&b, "Add", "p q", "z");
    builder_output(&b, "z", PGY_F32, "2");
    start(&s, &b, NULL);
    feed(&s, "x", PGY_F32, 2, x);
    run(&s);
    assert_float_equal(floats(&s, "z")[0], 18, 0);
    assert_float_equal(floats(&s, "z")[1], 36, 0);
    finish(&s);
}

static void test_opref__recursive_function_is_refused(void **state)
{
    (void)state;
    session s;
    model_builder b = builder_start(17);
    builder_opset(&b, "local", 1);
    model_builder body = builder_function(&b, "local", "Again", "a", "r", "");
    builder_node(&body, "local:Again", "a", "r");
    builder_end_function(&body);
    builder_input(&b, "x", PGY_F32, "2");
    builder_node(&b, "local:Again", "x", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    open_session(&s, &b, NULL);
    assert_int_equal(BACKEND_opref.activate(s.runner, &s.err), PGY_E_FORMAT);
    assert_non_null(strstr(s.err.text, "calls itself"));
    finish(&s);
}

static void test_opref__needs_a_model_and_a_known_precision(void **state)
{
    (void)state;
    void *runner = NULL;
    pgy_error err = {0};
    const pgy_backend_model source = {.size = sizeof source};
    const settings options = {"double"};
    assert_int_equal(BACKEND_opref.create(&runner, NULL, NULL, &err), PGY_E_ARGUMENT);
    assert_int_equal(BACKEND_opref.create(&runner, &source, &options, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "'double'"));
    assert_null(runner);
}

static void memory_model(model_builder *b)
{
    const int64_t axis = 0;
    *b = builder_start(17);
    builder_opset(b, "local", 1);
    model_builder body = builder_function(b, "local", "Scale", "a", "r", "by");
    builder_attr_ref(&body, builder_node(&body, "Constant", "", "factor"), "value_float",
                     PGY_ATTR_FLOAT, "by");
    builder_node(&body, "Mul", "a factor", "r");
    builder_end_function(&body);
    builder_input(b, "x", PGY_F32, "N, 2");
    builder_input(b, "c", PGY_BOOL, "");
    builder_ints(b, "axes", "1", &axis);
    builder_attr_float(b, builder_node(b, "local:Scale", "x", "p"), "by", 3);
    model_builder yes = builder_subgraph(b, "yes"), no = builder_subgraph(b, "no");
    builder_node(&yes, "Shape", "p", "s");
    builder_node(&yes, "Reshape", "p s", "t");
    builder_output(&yes, "t", PGY_F32, NULL);
    builder_node(&no, "Abs", "p", "e");
    builder_output(&no, "e", PGY_F32, NULL);
    pgy_onnx_node *n = builder_node(b, "If", "c", "q");
    builder_attr_graph(b, n, "then_branch", &yes);
    builder_attr_graph(b, n, "else_branch", &no);
    builder_node(b, "Unsqueeze", "q axes", "y");
    builder_output(b, "y", PGY_F32, NULL);
}

static pgy_status run_once(session *s, const pgy_tensor_map *given, pgy_tensor_map *out)
{
    int64_t time_ns;
    pgy_status st = BACKEND_opref.create(&s->runner, &s->source, NULL, &s->err);
    if (st) return st;
    st = BACKEND_opref.activate(s->runner, &s->err);
    if (!st) st = BACKEND_opref.infer(s->runner, given, out, &time_ns, &s->err);
    BACKEND_opref.destroy(s->runner);
    s->runner = NULL;
    return st;
}

/* Every allocation is refused once: an error each time, and no leak for the sanitizer to find. */
static void test_opref__stands_refused_memory(void **state)
{
    (void)state;
    model_builder b;
    session s = {.source = {.size = sizeof(pgy_backend_model)}};
    const int64_t shape[] = {1, 2};
    pgy_tensor *x = NULL, *c = NULL;
    memory_model(&b);
    s.source.model = builder_finish_bytes(&b);
    assert_int_equal(pgy_tensor_map_create(&s.feed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_create(&x, PGY_F32, 2, shape, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_create(&c, PGY_BOOL, 0, NULL, NULL), PGY_OK);
    *(uint8_t *)pgy_tensor_data(c) = 1;
    assert_int_equal(pgy_tensor_map_adopt(s.feed, "x", x, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_adopt(s.feed, "c", c, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_create(&s.out, NULL), PGY_OK);
    pgy_status st = PGY_E_MEMORY;
    for (uint64_t n = 1; st && mem_fail_nth(n); n++) {
        pgy_tensor_map_clear(s.out);
        st = run_once(&s, s.feed, s.out);
        if (st && st != PGY_E_MEMORY)
            fail_msg("allocation %llu: %s", (unsigned long long)n, s.err.text);
    }
    mem_fail_nth(0);
    pgy_tensor_map_clear(s.out);
    assert_int_equal(run_once(&s, s.feed, s.out), PGY_OK);
    assert_int_equal(pgy_tensor_rank(pgy_tensor_map_find(s.out, "y")), 3);
    pgy_tensor_map_destroy(s.feed);
    pgy_tensor_map_destroy(s.out);
    pgy_model_destroy(s.source.model);
}

static void test_opref__if_takes_one_branch(void **state)
{
    (void)state;
    model_builder b;
    session s;
    const float x[] = {-1, 2};
    memory_model(&b);
    b.graph->inputs[0]->type->tensor_type->shape->dim_count = 1;
    start(&s, &b, NULL);
    feed(&s, "x", PGY_F32, 2, x);
    feed(&s, "c", PGY_BOOL, -1, &(uint8_t){1});
    run(&s);
    assert_float_equal(floats(&s, "y")[0], -3, 0);
    feed(&s, "c", PGY_BOOL, -1, &(uint8_t){0});
    run(&s);
    assert_float_equal(floats(&s, "y")[0], 3, 0);
    assert_float_equal(floats(&s, "y")[1], 6, 0);
    finish(&s);
}

/* Five times: v <- v * 2 + outer; the scan output keeps every v. */
static void test_opref__loop_sees_outer_values(void **state)
{
    (void)state;
    session s;
    const float two = 2, x[] = {3};
    const int64_t times = 5;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "1");
    builder_ints(&b, "times", "", &times);
    builder_floats(&b, "two", "", &two);
    builder_node(&b, "Sqrt", "x", "root");
    builder_node(&b, "Mul", "root root", "squared");
    builder_node(&b, "Round", "squared", "outer"); /* 3 */
    model_builder body = builder_subgraph(&b, "body");
    builder_input(&body, "i", PGY_I64, "");
    builder_input(&body, "go", PGY_BOOL, "");
    builder_input(&body, "v", PGY_F32, "1");
    builder_node(&body, "Identity", "go", "on");
    builder_node(&body, "Mul", "v two", "m");
    builder_node(&body, "Add", "m outer", "w");
    builder_node(&body, "Identity", "w", "kept");
    builder_output(&body, "on", PGY_BOOL, "");
    builder_output(&body, "w", PGY_F32, "1");
    builder_output(&body, "kept", PGY_F32, "1");
    pgy_onnx_node *n = builder_node(&b, "Loop", "times - x", "last all");
    builder_attr_graph(&b, n, "body", &body);
    builder_output(&b, "last", PGY_F32, NULL);
    builder_output(&b, "all", PGY_F32, NULL);
    start(&s, &b, NULL);
    feed(&s, "x", PGY_F32, 1, x);
    run(&s);
    assert_float_equal(floats(&s, "last")[0], 189, 0); /* 9 21 45 93 189 */
    assert_float_equal(floats(&s, "all")[1], 21, 0);
    const pgy_tensor *all = pgy_tensor_map_find(s.out, "all");
    assert_int_equal(pgy_tensor_rank(all), 2);
    assert_int_equal(pgy_tensor_shape(all)[0], 5);
    finish(&s);
}

static void test_opref__sequences_and_optionals(void **state)
{
    (void)state;
    session s;
    pgy_metadata *inputs = NULL;
    pgy_onnx_type types[2];
    pgy_onnx_elem_type elements[2];
    static const float A[] = {1, 2}, B[] = {3};
    model_builder b = builder_start(18);
    builder_input(&b, "s", PGY_F32, NULL);
    builder_input(&b, "o", PGY_F32, "2");
    for (size_t i = 0; i < 2; i++) {
        pgy_onnx_value_info *v = b.graph->inputs[i];
        elements[i] = (pgy_onnx_elem_type){.elem_type = v->type};
        types[i] = (pgy_onnx_type){.denotation = ""};
        *(i ? &types[i].optional_type : &types[i].sequence_type) = &elements[i];
        v->type = &types[i];
    }
    builder_node(&b, "Identity", "s", "t");
    builder_node(&b, "Identity", "o", "p");
    builder_node(&b, "OptionalHasElement", "o", "has");
    builder_output(&b, "t", PGY_DTYPE_NONE, NULL);
    builder_output(&b, "p", PGY_DTYPE_NONE, NULL);
    builder_output(&b, "has", PGY_BOOL, "");
    start(&s, &b, NULL);
    assert_int_equal(pgy_metadata_create(&inputs, NULL), PGY_OK);
    assert_int_equal(BACKEND_opref.inputs(s.runner, inputs, &s.err), PGY_OK);
    assert_int_equal(pgy_metadata_at(inputs, 0)->form, PGY_FORM_SEQUENCE);
    assert_int_equal(pgy_metadata_at(inputs, 1)->form, PGY_FORM_OPTIONAL);
    assert_int_equal(pgy_metadata_at(inputs, 1)->dtype, PGY_F32);
    assert_int_equal(pgy_metadata_at(inputs, 1)->rank, 1);
    pgy_metadata_destroy(inputs);

    feed(&s, "s[0]", PGY_F32, 2, A);
    feed(&s, "s[1]", PGY_F32, 1, B);
    run(&s);
    assert_int_equal(pgy_tensor_map_count(s.out), 3);
    assert_float_equal(floats(&s, "t[0]")[1], 2, 0);
    assert_float_equal(floats(&s, "t[1]")[0], 3, 0);
    assert_false(*(bool *)pgy_tensor_data(pgy_tensor_map_find(s.out, "has")));

    pgy_tensor_map_clear(s.out);
    pgy_tensor_map_clear(s.feed);
    feed(&s, "s[]", PGY_F32, 0, A);
    feed(&s, "o", PGY_F32, 2, A);
    run(&s);
    assert_int_equal(pgy_tensor_count(pgy_tensor_map_find(s.out, "t[]")), 0);
    assert_float_equal(floats(&s, "p")[1], 2, 0);
    assert_true(*(bool *)pgy_tensor_data(pgy_tensor_map_find(s.out, "has")));
    finish(&s);
}
