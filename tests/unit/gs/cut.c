/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of models: which nodes, what goes in and out, what goes along, and the values at the
 * borders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <polygraphy/cut.h>

#include "base/alloc.h"
#include "harness/model_builder.h"

/* ---- Helpers -------------------------------------------------------------------------------- */

static const char *const *names(const char *a, const char *b)
{
    static const char *list[2];
    list[0] = a;
    list[1] = b;
    return list;
}

static pgy_cut *cut(pgy_model *m, const pgy_cut_selection *what)
{
    pgy_error err = {0};
    pgy_cut *c = NULL;
    if (pgy_cut_create(&c, m, what, &err)) fail_msg("%s", err.text);
    pgy_model_destroy(m);
    return c;
}

static pgy_cut *cut_nodes(pgy_model *m, const char *a, const char *b)
{
    const pgy_cut_selection what = {
        .size = sizeof what, .nodes = names(a, b), .node_count = b ? 2 : 1};
    return cut(m, &what);
}

static void expect_list(const char *const *list, size_t count, const char *wanted)
{
    char text[256] = "";
    for (size_t i = 0; i < count; i++) {
        if (i) strncat(text, " ", sizeof text - strlen(text) - 1);
        strncat(text, list[i], sizeof text - strlen(text) - 1);
    }
    assert_string_equal(text, wanted);
}

static void expect_borders(const pgy_cut *c, const char *inputs, const char *outputs)
{
    size_t count;
    const char *const *list = pgy_cut_inputs(c, &count);
    expect_list(list, count, inputs);
    list = pgy_cut_outputs(c, &count);
    expect_list(list, count, outputs);
}

static void expect_refused(pgy_model *m, const pgy_cut_selection *what, pgy_status status,
                           const char *text)
{
    pgy_error err = {0};
    pgy_cut *c = NULL;
    assert_int_equal(pgy_cut_create(&c, m, what, &err), status);
    assert_null(c);
    if (!strstr(err.text, text)) fail_msg("'%s' lacks '%s'", err.text, text);
    pgy_model_destroy(m);
}

static void named(pgy_onnx_node *n, const char *name)
{
    n->name = name;
}

/* x -> relu -> a -> add(w) -> b -> sigmoid -> c -> mul(a) -> y; constant k goes into add2 */
static model_builder chain(void)
{
    const float half[] = {0.5f, 0.5f, 0.5f, 0.5f};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 4");
    builder_floats(&b, "w", "4", half);
    named(builder_node(&b, "Relu", "x", "a"), "/enc/layer.0/relu");
    named(builder_node(&b, "Add", "a w", "b"), "/enc/layer.0/add");
    named(builder_node(&b, "Neg", "w", "k"), "negated");
    named(builder_node(&b, "Sub", "b k", "c"), "/enc/layer.1/sub");
    named(builder_node(&b, "Mul", "c a", "y"), "mul");
    named(builder_node(&b, "Identity", "k", "z"), "other");
    builder_output(&b, "y", PGY_F32, "N, 4");
    builder_output(&b, "z", PGY_F32, "4");
    return b;
}

static model_builder branch(void)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 4");
    builder_input(&b, "c", PGY_BOOL, "");
    builder_floats(&b, "w", "4", NULL);
    builder_node(&b, "Relu", "x", "a");
    model_builder yes = builder_subgraph(&b, "yes"), no = builder_subgraph(&b, "no");
    named(builder_node(&yes, "Add", "a w", "t"), "sum");
    builder_node(&yes, "Neg", "t", "u");
    builder_output(&yes, "u", PGY_F32, "N, 4");
    builder_node(&no, "Identity", "x", "v");
    builder_output(&no, "v", PGY_F32, "N, 4");
    pgy_onnx_node *n = builder_node(&b, "If", "c", "y");
    n->name = "choice/1";
    builder_attr_graph(&b, n, "then_branch", &yes);
    builder_attr_graph(&b, n, "else_branch", &no);
    builder_output(&b, "y", PGY_F32, "N, 4");
    return b;
}

/* ---- Which nodes ---------------------------------------------------------------------------- */

