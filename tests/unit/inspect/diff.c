/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between two models: what is matched, what is told, and the numbers of weights. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <polygraphy/diff.h>

#include "harness/model_builder.h"

static pgy_diff *diff_with(pgy_model *a, pgy_model *b, pgy_diff_options options)
{
    pgy_error err = {0};
    pgy_diff *d = NULL;
    options.size = sizeof options;
    const pgy_status st = pgy_diff_create(&d, a, b, &options, &err);
    pgy_model_destroy(a);
    pgy_model_destroy(b);
    if (st) fail_msg("%s", err.text);
    return d;
}

/* One line per entry: "node renamed If_0/then: a > b [Relu] field: 1 > 2". */
static void print_entries(char *out, size_t size, const pgy_diff *d)
{
    size_t n = 0;
    out[0] = 0;
    for (size_t i = 0; i < pgy_diff_count(d); i++) {
        const pgy_difference *e = pgy_diff_at(d, i);
        n += (size_t)snprintf(out + n, size - n, "%s %s ", pgy_diff_part_name(e->part),
                              pgy_diff_change_name(e->change));
        if (e->path[0]) n += (size_t)snprintf(out + n, size - n, "%s: ", e->path);
        n += (size_t)snprintf(out + n, size - n, "%s", e->name);
        if (e->new_name) n += (size_t)snprintf(out + n, size - n, " > %s", e->new_name);
        if (e->field[0]) n += (size_t)snprintf(out + n, size - n, " | %s", e->field);
        if (e->before || e->after)
            n += (size_t)snprintf(out + n, size - n, ": %s > %s", e->before ? e->before : "-",
                                  e->after ? e->after : "-");
        n += (size_t)snprintf(out + n, size - n, "\n");
        assert_true(n < size);
    }
}

static void expect_with(pgy_model *a, pgy_model *b, pgy_diff_options options, const char *wanted)
{
    static char text[8192];
    pgy_diff *d = diff_with(a, b, options);
    print_entries(text, sizeof text, d);
    pgy_diff_destroy(d);
    if (strcmp(text, wanted)) fail_msg("got:\n%swanted:\n%s", text, wanted);
}

static void expect(pgy_model *a, pgy_model *b, const char *wanted)
{
    expect_with(a, b, (pgy_diff_options){0}, wanted);
}

/* ---- Structure ------------------------------------------------------------------------------- */

/* x -> MatMul -> (Tanh) -> operator -> MatMul -> Softmax -> y, every name with a prefix. */
typedef struct chain {
    const char *prefix;
    bool named, inserted;
    const char *operator_name;
} chain;

static const char *label(model_builder *b, const char *prefix, const char *name)
{
    char text[64];
    snprintf(text, sizeof text, "%s%s", prefix, name);
    return pgy_model_strdup(b->model, text);
}

static const char *links(model_builder *b, const char *prefix, const char *x, const char *y)
{
    char text[64];
    snprintf(text, sizeof text, "%s%s %s%s", prefix, x, prefix, y);
    return pgy_model_strdup(b->model, text);
}

static void add_named(model_builder *b, const chain *c, const char *op, const char *inputs,
                      const char *output, const char *name)
{
    pgy_onnx_node *n = builder_node(b, op, inputs, output);
    n->name = c->named ? label(b, c->prefix, name) : "";
}

static pgy_model *chain_model(chain c)
{
    model_builder b = builder_start(17);
    char first[64];
    builder_input(&b, "x", PGY_F32, "N, 3");
    builder_floats(&b, label(&b, c.prefix, "w0"), "3, 4", NULL);
    builder_floats(&b, label(&b, c.prefix, "w1"), "4, 2", NULL);
    snprintf(first, sizeof first, "x %sw0", c.prefix);
    add_named(&b, &c, "MatMul", first, label(&b, c.prefix, "h0"), "mm0");
    if (c.inserted)
        add_named(&b, &c, "Tanh", label(&b, c.prefix, "h0"), label(&b, c.prefix, "t"), "tanh");
    add_named(&b, &c, c.operator_name, label(&b, c.prefix, c.inserted ? "t" : "h0"),
              label(&b, c.prefix, "a0"), "act");
    add_named(&b, &c, "MatMul", links(&b, c.prefix, "a0", "w1"), label(&b, c.prefix, "h1"), "mm1");
    add_named(&b, &c, "Softmax", label(&b, c.prefix, "h1"), "y", "sm");
    builder_output(&b, "y", PGY_F32, "N, 2");
    return builder_finish_bytes(&b);
}

