/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that lack what their operator requires. Every version of every operator is tried with each
 * required input and output omitted; inference, the reference, the engine, folding, simplification
 * and the checker must say so, and nothing may be computed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <polygraphy/capability.h>
#include <polygraphy/simplify.h>
#include <polygraphy/transform.h>

#include "engine/build/engine.h"
#include "engine/program/interpret.h"
#include "harness/model_builder.h"
#include "ops/signature.h"

enum { MAX_PARTS = 40, OLDEST_OPSET = 1 };

/* ---- A model of one node -------------------------------------------------------------------- */

typedef struct trial {
    const op_def *def;
    op_node node;
    size_t inputs, outputs;
    size_t omitted_input, omitted_output; /* SIZE_MAX: none */
    bool constant;                        /* inputs are weights, so that folding runs the node */
} trial;

static const op_signature *signature_of(const op_def *d)
{
    return op_signature_find(d->domain, d->name, d->since);
}

/* How many inputs or outputs a node has that gives all of them; two of a variadic list. */
static size_t count_parts(size_t listed, size_t least, bool variadic)
{
    const size_t count = variadic ? listed + 1 : listed;
    return count > least ? count : least;
}

static trial trial_of(const op_def *d)
{
    const op_signature *s = signature_of(d);
    trial t = {.def = d, .omitted_input = SIZE_MAX, .omitted_output = SIZE_MAX};
    t.inputs = count_parts(s ? s->input_count : 0, d->min_inputs, d->flags & OP_VARIADIC_INPUTS);
    t.outputs =
        count_parts(s ? s->output_count : 0, d->min_outputs, d->flags & OP_VARIADIC_OUTPUTS);
    t.node = (op_node){.def = d,
                       .name = "",
                       .opset = d->since,
                       .input_count = t.inputs,
                       .output_count = t.outputs};
    return t;
}

/* A type that the signature allows; NONE: it is no tensor of numbers. */
static pgy_dtype type_of_input(const op_def *d, size_t i)
{
    static const pgy_dtype USUAL[] = {PGY_F32, PGY_I64, PGY_I32, PGY_BOOL, PGY_U8,
                                      PGY_I8,  PGY_F16, PGY_F64, PGY_BF16, PGY_U64};
    const op_signature *s = signature_of(d);
    const op_parameter *p = s ? op_signature_input(s, i) : NULL;
    if (!p) return i ? PGY_I64 : PGY_F32;
    const uint32_t tensors = op_parameter_set(s, p)->tensors;
    for (size_t k = 0; k < sizeof USUAL / sizeof *USUAL; k++)
        if (tensors >> pgy_dtype_describe(USUAL[k])->onnx & 1) return USUAL[k];
    return PGY_DTYPE_NONE;
}

static void add_input(model_builder *b, const trial *t, size_t i, const char *name)
{
    const int64_t shape[2] = {2, 2};
    const pgy_dtype dtype = type_of_input(t->def, i);
    pgy_tensor *w = NULL;
    if (!t->constant || !dtype) {
        builder_input(b, name, dtype, NULL);
        return;
    }
    assert_int_equal(pgy_tensor_create(&w, dtype, 2, shape, NULL), PGY_OK);
    builder_initializer(b, name, w);
    pgy_tensor_release(w);
}

static void add_attribute(model_builder *b, pgy_onnx_node *n, const op_attr_def *a)
{
    const int64_t least = a->range ? strtoll(a->range, NULL, 10) : 1;
    const model_builder body = builder_subgraph(b, "body");
    char word[64] = "a";
    pgy_tensor *w = NULL;
    if (a->choices) snprintf(word, sizeof word, "%.*s", (int)strcspn(a->choices, " "), a->choices);
    switch (a->kind) {
    case OP_ATTR_INT: builder_attr_int(b, n, a->name, least); break;
    case OP_ATTR_FLOAT: builder_attr_float(b, n, a->name, 1); break;
    case OP_ATTR_STRING: builder_attr_string(b, n, a->name, word); break;
    case OP_ATTR_GRAPH: builder_attr_graph(b, n, a->name, &body); break;
    case OP_ATTR_TENSOR:
        assert_int_equal(pgy_tensor_create(&w, PGY_F32, 0, NULL, NULL), PGY_OK);
        builder_attr_tensor(b, n, a->name, w);
        pgy_tensor_release(w);
        break;
    default: builder_attr_ints(b, n, a->name, 0, NULL); break; /* an empty list is any list */
    }
}