static void test_cut__a_node_has_what_it_reads_and_makes_as_borders(void **state)
{
    (void)state;
    model_builder b = chain();
    pgy_cut *c = cut_nodes(builder_finish_bytes(&b), "/enc/layer.0/add", NULL);
    expect_borders(c, "a", "b");
    assert_int_equal(pgy_cut_node_count(c), 1);
    assert_true(pgy_cut_is_top(c));
    pgy_cut_destroy(c);
}

static void test_cut__constants_go_along_and_are_no_outputs(void **state)
{
    (void)state;
    model_builder b = chain();
    pgy_cut *c = cut_nodes(builder_finish_bytes(&b), "/enc/layer.1/*", NULL);
    expect_borders(c, "b", "c");
    assert_int_equal(pgy_cut_node_count(c), 2);
    pgy_cut_destroy(c);
}

static void test_cut__modules_are_found_by_names_and_scopes(void **state)
{
    (void)state;
    static pgy_onnx_string_entry scope = {.key = "pkg.torch.onnx.name_scopes",
                                          .value = "['', 'enc', 'enc.layer.0', 'mul']"};
    static pgy_onnx_string_entry *const props[] = {&scope};
    model_builder b = chain();
    pgy_onnx_node *mul = (pgy_onnx_node *)b.graph->nodes[4];
    mul->metadata_props = props;
    mul->metadata_prop_count = 1;
    const pgy_cut_selection what = {
        .size = sizeof what, .modules = names("enc/layer.0/", NULL), .module_count = 1};
    pgy_cut *c = cut(builder_finish_bytes(&b), &what);
    assert_int_equal(pgy_cut_node_count(c), 3);
    expect_borders(c, "x c", "b y");
    pgy_cut_destroy(c);
}

static void test_cut__between_tensors_lies_what_both_depend_on(void **state)
{
    (void)state;
    model_builder b = chain();
    const pgy_cut_selection what = {.size = sizeof what,
                                    .from = names("b", NULL),
                                    .from_count = 1,
                                    .to = (const char *const[]){"y"},
                                    .to_count = 1};
    pgy_cut *c = cut(builder_finish_bytes(&b), &what);
    expect_borders(c, "b a", "y");
    assert_int_equal(pgy_cut_node_count(c), 3);
    pgy_cut_destroy(c);
}

static void test_cut__one_end_is_enough(void **state)
{
    (void)state;
    model_builder b = chain();
    const pgy_cut_selection to = {.size = sizeof to, .to = names("c", NULL), .to_count = 1};
    pgy_cut *c = cut(builder_finish_bytes(&b), &to);
    expect_borders(c, "x", "c");
    pgy_cut_destroy(c);
    b = chain();
    const pgy_cut_selection from = {.size = sizeof from, .from = names("c", NULL), .from_count = 1};
    c = cut(builder_finish_bytes(&b), &from);
    expect_borders(c, "c a", "y");
    pgy_cut_destroy(c);
}

static void test_cut__names_that_are_not_there_are_refused(void **state)
{
    (void)state;
    model_builder b = chain();
    pgy_cut_selection what = {.size = sizeof what, .nodes = names("mull", NULL), .node_count = 1};
    expect_refused(builder_finish_bytes(&b), &what, PGY_E_NOT_FOUND,
                   "there is no node 'mull'; did you mean 'mul'");
    b = chain();
    what = (pgy_cut_selection){.size = sizeof what, .nodes = names("q*", NULL), .node_count = 1};
    expect_refused(builder_finish_bytes(&b), &what, PGY_E_NOT_FOUND, "no node like 'q*'");
    b = chain();
    what = (pgy_cut_selection){
        .size = sizeof what, .modules = names("enc.lay", NULL), .module_count = 1};
    expect_refused(builder_finish_bytes(&b), &what, PGY_E_NOT_FOUND, "module 'enc.lay'");
    b = chain();
    what = (pgy_cut_selection){
        .size = sizeof what, .modules = names("layer.1", NULL), .module_count = 1};
    expect_refused(builder_finish_bytes(&b), &what, PGY_E_NOT_FOUND, "did you mean 'enc.layer.1'?");
    b = chain();
    what = (pgy_cut_selection){.size = sizeof what, .to = names("nobody", NULL), .to_count = 1};
    expect_refused(builder_finish_bytes(&b), &what, PGY_E_NOT_FOUND, "no tensor 'nobody'");
    b = chain();
    what = (pgy_cut_selection){.size = sizeof what, .subgraph = "mul/body"};
    expect_refused(builder_finish_bytes(&b), &what, PGY_E_NOT_FOUND, "no subgraph 'mul/body'");
    b = chain();
    what = (pgy_cut_selection){.size = sizeof what};
    expect_refused(builder_finish_bytes(&b), &what, PGY_E_ARGUMENT, "the selection is empty");
}