static void test_diff__equal_models_have_no_differences(void **state)
{
    (void)state;
    const chain c = {"", true, false, "Relu"};
    pgy_diff *d = diff_with(chain_model(c), chain_model(c), (pgy_diff_options){.order = true});
    const pgy_diff_summary *s = pgy_diff_summarize(d);
    assert_int_equal(pgy_diff_count(d), 0);
    assert_int_equal(s->differences, 0);
    assert_int_equal(s->nodes_matched, 4);
    assert_int_equal(s->weights_equal, 2);
    assert_int_equal(s->weight_bytes_a, 80);
    pgy_diff_destroy(d);
}

static void test_diff__renamed_throughout_is_renamed(void **state)
{
    (void)state;
    expect(chain_model((chain){"", true, false, "Relu"}),
           chain_model((chain){"p_", true, false, "Relu"}),
           "node renamed mm0 > p_mm0\n"
           "node renamed act > p_act\n"
           "node renamed mm1 > p_mm1\n"
           "node renamed sm > p_sm\n"
           "tensor renamed h0 > p_h0\n"
           "tensor renamed a0 > p_a0\n"
           "tensor renamed h1 > p_h1\n"
           "weight renamed w0 > p_w0\n"
           "weight renamed w1 > p_w1\n");
    expect_with(chain_model((chain){"", true, false, "Relu"}),
                chain_model((chain){"p_", false, false, "Relu"}),
                (pgy_diff_options){.ignore_names = true}, "");
}

static void test_diff__inserted_node_is_added_and_its_user_rewired(void **state)
{
    (void)state;
    expect_with(chain_model((chain){"", false, false, "Relu"}),
                chain_model((chain){"q_", false, true, "Relu"}),
                (pgy_diff_options){.ignore_names = true},
                "node rewired (makes a0) > (makes q_a0) | input 0: h0 > q_t\n"
                "node added (makes q_t)\n");
    expect(chain_model((chain){"", true, true, "Relu"}),
           chain_model((chain){"", true, false, "Relu"}),
           "node removed tanh\n"
           "node rewired act | input 0: t > h0\n");
}

static void test_diff__operator_that_changed_in_place(void **state)
{
    (void)state;
    expect(chain_model((chain){"", true, false, "Relu"}),
           chain_model((chain){"", true, false, "Sigmoid"}),
           "node changed act | operator: Relu > Sigmoid\n");
    expect_with(chain_model((chain){"", false, false, "Relu"}),
                chain_model((chain){"p_", false, false, "Sigmoid"}),
                (pgy_diff_options){.ignore_names = true},
                "node changed (makes a0) > (makes p_a0) | operator: Relu > Sigmoid\n");
}

/* Numbered names: a node in front makes all names stand for their neighbours. */
static void test_diff__numbered_names_do_not_mislead(void **state)
{
    (void)state;
    pgy_model *models[2];
    for (int i = 0; i < 2; i++) {
        static const char *const OPS[] = {"Neg", "Relu", "Exp", "Relu", "Abs", "Relu"};
        model_builder b = builder_start(17);
        char in[32] = "x", out[32], name[32];
        builder_input(&b, "x", PGY_F32, "N");
        for (int k = 1 - i; k < 6; k++) {
            snprintf(out, sizeof out, k == 5 ? "y" : "t%d", k + i - 1);
            snprintf(name, sizeof name, "node_%d", k + i - 1);
            builder_node(&b, OPS[k], in, out)->name = pgy_model_strdup(b.model, name);
            memcpy(in, out, sizeof in);
        }
        builder_output(&b, "y", PGY_F32, "N");
        models[i] = builder_finish_bytes(&b);
    }
    expect_with(models[0], models[1], (pgy_diff_options){.ignore_names = true},
                "node rewired node_0 > node_1 | input 0: x > t0\n"
                "node added node_0\n");
}

static pgy_model *two_uses(bool swapped)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2");
    builder_input(&b, "z", PGY_F32, "2");
    builder_node(&b, "Relu", "x", "r")->name = "r";
    builder_node(&b, "Sub", swapped ? "z r" : "r z", "y")->name = "s";
    builder_output(&b, "y", PGY_F32, "2");
    return builder_finish_bytes(&b);
}

static void test_diff__rewired_inputs(void **state)
{
    (void)state;
    expect(two_uses(false), two_uses(true),
           "node rewired s | input 0: r > z\n"
           "node rewired s | input 1: z > r\n");
}

