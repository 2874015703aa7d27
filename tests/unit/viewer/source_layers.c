/* SPDX-License-Identifier: Apache-2.0 */
#include "sources_support.h"

static const view_container *container_of(const pgy_page *p, const char *node)
{
    const view_graph *g = p->graphs[0];
    return &g->containers[g->nodes[node_at(p, node)].parent];
}

/* Recorded from our trtexec: four layers of three nodes, and Softmax. */
static void test_source_layers__joined_names_become_fused_containers(void **state)
{
    (void)state;
    pgy_page p;
    support_page(&p, DATA "net.onnx");
    support_add_good(&p, "layers", DATA "trtexec_layers.json");
    const view_container *c = container_of(&p, "/layer.1/add");
    assert_int_equal(c->kind, VIEW_FUSED);
    assert_string_equal(c->name, "/layer.1/relu + /layer.1/matmul + /layer.1/add");
    assert_int_equal(c->child_count, 3);
    assert_ptr_equal(c, container_of(&p, "/layer.1/relu"));
    assert_int_equal(container_of(&p, "/softmax")->kind, VIEW_GRAPH);
    assert_int_equal(mark_count(&p, VIEW_MARK_FUSED), 12);
    const uint32_t matmul = node_at(&p, "/layer.1/matmul");
    assert_string_equal(category_at(&p, "precision", matmul), "float32");
    assert_string_equal(category_at(&p, "format", matmul), "Row major linear");
    assert_non_null(strstr(category_at(&p, "kernel", matmul), "matmul"));
    assert_false(is_measured(&p, "kernel", node_at(&p, "/layer.1/add")));
    const view_table *t = table_of(&p, "fusions");
    assert_int_equal(t->row_count, 5);
    assert_true(cell_at(t, 0, 5)->number == 3);
    assert_true(cell_at(t, 4, 5)->number == 1);
    assert_string_equal(summary_of(&p, "Engine", "layers"), "5, of which 4 are fused");
    assert_int_equal(mark_count(&p, VIEW_MARK_NOT_RUN), 0);
    assert_int_equal(p.warnings.count, 0);
    support_close(&p);
}

/* The profile of the same engine: its layers are the frames that are there. */
static void test_source_layers__profile_uses_the_same_frames(void **state)
{
    (void)state;
    pgy_page p;
    support_page(&p, DATA "net.onnx");
    support_add_good(&p, "layers", DATA "trtexec_layers.json");
    support_add_good(&p, "trace", DATA "trtexec_profile.json");
    assert_int_equal(p.graphs[0]->container_count, 5);
    assert_true(is_measured(&p, "time", node_at(&p, "/layer.1/matmul")));
    assert_false(is_measured(&p, "time", node_at(&p, "/layer.1/add")));
    support_close(&p);
}

static const char NVIDIA[] =
    "{\"Layers\": [{\"Name\": \"Reformatting CopyNode for Input Tensor 0 to m0\", \"LayerType\": "
    "\"Reformat\", \"Inputs\": [], \"Outputs\": []},"
    "{\"Name\": \"{ForeignNode[/layer.0/matmul...a0]}\", \"LayerType\": \"Myelin\", \"Metadata\": "
    "\"[ONNX Layer: /layer.0/matmul]\\u001e[ONNX Layer: /layer.0/add]\","
    " \"Inputs\": [{\"Name\": \"x\", \"Format/Datatype\": \"Row major linear FP32\"}], "
    "\"Outputs\": [{\"Name\": \"a0\", \"Format/Datatype\": \"Row major linear FP16 format\"}],"
    " \"TacticName\": \"__myl_Gemm\"},"
    "{\"Name\": \"/layer.1/matmul + /layer.1/add\", \"Inputs\": [{\"Datatype\": \"Half\"}], "
    "\"Outputs\": [{\"Datatype\": \"Half\", \"Format\": \"Channel major\"}]}], \"Bindings\": "
    "[\"x\", \"y\"]}";

static void test_source_layers__metadata_precision_and_unknown_layers(void **state)
{
    (void)state;
    pgy_page p;
    support_page(&p, DATA "net.onnx");
    assert_int_equal(support_add_text(&p, "layers", NVIDIA, NULL), PGY_OK);
    const uint32_t matmul = node_at(&p, "/layer.0/matmul");
    assert_string_equal(container_of(&p, "/layer.0/add")->name,
                        "{ForeignNode[/layer.0/matmul...a0]}");
    assert_string_equal(category_at(&p, "kernel", matmul), "__myl_Gemm");
    assert_string_equal(category_at(&p, "precision", matmul), "float16");
    assert_string_equal(mark_at(&p, VIEW_MARK_PRECISION, VIEW_OF_NODE, matmul),
                        "float32 in, float16 out");
    assert_string_equal(category_at(&p, "precision", node_at(&p, "/layer.1/matmul")), "float16");
    assert_int_equal(mark_count(&p, VIEW_MARK_PRECISION), 1);
    assert_int_equal(p.warnings.count, 1);
    assert_non_null(
        strstr(p.warnings.items[0], "1 of 3 layers are not in 'net.onnx': 'Reformatting CopyNode"));
    /* Nothing is said about nodes in no layer while a layer is not known. */
    assert_int_equal(mark_count(&p, VIEW_MARK_NOT_RUN), 0);
    support_close(&p);
}

static void test_source_layers__names_only_and_folded_nodes(void **state)
{
    (void)state;
    pgy_page p;
    pgy_error err = {0};
    support_page(&p, DATA "net.onnx");
    assert_int_equal(
        support_add_text(
            &p, "layers",
            "{\"Layers\": [\"/layer.0/matmul + /layer.0/add\", \"/softmax\"], \"Bindings\": []}",
            NULL),
        PGY_OK);
    assert_int_equal(container_of(&p, "/layer.0/add")->kind, VIEW_FUSED);
    assert_int_equal(mark_count(&p, VIEW_MARK_NOT_RUN), 10);
    assert_null(mark_at(&p, VIEW_MARK_NOT_RUN, VIEW_OF_NODE, node_at(&p, "/layer.0/add")));
    assert_non_null(mark_at(&p, VIEW_MARK_NOT_RUN, VIEW_OF_NODE, node_at(&p, "/layer.0/relu")));
    support_close(&p);
    support_page(&p, DATA "states.onnx");
    assert_int_equal(support_add(&p, "layers", DATA "trtexec_layers.json", &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "none of its 5 layers is in"));
    support_close(&p);
    support_page(&p, DATA "net.onnx");
    assert_int_equal(support_add_text(&p, "layers", "{\"Layers\": [{\"LayerType\": \"x\"}]}", &err),
                     PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "--profilingVerbosity=detailed"));
    support_close(&p);
}
