/* SPDX-License-Identifier: Apache-2.0 */
/* A short example of graph surgery: loads a model, inserts a Clip after its first Relu, cleans up,
 * sorts the nodes, and saves the result. Weights are not read: they are copied from file to file.
 *
 *     edit_a_graph digits.onnx edited.onnx
 */
#include <stdio.h>
#include <string.h>

#include <polygraphy/polygraphy.h>

static pgy_gs_node *first_of(const pgy_gs_graph *g, const char *op)
{
    for (size_t i = 0; i < g->node_count; i++)
        if (strcmp(g->nodes[i]->op, op) == 0) return g->nodes[i];
    return NULL;
}

/* Relu -> readers becomes Relu -> Clip(0, 6) -> readers. */
static pgy_status insert_clip(pgy_gs_graph *g, pgy_gs_node *relu, pgy_error *err)
{
    pgy_gs_node *clip = NULL;
    pgy_gs_tensor *from = relu->outputs[0], *to = NULL;
    /* The readers move to a new tensor before the Clip becomes one of them. */
    pgy_status st = pgy_gs_variable(&to, g, "clipped", from->dtype, from->rank, from->dims, err);
    if (!st) st = pgy_gs_replace_uses(from, to, err);
    const pgy_gs_operand inputs[] = {pgy_gs_tensor_operand(from), pgy_gs_float_operand(0), pgy_gs_float_operand(6)};
    const pgy_gs_operand output = pgy_gs_tensor_operand(to);
    const pgy_gs_layer_spec spec = {.op = "Clip",
                                    .name = "limit",
                                    .inputs = inputs,
                                    .input_count = 3,
                                    .outputs = &output,
                                    .output_count = 1};
    if (!st) st = pgy_gs_layer(&clip, g, &spec, err);
    if (!st) printf("%s reads %s and is read by %s\n", clip->name, from->name, pgy_gs_node_o(clip, 0, 0)->name);
    return st;
}

static void list(const pgy_gs_graph *g)
{
    for (size_t i = 0; i < g->node_count; i++) printf("  %-8s %s\n", g->nodes[i]->op, g->nodes[i]->name);
}

static pgy_status edit(pgy_gs_graph *g, pgy_error *err)
{
    pgy_gs_node *relu = first_of(g, "Relu");
    if (!relu || relu->outputs[0]->consumer_count == 0)
        return pgy_error_set(err, PGY_E_NOT_FOUND, "the model has no Relu whose output a node reads");
    pgy_status st = insert_clip(g, relu, err);
    if (!st) st = pgy_gs_cleanup(g, NULL, err);
    if (!st) st = pgy_gs_toposort(g, NULL, err);
    if (!st) list(g);
    return st;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s digits.onnx edited.onnx\n", argv[0]);
        return 2;
    }
    pgy_error err = {0};
    pgy_model *model = NULL, *edited = NULL;
    pgy_gs_graph *g = NULL;
    pgy_status st = pgy_model_load(&model, argv[1], NULL, &err);
    if (!st) st = pgy_gs_import(&g, model, &err);
    if (!st) st = edit(g, &err);
    if (!st) st = pgy_gs_export(&edited, g, NULL, &err);
    if (!st) st = pgy_model_save(edited, argv[2], NULL, &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    pgy_model_destroy(edited);
    pgy_gs_destroy(g);
    pgy_model_destroy(model);
    return st != PGY_OK;
}