/* ---- Subgraphs and functions ---------------------------------------------------------------- */

static void test_cut__what_comes_from_outside_is_an_input(void **state)
{
    (void)state;
    model_builder b = branch();
    pgy_cut *c = cut_nodes(builder_finish_bytes(&b), "choice/1/then_branch/sum", NULL);
    expect_borders(c, "a", "t");
    assert_false(pgy_cut_is_top(c));
    pgy_cut_destroy(c);
    b = branch();
    c = cut_nodes(builder_finish_bytes(&b), "choice/1", NULL);
    expect_borders(c, "c a x", "y");
    pgy_cut_destroy(c);
}

static void test_cut__a_name_that_one_subgraph_has_needs_no_path(void **state)
{
    (void)state;
    model_builder b = branch();
    pgy_cut *c = cut_nodes(builder_finish_bytes(&b), "su?", NULL);
    expect_borders(c, "a", "t");
    pgy_cut_destroy(c);
    b = branch();
    pgy_cut_selection what = {.size = sizeof what, .to = names("t", NULL), .to_count = 1};
    c = cut(builder_finish_bytes(&b), &what);
    expect_borders(c, "a", "t");
    pgy_cut_destroy(c);
    b = branch();
    what = (pgy_cut_selection){.size = sizeof what, .nodes = names("n*", NULL), .node_count = 1};
    c = cut(builder_finish_bytes(&b), &what); /* those of the top graph */
    assert_true(pgy_cut_is_top(c));
    pgy_cut_destroy(c);
}

static void test_cut__a_subgraph_alone_is_cut_whole(void **state)
{
    (void)state;
    model_builder b = branch();
    const pgy_cut_selection what = {.size = sizeof what, .subgraph = "choice/1/then_branch"};
    pgy_cut *c = cut(builder_finish_bytes(&b), &what);
    expect_borders(c, "a", "u");
    assert_int_equal(pgy_cut_node_count(c), 2);
    pgy_cut_destroy(c);
}

static void test_cut__names_that_several_subgraphs_have_are_refused(void **state)
{
    (void)state;
    model_builder b = branch();
    b.graph->nodes[1]->attributes[1]->g->nodes[0]->name = "sum";
    const pgy_cut_selection what = {
        .size = sizeof what, .nodes = names("sum", NULL), .node_count = 1};
    expect_refused(builder_finish_bytes(&b), &what, PGY_E_ARGUMENT,
                   "node 'sum' is inside 2 subgraphs; choose one of 'choice/1/then_branch', "
                   "'choice/1/else_branch'");
}

static pgy_tensor *filled(pgy_dtype dtype, size_t rank, const int64_t *shape, double value)
{
    pgy_tensor *from = NULL, *t = NULL;
    assert_int_equal(pgy_tensor_create(&from, PGY_F64, rank, shape, NULL), PGY_OK);
    for (size_t i = 0; i < pgy_tensor_count(from); i++)
        ((double *)pgy_tensor_data(from))[i] = value;
    assert_int_equal(pgy_tensor_cast(&t, pgy_tensor_view(from), dtype, NULL), PGY_OK);
    pgy_tensor_release(from);
    return t;
}

static pgy_tensor_map *feed_branch(double condition)
{
    const int64_t shape[] = {2, 4};
    pgy_tensor_map *feed = NULL;
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_adopt(feed, "x", filled(PGY_F32, 2, shape, 3), NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_adopt(feed, "c", filled(PGY_BOOL, 0, NULL, condition), NULL),
                     PGY_OK);
    return feed;
}

