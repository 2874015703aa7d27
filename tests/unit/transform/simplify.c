/* SPDX-License-Identifier: Apache-2.0 */
/* Simplification: what is recognised at which opset, what measuring refuses, what is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <polygraphy/graph.h>
#include <polygraphy/simplify.h>

#include "harness/model_builder.h"

/* ---- Helpers -------------------------------------------------------------------------------- */

typedef struct feeder {
    size_t given[4];  /* per set */
    int64_t first[4]; /* size of axis 0 of input 0 */
    size_t maps;      /* to give per set */
    double low, high;
} feeder;

static pgy_tensor *make_input(const pgy_tensor_info *info, const feeder *f, size_t seed)
{
    pgy_tensor *wide = NULL, *t = NULL;
    assert_int_equal(pgy_tensor_create(&wide, PGY_F64, (size_t)info->rank, info->shape, NULL), 0);
    double *x = pgy_tensor_data(wide);
    for (size_t i = 0; i < pgy_tensor_count(wide); i++)
        x[i] = f->low + (f->high - f->low) * (0.5 + 0.5 * sin((double)(i * 7 + seed + 1)));
    assert_int_equal(pgy_tensor_cast(&t, pgy_tensor_view(wide), info->dtype, NULL), 0);
    pgy_tensor_release(wide);
    return t;
}

static pgy_status sample(pgy_tensor_map **out, const pgy_metadata *inputs, size_t set, void *user,
                         pgy_error *err)
{
    feeder *f = user;
    *out = NULL;
    assert_true(set < 4);
    f->first[set] = pgy_metadata_at(inputs, 0)->shape[0];
    if (f->given[set]++ >= f->maps) return PGY_OK;
    assert_int_equal(pgy_tensor_map_create(out, err), 0);
    for (size_t i = 0; i < pgy_metadata_count(inputs); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(inputs, i);
        assert_int_equal(
            pgy_tensor_map_adopt(*out, info->name, make_input(info, f, i + f->given[set]), err), 0);
    }
    return PGY_OK;
}

typedef struct result {
    pgy_model *model;
    pgy_simplify_report *report;
    feeder f;
    char nodes[512];
} result;

static void list_nodes(result *r)
{
    pgy_graph *g = NULL;
    assert_int_equal(pgy_graph_import(&g, r->model, NULL), 0);
    size_t n = 0;
    r->nodes[0] = 0;
    for (size_t i = 0; i < g->node_count; i++)
        n += (size_t)snprintf(r->nodes + n, sizeof r->nodes - n, i ? " %s" : "%s",
                              g->nodes[i]->op_type);
    pgy_graph_destroy(g);
}

static result simplify_model(pgy_model *model, pgy_simplify_options o)
{
    pgy_error err = {0};
    result r = {.f = {.maps = 1, .low = -2, .high = 2}};
    if (!o.sample) {
        o.sample = sample;
        o.user = &r.f;
    }
    if (pgy_model_simplify(&r.model, model, &o, &r.report, &err)) fail_msg("%s", err.text);
    list_nodes(&r);
    return r;
}

static result simplify(model_builder *b, pgy_simplify_options o)
{
    pgy_model *model = builder_finish_bytes(b);
    result r = simplify_model(model, o);
    pgy_model_destroy(model);
    return r;
}

static void end(result *r)
{
    pgy_simplify_report_destroy(r->report);
    pgy_model_destroy(r->model);
}

/* The nodes that are left; everything was measured and nothing refused, and a second run finds
 * nothing to do. */
static void expect(model_builder *b, const char *nodes)
{
    result r = simplify(b, pgy_simplify_options_default());
    assert_string_equal(r.nodes, nodes);
    assert_true(r.report->checked && r.report->passed);
    assert_int_equal(r.report->refusal_count, 0);
    result again = simplify_model(r.model, pgy_simplify_options_default());
    assert_int_equal(again.report->change_count, 0);
    assert_string_equal(again.nodes, nodes);
    end(&again);
    end(&r);
}

/* Not a rewrite. */
static void expect_same(model_builder *b, const char *nodes)
{
    result r = simplify(b, pgy_simplify_options_default());
    assert_string_equal(r.nodes, nodes);
    assert_int_equal(r.report->change_count, 0);
    end(&r);
}

static void number(model_builder *b, const char *name, double x, pgy_dtype dtype)
{
    pgy_tensor *wide = NULL, *t = NULL;
    assert_int_equal(pgy_tensor_create(&wide, PGY_F64, 0, NULL, NULL), 0);
    *(double *)pgy_tensor_data(wide) = x;
    assert_int_equal(pgy_tensor_cast(&t, pgy_tensor_view(wide), dtype, NULL), 0);
    builder_initializer(b, name, t);
    pgy_tensor_release(t);
    pgy_tensor_release(wide);
}

static model_builder begin(int64_t opset, pgy_dtype dtype, const char *shape)
{
    model_builder b = builder_start(opset);
    builder_input(&b, "x", dtype, shape);
    builder_output(&b, "y", dtype, shape);
    return b;
}

/* ---- Normalisations ------------------------------------------------------------------------- */

