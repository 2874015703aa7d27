/* SPDX-License-Identifier: Apache-2.0 */
/* A part of any model: the last byte says which nodes; it is made, and written. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <polygraphy/cut.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void make(pgy_cut *c)
{
    pgy_model *part = NULL, *again = NULL;
    pgy_error err = {0};
    void *bytes = NULL;
    size_t size = 0, inputs, outputs;
    pgy_cut_inputs(c, &inputs);
    pgy_cut_outputs(c, &outputs);
    if (!pgy_cut_node_count(c) || !outputs) abort();
    if (pgy_cut_model(&part, c, NULL, NULL, &err)) return;
    if (!pgy_model_serialize(&bytes, &size, part, &err)) {
        if (pgy_model_parse(&again, bytes, size, true, NULL, &err)) abort();
        if (pgy_model_proto(again)->graph->input_count != inputs) abort();
    }
    pgy_model_destroy(again);
    pgy_text_free(bytes);
    pgy_model_destroy(part);
}

static void cut(pgy_model *m, const pgy_cut_selection *what)
{
    pgy_cut *c = NULL;
    pgy_error err = {0};
    if (pgy_cut_create(&c, m, what, &err)) return;
    make(c);
    pgy_cut_destroy(c);
}

static bool join(char path[512], const char *a, const char *b)
{
    if (strlen(a) + strlen(b) > 500) return false;
    strcat(strcat(strcpy(path, a), "/"), b);
    return true;
}

/* What is in the body of a function: by the path of a node, and alone. */
static void cut_function(pgy_model *m, const pgy_onnx_function *f, const pgy_onnx_node *call,
                         size_t choice)
{
    if (!f->node_count) return;
    const pgy_onnx_node *n = f->nodes[choice % f->node_count];
    const char *label = *n->name ? n->name : n->output_count ? n->outputs[0] : "";
    const char *const alone[] = {label}, *const any[] = {"*/*"}, *const tensor[] = {"*"};
    char path[512];
    cut(m,
        &(pgy_cut_selection){.size = sizeof(pgy_cut_selection), .nodes = alone, .node_count = 1});
    cut(m, &(pgy_cut_selection){.size = sizeof(pgy_cut_selection), .nodes = any, .node_count = 1});
    cut(m, &(pgy_cut_selection){
               .size = sizeof(pgy_cut_selection), .modules = alone, .module_count = 1});
    if (!join(path, *call->name || !call->output_count ? call->name : call->outputs[0], label))
        return;
    const char *const inside[] = {path};
    cut(m,
        &(pgy_cut_selection){.size = sizeof(pgy_cut_selection), .nodes = inside, .node_count = 1});
    if (n->output_count && join(path, call->name, n->outputs[0]))
        cut(m,
            &(pgy_cut_selection){.size = sizeof(pgy_cut_selection), .to = inside, .to_count = 1});
    cut(m, &(pgy_cut_selection){.size = sizeof(pgy_cut_selection),
                                .subgraph = call->name,
                                .nodes = tensor,
                                .node_count = 1});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const pgy_model_load_options load = {.size = sizeof load, .ignore_external_data = true};
    pgy_model *m = NULL;
    pgy_error err = {0};
    if (size < 1 || pgy_model_parse(&m, data, size, true, &load, &err)) return 0;
    const pgy_onnx_graph *g = pgy_model_proto(m)->graph;
    const pgy_onnx_node *n = g && g->node_count ? g->nodes[data[size - 1] % g->node_count] : NULL;
    const char *const name[] = {n && *n->name ? n->name : "*"};
    const char *const tensor[] = {n && n->output_count ? n->outputs[0] : "y"};
    cut(m, &(pgy_cut_selection){.size = sizeof(pgy_cut_selection), .nodes = name, .node_count = 1});
    cut(m,
        &(pgy_cut_selection){.size = sizeof(pgy_cut_selection), .from = tensor, .from_count = 1});
    cut(m, &(pgy_cut_selection){.size = sizeof(pgy_cut_selection), .to = tensor, .to_count = 1});
    cut(m, &(pgy_cut_selection){
               .size = sizeof(pgy_cut_selection), .modules = name, .module_count = 1});
    for (size_t i = 0; n && i < pgy_model_proto(m)->function_count; i++)
        if (i < 4) cut_function(m, pgy_model_proto(m)->functions[i], n, data[size - 1] / 4);
    for (size_t i = 0; n && i < n->attribute_count; i++) {
        char path[256] = "";
        if (!n->attributes[i]->g || strlen(n->name) + strlen(n->attributes[i]->name) > 250)
            continue;
        strcat(strcat(strcat(path, n->name), "/"), n->attributes[i]->name);
        const char *const all[] = {"*"};
        cut(m, &(pgy_cut_selection){.size = sizeof(pgy_cut_selection),
                                    .subgraph = path,
                                    .nodes = all,
                                    .node_count = 1});
    }
    pgy_model_destroy(m);
    return 0;
}