static void test_cut__values_at_the_borders_are_those_of_the_whole(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = branch();
    pgy_cut *c = cut_nodes(builder_finish_bytes(&b), "choice/1/then_branch/sum", NULL);
    pgy_tensor_map *feed = feed_branch(1), *inputs = NULL, *outputs = NULL;
    if (pgy_cut_record(&inputs, &outputs, c, feed, &err)) fail_msg("%s", err.text);
    const pgy_tensor *a = pgy_tensor_map_find(inputs, "a"), *t = pgy_tensor_map_find(outputs, "t");
    assert_int_equal(pgy_tensor_dtype(a), PGY_F32);
    assert_true(((float *)pgy_tensor_data(a))[7] == 3);
    assert_true(((float *)pgy_tensor_data(t))[7] == 4);

    pgy_model *part = NULL;
    if (pgy_cut_model(&part, c, inputs, outputs, &err)) fail_msg("%s", err.text);
    const pgy_onnx_graph *g = pgy_model_proto(part)->graph;
    assert_int_equal(g->node_count, 1);
    assert_int_equal(g->initializer_count, 1);
    assert_string_equal(g->inputs[0]->name, "a");
    assert_int_equal(g->inputs[0]->type->tensor_type->shape->dims[0]->dim_value, 2);
    assert_int_equal(g->outputs[0]->type->tensor_type->elem_type, 1);
    pgy_graph *graph = NULL;
    assert_int_equal(pgy_graph_import(&graph, part, &err), PGY_OK);
    pgy_graph_destroy(graph);
    pgy_model_destroy(part);
    pgy_tensor_map_destroy(outputs);
    pgy_tensor_map_destroy(inputs);
    pgy_tensor_map_destroy(feed);
    pgy_cut_destroy(c);
}

static void test_cut__a_branch_that_is_not_taken_cannot_be_recorded(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = branch();
    pgy_cut *c = cut_nodes(builder_finish_bytes(&b), "choice/1/then_branch/sum", NULL);
    pgy_tensor_map *feed = feed_branch(0), *inputs = NULL, *outputs = NULL;
    assert_int_equal(pgy_cut_record(&inputs, &outputs, c, feed, &err), PGY_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "'choice/1/then_branch' never runs"));
    assert_null(inputs);
    pgy_tensor_map_destroy(feed);
    pgy_cut_destroy(c);
}

static void test_cut__functions_that_are_called_go_along(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = builder_start(17);
    builder_opset(&b, "my", 1);
    model_builder twice = builder_function(&b, "my", "Twice", "p", "q", "");
    builder_node(&twice, "Add", "p p", "q");
    builder_end_function(&twice);
    model_builder unused = builder_function(&b, "my", "Unused", "p", "q", "");
    builder_node(&unused, "Neg", "p", "q");
    builder_end_function(&unused);
    model_builder four = builder_function(&b, "my", "Four", "p", "q", "");
    builder_node(&four, "Twice", "p", "m")->domain = "my";
    builder_node(&four, "Twice", "m", "q")->domain = "my";
    builder_end_function(&four);
    builder_input(&b, "x", PGY_F32, "2");
    pgy_onnx_node *call = builder_node(&b, "Four", "x", "y");
    call->domain = "my";
    call->name = "";
    builder_node(&b, "Relu", "y", "z");
    builder_output(&b, "z", PGY_F32, "2");
    pgy_cut *c = cut_nodes(builder_finish_bytes(&b), "y", NULL);
    pgy_model *part = NULL;
    if (pgy_cut_model(&part, c, NULL, NULL, &err)) fail_msg("%s", err.text);
    assert_int_equal(pgy_model_proto(part)->function_count, 2);
    assert_int_equal(pgy_model_proto(part)->graph->outputs[0]->type->tensor_type->elem_type, 1);
    pgy_model_destroy(part);
    pgy_cut_destroy(c);
}