static model_builder layer_norm(int64_t opset, pgy_dtype dtype, double epsilon)
{
    model_builder b = begin(opset, dtype, "2, 3, 8");
    number(&b, "two", 2, dtype);
    number(&b, "epsilon", epsilon, dtype);
    const char *const means[][2] = {{"x", "mean"}, {"square", "variance"}};
    for (size_t i = 0; i < 2; i++) {
        if (i) {
            builder_node(&b, "Sub", "x mean", "d");
            builder_node(&b, "Pow", "d two", "square");
        }
        builder_attr_ints(&b, builder_node(&b, "ReduceMean", means[i][0], means[i][1]), "axes", 1,
                          (const int64_t[]){-1});
    }
    builder_node(&b, "Add", "variance epsilon", "s");
    builder_node(&b, "Sqrt", "s", "root");
    builder_node(&b, "Div", "d root", dtype == PGY_F32 ? "q" : "y");
    if (dtype != PGY_F32) return b;
    builder_floats(&b, "scale", "8", NULL);
    builder_floats(&b, "shift", "8", NULL);
    builder_node(&b, "Mul", "q scale", "m");
    builder_node(&b, "Add", "m shift", "y");
    return b;
}

static void test_simplify__layer_norm_is_recognised_where_the_opset_has_it(void **state)
{
    (void)state;
    model_builder b = layer_norm(17, PGY_F32, 1e-5);
    result r = simplify(&b, pgy_simplify_options_default());
    assert_string_equal(r.nodes, "LayerNormalization");
    assert_int_equal(r.report->nodes_before, 9);
    assert_int_equal(r.report->nodes_after, 1);
    assert_int_equal(r.report->change_count, 1);
    const pgy_simplify_change *c = &r.report->changes[0];
    assert_string_equal(c->rule, "layer_norm");
    assert_string_equal(c->op_type, "LayerNormalization");
    assert_string_equal(c->output, "y");
    assert_true(c->replaced >= 7 && c->replaced <= 9);
    assert_true(c->error >= 0 && c->error < 1);
    assert_int_equal(r.report->output_count, 1);
    assert_string_equal(r.report->outputs[0].name, "y");
    end(&r);
    b = layer_norm(16, PGY_F32, 1e-5);
    expect_same(&b, "ReduceMean Sub Pow ReduceMean Add Sqrt Div Add");
}

/* The attribute epsilon is a float32: 1e-5 in a float64 model is another number. */
static void test_simplify__what_changes_beyond_rounding_is_taken_back(void **state)
{
    (void)state;
    model_builder b = layer_norm(17, PGY_F64, 1e-5);
    result r = simplify(&b, pgy_simplify_options_default());
    assert_string_equal(r.nodes, "ReduceMean Sub Pow ReduceMean Add Sqrt Div");
    assert_int_equal(r.report->change_count, 0);
    assert_int_equal(r.report->refusal_count, 1);
    const pgy_simplify_refusal *f = &r.report->refusals[0];
    assert_string_equal(f->rule, "layer_norm");
    assert_string_equal(f->node, "y");
    assert_true(f->error > PGY_SIMPLIFY_REWRITE_UNITS);
    assert_non_null(strstr(f->reason, "units"));
    assert_true(r.report->passed);
    end(&r);
    b = layer_norm(17, PGY_F64, 0x1p-17); /* a float32 too */
    expect(&b, "LayerNormalization");
}

static void test_simplify__an_unchecked_run_keeps_it_and_says_so(void **state)
{
    (void)state;
    model_builder b = layer_norm(17, PGY_F64, 1e-5);
    pgy_simplify_options o = pgy_simplify_options_default();
    o.no_check = true;
    result r = simplify(&b, o);
    assert_string_equal(r.nodes, "LayerNormalization");
    assert_false(r.report->checked);
    assert_non_null(r.report->unchecked);
    assert_true(r.report->changes[0].error < 0);
    end(&r);
}

static void test_simplify__rms_norm(void **state)
{
    (void)state;
    model_builder b = begin(23, PGY_F32, "2, 3, 8");
    number(&b, "epsilon", 1e-6, PGY_F32);
    builder_ints(&b, "axes", "1", (const int64_t[]){2});
    builder_floats(&b, "scale", "8", NULL);
    builder_node(&b, "Mul", "x x", "square");
    builder_node(&b, "ReduceMean", "square axes", "mean");
    builder_node(&b, "Add", "mean epsilon", "s");
    builder_node(&b, "Sqrt", "s", "root");
    builder_node(&b, "Reciprocal", "root", "inverse");
    builder_node(&b, "Mul", "x inverse", "q");
    builder_node(&b, "Mul", "scale q", "y");
    expect(&b, "RMSNormalization");
}

/* A model of steps "operator:inputs:output", with the constants that norms and Gelu have. */
static model_builder steps(const char *text)
{
    static const float GAIN[] = {1, -2, 3, 0.5f, 5, 6, -7, 0.25f};
    static const struct {
        const char *name;
        double value;
    } NUMBERS[] = {{"epsilon", 1e-5},
                   {"eight", 8},
                   {"eighth", 0.125},
                   {"zero", 0},
                   {"one", 1},
                   {"half", 0.5},
                   {"root_half", 0.70710678118654752},
                   {"minus", -0.70710678118654752},
                   {"cubic", 0.044715},
                   {"three", 3},
                   {"two_roots", 1.5957691216057308},
                   {"root", 0.79788456080286536}};
    model_builder b = begin(23, PGY_F32, "2, 3, 8");
    char copy[512], *at = copy;
    for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++)
        number(&b, NUMBERS[i].name, NUMBERS[i].value, PGY_F32);
    builder_ints(&b, "axes", "1", (const int64_t[]){-1});
    builder_floats(&b, "gain", "8", GAIN);
    builder_floats(&b, "shift", "8", GAIN);
    assert_true((size_t)snprintf(copy, sizeof copy, "%s", text) < sizeof copy);
    while (*at) {
        char *inputs = strchr(at, ':'), *output = strchr(inputs + 1, ':');
        char *end_of = output + 1 + strcspn(output + 1, ";");
        const bool more = *end_of != 0;
        *inputs = *output = *end_of = 0;
        const bool flat = at[0] == '-'; /* a reduction that drops its axis */
        pgy_onnx_node *n = builder_node(&b, at + flat, inputs + 1, output + 1);
        if (flat) builder_attr_int(&b, n, "keepdims", 0);
        at = end_of + more;
        while (*at == ' ') at++;
    }
    return b;
}

