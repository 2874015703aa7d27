/* SPDX-License-Identifier: Apache-2.0 */
/* Two graphs in one picture: the rows of the table of differences, and the merged graph. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "harness/model_builder.h"
#include "viewer/diff.h"
#include "viewer/graph_collect.h"

/* ---- Models from text ------------------------------------------------------------------------
 * One line each: "in x B,3", "out y", "type t B,3" (a declared type), "w name 3,3 0.5" (a weight),
 * and "Op name a b -> c | axis=1" (a node; "-" for no name). */

static void read_attributes(model_builder *b, pgy_onnx_node *n, char *text)
{
    char *rest = NULL;
    for (char *item = strtok_r(text, " ", &rest); item; item = strtok_r(NULL, " ", &rest)) {
        char *equals = strchr(item, '=');
        assert_non_null(equals);
        *equals = 0;
        builder_attr_int(b, n, pgy_model_strdup(b->model, item), atoi(equals + 1));
    }
}

static void read_node(model_builder *b, char *line)
{
    char op[64], name[64];
    int used = 0;
    char *attributes = strchr(line, '|');
    if (attributes) *attributes++ = 0;
    assert_int_equal(sscanf(line, "%63s %63s %n", op, name, &used), 2);
    char *arrow = strstr(line + used, "->");
    assert_non_null(arrow);
    *arrow = 0;
    pgy_onnx_node *n = builder_node(b, pgy_model_strdup(b->model, op), line + used, arrow + 2);
    if (strcmp(name, "-") != 0) n->name = pgy_model_strdup(b->model, name);
    if (attributes) read_attributes(b, n, attributes);
}

static void read_weight(model_builder *b, const char *name, const char *shape, float value)
{
    float values[4096];
    size_t count = 1;
    for (const char *p = shape; *p; p++) {
        if (p == shape || p[-1] == ',') count *= (size_t)atoi(p);
    }
    assert_true(count <= 4096);
    for (size_t i = 0; i < count; i++) values[i] = value;
    builder_floats(b, name, shape, values);
}

static void read_line(model_builder *b, char *line)
{
    char kind[16] = "", name[64] = "", shape[64] = "";
    float value = 1;
    const int count = sscanf(line, "%15s %63s %63s %f", kind, name, shape, &value);
    const char *kept = pgy_model_strdup(b->model, name);
    if (strcmp(kind, "in") == 0)
        builder_input(b, kept, PGY_F32, count > 2 ? shape : NULL);
    else if (strcmp(kind, "out") == 0)
        builder_output(b, kept, PGY_F32, count > 2 ? shape : NULL);
    else if (strcmp(kind, "type") == 0)
        builder_value(b, kept, PGY_F32, shape);
    else if (strcmp(kind, "w") == 0)
        read_weight(b, kept, shape, value);
    else
        read_node(b, line);
}

static pgy_model *model_of(const char *text, int64_t opset)
{
    model_builder b = builder_start(opset);
    builder_opset(&b, "com.microsoft", 1);
    char *copy = mem_strdup(text), *rest = NULL;
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        read_line(&b, line);
    mem_free(copy);
    return builder_finish(&b);
}

/* Layers of a plan, a line each: "type name a b -> c | conv relu", the names of its members. */

static uint32_t tensor_of(graph_parts *g, strmap *tensors, const char *name)
{
    uintptr_t at = (uintptr_t)strmap_get(tensors, name);
    if (at) return (uint32_t)at - 1;
    const view_tensor like = {
        .name = collect_text(g, name), .dtype = "float32", .producer = VIEW_NONE};
    at = collect_tensor(g, &like);
    assert_true(strmap_put(tensors, name, (void *)(at + 1)));
    return (uint32_t)at;
}