static void test_cut__refused_allocations_are_errors(void **state)
{
    (void)state;
    pgy_status st = PGY_E_MEMORY;
    for (uint64_t n = 1; st; n++) {
        pgy_error err = {0};
        model_builder b = branch();
        pgy_model *m = builder_finish_bytes(&b), *part = NULL;
        pgy_tensor_map *feed = feed_branch(1), *inputs = NULL, *outputs = NULL;
        pgy_cut *c = NULL;
        const pgy_cut_selection what = {
            .size = sizeof what, .nodes = names("choice/1/then_branch/sum", NULL), .node_count = 1};
        const bool refuses = mem_fail_nth(n);
        st = pgy_cut_create(&c, m, &what, &err);
        if (!st) st = pgy_cut_record(&inputs, &outputs, c, feed, &err);
        if (!st) st = pgy_cut_model(&part, c, inputs, outputs, &err);
        mem_fail_nth(0);
        if (st) assert_int_equal(st, PGY_E_MEMORY);
        pgy_model_destroy(part);
        pgy_tensor_map_destroy(inputs);
        pgy_tensor_map_destroy(outputs);
        pgy_tensor_map_destroy(feed);
        pgy_cut_destroy(c);
        pgy_model_destroy(m);
        if (!refuses) skip();
    }
}

/* ---- Inside functions ----------------------------------------------------------------------- */

/* Block(p, k): h = p * k; q = Scale(h) with factor; Scale adds its factor. x -> first -> a ->
 * second
 * -> y */
static model_builder blocks(void)
{
    const float two[] = {2, 2}, three[] = {3, 3};
    model_builder b = builder_start(17);
    builder_opset(&b, "my", 1);
    model_builder scale = builder_function(&b, "my", "Scale", "u", "v", "factor");
    builder_attr_ref(&scale, builder_node(&scale, "Constant", "", "f"), "value_float",
                     PGY_ATTR_FLOAT, "factor");
    named(builder_node(&scale, "Add", "u f", "v"), "plus");
    builder_end_function(&scale);
    model_builder block = builder_function(&b, "my", "Block", "p k", "q", "");
    named(builder_node(&block, "Mul", "p k", "h"), "times");
    pgy_onnx_node *inner = builder_node(&block, "Scale", "h", "s");
    inner->domain = "my";
    inner->name = "scale";
    builder_attr_float(&block, inner, "factor", 0.5f);
    named(builder_node(&block, "Relu", "s", "q"), "");
    builder_end_function(&block);
    builder_input(&b, "x", PGY_F32, "2");
    builder_floats(&b, "w1", "2", two);
    builder_floats(&b, "w2", "2", three);
    const char *const calls[] = {"x w1", "a", "net/first", "a w2", "y", "net/second"};
    for (size_t i = 0; i < 6; i += 3) {
        pgy_onnx_node *n = builder_node(&b, "Block", calls[i], calls[i + 1]);
        n->domain = "my";
        n->name = calls[i + 2];
    }
    builder_output(&b, "y", PGY_F32, "2");
    return b;
}

static pgy_tensor_map *feed_two(double value)
{
    const int64_t shape[] = {2};
    pgy_tensor_map *feed = NULL;
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_adopt(feed, "x", filled(PGY_F32, 1, shape, value), NULL),
                     PGY_OK);
    return feed;
}

static void expect_first(const pgy_tensor_map *map, const char *name, float value)
{
    const pgy_tensor *t = pgy_tensor_map_find(map, name);
    assert_non_null(t);
    assert_int_equal(pgy_tensor_dtype(t), PGY_F32);
    if (((float *)pgy_tensor_data(t))[0] != value)
        fail_msg("%s is %g, not %g", name, (double)((float *)pgy_tensor_data(t))[0], (double)value);
}

static void test_cut__nodes_of_a_function_have_the_values_of_the_call(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = blocks();
    pgy_cut *c = cut_nodes(builder_finish_bytes(&b), "net/second/times", NULL);
    expect_borders(c, "a", "net/second/h");
    pgy_tensor_map *feed = feed_two(4), *inputs = NULL, *outputs = NULL;
    if (pgy_cut_record(&inputs, &outputs, c, feed, &err)) fail_msg("%s", err.text);
    expect_first(inputs, "a", 8.5f);
    expect_first(outputs, "net/second/h", 25.5f);
    pgy_model *part = NULL;
    if (pgy_cut_model(&part, c, inputs, outputs, &err)) fail_msg("%s", err.text);
    assert_string_equal(pgy_model_proto(part)->graph->initializers[0]->name, "w2");
    assert_int_equal(pgy_model_proto(part)->function_count, 0);
    pgy_model_destroy(part);
    pgy_tensor_map_destroy(outputs);
    pgy_tensor_map_destroy(inputs);
    pgy_tensor_map_destroy(feed);
    pgy_cut_destroy(c);
}