#define CENTRE "ReduceMean:x axes:m; Sub:x m:d; "
#define SPREAD CENTRE "Mul:d d:s; ReduceMean:s axes:v; "
#define ROOT "Add:v epsilon:e; Sqrt:e:r; "

static void test_simplify__layer_norm_in_other_forms(void **state)
{
    (void)state;
    static const char *const FORMS[] = {
        /* scale and shift go to both sides of the difference */
        SPREAD ROOT "Reciprocal:r:i; Mul:i gain:w; Mul:x w:a; Mul:m w:b; Sub:shift b:c; Add:a c:y",
        SPREAD ROOT "Reciprocal:r:w; Mul:x w:a; Mul:m w:b; Sub:a b:c; Mul:c gain:g; Add:g shift:y",
        SPREAD ROOT "Div:gain r:w; Neg:m:k; Mul:w x:a; Mul:k w:b; Add:b shift:c; Add:c a:y",
        /* the scale comes before the quotient, or is a part of it */
        SPREAD ROOT "Mul:gain d:g; Div:g r:q; Add:q shift:y",
        SPREAD ROOT "Div:gain r:w; Mul:d w:q; Add:q shift:y",
        SPREAD ROOT "Reciprocal:r:i; Mul:i gain:w; Mul:w d:q; Add:q shift:y",
        /* means as sums */
        CENTRE "ReduceSumSquare:d axes:s; Div:s eight:v; " ROOT
               "Div:d r:q; Mul:q gain:g; Add:g shift:y",
        "ReduceSum:x axes:t; Mul:t eighth:m; Sub:x m:d; Mul:d d:s; ReduceSum:s axes:u; "
        "Div:u eight:v; " ROOT "Div:d r:q; Mul:q gain:g; Add:g shift:y",
        "-ReduceMean:x axes:t; Unsqueeze:t axes:m; Sub:x m:d; Mul:d d:s; -ReduceMean:s axes:u; "
        "Unsqueeze:u axes:v; " ROOT "Div:d r:q; Mul:q gain:g; Add:g shift:y",
        /* the mean of squares less the square of the mean */
        CENTRE "Mul:x x:s; ReduceMean:s axes:u; Mul:m m:k; Sub:u k:t; Max:t zero:v; " ROOT
               "Div:d r:q; Mul:q gain:g; Add:g shift:y",
    };
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++) {
        model_builder b = steps(FORMS[i]);
        expect(&b, "LayerNormalization");
    }
    /* Another mean is subtracted than the variance is of. */
    model_builder b = steps(SPREAD ROOT "ReduceSum:x axes:t; Sub:x t:f; Div:f r:y");
    expect_same(&b, "ReduceMean Sub Mul ReduceMean Add Sqrt ReduceSum Sub Div");
    /* A sum that is no mean. */
    b = steps(CENTRE "ReduceSumSquare:d axes:v; " ROOT "Div:d r:y");
    expect_same(&b, "ReduceMean Sub ReduceSumSquare Add Sqrt Div");
}

static void test_simplify__rms_norm_in_other_forms(void **state)
{
    (void)state;
    static const char *const FORMS[] = {
        "Mul:x x:s; ReduceMean:s axes:v; " ROOT "Reciprocal:r:i; Mul:gain i:w; Mul:x w:y",
        "Mul:x x:s; ReduceMean:s axes:v; " ROOT "Reciprocal:r:i; Mul:x gain:g; Mul:g i:y",
        "ReduceSumSquare:x axes:s; Div:s eight:v; " ROOT "Div:x r:q; Mul:q gain:y",
        "Mul:x x:s; ReduceSum:s axes:u; Mul:u eighth:v; " ROOT "Div:x r:q; Mul:q gain:y",
    };
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++) {
        model_builder b = steps(FORMS[i]);
        expect(&b, "RMSNormalization");
    }
}

static void test_simplify__gelu_in_other_forms(void **state)
{
    (void)state;
    static const char *const FORMS[] = {
        "Mul:x half:h; Mul:x root_half:a; Erf:a:e; Mul:h e:f; Add:h f:y",
        "Mul:x minus:a; Erf:a:e; Sub:one e:o; Mul:x o:f; Mul:f half:y",
        ("Pow:x three:c; Mul:c cubic:k; Add:x k:a; Mul:a root:u; Tanh:u:t; Mul:x half:h; "
         "Mul:h t:f; Add:h f:y"),
        "Pow:x three:c; Mul:c cubic:k; Add:x k:a; Mul:a two_roots:u; Sigmoid:u:t; Mul:x t:y",
    };
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++) {
        model_builder b = steps(FORMS[i]);
        expect(&b, "Gelu");
    }
    model_builder b = steps("Mul:x minus:a; Erf:a:e; Add:one e:o; Mul:x o:f; Mul:f half:y");
    expect_same(&b, "Mul Erf Add Mul Mul");
}