static pgy_model *model_of(const trial *t)
{
    char inputs[1024] = "", outputs[1024] = "", op[256], name[32];
    model_builder b = builder_start(*t->def->domain ? 17 : t->def->since);
    if (*t->def->domain) builder_opset(&b, t->def->domain, t->def->since);
    for (size_t i = 0; i < t->inputs; i++) {
        snprintf(name, sizeof name, "i%zu", i);
        if (i != t->omitted_input) add_input(&b, t, i, name);
        snprintf(inputs + strlen(inputs), sizeof inputs - strlen(inputs), " %s",
                 i == t->omitted_input ? "-" : name);
    }
    for (size_t i = 0; i < t->outputs; i++) {
        snprintf(name, sizeof name, "o%zu", i);
        snprintf(outputs + strlen(outputs), sizeof outputs - strlen(outputs), " %s",
                 i == t->omitted_output ? "-" : name);
        if (i != t->omitted_output) builder_output(&b, name, PGY_DTYPE_NONE, NULL);
    }
    snprintf(op, sizeof op, "%s%s%s", t->def->domain, *t->def->domain ? ":" : "", t->def->name);
    pgy_onnx_node *n = builder_node(&b, op, inputs, outputs); /* named n0 */
    for (const op_attr_def *a = t->def->attrs; a && a->name; a++)
        if (a->required) add_attribute(&b, n, a);
    return builder_finish_bytes(&b);
}

/* ---- Those who must refuse it --------------------------------------------------------------- */

static pgy_graph *import_model(pgy_model *model)
{
    pgy_graph *g = NULL;
    pgy_error err = {0};
    if (pgy_graph_import(&g, model, &err)) fail_msg("%s", err.text);
    return g;
}

static pgy_status by_inference(pgy_model *model, pgy_error *err)
{
    pgy_graph *g = import_model(model);
    const pgy_status st = pgy_graph_infer_shapes(g, NULL, err);
    pgy_graph_destroy(g);
    return st;
}

/* Without inference before, on weights. */
static pgy_status execute(pgy_model *model, const execute_operators *operators, pgy_error *err)
{
    graph_plan plan = {0};
    pgy_tensor_map *feed = NULL, *out = NULL;
    pgy_graph *g = import_model(model);
    const execute_limits limits = {.max_steps = 100, .max_bytes = 1 << 20, .operators = operators};
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_create(&out, NULL), PGY_OK);
    pgy_status st = plan_build(&plan, g, err);
    if (!st) st = execute_graph(&plan, g, feed, out, false, &limits, err);
    pgy_tensor_map_destroy(feed);
    pgy_tensor_map_destroy(out);
    pgy_graph_destroy(g);
    graph_plan_deinit(&plan);
    return st;
}

static pgy_status by_reference(pgy_model *model, pgy_error *err)
{
    return execute(model, NULL, err);
}

static pgy_status by_interpreter(pgy_model *model, pgy_error *err)
{
    interpreter *it = NULL;
    assert_int_equal(interpreter_create(&it, NULL, NULL), PGY_OK);
    const pgy_status st = execute(model, interpreter_operators(it), err);
    interpreter_destroy(it);
    return st;
}

static pgy_status by_engine(pgy_model *model, pgy_error *err)
{
    engine *e = NULL;
    const pgy_status st = engine_build(&e, model, NULL, err);
    engine_release(e);
    return st;
}

static pgy_status by_folding(pgy_model *model, pgy_error *err)
{
    pgy_graph *g = import_model(model);
    const pgy_status st = pgy_graph_fold_constants(g, NULL, NULL, err);
    pgy_graph_destroy(g);
    return st;
}

/* Nothing is known of shapes, and the node stays as it is. */
static void leave_unfolded(pgy_model *model)
{
    pgy_error err = {0};
    pgy_fold_options o = pgy_fold_options_default();
    o.keep_shape_inference = true;
    pgy_graph *g = import_model(model);
    if (pgy_graph_fold_constants(g, &o, NULL, &err)) fail_msg("%s", err.text);
    assert_true(g->node_count > 0);
    assert_string_equal(g->nodes[0]->name, "n0");
    pgy_graph_destroy(g);
}

static pgy_status by_simplification(pgy_model *model, pgy_error *err)
{
    pgy_model *simple = NULL;
    pgy_simplify_report *report = NULL;
    const pgy_simplify_options o = pgy_simplify_options_default();
    const pgy_status st = pgy_model_simplify(&simple, model, &o, &report, err);
    pgy_model_destroy(simple);
    pgy_simplify_report_destroy(report);
    return st;
}

/* The first error; what is omitted is said once, with the code for it. */
static pgy_status by_checker(pgy_model *model, pgy_error *err)
{
    const pgy_finding *findings = NULL;
    size_t count = 0, omitted = 0;
    pgy_status st = PGY_OK;
    pgy_graph *g = import_model(model);
    assert_int_equal(pgy_graph_check(&findings, &count, g, NULL), PGY_OK);
    for (size_t i = 0; i < count; i++) {
        if (findings[i].severity != PGY_LOG_ERROR) continue;
        omitted += strcmp(findings[i].code, "missing-input") == 0;
        if (!strcmp(findings[i].code, "missing-input") || !st)
            st =
                pgy_error_set(err, PGY_E_FORMAT, "'%s': %s", findings[i].node, findings[i].message);
    }
    pgy_graph_destroy(g);
    assert_true(omitted <= 1);
    return st;
}