static void test_cut__functions_inside_functions_are_entered_by_their_path(void **state)
{
    (void)state;
    model_builder b = blocks();
    pgy_cut *c = cut_nodes(builder_finish_bytes(&b), "net/first/scale/plus", NULL);
    expect_borders(c, "net/first/h", "net/first/s");
    assert_int_equal(pgy_cut_node_count(c), 2); /* with the constant that the call's attribute is */
    assert_int_equal(pgy_model_proto(pgy_cut_source(c))->graph->node_count, 5);
    pgy_cut_destroy(c);
    b = blocks();
    c = cut_nodes(builder_finish_bytes(&b), "net/first/scale", "net/second");
    expect_borders(c, "net/first/h a", "net/first/s y");
    pgy_cut_destroy(c);
}

static void test_cut__a_call_that_is_named_itself_is_kept(void **state)
{
    (void)state;
    model_builder b = blocks();
    pgy_cut *c = cut_nodes(builder_finish_bytes(&b), "net/first", NULL);
    expect_borders(c, "x", "a");
    assert_int_equal(pgy_model_proto(pgy_cut_source(c))->graph->node_count, 2);
    pgy_cut_destroy(c);
}

static void test_cut__patterns_and_modules_reach_into_functions(void **state)
{
    (void)state;
    model_builder b = blocks();
    pgy_cut *c = cut_nodes(builder_finish_bytes(&b), "*/times", NULL);
    expect_borders(c, "x a", "net/first/h net/second/h");
    pgy_cut_destroy(c);
    b = blocks();
    c = cut_nodes(builder_finish_bytes(&b), "net/second/*", NULL);
    expect_borders(c, "a", "y");
    assert_int_equal(pgy_cut_node_count(c), 3);
    pgy_cut_destroy(c);
    b = blocks();
    pgy_cut_selection what = {
        .size = sizeof what, .modules = names("net.second.scale", NULL), .module_count = 1};
    c = cut(builder_finish_bytes(&b), &what);
    expect_borders(c, "net/second/h", "net/second/s");
    pgy_cut_destroy(c);
    b = blocks();
    what = (pgy_cut_selection){.size = sizeof what, .subgraph = "net/first"};
    c = cut(builder_finish_bytes(&b), &what);
    expect_borders(c, "x", "a");
    assert_int_equal(pgy_cut_node_count(c), 3);
    pgy_cut_destroy(c);
    b = blocks();
    what = (pgy_cut_selection){.size = sizeof what,
                               .subgraph = "net/first",
                               .nodes = names("times", "q"),
                               .node_count = 2};
    c = cut(builder_finish_bytes(&b), &what);
    expect_borders(c, "x net/first/s", "net/first/h a");
    pgy_cut_destroy(c);
}

static void test_cut__tensors_of_functions_are_borders(void **state)
{
    (void)state;
    model_builder b = blocks();
    pgy_cut_selection what = {.size = sizeof what,
                              .from = names("net/first/s", NULL),
                              .from_count = 1,
                              .to = (const char *const[]){"net/second/h"},
                              .to_count = 1};
    pgy_cut *c = cut(builder_finish_bytes(&b), &what);
    expect_borders(c, "net/first/s", "net/second/h");
    assert_int_equal(pgy_cut_node_count(c), 2);
    pgy_cut_destroy(c);
    b = blocks();
    what = (pgy_cut_selection){.size = sizeof what,
                               .subgraph = "net/second",
                               .from = (const char *const[]){"p"},
                               .from_count = 1,
                               .to = names("q", NULL),
                               .to_count = 1};
    c = cut(builder_finish_bytes(&b), &what);
    expect_borders(c, "a", "y");
    pgy_cut_destroy(c);
}