static pgy_model *interface_model(bool after)
{
    model_builder b = builder_start(after ? 18 : 17);
    if (after) builder_opset(&b, "com.example", 2);
    if (after) builder_input(&b, "mask", PGY_BOOL, "N");
    builder_input(&b, "x", after ? PGY_F16 : PGY_F32, "N, 3");
    pgy_onnx_node *n = builder_node(&b, "Softmax", "x", "y");
    n->name = "sm";
    builder_attr_int(&b, n, "axis", after ? 1 : -1);
    if (!after) builder_attr_float(&b, n, "scale", 0.5f);
    builder_output(&b, "y", PGY_F32, after ? "N, 4" : "N, 3");
    if (after) builder_output(&b, "x", PGY_F16, "N, 3");
    b.proto->producer_name = after ? "two" : "one";
    return builder_finish_bytes(&b);
}

static void test_diff__interfaces_attributes_and_versions(void **state)
{
    (void)state;
    expect(interface_model(false), interface_model(true),
           "opset changed  | ai.onnx: 17 > 18\n"
           "opset changed  | com.example: - > 2\n"
           "model changed  | producer_name: one > two\n"
           "input changed x | type: float32 ('N', 3) > float16 ('N', 3)\n"
           "input added mask\n"
           "output changed y | type: float32 ('N', 3) > float32 ('N', 4)\n"
           "output added x\n"
           "attribute changed sm | axis: -1 > 1\n"
           "attribute removed sm | scale: 0.5 > -\n");
    expect_with(interface_model(false), interface_model(true),
                (pgy_diff_options){.weights_only = true}, "");
}

static pgy_model *nested_model(float value, const char *op)
{
    model_builder b = builder_start(17);
    builder_input(&b, "c", PGY_BOOL, "");
    builder_input(&b, "x", PGY_F32, "1");
    builder_node(&b, "Neg", "x", "outer")->name = "neg";
    model_builder then_ = builder_subgraph(&b, "then"), else_ = builder_subgraph(&b, "else");
    builder_floats(&then_, "k", "1", &value);
    builder_node(&then_, "Mul", "outer k", "m")->name = "mul";
    builder_output(&then_, "m", PGY_F32, "1");
    builder_node(&else_, op, "outer", "e")->name = "act";
    builder_output(&else_, "e", PGY_F32, "1");
    pgy_onnx_node *n = builder_node(&b, "If", "c", "y");
    n->name = "choice";
    builder_attr_graph(&b, n, "then_branch", &then_);
    builder_attr_graph(&b, n, "else_branch", &else_);
    builder_output(&b, "y", PGY_F32, "1");
    return builder_finish_bytes(&b);
}

static void test_diff__subgraphs_with_their_paths(void **state)
{
    (void)state;
    expect(nested_model(1, "Relu"), nested_model(2, "Tanh"),
           "weight changed choice/then_branch: k | values: float32 (1,) > float32 (1,)\n"
           "node changed choice/else_branch: act | operator: Relu > Tanh\n");
}

static pgy_model *function_model(const char *op, const char *extra)
{
    model_builder b = builder_start(17);
    builder_opset(&b, "local", 1);
    model_builder f = builder_function(&b, "local", "Act", "a", "r", "");
    builder_node(&f, op, "a", "r")->name = "body";
    builder_end_function(&f);
    if (extra) {
        model_builder g = builder_function(&b, "local", extra, "a", "r", "");
        builder_node(&g, "Neg", "a", "r");
        builder_end_function(&g);
    }
    builder_input(&b, "x", PGY_F32, "1");
    builder_node(&b, "Act", "x", "y")->domain = "local";
    builder_output(&b, "y", PGY_F32, "1");
    return builder_finish_bytes(&b);
}

static void test_diff__functions(void **state)
{
    (void)state;
    expect(function_model("Relu", NULL), function_model("Tanh", "More"),
           "node changed Act: body | operator: Relu > Tanh\n"
           "function added More: More\n");
}

static pgy_model *ordered_model(bool other)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "1");
    if (other) builder_node(&b, "Neg", "x", "n")->name = "neg";
    builder_node(&b, "Exp", "x", "e")->name = "exp";
    builder_node(&b, "Abs", "x", "a")->name = "abs";
    if (!other) builder_node(&b, "Neg", "x", "n")->name = "neg";
    builder_output(&b, other ? "e" : "n", PGY_F32, "1");
    builder_output(&b, other ? "n" : "e", PGY_F32, "1");
    return builder_finish_bytes(&b);
}