/* In a model of 16 bits they are computed in float32, as the operators do it. */
static void test_simplify__norms_of_16_bits(void **state)
{
    (void)state;
    for (size_t centred = 0; centred < 2; centred++) {
        model_builder b = begin(23, PGY_F16, "2, 3, 8");
        number(&b, "epsilon", 1e-6, PGY_F32);
        number(&b, "factor", 0.5, PGY_F16);
        builder_ints(&b, "axes", "1", (const int64_t[]){2});
        builder_ints(&b, "row", "1", (const int64_t[]){8});
        builder_node(&b, "Expand", "factor row", "scale");
        builder_attr_int(&b, builder_node(&b, "Cast", "x", "w"), "to", 1);
        if (centred) {
            builder_node(&b, "ReduceMean", "w axes", "m");
            builder_node(&b, "Sub", "w m", "d");
        }
        builder_node(&b, "Mul", centred ? "d d" : "w w", "square");
        builder_node(&b, "ReduceMean", "square axes", "mean");
        builder_node(&b, "Add", "mean epsilon", "s");
        builder_node(&b, "Sqrt", "s", "root");
        builder_node(&b, "Div", centred ? "d root" : "w root", "q");
        builder_attr_int(&b, builder_node(&b, "Cast", "q", "n"), "to", 10);
        builder_node(&b, "Mul", "n scale", "y");
        expect(&b, centred ? "LayerNormalization" : "RMSNormalization");
    }
}

static model_builder group_norm(int64_t opset)
{
    model_builder b = begin(opset, PGY_F32, "2, 6, 4, 5");
    const float zeros[6] = {0}, scale[] = {1, 2, 3, 4, 5, 6};
    builder_ints(&b, "cut", "3", (const int64_t[]){0, 3, -1});
    builder_ints(&b, "whole", "4", (const int64_t[]){2, 6, 4, 5});
    builder_floats(&b, "ones", "3", NULL);
    builder_floats(&b, "zeros", "3", zeros);
    builder_floats(&b, "scale", "6, 1, 1", scale);
    builder_floats(&b, "shift", "6, 1, 1", scale);
    builder_node(&b, "Reshape", "x cut", "groups");
    builder_node(&b, "InstanceNormalization", "groups ones zeros", "n");
    builder_node(&b, "Reshape", "n whole", "r");
    builder_node(&b, "Mul", "r scale", "m");
    builder_node(&b, "Add", "m shift", "y");
    return b;
}

/* What follows looks at the result in another shape. */
static void test_simplify__group_norm_in_another_shape(void **state)
{
    (void)state;
    model_builder b = builder_start(21);
    const float zeros[3] = {0};
    builder_input(&b, "x", PGY_F32, "2, 6, 4, 5");
    builder_output(&b, "y", PGY_F32, "2, 6, 20");
    builder_ints(&b, "cut", "3", (const int64_t[]){0, 3, -1});
    builder_ints(&b, "whole", "3", (const int64_t[]){0, 6, 20});
    builder_floats(&b, "ones", "3", NULL);
    builder_floats(&b, "zeros", "3", zeros);
    builder_node(&b, "Reshape", "x cut", "groups");
    builder_node(&b, "InstanceNormalization", "groups ones zeros", "n");
    builder_node(&b, "Reshape", "n whole", "y");
    expect(&b, "GroupNormalization Reshape");
}

/* In opset 18 its scale is one per group: another operator. */
/* Step by step, and with a LayerNormalization of ones. */
static void test_simplify__group_norm_in_other_forms(void **state)
{
    (void)state;
    for (int written_out = 0; written_out < 2; written_out++) {
        model_builder b = begin(21, PGY_F32, "2, 6, 4, 5");
        const float scale[] = {1, 2, 3, 4, 5, 6};
        builder_ints(&b, "cut", "3", (const int64_t[]){0, 3, -1});
        builder_ints(&b, "whole", "4", (const int64_t[]){2, 6, 4, 5});
        builder_ints(&b, "axes", "1", (const int64_t[]){-1});
        number(&b, "epsilon", 1e-5, PGY_F32);
        builder_floats(&b, "ones", "40", NULL);
        builder_floats(&b, "scale", "6, 1, 1", scale);
        builder_floats(&b, "shift", "6, 1, 1", scale);
        builder_node(&b, "Reshape", "x cut", "g");
        if (written_out) {
            builder_node(&b, "ReduceMean", "g axes", "mean");
            builder_node(&b, "Sub", "g mean", "d");
            builder_node(&b, "Mul", "d d", "square");
            builder_node(&b, "ReduceMean", "square axes", "v");
            builder_node(&b, "Add", "v epsilon", "e");
            builder_node(&b, "Sqrt", "e", "root");
            builder_node(&b, "Div", "d root", "n");
        } else {
            builder_node(&b, "LayerNormalization", "g ones", "n");
        }
        builder_node(&b, "Reshape", "n whole", "r");
        builder_node(&b, "Mul", "r scale", "m");
        builder_node(&b, "Add", "m shift", "y");
        expect(&b, "GroupNormalization");
    }
}

static void test_simplify__group_norm_needs_scales_of_channels(void **state)
{
    (void)state;
    model_builder b = group_norm(21);
    expect(&b, "GroupNormalization");
    b = group_norm(20);
    expect_same(&b, "Reshape InstanceNormalization Reshape Mul Add");
}

/* ---- Activations ---------------------------------------------------------------------------- */

