/* SPDX-License-Identifier: Apache-2.0 */
/* What a view draws of a model: nodes, tensors, containers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/model_builder.h"
#include "harness/test_folder.h"
#include "viewer/graph.h"

static strvec warnings;

/* Takes the model over. */
static view_graph *view_of(pgy_model *m)
{
    pgy_error err = {0};
    view_graph *g = NULL;
    strvec_deinit(&warnings);
    const pgy_status st = view_graph_from_model(&g, m, "m", &warnings, &err);
    pgy_model_destroy(m);
    if (st) fail_msg("%s", err.text);
    return g;
}

static void end(view_graph *g)
{
    view_graph_destroy(g);
    strvec_deinit(&warnings);
}

static void test_graph__model_has_cards_for_inputs_and_outputs(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 3");
    builder_floats(&b, "w", "3, 4", NULL);
    builder_node(&b, "MatMul", "x w", "y");
    builder_output(&b, "y", PGY_F32, "N, 4");
    view_graph *g = view_of(builder_finish(&b));
    assert_int_equal(g->node_count, 3);
    assert_int_equal(g->nodes[0].kind, VIEW_NODE_INPUT);
    assert_int_equal(g->nodes[2].kind, VIEW_NODE_OUTPUT);
    const view_tensor *w = &g->tensors[view_graph_tensor(g, "w")];
    assert_int_equal(w->kind, VIEW_WEIGHT);
    assert_string_equal(w->shape, "3x4");
    assert_int_equal(w->bytes, 48);
    assert_int_equal(w->producer, VIEW_NONE);
    assert_string_equal(g->tensors[view_graph_tensor(g, "x")].shape, "Nx3");
    assert_int_equal(g->tensors[view_graph_tensor(g, "y")].producer, 1);
    assert_int_equal(g->containers[0].child_count, 3);
    assert_int_equal(warnings.count, 0);
    end(g);
}

static const view_tensor *tensor(const view_graph *g, const char *name)
{
    const uint32_t t = view_graph_tensor(g, name);
    if (t == VIEW_NONE) fail_msg("there is no tensor '%s'", name);
    return &g->tensors[t];
}

static uint32_t find(const view_graph *g, view_container_kind kind, const char *name)
{
    for (uint32_t i = 0; i < g->container_count; i++)
        if (g->containers[i].kind == kind && strcmp(g->containers[i].name, name) == 0) return i;
    return VIEW_NONE;
}

static bool is_warned(const char *text)
{
    for (size_t i = 0; i < warnings.count; i++)
        if (strstr(warnings.items[i], text)) return true;
    return false;
}

/* ---- Shapes --------------------------------------------------------------------------------- */

static void test_graph__shapes_are_inferred(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 3");
    builder_floats(&b, "w", "3, 4", NULL);
    builder_node(&b, "MatMul", "x w", "h");
    builder_node(&b, "Relu", "h", "y");
    builder_output(&b, "y", PGY_DTYPE_NONE, NULL);
    view_graph *g = view_of(builder_finish(&b));
    assert_string_equal(tensor(g, "h")->shape, "Nx4");
    assert_string_equal(tensor(g, "h")->dtype, "float32");
    assert_string_equal(tensor(g, "y")->shape, "Nx4");
    assert_null(tensor(g, "h")->declared);
    end(g);
}

static void test_graph__work_of_nodes_is_counted(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 3");
    builder_floats(&b, "w", "3, 4", NULL);
    builder_node(&b, "MatMul", "x w", "y");
    builder_output(&b, "y", PGY_F32, "2, 4");
    view_graph *g = view_of(builder_finish(&b));
    const view_node *n = &g->nodes[tensor(g, "y")->producer];
    assert_true(n->flops == 2 * 2 * 3 * 4);
    assert_true(n->weight_bytes == 48);
    assert_true(n->output_bytes == 32);
    assert_true(isnan(g->nodes[0].flops));
    end(g);
}