static void test_diff__order_of_nodes_and_outputs(void **state)
{
    (void)state;
    expect(ordered_model(false), ordered_model(true), "output moved n: 0 > 1\n");
    expect_with(ordered_model(false), ordered_model(true), (pgy_diff_options){.order = true},
                "output moved n: 0 > 1\n"
                "node moved neg: 2 > 0\n");
}

/* Names that nobody defines, values that are made twice, circles. */
static pgy_model *broken_model(const char *op)
{
    model_builder b = builder_start(17);
    builder_node(&b, "Add", "nowhere loop", "a")->name = "add";
    builder_node(&b, op, "a", "loop")->name = "back";
    builder_node(&b, "Neg", "a", "a")->name = "twice";
    builder_output(&b, "missing", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static void test_diff__what_is_no_graph_is_compared(void **state)
{
    (void)state;
    expect(broken_model("Relu"), broken_model("Relu"), "");
    expect(broken_model("Relu"), broken_model("Exp"), "node changed back | operator: Relu > Exp\n");
}

/* Outputs, attributes and metadata that a file lists twice. */
static void test_diff__what_is_listed_twice_is_equal_to_itself(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "1");
    builder_input(&b, "x", PGY_F32, "1");
    pgy_onnx_node *n = builder_node(&b, "Softmax", "x", "y");
    builder_attr_int(&b, n, "axis", 0);
    builder_attr_int(&b, n, "axis", 1);
    builder_output(&b, "y", PGY_F32, "1");
    builder_output(&b, "y", PGY_F32, "1");
    pgy_model *m = builder_finish_bytes(&b);
    expect(pgy_model_retain(m), m, "");
}

/* ---- Weights --------------------------------------------------------------------------------- */

static pgy_model *weight_model(pgy_dtype dtype, size_t count, const void *data, bool constant)
{
    model_builder b = builder_start(21);
    const int64_t shape[] = {(int64_t)count};
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_tensor_create(&t, dtype, 1, shape, NULL), PGY_OK);
    memcpy(pgy_tensor_data(t), data, pgy_tensor_size_bytes(t));
    builder_input(&b, "x", dtype, NULL);
    if (constant)
        builder_attr_tensor(&b, builder_node(&b, "Constant", "", "w"), "value", t);
    else
        builder_initializer(&b, "w", t);
    builder_node(&b, "Add", "x w", "y")->name = "add";
    builder_output(&b, "y", dtype, NULL);
    pgy_tensor_release(t);
    return builder_finish_bytes(&b);
}

static void test_diff__numbers_of_a_changed_weight(void **state)
{
    (void)state;
    const float a[] = {1, 2, -4, 0, NAN, NAN, INFINITY, -0.0f};
    const float b[] = {1, 2.5f, -3, 1, NAN, 7, INFINITY, 0};
    pgy_diff *d = diff_with(weight_model(PGY_F32, 8, a, false), weight_model(PGY_F32, 8, b, false),
                            (pgy_diff_options){0});
    assert_int_equal(pgy_diff_count(d), 1);
    const pgy_weight_change *c = pgy_diff_at(d, 0)->weight;
    assert_true(c->compared);
    assert_int_equal(c->count, 8);
    assert_int_equal(c->changed, 4);
    assert_int_equal(c->nan_a, 2);
    assert_int_equal(c->nan_b, 1);
    assert_true(c->max_abs == 1 && c->max_index == 2 && c->max_rel == 0.25);
    assert_true(fabs(c->mean_abs - 2.5 / 8) < 1e-12 && fabs(c->rms - sqrt(2.25 / 8)) < 1e-12);
    pgy_diff_destroy(d);
}