static pgy_status by_capability(pgy_model *model, pgy_error *err)
{
    const pgy_unsupported *items = NULL;
    size_t count = 0;
    pgy_graph *g = import_model(model);
    pgy_status st = pgy_graph_capability(&items, &count, g, err);
    if (!st && count)
        st = pgy_error_set(err, PGY_E_FORMAT, "'%s': %s", items[0].node, items[0].reason);
    pgy_graph_destroy(g);
    return st;
}

typedef struct consumer {
    const char *name;
    pgy_status (*take)(pgy_model *model, pgy_error *err);
    bool runs; /* without inference: what is no weight is no reason to refuse */
} consumer;

static const consumer CONSUMERS[] = {
    {"inference", by_inference, false},
    {"the reference", by_reference, true},
    {"the interpreter", by_interpreter, true},
    {"the engine", by_engine, false},
    {"folding", by_folding, false},
    {"simplification", by_simplification, false},
    {"the checker", by_checker, false},
    {"capability", by_capability, false},
};

/* ---- All operators -------------------------------------------------------------------------- */

/* Folding leaves alone what is random, has no outputs, or holds more than tensors of numbers. */
static bool can_run(const trial *t)
{
    if (t->omitted_output != SIZE_MAX || (t->def->flags & (OP_RANDOM | OP_HAS_GRAPHS)))
        return false;
    for (size_t i = 0; i < t->inputs; i++)
        if (!type_of_input(t->def, i)) return false;
    return t->inputs > 1;
}

static void expect_refusal(const trial *t, const consumer *c, const char *text, size_t *tried)
{
    pgy_error err = {0};
    pgy_model *model = model_of(t);
    const pgy_status st = c->take(model, &err);
    pgy_model_destroy(model);
    ++*tried;
    if (!st || !strstr(err.text, text) || (!c->runs && !strstr(err.text, "'n0'")))
        fail_msg("%s:%s %d: %s: '%s', wanted: %s", t->def->domain, t->def->name, t->def->since,
                 c->name, st ? err.text : "(accepted)", text);
}

static void expect_all_refuse(trial *t, size_t *tried)
{
    char text[64];
    const bool input = t->omitted_input != SIZE_MAX;
    snprintf(text, sizeof text, "%s %zu ", input ? "input" : "output",
             input ? t->omitted_input : t->omitted_output);
    for (size_t i = 0; i < sizeof CONSUMERS / sizeof *CONSUMERS; i++) {
        const consumer *c = &CONSUMERS[i];
        t->constant = c->runs;
        if (!c->runs || can_run(t)) expect_refusal(t, c, text, tried);
    }
}

static void expect_unfolded(trial *t)
{
    t->constant = true;
    pgy_model *model = model_of(t);
    leave_unfolded(model);
    pgy_model_destroy(model);
}

static void try_operator(const op_def *d, size_t *tried)
{
    trial t = trial_of(d);
    assert_true(t.inputs < MAX_PARTS && t.outputs < MAX_PARTS);
    for (size_t i = 0; i < t.inputs; i++) {
        if (!op_requires_input(&t.node, i)) continue;
        t.omitted_input = i;
        expect_all_refuse(&t, tried);
        expect_unfolded(&t);
    }
    t.omitted_input = SIZE_MAX;
    for (size_t i = 0; i < t.outputs; i++) {
        if (!op_requires_output(&t.node, i)) continue;
        t.omitted_output = i;
        expect_all_refuse(&t, tried);
    }
}

static void test_omitted__every_operator(void **state)
{
    (void)state;
    size_t tried = 0;
    for (size_t i = 0; i < op_table_count(); i++) try_operator(op_table_at(i), &tried);
    assert_true(tried > 10000);
}

/* What the table says stands in the signature, too: inputs that a node must list are required, but
 * for those before a required one, as LSTMs of com.microsoft have. */
static void test_omitted__first_input_is_rarely_optional(void **state)
{
    (void)state;
    size_t required = 0, optional = 0;
    for (size_t i = 0; i < op_table_count(); i++) {
        const trial t = trial_of(op_table_at(i));
        for (size_t k = 0; k < t.def->min_inputs; k++)
            *(op_requires_input(&t.node, k) ? &required : &optional) += 1;
    }
    assert_true(required > 15 * optional);
}

/* ---- Other forms ---------------------------------------------------------------------------- */

