/* SPDX-License-Identifier: Apache-2.0 */
/* Visits the nodes and the tensors of a graph, and prints all producers ("father") and consumers
 * ("son") of each.
 *
 *     05_walk_a_graph model.onnx
 */
#include "../common.h"

static void print_tensor(const char *title, size_t i, const pgy_gs_tensor *t)
{
    char *text = pgy_gs_tensor_text(t);
    printf("\t%s%zu: %s\n", title, i, text ? text : t->name);
    pgy_text_free(text);
}

static void print_attribute(const pgy_gs_attribute *a)
{
    printf("%s:", a->name);
    switch (a->value ? pgy_onnx_attribute_kind(a->value) : PGY_ATTR_UNDEFINED) {
    case PGY_ATTR_INT: printf("%lld, ", (long long)a->value->i); break;
    case PGY_ATTR_FLOAT: printf("%g, ", a->value->f); break;
    case PGY_ATTR_STRING: printf("%.*s, ", (int)a->value->s.size, (const char *)a->value->s.data); break;
    case PGY_ATTR_INTS:
        for (size_t i = 0; i < a->value->int_count; i++) printf("%s%lld", i ? ", " : "[", (long long)a->value->ints[i]);
        printf("], ");
        break;
    default: printf("..., "); break;
    }
}

static void print_node(size_t index, const pgy_gs_node *n)
{
    printf("Node %3zu: op=%s, name=%s, attrs={", index, n->op, n->name);
    for (size_t i = 0; i < n->attribute_count; i++) print_attribute(&n->attributes[i]);
    printf("}\n");
    for (size_t i = 0; i < n->input_count; i++) print_tensor("InTensor  ", i, n->inputs[i]);
    for (size_t i = 0; i < n->output_count; i++) print_tensor("OutTensor ", i, n->outputs[i]);
    for (size_t i = 0, count = 0; i < n->input_count; i++)
        for (size_t k = 0; pgy_gs_node_i(n, i, k); k++) printf("\tFatherNode%zu: %s\n", count++, pgy_gs_node_i(n, i, k)->name);
    for (size_t i = 0, count = 0; i < n->output_count; i++)
        for (size_t k = 0; pgy_gs_node_o(n, k, i); k++) printf("\tSonNode   %zu: %s\n", count++, pgy_gs_node_o(n, k, i)->name);
}

static void print_neighbours(const pgy_gs_tensor *t)
{
    for (size_t i = 0; i < t->producer_count; i++) printf("\tInNode      %zu: %s\n", i, t->producers[i]->name);
    for (size_t i = 0; i < t->consumer_count; i++) printf("\tOutNode     %zu: %s\n", i, t->consumers[i]->name);
    for (size_t p = 0, count = 0; p < t->producer_count; p++)
        for (size_t k = 0; pgy_gs_tensor_i(t, k, p); k++) print_tensor("FatherTensor", count++, pgy_gs_tensor_i(t, k, p));
    for (size_t c = 0, count = 0; c < t->consumer_count; c++)
        for (size_t k = 0; pgy_gs_tensor_o(t, c, k); k++) print_tensor("SonTensor   ", count++, pgy_gs_tensor_o(t, c, k));
}

static pgy_status print_tensors(const pgy_gs_graph *g, pgy_error *err)
{
    pgy_gs_tensor_list list = {0};
    pgy_status st = pgy_gs_tensors(&list, g, true, err);
    for (size_t i = 0; i < list.count; i++) {
        char *text = pgy_gs_tensor_text(list.items[i]);
        printf("Tensor %3zu: name=%s, desc=%s\n", i, list.items[i]->name, text ? text : "");
        pgy_text_free(text);
        print_neighbours(list.items[i]);
    }
    pgy_gs_tensor_list_free(&list);
    return st;
}

static pgy_status work(char **paths, pgy_error *err)
{
    pgy_model *model = NULL;
    pgy_gs_graph *g = NULL;
    pgy_status st = pgy_model_load(&model, paths[0], NULL, err);
    if (!st) st = pgy_gs_import(&g, model, err);
    for (size_t i = 0; !st && i < g->node_count; i++) print_node(i, g->nodes[i]);
    if (!st) st = print_tensors(g, err);
    pgy_gs_destroy(g);
    pgy_model_destroy(model);
    return st;
}

int main(int argc, char **argv)
{
    return run_case(argc, argv, 1, work);
}