static model_builder gelu(int64_t opset)
{
    model_builder b = begin(opset, PGY_F32, "2, 8");
    number(&b, "root", 1.4142135381698608, PGY_F32);
    number(&b, "one", 1, PGY_F32);
    number(&b, "half", 0.5, PGY_F32);
    builder_node(&b, "Div", "x root", "d");
    builder_node(&b, "Erf", "d", "e");
    builder_node(&b, "Add", "e one", "a");
    builder_node(&b, "Mul", "x a", "m");
    builder_node(&b, "Mul", "m half", "y");
    return b;
}

static void test_simplify__gelu_with_erf(void **state)
{
    (void)state;
    model_builder b = gelu(20);
    expect(&b, "Gelu");
    b = gelu(19);
    expect_same(&b, "Div Erf Add Mul Mul");
}

static void test_simplify__gelu_with_tanh(void **state)
{
    (void)state;
    model_builder b = begin(20, PGY_F32, "2, 8");
    number(&b, "three", 3, PGY_F32);
    number(&b, "cubic", 0.044715, PGY_F32);
    number(&b, "root", 0.7978845608028654, PGY_F32);
    number(&b, "one", 1, PGY_F32);
    number(&b, "half", 0.5, PGY_F32);
    builder_node(&b, "Pow", "x three", "p");
    builder_node(&b, "Mul", "p cubic", "c");
    builder_node(&b, "Add", "x c", "s");
    builder_node(&b, "Mul", "s root", "u");
    builder_node(&b, "Tanh", "u", "t");
    builder_node(&b, "Add", "t one", "a");
    builder_node(&b, "Mul", "x half", "h");
    builder_node(&b, "Mul", "h a", "y");
    result r = simplify(&b, pgy_simplify_options_default());
    assert_string_equal(r.nodes, "Gelu");
    pgy_graph *g = NULL;
    assert_int_equal(pgy_graph_import(&g, r.model, NULL), 0);
    assert_int_equal(g->nodes[0]->attribute_count, 1);
    assert_memory_equal(g->nodes[0]->attributes[0]->s.data, "tanh", 4);
    pgy_graph_destroy(g);
    end(&r);
}

static void test_simplify__a_value_that_others_use_stays(void **state)
{
    (void)state;
    model_builder b = gelu(20);
    builder_output(&b, "e", PGY_F32, "2, 8");
    expect_same(&b, "Div Erf Add Mul Mul");
}

static void test_simplify__opset_is_raised_on_request(void **state)
{
    (void)state;
    model_builder b = gelu(17);
    pgy_simplify_options o = pgy_simplify_options_default();
    o.opset = 20;
    result r = simplify(&b, o);
    assert_string_equal(r.nodes, "Gelu");
    end(&r);
}

static void test_simplify__swish_and_its_kin(void **state)
{
    (void)state;
    model_builder b = begin(24, PGY_F32, "2, 8");
    builder_node(&b, "Sigmoid", "x", "s");
    builder_node(&b, "Mul", "x s", "y");
    expect(&b, "Swish");
    b = begin(23, PGY_F32, "2, 8");
    builder_node(&b, "Sigmoid", "x", "s");
    builder_node(&b, "Mul", "x s", "y");
    expect_same(&b, "Sigmoid Mul");
    b = begin(14, PGY_F32, "2, 8");
    number(&b, "three", 3, PGY_F32);
    number(&b, "low", 0, PGY_F32);
    number(&b, "six", 6, PGY_F32);
    builder_node(&b, "Add", "x three", "a");
    builder_node(&b, "Clip", "a low six", "c");
    builder_node(&b, "Mul", "x c", "m");
    builder_node(&b, "Div", "m six", "y");
    expect(&b, "HardSwish");
}

/* exp(x) is not finite where Softplus is; that is no loss. Mish stands on it. */
static void test_simplify__softplus_then_mish(void **state)
{
    (void)state;
    for (int64_t opset = 17; opset <= 18; opset++) {
        model_builder b = begin(opset, PGY_F32, "2, 8");
        number(&b, "one", 1, PGY_F32);
        builder_node(&b, "Exp", "x", "e");
        builder_node(&b, "Add", "e one", "a");
        builder_node(&b, "Log", "a", "l");
        builder_node(&b, "Tanh", "l", "t");
        builder_node(&b, "Mul", "x t", "y");
        expect(&b, opset < 18 ? "Softplus Tanh Mul" : "Mish");
    }
}

static void test_simplify__clip_of_numbers_in_order(void **state)
{
    (void)state;
    const double pairs[][2] = {{-1, 1}, {1, -1}};
    for (size_t i = 0; i < 2; i++) {
        model_builder b = begin(17, PGY_F32, "2, 8");
        number(&b, "low", pairs[i][0], PGY_F32);
        number(&b, "high", pairs[i][1], PGY_F32);
        builder_node(&b, "Max", "low x", "m");
        builder_node(&b, "Min", "m high", "y");
        if (i)
            expect_same(&b, "Max Min");
        else
            expect(&b, "Clip");
    }
}

/* ---- Products ------------------------------------------------------------------------------- */

static void test_simplify__gemm_of_matrices_only(void **state)
{
    (void)state;
    model_builder b = begin(17, PGY_F32, "N, 4");
    builder_floats(&b, "w", "4, 4", NULL);
    builder_floats(&b, "c", "4", NULL);
    builder_node(&b, "MatMul", "x w", "m");
    builder_node(&b, "Add", "c m", "y");
    expect(&b, "Gemm");
    b = begin(17, PGY_F32, "2, 3, 4");
    builder_floats(&b, "w", "4, 4", NULL);
    builder_floats(&b, "c", "4", NULL);
    builder_node(&b, "MatMul", "x w", "m");
    builder_node(&b, "Add", "c m", "y");
    expect_same(&b, "MatMul Add");
}