static void test_graph__contradicting_value_info_is_kept_beside_the_shape(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 3");
    builder_node(&b, "Relu", "x", "h");
    builder_value(&b, "h", PGY_F32, "5, 7");
    builder_node(&b, "Relu", "h", "k");
    builder_value(&b, "k", PGY_F32, "N, 3");
    builder_node(&b, "Relu", "k", "y");
    builder_output(&b, "y", PGY_F32, "2, 3");
    view_graph *g = view_of(builder_finish(&b));
    assert_string_equal(tensor(g, "h")->shape, "2x3");
    assert_string_equal(tensor(g, "h")->declared, "float32 5x7");
    assert_string_equal(tensor(g, "k")->shape, "2x3");
    assert_null(tensor(g, "k")->declared);
    assert_null(tensor(g, "y")->declared);
    assert_true(is_warned("'h'"));
    end(g);
}

static void test_graph__failing_inference_leaves_declared_shapes(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 3");
    builder_node(&b, "Relu", "nowhere", "h");
    builder_value(&b, "h", PGY_F16, "5, 7");
    builder_node(&b, "Add", "x h", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    view_graph *g = view_of(builder_finish(&b));
    assert_string_equal(tensor(g, "h")->shape, "5x7");
    assert_string_equal(tensor(g, "h")->dtype, "float16");
    assert_null(tensor(g, "y")->shape);
    assert_int_equal(tensor(g, "nowhere")->producer, VIEW_NONE);
    assert_true(is_warned("reads tensor 'nowhere', which nothing makes"));
    assert_true(is_warned("cannot be inferred"));
    end(g);
}

/* ---- Constants and weights ------------------------------------------------------------------ */

static void test_graph__constant_read_500_times_has_no_node(void **state)
{
    (void)state;
    char in[32], out[32];
    const int64_t dims[] = {1};
    pgy_error err = {0};
    pgy_tensor *t = NULL;
    model_builder b = builder_start(17);
    assert_int_equal(pgy_tensor_create(&t, PGY_F32, 0, dims, &err), PGY_OK);
    *(float *)pgy_tensor_data(t) = 0.25f;
    builder_attr_tensor(&b, builder_node(&b, "Constant", "", "c"), "value", t);
    pgy_tensor_release(t);
    builder_input(&b, "x0", PGY_F32, "4");
    for (int i = 0; i < 500; i++) {
        snprintf(in, sizeof in, "x%d c", i);
        snprintf(out, sizeof out, "x%d", i + 1);
        builder_node(&b, "Mul", in, out);
    }
    builder_output(&b, "x500", PGY_F32, "4");
    view_graph *g = view_of(builder_finish(&b));
    assert_int_equal(g->node_count, 502);
    assert_int_equal(tensor(g, "c")->kind, VIEW_NODE_CONSTANT);
    assert_int_equal(tensor(g, "c")->producer, VIEW_NONE);
    assert_string_equal(tensor(g, "c")->value, "0.25");
    assert_string_equal(tensor(g, "c")->dtype, "float32");
    assert_string_equal(tensor(g, "c")->shape, "");
    assert_int_equal(tensor(g, "c")->bytes, 4);
    end(g);
}

static void test_graph__constant_that_is_an_output_has_a_node(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_attr_int(&b, builder_node(&b, "Constant", "", "c"), "value_int", 7);
    builder_attr_int(&b, builder_node(&b, "Constant", "", "d"), "value_int", 9);
    builder_output(&b, "c", PGY_I64, "");
    view_graph *g = view_of(builder_finish(&b));
    assert_int_equal(g->node_count, 2);
    assert_int_equal(tensor(g, "c")->producer, 0);
    assert_string_equal(tensor(g, "d")->value, "9");
    assert_string_equal(tensor(g, "d")->dtype, "int64");
    end(g);
}

static void test_graph__input_with_a_default_is_a_weight(void **state)
{
    (void)state;
    const float half[] = {0.5f};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "3");
    builder_input(&b, "w", PGY_F32, "1");
    builder_floats(&b, "w", "1", half);
    builder_node(&b, "Mul", "x w", "y");
    builder_output(&b, "y", PGY_F32, "3");
    view_graph *g = view_of(builder_finish(&b));
    assert_int_equal(g->node_count, 3);
    assert_int_equal(tensor(g, "w")->kind, VIEW_WEIGHT);
    assert_string_equal(tensor(g, "w")->value, "0.5");
    end(g);
}