/* Golden: NumPy, x = arange(70000) * 0.5 - 3, y = x with y[::1000] += 0.125 */
static void test_diff__sums_over_many_blocks(void **state)
{
    (void)state;
    enum { COUNT = 700000 };
    float *a = malloc(COUNT * sizeof *a), *b = malloc(COUNT * sizeof *b);
    assert_true(a && b);
    double square = 0, dot = 0, other = 0;
    for (size_t i = 0; i < COUNT; i++) {
        a[i] = (float)(i % 1000) * 0.5f - 3;
        b[i] = a[i] + (i % 200000 == 1000 ? 0.125f : 0);
        square += (double)a[i] * a[i];
        dot += (double)a[i] * b[i];
        other += (double)b[i] * b[i];
    }
    pgy_diff *d = diff_with(weight_model(PGY_F32, COUNT, a, false),
                            weight_model(PGY_F32, COUNT, b, false), (pgy_diff_options){0});
    const pgy_weight_change *c = pgy_diff_at(d, 0)->weight;
    assert_int_equal(c->changed, 4);
    assert_int_equal(c->max_index, 1000);
    assert_true(c->max_abs == 0.125);
    assert_true(fabs(c->rms - sqrt(4 * 0.015625 / COUNT)) < 1e-15);
    assert_true(fabs(c->cosine - dot / (sqrt(square) * sqrt(other))) < 1e-12);
    assert_true(fabs(c->snr_db - 10 * log10(square / (4 * 0.015625))) < 1e-9);
    pgy_diff_destroy(d);
    free(a);
    free(b);
}

/* Two weights, in one order or the other: of nodes, or of what they hold. */
static pgy_model *two_weights(bool swap_uses, bool swap_names)
{
    static const float ONE[] = {1, 2}, TWO[] = {3, 4};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2");
    builder_floats(&b, swap_names ? "w2" : "w1", "2", ONE);
    builder_floats(&b, swap_names ? "w1" : "w2", "2", TWO);
    builder_node(&b, "Add", swap_uses != swap_names ? "x w2" : "x w1", "h")->name = "first";
    builder_node(&b, "Mul", swap_uses != swap_names ? "h w1" : "h w2", "y")->name = "second";
    builder_output(&b, "y", PGY_F32, "2");
    return builder_finish_bytes(&b);
}

static void test_diff__exchanged_weights(void **state)
{
    (void)state;
    expect(two_weights(false, false), two_weights(true, false),
           "node rewired first | input 1: w1 > w2\n"
           "node rewired second | input 1: w2 > w1\n");
    expect(two_weights(false, false), two_weights(false, true),
           "weight renamed w1 > w2\n"
           "weight renamed w2 > w1\n");
}

static void test_diff__tolerance(void **state)
{
    (void)state;
    const float a[] = {1, 100}, b[] = {1.25f, 101};
    expect_with(weight_model(PGY_F32, 2, a, false), weight_model(PGY_F32, 2, b, false),
                (pgy_diff_options){.atol = 0.25, .rtol = 0.01}, "");
    expect_with(weight_model(PGY_F32, 2, a, false), weight_model(PGY_F32, 2, b, false),
                (pgy_diff_options){.atol = 0.25},
                "weight changed w | values: float32 (2,) > float32 (2,)\n");
    pgy_error err = {0};
    pgy_diff *d = NULL;
    pgy_model *m = weight_model(PGY_F32, 2, a, false);
    const pgy_diff_options bad = {.size = sizeof bad, .rtol = -1};
    assert_int_equal(pgy_diff_create(&d, m, m, &bad, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "-1"));
    pgy_model_destroy(m);
}

static void test_diff__other_types_are_compared_by_value(void **state)
{
    (void)state;
    const float a[] = {1, -2, 0.5f};
    const uint16_t half[] = {0x3c00, 0xc000, 0x3800}, other[] = {0x3c00, 0xc000, 0x3900};
    pgy_diff *d =
        diff_with(weight_model(PGY_F32, 3, a, false), weight_model(PGY_F16, 3, half, false),
                  (pgy_diff_options){.weights_only = true});
    assert_int_equal(pgy_diff_count(d), 1);
    assert_string_equal(pgy_diff_at(d, 0)->field, "type");
    assert_int_equal(pgy_diff_at(d, 0)->weight->changed, 0);
    pgy_diff_destroy(d);
    d = diff_with(weight_model(PGY_F32, 3, a, false), weight_model(PGY_F16, 3, other, false),
                  (pgy_diff_options){.weights_only = true});
    assert_int_equal(pgy_diff_at(d, 0)->weight->changed, 1);
    assert_true(pgy_diff_at(d, 0)->weight->max_abs == 0.125);
    pgy_diff_destroy(d);
}

static void test_diff__integers_beyond_float64(void **state)
{
    (void)state;
    const int64_t a[] = {INT64_C(9007199254740993), 5}, b[] = {INT64_C(9007199254740992), 5};
    pgy_diff *d = diff_with(weight_model(PGY_I64, 2, a, false), weight_model(PGY_I64, 2, b, false),
                            (pgy_diff_options){0});
    assert_int_equal(pgy_diff_count(d), 1);
    assert_int_equal(pgy_diff_at(d, 0)->weight->changed, 1);
    assert_true(pgy_diff_at(d, 0)->weight->max_abs == 1);
    pgy_diff_destroy(d);
}