static void test_cut__names_that_several_calls_have_are_refused(void **state)
{
    (void)state;
    model_builder b = blocks();
    pgy_cut_selection what = {.size = sizeof what, .nodes = names("times", NULL), .node_count = 1};
    expect_refused(builder_finish_bytes(&b), &what, PGY_E_ARGUMENT,
                   "node 'times' is in the function bodies of 2 calls; write one of "
                   "'net/first/times', 'net/second/times'");
    b = blocks();
    what = (pgy_cut_selection){.size = sizeof what, .to = names("h", NULL), .to_count = 1};
    expect_refused(builder_finish_bytes(&b), &what, PGY_E_ARGUMENT,
                   "write one of 'net/first/h', 'net/second/h'");
    b = blocks();
    what =
        (pgy_cut_selection){.size = sizeof what, .modules = names("plus", NULL), .module_count = 1};
    expect_refused(builder_finish_bytes(&b), &what, PGY_E_ARGUMENT,
                   "choose one as the subgraph: 'net/first/scale', 'net/second/scale'");
    b = blocks();
    what = (pgy_cut_selection){
        .size = sizeof what, .nodes = names("net/first/timex", NULL), .node_count = 1};
    expect_refused(builder_finish_bytes(&b), &what, PGY_E_NOT_FOUND,
                   "there is no 'timex' in function 'Block', which 'net/first' calls; did you mean "
                   "'times'?");
}

static void test_cut__a_name_that_one_call_has_needs_no_path(void **state)
{
    (void)state;
    model_builder b = blocks();
    b.graph->node_count = 1;
    b.graph->outputs[0]->name = "a";
    pgy_cut *c = cut_nodes(builder_finish_bytes(&b), "plus", NULL);
    expect_borders(c, "net/first/h", "net/first/s");
    pgy_cut_destroy(c);
}

static void test_cut__functions_that_call_themselves_end(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_opset(&b, "my", 1);
    model_builder f = builder_function(&b, "my", "F", "p", "q", "");
    for (size_t i = 0; i < 2; i++) builder_node(&f, "F", "p", i ? "q" : "r")->domain = "my";
    builder_end_function(&f);
    builder_input(&b, "x", PGY_F32, "2");
    builder_node(&b, "F", "x", "y")->domain = "my";
    builder_output(&b, "y", PGY_F32, "2");
    const pgy_cut_selection what = {
        .size = sizeof what, .nodes = names("nobody", NULL), .node_count = 1};
    expect_refused(builder_finish_bytes(&b), &what, PGY_E_UNSUPPORTED,
                   "the search stopped after 1000000 nodes in function bodies; write the path of a "
                   "call instead of a name");
}

/* ---- Loops ---------------------------------------------------------------------------------- */

/* outer: 3 times; m = v + v; inner: 2 times, u = u + m; even only every other time, by an If */
static model_builder loops(void)
{
    const int64_t three = 3, two = 2;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2");
    builder_ints(&b, "three", "", &three);
    builder_ints(&b, "two", "", &two);
    model_builder outer = builder_subgraph(&b, "outer"), inner = builder_subgraph(&b, "inner");
    builder_input(&inner, "j", PGY_I64, "");
    builder_input(&inner, "d", PGY_BOOL, "");
    builder_input(&inner, "u", PGY_F32, "2");
    named(builder_node(&inner, "Add", "u m", "t"), "add");
    builder_node(&inner, "Identity", "d", "e");
    builder_output(&inner, "e", PGY_BOOL, "");
    builder_output(&inner, "t", PGY_F32, "2");
    builder_input(&outer, "i", PGY_I64, "");
    builder_input(&outer, "c", PGY_BOOL, "");
    builder_input(&outer, "v", PGY_F32, "2");
    named(builder_node(&outer, "Add", "v v", "m"), "twice");
    pgy_onnx_node *n = builder_node(&outer, "Loop", "two - v", "r");
    n->name = "inner";
    builder_attr_graph(&outer, n, "body", &inner);
    builder_node(&outer, "Identity", "c", "g");
    builder_output(&outer, "g", PGY_BOOL, "");
    builder_output(&outer, "r", PGY_F32, "2");
    n = builder_node(&b, "Loop", "three - x", "y");
    n->name = "outer";
    builder_attr_graph(&b, n, "body", &outer);
    builder_output(&b, "y", PGY_F32, "2");
    return b;
}

static pgy_status record_loops(const char *node, const int64_t *iterations, size_t count,
                               pgy_tensor_map **inputs, pgy_tensor_map **outputs, pgy_error *err)
{
    model_builder b = loops();
    const pgy_cut_selection what = {.size = sizeof what,
                                    .nodes = names(node, NULL),
                                    .node_count = 1,
                                    .iterations = iterations,
                                    .iteration_count = count};
    pgy_cut *c = cut(builder_finish_bytes(&b), &what);
    pgy_tensor_map *feed = feed_two(1);
    const pgy_status st = pgy_cut_record(inputs, outputs, c, feed, err);
    pgy_tensor_map_destroy(feed);
    pgy_cut_destroy(c);
    return st;
}