static void test_graph__a_renamed_weight_is_no_node(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 3");
    builder_floats(&b, "w", "3, 3", NULL);
    builder_node(&b, "Identity", "w", "v");
    builder_node(&b, "Identity", "v", "u");
    builder_node(&b, "MatMul", "x u", "h");
    builder_node(&b, "Identity", "h", "y");
    builder_output(&b, "y", PGY_F32, "2, 3");
    view_graph *g = view_of(builder_finish(&b));
    assert_int_equal(g->node_count, 4);
    assert_int_equal(tensor(g, "u")->kind, VIEW_NODE_CONSTANT);
    assert_string_equal(tensor(g, "u")->shape, "3x3");
    assert_true(g->nodes[tensor(g, "h")->producer].weight_bytes == 36);
    for (uint32_t i = 0; i < g->property_count; i++)
        if (strcmp(g->properties[i][0], "parameters") == 0)
            assert_string_equal(g->properties[i][1], "9, 36 bytes");
    end(g);
}

/* A folder for a copy of tests/data/onnx/external.onnx without its weights. */
static void test_graph__missing_external_weights_change_values_only(void **state)
{
    (void)state;
    char folder[TEST_PATH_SIZE], command[2 * TEST_PATH_SIZE];
    pgy_error err = {0};
    pgy_model *m = NULL;
    const pgy_model_load_options options = {.size = sizeof options, .ignore_external_data = true};
    test_path(folder, "view_XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command, "cp '%s/tests/data/onnx/external.onnx' '%s/m.onnx'",
             TEST_SOURCE_DIR, folder);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "%s/m.onnx", folder);
    assert_int_equal(pgy_model_load(&m, command, &options, &err), PGY_OK);
    view_graph *g = view_of(m);
    assert_int_equal(g->node_count, 4);
    for (uint32_t i = 0; i < g->tensor_count; i++) {
        assert_non_null(g->tensors[i].shape);
        assert_string_not_equal(g->tensors[i].dtype, "");
    }
    assert_int_equal(warnings.count, 0);
    end(g);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
}

static void test_graph__types_that_are_no_tensors_are_texts(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_model *m = NULL;
    assert_int_equal(pgy_model_load(&m, TEST_SOURCE_DIR "/tests/data/onnx/types.onnx", NULL, &err),
                     PGY_OK);
    view_graph *g = view_of(m);
    assert_int_equal(strncmp(tensor(g, "seq")->dtype, "sequence(", 9), 0);
    assert_int_equal(strncmp(tensor(g, "map")->dtype, "map(", 4), 0);
    assert_int_equal(strncmp(tensor(g, "opt")->dtype, "optional(", 9), 0);
    assert_int_equal(strncmp(tensor(g, "sparse")->dtype, "sparse(", 7), 0);
    assert_null(tensor(g, "no_shape")->shape);
    assert_string_equal(tensor(g, "scalar")->shape, "");
    end(g);
}

/* ---- Subgraphs ------------------------------------------------------------------------------ */

/* Loop whose body has an If, both of which read x of the main graph. */
static pgy_model *nested(void)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4");
    builder_input(&b, "n", PGY_I64, "");
    builder_input(&b, "c", PGY_BOOL, "");
    model_builder yes = builder_subgraph(&b, "yes");
    builder_node(&yes, "Add", "v x", "t");
    builder_output(&yes, "t", PGY_F32, "4");
    model_builder no = builder_subgraph(&b, "no");
    builder_node(&no, "Neg", "v", "e");
    builder_output(&no, "e", PGY_F32, "4");
    model_builder body = builder_subgraph(&b, "body");
    builder_input(&body, "i", PGY_I64, "");
    builder_input(&body, "cond", PGY_BOOL, "");
    builder_input(&body, "v", PGY_F32, "4");
    builder_node(&body, "Identity", "cond", "cond_out");
    pgy_onnx_node *branch = builder_node(&body, "If", "cond", "v_out");
    branch->name = "";
    builder_attr_graph(&body, branch, "then_branch", &yes);
    builder_attr_graph(&body, branch, "else_branch", &no);
    builder_output(&body, "cond_out", PGY_BOOL, "");
    builder_output(&body, "v_out", PGY_F32, "4");
    pgy_onnx_node *loop = builder_node(&b, "Loop", "n c x", "y");
    loop->name = "repeat";
    builder_attr_graph(&b, loop, "body", &body);
    builder_output(&b, "y", PGY_F32, "4");
    return builder_finish(&b);
}