static model_builder convolution(bool batch_norm)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "1, 2, 5, 5");
    builder_output(&b, "y", PGY_F32, NULL);
    builder_floats(&b, "w", "3, 2, 3, 3", NULL);
    if (!batch_norm) {
        builder_ints(&b, "pads", "8", (const int64_t[]){0, 0, 1, 2, 0, 0, 1, 0});
        builder_node(&b, "Pad", "x pads", "p");
        builder_node(&b, "Conv", "p w", "y");
        return b;
    }
    const float mean[] = {1, 2, 3}, variance[] = {4, 5, 6};
    builder_floats(&b, "scale", "3", mean);
    builder_floats(&b, "shift", "3", mean);
    builder_floats(&b, "mean", "3", mean);
    builder_floats(&b, "variance", "3", variance);
    builder_node(&b, "Conv", "x w", "c");
    builder_node(&b, "BatchNormalization", "c scale shift mean variance", "y");
    return b;
}

static void test_simplify__pads_of_zeros_go_into_a_convolution(void **state)
{
    (void)state;
    model_builder b = convolution(false);
    expect(&b, "Conv");
}

static void test_simplify__batch_norm_only_on_request(void **state)
{
    (void)state;
    model_builder b = convolution(true);
    expect_same(&b, "Conv BatchNormalization");
    b = convolution(true);
    pgy_simplify_options o = pgy_simplify_options_default();
    o.fuse_batch_norm = true;
    result r = simplify(&b, o);
    assert_string_equal(r.nodes, "Conv");
    assert_string_equal(r.report->changes[0].rule, "batch_norm");
    end(&r);
}

/* ---- Attention ------------------------------------------------------------------------------ */

/* Queries, keys and values are three functions of x. */
static model_builder attention(const char *shape, const char *mask, size_t mask_size)
{
    model_builder b = begin(23, PGY_F32, shape);
    const float values[] = {0, -1, 2, -10000, 1};
    float many[25];
    for (size_t i = 0; i < mask_size; i++) many[i] = values[i % 5];
    number(&b, "scale", 0.5, PGY_F32);
    builder_node(&b, "Sin", "x", "q");
    builder_node(&b, "Cos", "x", "k");
    builder_node(&b, "Neg", "x", "v");
    builder_attr_ints(&b, builder_node(&b, "Transpose", "k", "kt"), "perm", 4,
                      (const int64_t[]){0, 1, 3, 2});
    builder_node(&b, "MatMul", "q kt", "qk");
    builder_node(&b, "Mul", "qk scale", "s");
    if (mask) {
        builder_floats(&b, "mask", mask, many);
        builder_node(&b, "Add", "s mask", "m");
    }
    builder_attr_int(&b, builder_node(&b, "Softmax", mask ? "m" : "s", "p"), "axis", -1);
    builder_node(&b, "MatMul", "p v", "y");
    return b;
}

static void test_simplify__attention_without_and_with_mask(void **state)
{
    (void)state;
    model_builder b = attention("2, 3, 5, 4", NULL, 0);
    expect(&b, "Sin Cos Neg Attention");
    b = attention("2, 3, 5, 4", "5, 5", 25);
    expect(&b, "Sin Cos Neg Attention");
}

/* A single row of the mask is repeated for every query. */
static void test_simplify__attention_gets_a_row_of_the_mask_for_each_query(void **state)
{
    (void)state;
    model_builder b = attention("2, 3, 5, 4", "1, 1, 1, 5", 5);
    result r = simplify(&b, pgy_simplify_options_default());
    assert_string_equal(r.nodes, "Sin Cos Neg Attention");
    assert_int_equal(r.report->refusal_count, 0);
    pgy_graph *g = NULL;
    assert_int_equal(pgy_graph_import(&g, r.model, NULL), 0);
    const pgy_value *mask = g->nodes[3]->inputs[3];
    assert_non_null(mask->initializer);
    assert_int_equal(mask->initializer->dims[mask->initializer->dim_count - 2], 5);
    pgy_graph_destroy(g);
    end(&r);
}

/* A bias of positions, then the mask; keys and values of one head serve all queries. */
static void test_simplify__attention_with_two_masks_and_shared_keys(void **state)
{
    (void)state;
    model_builder b = begin(23, PGY_F32, "2, 3, 5, 4");
    builder_floats(&b, "bias", "1, 3, 5, 5", NULL);
    builder_floats(&b, "mask", "2, 1, 1, 5", NULL);
    builder_ints(&b, "axes", "1", (const int64_t[]){1});
    builder_node(&b, "Sin", "x", "q");
    builder_node(&b, "ReduceMean", "x axes", "k");
    builder_node(&b, "Neg", "k", "v");
    builder_attr_ints(&b, builder_node(&b, "Transpose", "k", "kt"), "perm", 4,
                      (const int64_t[]){0, 1, 3, 2});
    builder_node(&b, "MatMul", "q kt", "qk");
    builder_node(&b, "Add", "qk bias", "s");
    builder_node(&b, "Add", "s mask", "m");
    builder_attr_int(&b, builder_node(&b, "Softmax", "m", "p"), "axis", -1);
    builder_node(&b, "MatMul", "p v", "y");
    expect(&b, "Sin ReduceMean Neg Attention");
}