/* Every time round of the outer loop makes 5 times of its value; the inner one adds 2 of it. */
static void test_cut__iterations_are_those_of_the_loops_around(void **state)
{
    (void)state;
    static const struct {
        const char *node;
        int64_t iterations[2];
        size_t count;
        float u, m, t;
    } CASES[] = {
        {"outer/body/inner/body/add", {0}, 0, 1, 2, 3},
        {"outer/body/inner/body/add", {1}, 1, 5, 10, 15},
        {"outer/body/inner/body/add", {1, 1}, 2, 15, 10, 25},
        {"outer/body/inner/body/add", {2, 1}, 2, 75, 50, 125},
        {"outer/body/inner/body/add", {0, 1}, 2, 3, 2, 5},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        pgy_error err = {0};
        pgy_tensor_map *inputs = NULL, *outputs = NULL;
        if (record_loops(CASES[i].node, CASES[i].iterations, CASES[i].count, &inputs, &outputs,
                         &err))
            fail_msg("%s", err.text);
        expect_first(inputs, "u", CASES[i].u);
        expect_first(inputs, "m", CASES[i].m);
        expect_first(outputs, "t", CASES[i].t);
        pgy_tensor_map_destroy(inputs);
        pgy_tensor_map_destroy(outputs);
    }
}

static void test_cut__iterations_that_are_not_run_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *node;
        int64_t iterations[3];
        size_t count;
        pgy_status status;
        const char *text;
    } CASES[] = {
        {"outer/body/twice",
         {3},
         1,
         PGY_E_NOT_FOUND,
         "loop 'outer' around the part runs 3 times with these inputs, so iteration 3 does not "
         "exist"},
        {"outer/body/inner/body/add",
         {1, 2},
         2,
         PGY_E_NOT_FOUND,
         "loop 'inner' around the part runs 2 times with these inputs, so iteration 2 does not "
         "exist"},
        {"outer/body/inner/body/add",
         {7, 0},
         2,
         PGY_E_NOT_FOUND,
         "loop 'outer' around the part runs 3 times with these inputs, so iteration 7 does not "
         "exist"},
        {"outer/body/twice",
         {0, 0},
         2,
         PGY_E_ARGUMENT,
         "iterations are given for 2 loops, but the part is inside of 1: the innermost is 'outer'"},
        {"outer",
         {0},
         1,
         PGY_E_ARGUMENT,
         "iterations are given for 1 loop, but the part is inside of 0"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        pgy_error err = {0};
        pgy_tensor_map *inputs = NULL, *outputs = NULL;
        assert_int_equal(record_loops(CASES[i].node, CASES[i].iterations, CASES[i].count, &inputs,
                                      &outputs, &err),
                         CASES[i].status);
        assert_string_equal(err.text, CASES[i].text);
        assert_null(inputs);
    }
}

static void test_cut__refused_allocations_in_functions_are_errors(void **state)
{
    (void)state;
    pgy_status st = PGY_E_MEMORY;
    for (uint64_t n = 1; st; n++) {
        pgy_error err = {0};
        model_builder b = blocks();
        pgy_model *m = builder_finish_bytes(&b), *part = NULL;
        pgy_cut *c = NULL;
        const pgy_cut_selection what = {.size = sizeof what,
                                        .nodes = names("net/first/scale/plus", "*/times"),
                                        .node_count = 2,
                                        .to = (const char *const[]){"net/second/s"},
                                        .to_count = 1};
        const bool refuses = mem_fail_nth(n);
        st = pgy_cut_create(&c, m, &what, &err);
        if (!st) st = pgy_cut_model(&part, c, NULL, NULL, &err);
        mem_fail_nth(0);
        if (st) assert_int_equal(st, PGY_E_MEMORY);
        pgy_model_destroy(part);
        pgy_cut_destroy(c);
        pgy_model_destroy(m);
        if (!refuses) skip();
    }
}