static void expect_everywhere(pgy_model *(*make)(void), const char *text)
{
    for (size_t i = 0; i < sizeof CONSUMERS / sizeof *CONSUMERS; i++) {
        pgy_error err = {0};
        if (CONSUMERS[i].runs) continue;
        pgy_model *model = make();
        const pgy_status st = CONSUMERS[i].take(model, &err);
        pgy_model_destroy(model);
        if (!st || !strstr(err.text, text))
            fail_msg("%s: '%s', wanted: %s", CONSUMERS[i].name, st ? err.text : "(accepted)", text);
    }
}

static const char IN_BODY[] = "input 1 'B' is required, but omitted";

/* The argument that a call omits is required within. */
static pgy_model *make_call(void)
{
    model_builder b = builder_start(17);
    builder_opset(&b, "local", 1);
    model_builder f = builder_function(&b, "local", "F", "a b", "c", "");
    builder_node(&f, "Add", "a b", "c");
    builder_end_function(&f);
    builder_input(&b, "x", PGY_F32, "3");
    builder_node(&b, "local:F", "x -", "y");
    builder_output(&b, "y", PGY_F32, "3");
    return builder_finish_bytes(&b);
}

static pgy_model *make_branch(void)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "3");
    builder_input(&b, "c", PGY_BOOL, "");
    model_builder yes = builder_subgraph(&b, "yes"), no = builder_subgraph(&b, "no");
    builder_node(&yes, "Relu", "x", "p");
    builder_output(&yes, "p", PGY_F32, NULL);
    builder_node(&no, "Add", "x -", "q");
    builder_output(&no, "q", PGY_F32, NULL);
    pgy_onnx_node *n = builder_node(&b, "If", "c", "y");
    builder_attr_graph(&b, n, "then_branch", &yes);
    builder_attr_graph(&b, n, "else_branch", &no);
    builder_output(&b, "y", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static pgy_model *make_loop(void)
{
    static const int64_t three[1] = {3};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "3");
    builder_ints(&b, "count", "", three);
    model_builder body = builder_subgraph(&b, "body");
    builder_input(&body, "i", PGY_I64, "");
    builder_input(&body, "go", PGY_BOOL, "");
    builder_input(&body, "s", PGY_F32, NULL);
    builder_node(&body, "Identity", "go", "on");
    builder_node(&body, "Add", "s -", "t");
    builder_output(&body, "on", PGY_BOOL, "");
    builder_output(&body, "t", PGY_F32, NULL);
    pgy_onnx_node *n = builder_node(&b, "Loop", "count - x", "y");
    builder_attr_graph(&b, n, "body", &body);
    builder_output(&b, "y", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static pgy_model *make_scan(void)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4, 3");
    model_builder body = builder_subgraph(&b, "body");
    builder_input(&body, "row", PGY_F32, NULL);
    builder_node(&body, "Add", "row -", "t");
    builder_output(&body, "t", PGY_F32, NULL);
    pgy_onnx_node *n = builder_node(&b, "Scan", "x", "y");
    builder_attr_graph(&b, n, "body", &body);
    builder_attr_int(&b, n, "num_scan_inputs", 1);
    builder_output(&b, "y", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static void test_omitted__in_bodies(void **state)
{
    (void)state;
    expect_everywhere(make_call, IN_BODY);
    expect_everywhere(make_branch, IN_BODY);
    expect_everywhere(make_loop, IN_BODY);
    expect_everywhere(make_scan, IN_BODY);
}

static pgy_model *make_few(void)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "3");
    builder_node(&b, "Add", "x", "y");
    builder_output(&b, "y", PGY_F32, "3");
    return builder_finish_bytes(&b);
}

static pgy_model *make_many(void)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "3");
    builder_node(&b, "Add", "x x x", "y");
    builder_output(&b, "y", PGY_F32, "3");
    return builder_finish_bytes(&b);
}

static pgy_model *make_none_given(void)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "3");
    builder_node(&b, "Relu", "x", "");
    builder_node(&b, "Relu", "x", "y");
    builder_output(&b, "y", PGY_F32, "3");
    return builder_finish_bytes(&b);
}

static pgy_model *make_many_given(void)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "3");
    builder_node(&b, "Relu", "x", "y z");
    builder_output(&b, "y", PGY_F32, "3");
    return builder_finish_bytes(&b);
}

static void test_omitted__too_few_and_too_many(void **state)
{
    (void)state;
    expect_everywhere(make_few, "the node has 1 inputs, but needs at least 2");
    expect_everywhere(make_many, "the node has 3 inputs, but takes at most 2");
    expect_everywhere(make_none_given, "the node has 0 outputs, but needs at least 1");
    expect_everywhere(make_many_given, "the node has 2 outputs, but takes at most 1");
}