static void test_graph__bodies_are_containers_of_their_call(void **state)
{
    (void)state;
    view_graph *g = view_of(nested());
    const uint32_t loop = find(g, VIEW_CALL, "repeat"), body = find(g, VIEW_BODY, "body");
    const uint32_t branch = find(g, VIEW_CALL, "If"), yes = find(g, VIEW_BODY, "then_branch");
    assert_int_equal(g->containers[loop].parent, 0);
    assert_int_equal(g->containers[body].parent, loop);
    assert_int_equal(g->containers[branch].parent, body);
    assert_int_equal(g->containers[yes].parent, branch);
    assert_string_equal(g->nodes[g->containers[loop].node].name, "repeat");
    assert_int_equal(g->nodes[g->containers[loop].node].parent, loop);
    assert_int_equal(g->containers[loop].child_count, 1);
    assert_int_equal(g->containers[body].child_count, 3 + 1 + 1 + 2);
    assert_int_equal(warnings.count, 0);
    end(g);
}

static void test_graph__captured_tensors_keep_their_outer_producer(void **state)
{
    (void)state;
    view_graph *g = view_of(nested());
    const uint32_t yes = find(g, VIEW_BODY, "then_branch");
    const view_node *add = &g->nodes[g->containers[yes].children[0].ref];
    assert_string_equal(g->tensors[add->inputs[0]].name, "v");
    const view_tensor *x = &g->tensors[add->inputs[1]];
    assert_string_equal(x->name, "x");
    assert_int_equal(x->container, 0);
    assert_int_equal(g->nodes[x->producer].kind, VIEW_NODE_INPUT);
    end(g);
}

static pgy_model *calls(int depth, int width)
{
    /* function f_i calls f_(i+1) `width` times */
    model_builder b = builder_start(17);
    char name[16], next[16], out[16];
    builder_opset(&b, "my", 1);
    for (int i = 0; i < depth; i++) {
        snprintf(name, sizeof name, "f%d", i);
        snprintf(next, sizeof next, "f%d", i + 1);
        model_builder f = builder_function(&b, "my", name, "a", "z", "");
        for (int k = 0; k < width; k++) {
            snprintf(out, sizeof out, k == width - 1 ? "z" : "u%d", k);
            pgy_onnx_node *n = builder_node(&f, i == depth - 1 ? "Relu" : next, "a", out);
            n->domain = i == depth - 1 ? "" : "my";
            n->name = "";
        }
        builder_end_function(&f);
    }
    builder_input(&b, "x", PGY_F32, "4");
    pgy_onnx_node *call = builder_node(&b, "f0", "x", "y");
    call->domain = "my";
    call->name = "";
    builder_output(&b, "y", PGY_F32, "4");
    return builder_finish(&b);
}

static void test_graph__functions_are_drawn_alone_and_in_their_calls(void **state)
{
    (void)state;
    view_graph *g = view_of(calls(2, 1));
    const uint32_t f0 = find(g, VIEW_FUNCTION, "f0"), call = find(g, VIEW_CALL, "f0");
    assert_int_equal(g->containers[f0].parent, VIEW_NONE);
    assert_int_equal(g->containers[f0].child_count, 3);
    assert_string_equal(g->containers[f0].note, "my");
    const uint32_t copy = g->containers[call].children[0].ref;
    assert_int_equal(g->containers[copy].kind, VIEW_BODY);
    const uint32_t inner = find(g, VIEW_CALL, "f1");
    assert_int_equal(g->containers[inner].parent, copy);
    /* inference reaches the body of a function that is called once */
    const uint32_t body = g->containers[inner].children[0].ref;
    const view_node *relu = &g->nodes[g->containers[body].children[1].ref];
    assert_string_equal(g->ops[relu->op].name, "Relu");
    assert_string_equal(g->tensors[relu->outputs[0]].shape, "4");
    end(g);
}