static uint32_t *tensors_of(graph_parts *g, strmap *tensors, char *text, uint32_t *count)
{
    uint32_t *list = collect_list(g, 16);
    char *rest = NULL;
    *count = 0;
    for (char *name = strtok_r(text, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
        list[(*count)++] = tensor_of(g, tensors, name);
    return list;
}

static void read_layer(graph_parts *g, strmap *tensors, char *line)
{
    char type[64], name[64];
    int used = 0;
    char *members = strchr(line, '|'), *arrow = strstr(line, "->"), *rest = NULL;
    if (members) *members++ = 0;
    assert_non_null(arrow);
    *arrow = 0;
    assert_int_equal(sscanf(line, "%63s %63s %n", type, name, &used), 2);
    const char **list = arena_alloc_array(&g->g->memory, 16, sizeof *list);
    view_node like = {.op = collect_op(g, collect_text(g, type), ""),
                      .name = collect_text(g, name)};
    like.inputs = tensors_of(g, tensors, line + used, &like.input_count);
    like.outputs = tensors_of(g, tensors, arrow + 2, &like.output_count);
    for (char *m = members ? strtok_r(members, " ", &rest) : NULL; m;
         m = strtok_r(NULL, " ", &rest))
        list[like.member_count++] = collect_text(g, m);
    like.members = list;
    const uint32_t at = collect_node(g, &like);
    for (uint32_t i = 0; i < like.output_count; i++) g->tensors[like.outputs[i]].producer = at;
}

static view_graph *plan_of(const char *text)
{
    graph_parts g;
    pgy_error err = {0};
    view_graph *out = NULL;
    strmap tensors = {0};
    strvec warnings = {0};
    assert_int_equal(collect_start(&g, "plan", "plan", &warnings, &err), PGY_OK);
    const view_container like = {.name = "", .parent = VIEW_NONE, .node = VIEW_NONE};
    collect_container(&g, &like);
    char *copy = mem_strdup(text), *rest = NULL;
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        read_layer(&g, &tensors, line);
    mem_free(copy);
    assert_int_equal(collect_finish(&out, &g, &err), PGY_OK);
    collect_deinit(&g);
    strmap_deinit(&tensors);
    return out;
}

/* ---- Pages ----------------------------------------------------------------------------------- */

static view_graph *graph_of(pgy_page *p, pgy_model *m, const char *name)
{
    pgy_error err = {0};
    view_graph *g = NULL;
    if (view_graph_from_model(&g, m, name, &p->warnings, &err)) fail_msg("%s", err.text);
    pgy_model_destroy(m);
    return g;
}

static void compare(pgy_page *p)
{
    pgy_error err = {0};
    p->graph_count = 2;
    if (view_diff_make(p, &err)) fail_msg("%s", err.text);
    assert_int_equal(p->graph_count, 3);
}

static pgy_page *page_of(pgy_model *a, pgy_model *b)
{
    pgy_page *p = mem_calloc(1, sizeof *p);
    p->graphs[0] = graph_of(p, a, "before");
    p->graphs[1] = graph_of(p, b, "after");
    compare(p);
    return p;
}

static pgy_page *page_with(view_graph *a, view_graph *b)
{
    pgy_page *p = mem_calloc(1, sizeof *p);
    p->graphs[0] = a;
    p->graphs[1] = b;
    compare(p);
    return p;
}

static void end(pgy_page *p)
{
    for (int i = 0; i < VIEW_GRAPH_LIMIT; i++) view_graph_destroy(p->graphs[i]);
    view_results_deinit(&p->results);
    strvec_deinit(&p->warnings);
    arena_deinit(&p->memory);
    mem_free(p);
}

/* The rows: "removed myAdd [Add] node", "changed c [Conv] attribute k: 1 > 2". */
static void print_rows(str *out, const pgy_page *p)
{
    const view_table *t = p->results.tables[0];
    assert_string_equal(t->id, "diff");
    for (size_t i = 0; i < t->row_count; i++) {
        const view_cell *c = &t->cells[i * t->column_count];
        if (strncmp(c[3].text, "graph: name", 11) == 0) continue;
        str_append(out, c[2].text);
        if (c[0].text) str_printf(out, " %s", c[0].text);
        if (c[1].text && *c[1].text) str_printf(out, " [%s]", c[1].text);
        if (c[3].text) str_printf(out, " %s", c[3].text);
        if ((c[4].text && *c[4].text) || (c[5].text && *c[5].text))
            str_printf(out, ": %s > %s", c[4].text ? c[4].text : "-", c[5].text ? c[5].text : "-");
        str_append(out, "\n");
    }
}

static uint32_t parent_count(const view_graph *g, uint32_t container)
{
    uint32_t depth = 0;
    while ((container = g->containers[container].parent) != VIEW_NONE) depth++;
    return depth;
}

static void print_items(str *out, const pgy_page *p, uint32_t container)
{
    const view_graph *g = p->graphs[2];
    const view_quantity *q = view_quantity_find(&p->results, "change", 2);
    const view_container *c = &g->containers[container];
    for (uint32_t i = 0; i < c->child_count; i++) {
        const uint32_t ref = c->children[i].ref;
        str_append_fill(out, ' ', 2 * (size_t)parent_count(g, container));
        if (c->children[i].kind == VIEW_ITEM_CONTAINER) {
            str_printf(out, "{%s}\n", g->containers[ref].name);
            print_items(out, p, ref);
            continue;
        }
        const view_node *n = &g->nodes[ref];
        assert_int_equal(n->parent, container);
        str_printf(out, "%c%s", " *+-f"[(int)q->values[ref]], g -> ops[n->op].name);
        if (*n->name) str_printf(out, " %s", n->name);
        for (uint32_t k = 0; k < n->input_count; k++)
            str_printf(out, "%s%s", k ? " " : " (",
                       n->inputs[k] == VIEW_NONE ? "-" : g->tensors[n->inputs[k]].name);
        str_append(out, n->input_count ? ")\n" : "\n");
    }
}

static void expect_text(str *got, const char *wanted)
{
    const bool same = strcmp(str_text(got), wanted) == 0;
    if (!same) fail_msg("got:\n%swanted:\n%s", str_text(got), wanted);
    str_deinit(got);
}

static void expect_rows(pgy_page *p, const char *wanted)
{
    str got = {0};
    print_rows(&got, p);
    expect_text(&got, wanted);
}

static void expect_picture(pgy_page *p, const char *wanted)
{
    str got = {0};
    print_items(&got, p, 0);
    expect_text(&got, wanted);
}

static pgy_page *texts(const char *a, const char *b)
{
    return page_of(model_of(a, 11), model_of(b, 11));
}

/* ---- The nine cases of graph surgery --------------------------------------------------------- */

#define CHAIN                                   \
    "in tensor0 B,3,64,64\n"                    \
    "Identity myIdentity0 tensor0 -> tensor1\n" \
    "w constant0 1,1,1,1 1\n"                   \
    "Add myAdd tensor1 constant0 -> tensor2\n"  \
    "Identity myIdentity1 tensor2 -> tensor3\n" \
    "out tensor3\n"

static void test_diff__surgery_1_building_adds_everything(void **state)
{
    (void)state;
    pgy_page *p = texts("in other 3\nSigmoid s other -> end\nout end\n",
                        "in tensor0 B,3,64,64\n"
                        "w constant0 1,3,3,3 1\n"
                        "w constant1 1 1\n"
                        "Conv myConv tensor0 constant0 -> tensor1\n"
                        "Add myAdd tensor1 constant1 -> tensor2\n"
                        "Relu myRelu tensor2 -> tensor3\n"
                        "out tensor3\n");
    expect_rows(p, "added tensor0 [Input] input\n"
                   "added myConv [Conv] node\n"
                   "added myAdd [Add] node\n"
                   "added myRelu [Relu] node\n"
                   "added tensor3 [Output] output\n"
                   "removed other [Input] input\n"
                   "removed s [Sigmoid] node\n"
                   "removed end [Output] output\n");
    end(p);
}

static void test_diff__surgery_2_insert_a_node(void **state)
{
    (void)state;
    pgy_page *p = texts("in tensor0 B,3,64,64\n"
                        "Identity myIdentity0 tensor0 -> tensor1\n"
                        "Identity myIdentity1 tensor1 -> tensor2\n"
                        "out tensor2\n",
                        "in tensor0 B,3,64,64\n"
                        "Identity myIdentity0 tensor0 -> tensor1\n"
                        "w constant0 1,1,1,1 1\n"
                        "Add myAdd tensor1 constant0 -> tensor3\n"
                        "Identity myIdentity1 tensor3 -> tensor2\n"
                        "out tensor2\n");
    expect_rows(p, "added myAdd [Add] node\n");
    expect_picture(p, " Input tensor0\n"
                      " Identity myIdentity0 (tensor0)\n"
                      "+Add myAdd (tensor1 constant0)\n"
                      " Identity myIdentity1 (tensor1 tensor3)\n"
                      " Output tensor2 (tensor2)\n");
    end(p);
}

static void test_diff__surgery_3_remove_a_node(void **state)
{
    (void)state;
    pgy_page *p = texts(CHAIN, "in tensor0 B,3,64,64\n"
                               "Identity myIdentity0 tensor0 -> tensor1\n"
                               "Identity myIdentity1 tensor1 -> tensor3\n"
                               "out tensor3\n");
    expect_rows(p, "removed myAdd [Add] node\n");
    expect_picture(p, " Input tensor0\n"
                      " Identity myIdentity0 (tensor0)\n"
                      "-Add myAdd (tensor1 constant0)\n"
                      " Identity myIdentity1 (tensor2 tensor1)\n"
                      " Output tensor3 (tensor3)\n");
    end(p);
}

static void test_diff__surgery_4_replace_a_node(void **state)
{
    (void)state;
    pgy_page *p = texts(CHAIN, "in tensor0 B,3,64,64\n"
                               "Identity myIdentity0 tensor0 -> tensor1\n"
                               "w constant0 1,1,1,1 1\n"
                               "Sub mySub tensor1 constant0 -> tensor2\n"
                               "Identity myIdentity1 tensor2 -> tensor3\n"
                               "out tensor3\n");
    expect_rows(p, "renamed myAdd [Add] name: myAdd > mySub\n"
                   "changed myAdd [Add] operator: Add > Sub\n");
    end(p);
}

static void test_diff__surgery_5_walking_changes_nothing(void **state)
{
    (void)state;
    pgy_page *p = texts(CHAIN, CHAIN);
    expect_rows(p, "");
    assert_true(p->results.is_judged && p->results.passed);
    assert_int_equal(p->results.mark_count, 0);
    end(p);
}

static const char *const REVERSED = "in tensor0 B,3,64,64\n"
                                    "in tensor3 B,3,64,64\n"
                                    "w w 1,1,1,1 1\n"
                                    "Add myAdd4 tensor5 w -> tensor6\n"
                                    "Add myAdd3 tensor1 w -> tensor2\n"
                                    "Add myAdd2 tensor0 tensor8 -> tensor1\n"
                                    "Add myAdd1 tensor7 w -> tensor8\n"
                                    "Add myAdd0 w w -> tensor7\n"
                                    "out tensor2 B,3,64,64\n"
                                    "out tensor4 B,1,64,64\n";

static void test_diff__surgery_6_fold_and_trim(void **state)
{
    (void)state;
    pgy_page *p = texts(REVERSED, "in tensor0 B,3,64,64\n"
                                  "w tensor8 1,1,1,1 3\n"
                                  "w w 1,1,1,1 1\n"
                                  "Add myAdd2 tensor0 tensor8 -> tensor1\n"
                                  "Add myAdd3 tensor1 w -> tensor2\n"
                                  "out tensor2 B,3,64,64\n");
    expect_rows(p, "removed tensor3 [Input] input\n"
                   "removed myAdd4 [Add] node\n"
                   "added myAdd2 [Add] weight tensor8: - > float32 (1, 1, 1, 1)\n"
                   "removed myAdd1 [Add] node\n"
                   "removed myAdd0 [Add] node\n"
                   "removed tensor4 [Output] output\n");
    end(p);
}

static void test_diff__surgery_7_shape_arithmetic(void **state)
{
    (void)state;
    pgy_page *p = texts("in tensor0 A,3,B,5\n"
                        "Shape myShape tensor0 -> tensor1\n"
                        "ReduceProd myReduceProd0 tensor1 -> tensor2 | keepdims=1\n"
                        "w constant0 2 0\nw constant1 2 2\n"
                        "Gather myGather0 tensor1 constant0 -> tensor4\n"
                        "Gather myGather1 tensor1 constant1 -> tensor5\n"
                        "Reshape myReshape0 tensor0 tensor2 -> tensor3\n"
                        "ReduceProd myReduceProd1 tensor5 -> tensor6 | keepdims=1\n"
                        "Concat myConcat tensor4 tensor6 -> tensor7 | axis=0\n"
                        "Reshape myReshape1 tensor0 tensor7 -> tensor8\n"
                        "out tensor3\nout tensor8\n",
                        "in tensor0 2,3,4,5\n"
                        "w tensor2 1 120\nw tensor7 3 2\n"
                        "Reshape myReshape0 tensor0 tensor2 -> tensor3\n"
                        "Reshape myReshape1 tensor0 tensor7 -> tensor8\n"
                        "out tensor3\nout tensor8\n");
    expect_rows(p, "changed tensor0 [Input] shape of tensor0: Ax3xBx5 > 2x3x4x5\n"
                   "removed myShape [Shape] node\n"
                   "removed myReduceProd0 [ReduceProd] node\n"
                   "removed myGather0 [Gather] node\n"
                   "removed myGather1 [Gather] node\n"
                   "added myReshape0 [Reshape] weight tensor2: - > float32 (1,)\n"
                   "removed myReduceProd1 [ReduceProd] node\n"
                   "removed myConcat [Concat] node\n"
                   "added myReshape1 [Reshape] weight tensor7: - > float32 (3,)\n");
    end(p);
}

static void test_diff__surgery_8_isolate_a_subgraph(void **state)
{
    (void)state;
    pgy_page *p = texts(CHAIN, "in tensor1 B,3,64,64\n"
                               "w constant0 1,1,1,1 1\n"
                               "Add myAdd tensor1 constant0 -> tensor2\n"
                               "out tensor2 B,3,64,64\n");
    expect_rows(p, "added tensor1 [Input] input\n"
                   "removed tensor0 [Input] input\n"
                   "removed myIdentity0 [Identity] node\n"
                   "added tensor2 [Output] output\n"
                   "removed myIdentity1 [Identity] node\n"
                   "removed tensor3 [Output] output\n");
    end(p);
}

#define REGISTERED                                                                               \
    "in tensor0 64,64\n"                                                                         \
    "w tensor1 64,64 1\nw tensor2 64,64 0.5\nw tensor3 64,64 1\nw tensor4 1 3\nw tensor5 1 -3\n" \
    "Gemm node_1 tensor1 tensor0 -> myGgemm_0 | transA=0 transB=1\n"                             \
    "Add node_3 myGgemm_0 tensor2 -> myAdd_2\n"                                                  \
    "Relu node_5 myAdd_2 -> myReLU_4\n"                                                          \
    "Mul node_7 myReLU_4 tensor3 -> myMul_6\n"

static void test_diff__surgery_9_replace_a_region(void **state)
{
    (void)state;
    pgy_page *p = texts(REGISTERED "Min node_9 myMul_6 tensor4 -> myMin_8\n"
                                   "Max node_11 myMin_8 tensor5 -> myMax_10\n"
                                   "out myMax_10\n",
                        REGISTERED "Clip node_12 myMul_6 tensor5 tensor4 -> myMax_10\n"
                                   "out myMax_10\n");
    expect_rows(p, "fused node_12 [Clip] several nodes became one: node_9 (Min), node_11 (Max) > "
                   "node_12 (Clip)\n");
    expect_picture(p, " Input tensor0\n"
                      " Gemm node_1 (tensor1 tensor0)\n"
                      " Add node_3 (myGgemm_0 tensor2)\n"
                      " Relu node_5 (myAdd_2)\n"
                      " Mul node_7 (myReLU_4 tensor3)\n"
                      "{node_12}\n"
                      "  fMin node_9 (myMul_6 tensor4)\n"
                      "  fMax node_11 (myMin_8 tensor5)\n"
                      " Output myMax_10 (myMax_10)\n");
    end(p);
}

/* ---- Other changes --------------------------------------------------------------------------- */

#define NET(p, w)                                                               \
    "in " p "x 1,3,8,8\nw " p "w1 4,3,3,3 " w "\nw " p "w2 4,4,3,3 " w "\n"     \
    "Conv " p "c1 " p "x " p "w1 -> " p "t1\nRelu " p "r1 " p "t1 -> " p "t2\n" \
    "Conv " p "c2 " p "t2 " p "w2 -> " p "t3\nRelu " p "r2 " p "t3 -> " p "y\nout " p "y\n"

static void test_diff__renaming_everything_changes_no_node(void **state)
{
    (void)state;
    pgy_page *p = texts(NET("", "1"), NET("new_", "1"));
    assert_int_equal(p->results.mark_count, 0);
    expect_picture(p, " Input x\n"
                      " Conv c1 (x w1)\n"
                      " Relu r1 (t1)\n"
                      " Conv c2 (t2 w2)\n"
                      " Relu r2 (t3)\n"
                      " Output y (y)\n");
    end(p);
}

static void test_diff__order_in_the_file_does_not_matter(void **state)
{
    (void)state;
    pgy_page *p = texts("in x 4\nRelu a x -> p\nTanh b x -> q\nAdd c p q -> y\nout y\n",
                        "in x 4\nTanh b x -> q\nRelu a x -> p\nAdd c p q -> y\nout y\n");
    expect_rows(p, "");
    end(p);
}

static void test_diff__swapped_inputs_are_a_change(void **state)
{
    (void)state;
    pgy_page *p = texts("in x 4\nRelu a x -> p\nTanh b x -> q\nSub c p q -> y\nout y\n",
                        "in x 4\nRelu a x -> p\nTanh b x -> q\nSub c q p -> y\nout y\n");
    expect_rows(p, "rewired c [Sub] input 0: p > q\n"
                   "rewired c [Sub] input 1: q > p\n");
    end(p);
}

static void test_diff__exchanged_nodes_are_changed(void **state)
{
    (void)state;
    pgy_page *p = texts("in x 4\nRelu a x -> p\nTanh b p -> q\nExp c q -> y\nout y\n",
                        "in x 4\nTanh b x -> q\nRelu a q -> p\nExp c p -> y\nout y\n");
    expect_rows(p, "rewired a [Relu] input 0: x > q\n"
                   "rewired b [Tanh] input 0: p > x\n"
                   "rewired c [Exp] input 0: q > p\n");
    end(p);
}

static void test_diff__weights_and_attributes(void **state)
{
    (void)state;
    pgy_page *p = texts("in x 1,4\nw w 4,4 1\nGemm g x w -> t | transB=0\nRelu r t -> y\nout y\n",
                        "in x 1,4\nw w 4,4 2\nGemm g x w -> t | transB=1\nRelu r t -> y\nout y\n");
    expect_rows(p, "changed g [Gemm] attribute transB: 0 > 1\n"
                   "changed g [Gemm] weight w: values:  > 16 of 16 elements differ, "
                   "by 1 at most; SNR 0 dB\n");
    const view_mark *m = p->results.marks;
    assert_int_equal(p->results.mark_count, 3); /* in A, in B, and in both */
    assert_int_equal(m->kind, VIEW_MARK_CHANGED);
    assert_string_equal(
        m->text,
        "attribute transB: 0 > 1; weight w: values: 16 of 16 elements differ, by 1 at most; "
        "SNR 0 dB");
    end(p);
}

static void test_diff__inserted_casts(void **state)
{
    (void)state;
    pgy_page *p = texts("in x 1,4\nRelu a x -> t\nTanh b t -> y\nout y\n",
                        "in x 1,4\nCast c1 x -> u | to=10\nRelu a u -> t\n"
                        "Cast c2 t -> v | to=1\nTanh b v -> y\nout y\n");
    expect_picture(p, " Input x\n"
                      "+Cast c1 (x)\n"
                      "*Relu a (x u)\n"
                      "+Cast c2 (t)\n"
                      " Tanh b (t v)\n"
                      " Output y (y)\n");
    end(p);
}

static void test_diff__details_of_the_merged_graph_have_no_commands(void **state)
{
    (void)state;
    pgy_page *p = texts("in x 1,4\nRelu a x -> t\nTanh b t -> y\nout y\n",
                        "in x 1,4\nCast c1 x -> u | to=10\nRelu a u -> t\nTanh b t -> y\nout y\n");
    for (int graph = 0; graph < 3; graph++) {
        str text = {0};
        pgy_error err = {0};
        json_writer *w = NULL;
        assert_int_equal(json_writer_create_str(&w, &text, &err), PGY_OK);
        view_detail_write(w, p->graphs[graph], 0);
        assert_int_equal(json_writer_finish(w, &err), PGY_OK);
        json_writer_destroy(w);
        assert_int_equal(strstr(str_text(&text), "\"commands\"") != NULL, graph < 2);
        str_deinit(&text);
    }
    end(p);
}

static void test_diff__folded_batch_normalization_is_fused(void **state)
{
    (void)state;
    pgy_page *p =
        texts("in x 1,3,8,8\nw w 4,3,3,3 1\nw s 4 2\nw b 4 1\nw m 4 0\nw v 4 1\n"
              "Conv conv x w -> t\nBatchNormalization bn t s b m v -> u\nRelu relu u -> z\n"
              "Tanh tail z -> y\nout y\n",
              "in x 1,3,8,8\nw w 4,3,3,3 2\nw bias 4 1\n"
              "FusedConv conv x w bias -> z\nTanh tail z -> y\nout y\n");
    expect_rows(p, "fused conv [FusedConv] several nodes became one: conv (Conv), bn "
                   "(BatchNormalization), relu (Relu) > conv (FusedConv)\n");
    expect_picture(p, " Input x\n"
                      "{conv}\n"
                      "  fConv conv (x w)\n"
                      "  fBatchNormalization bn (t s b m v)\n"
                      "  fRelu relu (u)\n"
                      " Tanh tail (z)\n"
                      " Output y (y)\n");
    end(p);
}

static void test_diff__fusion_without_names(void **state)
{
    (void)state;
    pgy_page *p = texts("in x 2,4\nw w 4,4 1\nw b 4 2\nRelu - x -> s\nMatMul - s w -> t\n"
                        "Add - t b -> u\nTanh - u -> y\nout y\n",
                        "in in 2,4\nw W 4,4 1\nw B 4 2\nRelu - in -> S\nGemm - S W B -> U\n"
                        "Tanh - U -> out\nout out\n");
    expect_rows(p, "renamed x [Input] name: x > in\n"
                   "renamed n0 [Relu] tensor s: s > S\n"
                   "fused n1 [Gemm] several nodes became one: n1 (MatMul), n2 (Add) > n1 (Gemm)\n"
                   "renamed n3 [Tanh] name: n3 > n2\n"
                   "renamed y [Output] name: y > out\n");
    end(p);
}

/* No tensor between the two layers kept its name: the shapes of weights tell where each ends. */
static void test_diff__chain_of_fused_nodes_without_names(void **state)
{
    (void)state;
    pgy_page *p =
        texts("in x 2,4\nw w 4,4 1\nw b 4 2\nw v 4,8 1\nRelu - x -> s\nMatMul - s w -> t\n"
              "Add - t b -> u\nSigmoid - u -> z\nMatMul - z v -> r\nAbs - r -> q\n"
              "Tanh - q -> y\nout y\n",
              "in x 2,4\nw W 4,4 1\nw B 4 2\nw V 4,8 1\nRelu - x -> S\n"
              "FusedGemm - S W B -> Z\nFusedMatMul - Z V -> Q\nTanh - Q -> y\nout y\n");
    expect_rows(p, "renamed n0 [Relu] tensor s: s > S\n"
                   "fused n1 [FusedGemm] several nodes became one: n1 (MatMul), n2 (Add), n3 "
                   "(Sigmoid) > n1 (FusedGemm)\n"
                   "fused n2 [FusedMatMul] several nodes became one: n4 (MatMul), n5 (Abs) > n2 "
                   "(FusedMatMul)\n"
                   "renamed n6 [Tanh] name: n6 > n3\n");
    end(p);
}

/* Between nodes that belong together lies something else of the same length: nothing is fused. */
static void test_diff__chain_of_other_nodes_is_not_fused(void **state)
{
    (void)state;
    pgy_page *p =
        texts("in x 2,4\nRelu - x -> s\nExp - s -> t\nAbs - t -> u\nTanh - u -> y\nout y\n",
              "in x 2,4\nRelu - x -> S\nNeg - S -> T\nSin - T -> U\nTanh - U -> y\nout y\n");
    const view_quantity *q = view_quantity_find(&p->results, "change", 0);
    assert_non_null(q);
    for (uint32_t i = 0; i < q->count; i++) assert_true(q->values[i] != VIEW_FUSED_INTO);
    end(p);
}

static void test_diff__a_node_becomes_several(void **state)
{
    (void)state;
    pgy_page *p = texts("in x 2,4\nw w 4,4 1\nw b 4 2\nRelu r x -> s\nGemm gemm s w b -> u\n"
                        "Tanh t u -> y\nout y\n",
                        "in x 2,4\nw w 4,4 1\nw b 4 2\nRelu r x -> s\nMatMul mul s w -> t\n"
                        "Add add t b -> u\nTanh t u -> y\nout y\n");
    expect_rows(
        p, "fused gemm [Gemm] one node became several: gemm (Gemm) > mul (MatMul), add (Add)\n");
    expect_picture(p, " Input x\n"
                      " Relu r (x)\n"
                      "{gemm}\n"
                      "  fMatMul mul (s w)\n"
                      "  fAdd add (t b)\n"
                      " Tanh t (u)\n"
                      " Output y (y)\n");
    end(p);
}

static void test_diff__removed_after_a_changed_node_is_not_fused_if_others_read_it(void **state)
{
    (void)state;
    pgy_page *p =
        texts("in x 2,4\nElu a x -> s | k=1\nRelu b s -> t\nTanh c t -> y\n"
              "Exp d s -> z\nout y\nout z\n",
              "in x 2,4\nElu a x -> s | k=2\nTanh c s -> y\nExp d s -> z\nout y\nout z\n");
    expect_rows(p, "changed a [Elu] attribute k: 1 > 2\n"
                   "removed b [Relu] node\n");
    end(p);
}

static void test_diff__an_operator_changed_in_place_takes_no_part(void **state)
{
    (void)state;
    pgy_page *p =
        texts("in x 2,4\nRelu a x -> s\nTanh b s -> t\nExp c t -> u\nNeg d u -> y\nout y\n",
              "in x 2,4\nRelu a x -> s\nLog c s -> u\nNeg d u -> y\nout y\n");
    expect_rows(p, "removed b [Tanh] node\n"
                   "changed c [Exp] operator: Exp > Log\n");
    end(p);
}

static void test_diff__another_opset(void **state)
{
    (void)state;
    pgy_page *p = page_of(model_of(NET("", "1"), 11), model_of(NET("", "1"), 17));
    expect_rows(p, "changed opset of ai.onnx: 11 > 17\n");
    end(p);
}

static void test_diff__models_without_a_common_node_say_so(void **state)
{
    (void)state;
    pgy_page *p = texts("in x 2,4\nSigmoid a x -> y\nout y\n",
                        "in image 1,3,8,8\nFlatten q image -> r\nSoftmax s r -> z\nout z\n");
    assert_string_equal(p->results.verdict, "The two graphs have no node in common");
    assert_int_equal(p->warnings.count, 1);
    end(p);
}

static void test_diff__pairs_belong_together(void **state)
{
    (void)state;
    pgy_page *p = texts(CHAIN, "in tensor0 B,3,64,64\n"
                               "Identity myIdentity0 tensor0 -> tensor1\n"
                               "Identity myIdentity1 tensor1 -> tensor4\n"
                               "Exp e tensor4 -> tensor3\nout tensor3\n");
    const view_results *r = &p->results;
    assert_int_equal(r->pair_count, p->graphs[2]->node_count);
    for (size_t i = 0; i < r->pair_count; i++) {
        const char *merged = p->graphs[2]->nodes[r->pairs[2][i]].name;
        for (int side = 0; side < 2; side++)
            if (r->pairs[side][i] != VIEW_NONE)
                assert_string_equal(p->graphs[side]->nodes[r->pairs[side][i]].name, merged);
    }
    end(p);
}

static pgy_model *nested(const char *op)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2");
    builder_input(&b, "yes", PGY_BOOL, "");
    pgy_onnx_node *n = builder_node(&b, "If", "yes", "y");
    n->name = "branch";
    for (int i = 0; i < 2; i++) {
        model_builder sub = builder_subgraph(&b, i ? "then" : "else");
        builder_node(&sub, i ? op : "Relu", "x", "r");
        if (i) builder_node(&sub, "Neg", "r", "s");
        builder_output(&sub, i ? "s" : "r", PGY_F32, NULL);
        builder_attr_graph(&b, n, i ? "then_branch" : "else_branch", &sub);
    }
    builder_output(&b, "y", PGY_F32, NULL);
    return builder_finish(&b);
}

static void test_diff__bodies_are_merged(void **state)
{
    (void)state;
    pgy_page *p = page_of(nested("Exp"), nested("Tanh"));
    expect_rows(p, "changed n0 [Exp] operator: Exp > Tanh\n");
    expect_picture(p, " Input x\n"
                      " Input yes\n"
                      "{branch}\n"
                      "  {else_branch}\n"
                      "     Relu n0 (x)\n"
                      "     Output r (r)\n"
                      "  {then_branch}\n"
                      "    *Exp n0 (x)\n"
                      "     Neg n1 (r)\n"
                      "     Output s (s)\n"
                      " Output y (y)\n");
    end(p);
}

/* ---- Plans ----------------------------------------------------------------------------------- */

static const char *const NET_TEXT =
    "in x 1,3,8,8\nw w 4,3,3,3 1\nw v 4,4,1,1 1\nConv c1 x w -> t\nRelu r1 t -> u\n"
    "Identity i u -> k\nConv c2 k v -> s\nRelu r2 s -> y\nout y\n";

static const char *const PLAN_TEXT = "Reorder in x -> x8\nConv c1+r1 x8 w -> u | c1 r1\n"
                                     "Conv c2+r2 u v -> y8 | c2 r2\nReorder out y8 -> y\n";

static void test_diff__a_plan_against_its_model(void **state)
{
    (void)state;
    strvec warnings = {0};
    pgy_error err = {0};
    view_graph *g = NULL;
    pgy_model *m = model_of(NET_TEXT, 13);
    assert_int_equal(view_graph_from_model(&g, m, "net", &warnings, &err), PGY_OK);
    pgy_model_destroy(m);
    pgy_page *p = page_with(g, plan_of(PLAN_TEXT));
    expect_rows(p,
                "added in [Reorder] node\n"
                "fused c1+r1 [Conv] several nodes became one: c1 (Conv), r1 (Relu) > c1+r1 (Conv)\n"
                "fused c2+r2 [Conv] several nodes became one: c2 (Conv), r2 (Relu) > c2+r2 (Conv)\n"
                "added out [Reorder] node\n"
                "removed x [Input] input\n"
                "removed i [Identity] node\n"
                "removed y [Output] output\n");
    expect_picture(p, "+Reorder in (x)\n"
                      "{c1+r1}\n"
                      "  fConv c1 (x w x8)\n"
                      "  fRelu r1 (t)\n"
                      "{c2+r2}\n"
                      "  fConv c2 (k v)\n"
                      "  fRelu r2 (s)\n"
                      "+Reorder out (y8)\n"
                      "-Input x\n"
                      "-Identity i (u)\n"
                      "-Output y (y)\n");
    end(p);
}

static void test_diff__a_layer_stands_for_what_is_left_over_behind_its_inputs(void **state)
{
    (void)state;
    pgy_page *p = page_with(
        plan_of("MatMul q x w -> a\nMatMul k x v -> b\nMul m a b -> s\nSoftmax p s -> t\n"
                "Reshape r t -> u\nMatMul o u z -> y\n"),
        plan_of("MatMul q x w -> a | q\nMatMul k x v -> b | k\nAttention att a b -> c | other\n"
                "MatMul o d z -> y | o\n"));
    expect_rows(p, "fused att [Attention] several nodes became one: m (Mul), p (Softmax), "
                   "r (Reshape) > att (Attention)\n");
    end(p);
}

static void test_diff__plans_that_fuse_differently(void **state)
{
    (void)state;
    pgy_page *p =
        page_with(plan_of(PLAN_TEXT), plan_of("Conv c1 x w -> t | c1\nRelu r1 t -> u | r1\n"
                                              "Conv c2+r2 u v -> y | c2 r2\n"));
    assert_false(p->results.is_judged);
    expect_rows(p,
                "removed in [Reorder] node\n"
                "fused c1+r1 [Conv] one node became several: c1+r1 (Conv) > c1 (Conv), r1 (Relu)\n"
                "removed out [Reorder] node\n");
    end(p);
}

static void test_diff__plans_without_members_are_matched_by_structure(void **state)
{
    (void)state;
    pgy_page *p = page_with(plan_of("Conv a x w -> t\nRelu b t -> u\nConv c u v -> y\n"),
                            plan_of("Conv k X w -> T\nRelu l T -> U\nCopy m U -> V\n"
                                    "Conv n V v -> Y\n"));
    expect_rows(p, "renamed a [Conv] name: a > k\n"
                   "renamed b [Relu] name: b > l\n"
                   "added m [Copy] node\n"
                   "renamed c [Conv] name: c > n\n");
    end(p);
}

/* ---- Half precision -------------------------------------------------------------------------- */

static pgy_model *precision(bool half)
{
    const pgy_dtype dtype = half ? PGY_F16 : PGY_F32;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2,2");
    if (half) builder_attr_int(&b, builder_node(&b, "Cast", "x", "x16"), "to", 10);
    const int64_t shape[] = {2, 2};
    pgy_tensor *w = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_tensor_create(&w, dtype, 2, shape, &err), PGY_OK);
    memset(pgy_tensor_data(w), 0, half ? 8 : 16);
    builder_initializer(&b, "w", w);
    pgy_tensor_release(w);
    builder_node(&b, "MatMul", half ? "x16 w" : "x w", "t")->name = "product";
    builder_node(&b, "Relu", "t", half ? "y16" : "y")->name = "relu";
    if (half) builder_attr_int(&b, builder_node(&b, "Cast", "y16", "y"), "to", 1);
    builder_value(&b, "t", dtype, "2,2");
    builder_output(&b, "y", PGY_F32, "2,2");
    return builder_finish(&b);
}

static void test_diff__half_precision(void **state)
{
    (void)state;
    pgy_page *p = page_of(precision(false), precision(true));
    expect_rows(p, "added n0 [Cast] node\n"
                   "changed product [MatMul] weight w: type: float32 (2, 2) > float16 (2, 2)\n"
                   "changed product [MatMul] type of t: float32 > float16\n"
                   "changed relu [Relu] type of y: float32 > float16\n"
                   "added n3 [Cast] node\n");
    expect_picture(p, " Input x\n"
                      "+Cast n0 (x)\n"
                      "*MatMul product (x w x16)\n"
                      "*Relu relu (t)\n"
                      "+Cast n3 (y)\n"
                      " Output y (y y)\n");
    end(p);
}
