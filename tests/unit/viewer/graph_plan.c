/* SPDX-License-Identifier: Apache-2.0 */
/* What a view draws of a plan: layers, the nodes they were made from, bindings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/file_temp.h"
#include "harness/model_builder.h"
#include "viewer/graph.h"

static pgy_plan *plan;
static strvec warnings;

static view_graph *view_of(pgy_profiling_verbosity verbosity)
{
    pgy_error err = {0};
    char *path = NULL;
    view_graph *g = NULL;
    const pgy_build_config config = {.size = sizeof config, .profiling_verbosity = verbosity};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 3");
    builder_floats(&b, "w", "3, 4", NULL);
    builder_node(&b, "MatMul", "x w", "m")->name = "product";
    builder_node(&b, "Relu", "m", "r")->name = "positive";
    builder_node(&b, "Softmax", "r", "y")->name = "shares";
    builder_output(&b, "y", PGY_F32, "2, 4");
    pgy_model *model = builder_finish_bytes(&b);
    assert_int_equal(file_temp_path(&path, ".plan", &err), PGY_OK);
    if (pgy_plan_build(path, model, &config, &err)) fail_msg("%s", err.text);
    assert_int_equal(pgy_plan_open(&plan, path, &err), PGY_OK);
    if (view_graph_from_plan(&g, plan, 0, "p", &warnings, &err)) fail_msg("%s", err.text);
    pgy_model_destroy(model);
    file_temp_release(path);
    return g;
}

static void end(view_graph *g)
{
    view_graph_destroy(g);
    pgy_plan_close(plan);
    strvec_deinit(&warnings);
}

static const char *property(const view_graph *g, const char *name)
{
    for (uint32_t i = 0; i < g->property_count; i++)
        if (strcmp(g->properties[i][0], name) == 0) return g->properties[i][1];
    return NULL;
}

static void test_graph_plan__layers_are_nodes_with_members(void **state)
{
    (void)state;
    view_graph *g = view_of(PGY_VERBOSITY_DETAILED);
    const uint32_t product = view_graph_node(g, "product");
    assert_int_not_equal(product, VIEW_NONE);
    /* the Relu is fused into the product */
    assert_int_equal(view_graph_node(g, "positive"), product);
    assert_int_equal(g->nodes[product].member_count, 2);
    assert_string_equal(g->kind, "plan");
    assert_int_equal(g->nodes[0].kind, VIEW_NODE_INPUT);
    assert_int_equal(g->nodes[g->node_count - 1].kind, VIEW_NODE_OUTPUT);
    const view_tensor *y = &g->tensors[view_graph_tensor(g, "y")];
    assert_int_equal(y->producer, view_graph_node(g, "shares"));
    assert_string_equal(y->shape, "2x4");
    assert_string_equal(y->dtype, "float32");
    assert_string_equal(property(g, "refittable"), "no");
    assert_non_null(property(g, "activation memory"));
    assert_int_equal(warnings.count, 0);
    end(g);
}

static void test_graph_plan__details_name_kernels_and_formats(void **state)
{
    (void)state;
    str s = {0};
    json_writer *w = NULL;
    view_graph *g = view_of(PGY_VERBOSITY_DETAILED);
    assert_int_equal(json_writer_create_str(&w, &s, NULL), PGY_OK);
    view_detail_write(w, g, 0);
    assert_int_equal(json_writer_finish(w, NULL), PGY_OK);
    json_writer_destroy(w);
    assert_non_null(strstr(str_text(&s), "\"kernel\""));
    assert_non_null(strstr(str_text(&s), "row-major"));
    str_deinit(&s);
    end(g);
}

static void test_graph_plan__silent_plan_has_bindings_and_a_warning(void **state)
{
    (void)state;
    view_graph *g = view_of(PGY_VERBOSITY_NONE);
    assert_int_equal(g->node_count, 2);
    assert_int_equal(warnings.count, 1);
    assert_non_null(strstr(warnings.items[0], "verbosity"));
    end(g);
}