static void test_graph__functions_that_explode_are_not_copied(void **state)
{
    (void)state;
    view_graph *g = view_of(calls(30, 2)); /* 2^30 calls */
    assert_true(g->node_count < 1000);
    const uint32_t call = find(g, VIEW_CALL, "f0");
    assert_int_equal(g->containers[call].child_count, 0);
    assert_non_null(g->containers[call].note);
    assert_int_not_equal(find(g, VIEW_FUNCTION, "f29"), VIEW_NONE);
    end(g);
}

/* ---- Names ---------------------------------------------------------------------------------- */

static void test_graph__duplicates_are_shown_with_a_warning(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4");
    builder_node(&b, "Relu", "x", "h")->name = "same";
    builder_node(&b, "Neg", "x", "h")->name = "same";
    builder_node(&b, "Abs", "h", "y");
    builder_output(&b, "y", PGY_F32, "4");
    view_graph *g = view_of(builder_finish(&b));
    assert_int_equal(g->node_count, 5);
    assert_true(is_warned("tensor 'h' is defined more than once"));
    /* the first of each name counts */
    assert_string_equal(g->ops[g->nodes[view_graph_node(g, "same")].op].name, "Relu");
    assert_int_equal(tensor(g, "h")->producer, view_graph_node(g, "same"));
    end(g);
}

static char *json_of(void (*write)(json_writer *, const view_graph *), const view_graph *g)
{
    str s = {0};
    json_writer *w = NULL;
    pgy_error err = {0};
    assert_int_equal(json_writer_create_str(&w, &s, &err), PGY_OK);
    write(w, g);
    if (json_writer_finish(w, &err)) fail_msg("%s", err.text);
    json_writer_destroy(w);
    return str_take(&s);
}

static void write_details(json_writer *w, const view_graph *g)
{
    view_detail_write(w, g, 0);
}

static json_value *parsed(arena *a, const char *text)
{
    pgy_error err = {0};
    json_value *v = NULL;
    if (json_parse(&v, text, strlen(text), a, &err)) fail_msg("%s", err.text);
    return v;
}

static void test_graph__hostile_names_make_valid_json(void **state)
{
    (void)state;
    static char large[10001];
    static const char *const NAMES[] = {"</script><script>alert(1)</script>",
                                        "\xFF\xFE bad \xC3",
                                        "tab\tnew\nline\x01",
                                        "\xE2\x80\xAEright to left",
                                        "quote\"back\\slash",
                                        "",
                                        large};
    memset(large, 'a', sizeof large - 1);
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4");
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        pgy_onnx_node *n = builder_node(&b, "Relu", "x", i ? "-" : "y");
        n->name = n->doc_string = NAMES[i];
        n->op_type = NAMES[i];
    }
    builder_output(&b, "y", PGY_F32, "4");
    view_graph *g = view_of(builder_finish(&b));
    arena a = {0};
    char *text = json_of(view_graph_write, g), *details = json_of(write_details, g);
    json_value *v = parsed(&a, text);
    parsed(&a, details);
    assert_int_equal(json_get(json_get(v, "node"), "name")->count, g->node_count);
    assert_string_equal(g->nodes[2].name, "\xEF\xBF\xBD\xEF\xBF\xBD bad \xEF\xBF\xBD");
    assert_string_equal(g->nodes[4].name, NAMES[3]);
    free(text);
    free(details);
    arena_deinit(&a);
    end(g);
}

static void test_graph__lookups_know_layers_by_their_first_member(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4");
    builder_node(&b, "Relu", "x", "h")->name = "a";
    builder_node(&b, "Neg", "h", "y")->name = "b + c";
    builder_output(&b, "y", PGY_F32, "4");
    view_graph *g = view_of(builder_finish(&b));
    assert_int_equal(view_graph_node(g, "a"), 1);
    assert_int_equal(view_graph_node(g, "a + z"), 1);
    assert_int_equal(view_graph_node(g, "b + c"), 2);
    assert_int_equal(view_graph_node(g, "z + a"), VIEW_NONE);
    assert_int_equal(view_graph_node(g, "x"), VIEW_NONE);
    end(g);
}

/* ---- The page's blocks ---------------------------------------------------------------------- */