static void test_diff__narrow_types(void **state)
{
    (void)state;
    const uint8_t a[] = {0x21, 0x03}, b[] = {0x21, 0x0f};
    pgy_diff *d = diff_with(weight_model(PGY_I4, 3, a, false), weight_model(PGY_I4, 3, b, false),
                            (pgy_diff_options){0});
    assert_int_equal(pgy_diff_at(d, 0)->weight->changed, 1);
    assert_int_equal(pgy_diff_at(d, 0)->weight->max_index, 2);
    assert_true(pgy_diff_at(d, 0)->weight->max_abs == 4);
    pgy_diff_destroy(d);
}

static void test_diff__constants_and_initializers_are_one_thing(void **state)
{
    (void)state;
    const float a[] = {1, 2}, b[] = {1, 3};
    expect(weight_model(PGY_F32, 2, a, true), weight_model(PGY_F32, 2, a, false),
           "weight stored differently w: Constant node > initializer\n");
    expect(weight_model(PGY_F32, 2, a, true), weight_model(PGY_F32, 2, b, false),
           "weight changed w | values: float32 (2,) > float32 (2,)\n");
    pgy_diff *d = diff_with(weight_model(PGY_F32, 2, a, true), weight_model(PGY_F32, 2, a, false),
                            (pgy_diff_options){0});
    assert_int_equal(pgy_diff_summarize(d)->differences, 0);
    pgy_diff_destroy(d);
}

/* float_data in one model, raw_data in the other. */
static pgy_model *typed_model(const float *values, size_t count)
{
    model_builder b = builder_start(17);
    int64_t *dims = pgy_model_alloc(b.model, 1, sizeof *dims);
    float *copy = pgy_model_alloc(b.model, count, sizeof *copy);
    pgy_onnx_tensor *t = pgy_model_alloc(b.model, 1, sizeof *t);
    pgy_onnx_tensor **list = pgy_model_alloc(b.model, 1, sizeof *list);
    assert_true(dims && copy && t && list);
    memcpy(copy, values, count * sizeof *copy);
    dims[0] = (int64_t)count;
    *t = (pgy_onnx_tensor){.dims = dims,
                           .dim_count = 1,
                           .data_type = 1,
                           .name = "w",
                           .float_data = {copy, count * sizeof *copy}};
    list[0] = t;
    builder_input(&b, "x", PGY_F32, NULL);
    b.graph->initializers = list;
    b.graph->initializer_count = 1;
    builder_node(&b, "Add", "x w", "y")->name = "add";
    builder_output(&b, "y", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static void test_diff__storage_form_is_no_difference(void **state)
{
    (void)state;
    const float a[] = {1, 2, 3};
    expect(typed_model(a, 3), weight_model(PGY_F32, 3, a, false),
           "opset changed  | ai.onnx: 17 > 21\n"
           "weight stored differently w: typed > raw\n");
}

/* The same place of the same file needs no reading. */
static void test_diff__shared_files_are_equal_without_reading(void **state)
{
    (void)state;
    pgy_model *a = NULL, *b = NULL;
    const char *path = TEST_SOURCE_DIR "/tests/data/onnx/external.onnx";
    assert_int_equal(pgy_model_load(&a, path, NULL, NULL), PGY_OK);
    assert_int_equal(pgy_model_load(&b, path, NULL, NULL), PGY_OK);
    pgy_diff *d = diff_with(a, b, (pgy_diff_options){0});
    const pgy_diff_summary *s = pgy_diff_summarize(d);
    assert_int_equal(s->differences, 0);
    assert_true(s->weights_equal > 0 && s->bytes_shared > 0);
    assert_int_equal(s->bytes_read, 0);
    pgy_diff_destroy(d);
}

static void test_diff__structure_only_reads_no_values(void **state)
{
    (void)state;
    const float a[] = {1, 2}, b[] = {1, 3, 4};
    expect_with(weight_model(PGY_F32, 2, a, false), weight_model(PGY_F32, 2, b, false),
                (pgy_diff_options){.structure_only = true}, "");
    expect_with(weight_model(PGY_F32, 2, a, false), weight_model(PGY_F32, 3, b, false),
                (pgy_diff_options){.structure_only = true},
                "weight changed w | shape: float32 (2,) > float32 (3,)\n");
}