static void test_simplify__attention_of_any_length(void **state)
{
    (void)state;
    model_builder b = attention("N, 3, L, 4", NULL, 0);
    result r = simplify(&b, pgy_simplify_options_default());
    assert_string_equal(r.nodes, "Sin Cos Neg Attention");
    assert_int_equal(r.report->samples, 2);
    assert_true(r.f.first[0] != r.f.first[1]);
    end(&r);
}

static void test_simplify__given_shapes_are_used(void **state)
{
    (void)state;
    static const int64_t SHAPE[] = {1, 3, 9, 4};
    pgy_simplify_options o = pgy_simplify_options_default();
    pgy_metadata *inputs = NULL;
    const pgy_tensor_info info = {.name = "x", .dtype = PGY_F32, .rank = 4, .shape = SHAPE};
    assert_int_equal(pgy_metadata_create(&inputs, NULL), 0);
    assert_int_equal(pgy_metadata_set(inputs, &info, NULL), 0);
    o.inputs = inputs;
    model_builder b = attention("N, 3, L, 4", NULL, 0);
    result r = simplify(&b, o);
    assert_int_equal(r.report->samples, 1);
    assert_int_equal(r.f.first[0], 1);
    end(&r);
    pgy_metadata_destroy(inputs);
}

/* ---- What cannot be measured ---------------------------------------------------------------- */

static model_builder mixed(const char *last)
{
    model_builder b = begin(20, PGY_F32, "2, 8");
    number(&b, "root", 1.4142135381698608, PGY_F32);
    number(&b, "one", 1, PGY_F32);
    number(&b, "half", 0.5, PGY_F32);
    builder_node(&b, "Max", "x one", "high");
    number(&b, "ten", 10, PGY_F32);
    builder_node(&b, "Min", "high ten", "c");
    builder_node(&b, "Div", "c root", "d");
    builder_node(&b, "Erf", "d", "e");
    builder_node(&b, "Add", "e one", "a");
    builder_node(&b, "Mul", "c a", "m");
    builder_node(&b, "Mul", "m half", "g");
    builder_node(&b, last, "g", "y");
    return b;
}

static pgy_status no_sample(pgy_tensor_map **out, const pgy_metadata *inputs, size_t set,
                            void *user, pgy_error *err)
{
    (void)inputs, (void)set, (void)user, (void)err;
    *out = NULL;
    return PGY_OK;
}

static void test_simplify__without_inputs_only_exact_rules(void **state)
{
    (void)state;
    model_builder b = mixed("Relu");
    pgy_simplify_options o = pgy_simplify_options_default();
    o.sample = no_sample;
    result r = simplify(&b, o);
    assert_string_equal(r.nodes, "Clip Div Erf Add Mul Mul Relu");
    assert_false(r.report->checked);
    assert_non_null(strstr(r.report->unchecked, "no input data"));
    end(&r);
}

static void test_simplify__unknown_operators_leave_exact_rules(void **state)
{
    (void)state;
    model_builder b = mixed("Nobody");
    builder_node(&b, "Identity", "y", "z");
    result r = simplify(&b, pgy_simplify_options_default());
    assert_non_null(strstr(r.nodes, "Clip"));
    assert_null(strstr(r.nodes, "Gelu"));
    assert_non_null(strstr(r.report->unchecked, "Nobody"));
    end(&r);
}

/* The branch that no input takes. */
static void test_simplify__what_no_input_reaches_is_refused(void **state)
{
    (void)state;
    model_builder b = builder_start(20);
    builder_input(&b, "c", PGY_F32, "1");
    builder_input(&b, "x", PGY_F32, "2, 8");
    builder_output(&b, "y", PGY_F32, "2, 8");
    number(&b, "root", 1.4142135381698608, PGY_F32);
    number(&b, "one", 1, PGY_F32);
    number(&b, "half", 0.5, PGY_F32);
    number(&b, "hundred", 100, PGY_F32);
    builder_ints(&b, "flat", "0", (const int64_t[]){0});
    builder_node(&b, "Greater", "c hundred", "large");
    builder_node(&b, "Reshape", "large flat", "condition");
    model_builder yes = builder_subgraph(&b, "yes"), no = builder_subgraph(&b, "no");
    builder_node(&yes, "Div", "x root", "d");
    builder_node(&yes, "Erf", "d", "e");
    builder_node(&yes, "Add", "e one", "a");
    builder_node(&yes, "Mul", "x a", "m");
    builder_node(&yes, "Mul", "m half", "t");
    builder_output(&yes, "t", PGY_F32, "2, 8");
    builder_node(&no, "Relu", "x", "f");
    builder_output(&no, "f", PGY_F32, "2, 8");
    pgy_onnx_node *n = builder_node(&b, "If", "condition", "y");
    builder_attr_graph(&b, n, "then_branch", &yes);
    builder_attr_graph(&b, n, "else_branch", &no);
    result r = simplify(&b, pgy_simplify_options_default());
    assert_int_equal(r.report->change_count, 0);
    assert_int_equal(r.report->refusal_count, 1);
    assert_string_equal(r.report->refusals[0].rule, "gelu");
    assert_non_null(strstr(r.report->refusals[0].reason, "no sample reached it"));
    end(&r);
}

/* ---- The model around ----------------------------------------------------------------------- */