static void test_graph__columns_have_one_entry_each(void **state)
{
    (void)state;
    static const char *const COLUMNS[][2] = {
        {"node", "op"},        {"node", "name"},       {"node", "parent"},    {"node", "kind"},
        {"node", "inputs"},    {"node", "outputs"},    {"node", "w"},         {"node", "h"},
        {"tensor", "name"},    {"tensor", "dtype"},    {"tensor", "kind"},    {"tensor", "shape"},
        {"tensor", "value"},   {"tensor", "producer"}, {"tensor", "bytes"},   {"container", "kind"},
        {"container", "name"}, {"container", "node"},  {"container", "state"}};
    view_graph *g = view_of(nested());
    arena a = {0};
    char *text = json_of(view_graph_write, g);
    json_value *v = parsed(&a, text);
    for (size_t i = 0; i < sizeof COLUMNS / sizeof *COLUMNS; i++) {
        const size_t count = strcmp(COLUMNS[i][0], "node") == 0     ? g->node_count
                             : strcmp(COLUMNS[i][0], "tensor") == 0 ? g->tensor_count
                                                                    : g->container_count;
        assert_int_equal(json_get(json_get(v, COLUMNS[i][0]), COLUMNS[i][1])->count, count);
    }
    const json_value *shapes = json_get(json_get(v, "tensor"), "shape");
    const uint32_t x = view_graph_tensor(g, "x");
    const json_value *shape = json_at(json_get(v, "strings"), (size_t)json_at(shapes, x)->integer);
    assert_string_equal(json_string(shape, &a, NULL), "4");
    free(text);
    arena_deinit(&a);
    end(g);
}

static void test_graph__details_show_attributes_in_full(void **state)
{
    (void)state;
    const int64_t pads[] = {1, 2, 3, 4};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "1, 1, 8, 8");
    builder_floats(&b, "w", "1, 1, 3, 3", NULL);
    pgy_onnx_node *n = builder_node(&b, "Conv", "x w", "y");
    builder_attr_ints(&b, n, "pads", 4, pads);
    builder_attr_string(&b, n, "auto_pad", "NOTSET");
    n->doc_string = "made by hand";
    builder_output(&b, "y", PGY_F32, NULL);
    view_graph *g = view_of(builder_finish(&b));
    arena a = {0};
    char *text = json_of(write_details, g);
    const json_value *v = parsed(&a, text), *node = json_at(v, 1);
    assert_int_equal(json_at(v, 0)->type, JSON_NULL);
    const json_value *row = json_at(json_get(node, "attributes"), 0);
    assert_string_equal(json_string(json_at(row, 0), &a, NULL), "pads");
    assert_string_equal(json_string(json_at(row, 1), &a, NULL), "ints");
    assert_string_equal(json_string(json_at(row, 2), &a, NULL), "[1, 2, 3, 4]");
    row = json_at(json_get(node, "attributes"), 1);
    assert_string_equal(json_string(json_at(row, 2), &a, NULL), "NOTSET");
    assert_string_equal(json_string(json_get(node, "doc"), &a, NULL), "made by hand");
    free(text);
    arena_deinit(&a);
    end(g);
}

static void test_graph__operators_have_categories(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_opset(&b, "com.microsoft", 1);
    builder_input(&b, "x", PGY_F32, "4");
    builder_node(&b, "Relu", "x", "a");
    builder_node(&b, "FastGelu", "a", "b")->domain = "com.microsoft";
    builder_node(&b, "Strange", "b", "c")->domain = "elsewhere";
    builder_node(&b, "Relu", "c", "y")->domain = "elsewhere";
    builder_output(&b, "y", PGY_F32, "4");
    view_graph *g = view_of(builder_finish(&b));
    assert_int_equal(g->ops[g->nodes[1].op].category, VIEW_ACTIVATION);
    assert_int_equal(g->ops[g->nodes[2].op].category, VIEW_ACTIVATION);
    assert_int_equal(g->ops[g->nodes[3].op].category, VIEW_OTHER);
    assert_int_equal(g->ops[g->nodes[4].op].category, VIEW_OTHER);
    assert_true(strlen(g->ops[g->nodes[1].op].doc) > 3);
    assert_int_equal(g->ops[g->nodes[0].op].category, VIEW_INPUT);
    end(g);
}