/* Stages hand on models whose graphs are gone. */
static void test_simplify__imports_without_use_go(void **state)
{
    (void)state;
    model_builder b = mixed("Relu");
    builder_opset(&b, "com.example", 3);
    builder_node(&b, "Identity", "x", "nobody");
    result r = simplify(&b, pgy_simplify_options_default());
    assert_string_equal(r.nodes, "Clip Gelu Relu");
    assert_int_equal(pgy_model_proto(r.model)->opset_import_count, 1);
    assert_int_equal(pgy_model_opset(pgy_model_proto(r.model), ""), 20);
    end(&r);
}

/* Two inputs of other sizes than their common name promises. */
static pgy_status broken_promise(pgy_tensor_map **out, const pgy_metadata *inputs, size_t set,
                                 void *user, pgy_error *err)
{
    size_t *given = user;
    *out = NULL;
    if (set || (*given)++) return PGY_OK;
    assert_int_equal(pgy_tensor_map_create(out, err), 0);
    for (size_t i = 0; i < pgy_metadata_count(inputs); i++) {
        const int64_t shape[] = {i ? 3 : 1, 4};
        pgy_tensor *t = NULL;
        assert_int_equal(pgy_tensor_create(&t, PGY_F32, 2, shape, err), 0);
        assert_int_equal(pgy_tensor_map_adopt(*out, pgy_metadata_at(inputs, i)->name, t, err), 0);
    }
    return PGY_OK;
}

static void test_simplify__what_cannot_be_run_any_more_is_taken_back(void **state)
{
    (void)state;
    size_t given = 0;
    model_builder b = begin(17, PGY_F32, "N, 4");
    builder_input(&b, "c", PGY_F32, "N, 4");
    builder_floats(&b, "w", "4, 4", NULL);
    builder_node(&b, "MatMul", "x w", "m");
    builder_node(&b, "Add", "m c", "y");
    pgy_simplify_options o = pgy_simplify_options_default();
    o.sample = broken_promise;
    o.user = &given;
    result r = simplify(&b, o);
    assert_string_equal(r.nodes, "MatMul Add");
    assert_int_equal(r.report->refusal_count, 1);
    assert_non_null(strstr(r.report->refusals[0].reason, "Gemm"));
    assert_true(r.report->passed);
    end(&r);
}

/* ---- Options -------------------------------------------------------------------------------- */

static void test_simplify__only_and_skip(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"clip"};
    pgy_simplify_options o = pgy_simplify_options_default();
    o.only = NAMES;
    o.only_count = 1;
    model_builder b = mixed("Relu");
    result r = simplify(&b, o);
    assert_string_equal(r.nodes, "Clip Div Erf Add Mul Mul Relu");
    end(&r);
    o = pgy_simplify_options_default();
    o.skip = NAMES;
    o.skip_count = 1;
    b = mixed("Relu");
    r = simplify(&b, o);
    assert_string_equal(r.nodes, "Max Min Gelu Relu");
    end(&r);
}

/* Also where nothing needs inputs. */
static void test_simplify__shapes_of_inputs_that_do_not_exist(void **state)
{
    (void)state;
    static const int64_t SHAPE[] = {2, 8};
    static const char *const NAMES[] = {"*", "x_"};
    for (size_t i = 0; i < 2; i++) {
        const pgy_tensor_info info = {
            .name = NAMES[i], .dtype = PGY_F32, .rank = 2, .shape = SHAPE};
        pgy_simplify_options o = pgy_simplify_options_default();
        pgy_simplify_report *report = NULL;
        pgy_metadata *inputs = NULL;
        pgy_model *out = NULL;
        pgy_error err = {0};
        assert_int_equal(pgy_metadata_create(&inputs, NULL), 0);
        assert_int_equal(pgy_metadata_set(inputs, &info, NULL), 0);
        o.inputs = inputs;
        model_builder b = begin(17, PGY_F32, "2, 8");
        builder_node(&b, "Relu", "x", "y");
        pgy_model *model = builder_finish_bytes(&b);
        const pgy_status st = pgy_model_simplify(&out, model, &o, &report, &err);
        assert_int_equal(st, i ? PGY_E_NOT_FOUND : PGY_OK);
        assert_string_equal(err.text, i ? "the model has no input 'x_'; did you mean 'x'?" : "");
        pgy_simplify_report_destroy(report);
        pgy_model_destroy(out);
        pgy_model_destroy(model);
        pgy_metadata_destroy(inputs);
    }
}

static void test_simplify__a_rule_that_does_not_exist(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"layernorm"};
    pgy_error err = {0};
    pgy_model *out = NULL;
    pgy_simplify_report *report = NULL;
    pgy_simplify_options o = pgy_simplify_options_default();
    o.skip = NAMES;
    o.skip_count = 1;
    model_builder b = mixed("Relu");
    pgy_model *model = builder_finish_bytes(&b);
    assert_int_equal(pgy_model_simplify(&out, model, &o, &report, &err), PGY_E_NOT_FOUND);
    assert_string_equal(err.text, "unknown rule 'layernorm'; did you mean 'layer_norm'?");
    pgy_model_destroy(model);
}

static void test_simplify__nothing_to_do_needs_no_run(void **state)
{
    (void)state;
    model_builder b = begin(17, PGY_F32, "2, 8");
    builder_node(&b, "Relu", "x", "y");
    result r = simplify(&b, pgy_simplify_options_default());
    assert_string_equal(r.nodes, "Relu");
    assert_int_equal(r.report->samples, 0);
    assert_true(r.report->passed);
    assert_null(r.report->unchecked);
    end(&r);
}
