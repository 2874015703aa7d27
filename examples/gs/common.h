/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the programs of this folder share: weights, nodes, layers, look-up and saving. */
#ifndef EXAMPLES_GS_COMMON_H
#define EXAMPLES_GS_COMMON_H

#include <stdio.h>
#include <string.h>

#include <polygraphy/gs.h>
#include <polygraphy/gs_script.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))
/* Inputs and outputs of a node: TENSORS(a, b) is a list and its length. */
#define TENSORS(...) (pgy_gs_tensor *[]){__VA_ARGS__}, COUNT(((pgy_gs_tensor *[]){__VA_ARGS__}))

static inline pgy_status write_model(pgy_gs_graph *g, const char *path, pgy_error *err)
{
    pgy_model *model = NULL;
    pgy_status st = pgy_gs_export(&model, g, NULL, err);
    if (!st) st = pgy_model_save(model, path, NULL, err);
    pgy_model_destroy(model);
    return st;
}

/* A float32 weight: element i is value + step * (i mod 7). */
static inline pgy_status make_weight(pgy_gs_tensor **out, pgy_gs_graph *g, const char *name, float value, float step, size_t rank,
                                     const int64_t *shape, pgy_error *err)
{
    pgy_tensor *t = NULL;
    pgy_status st = pgy_tensor_create(&t, PGY_F32, rank, shape, err);
    for (size_t i = 0; !st && i < pgy_tensor_count(t); i++) ((float *)pgy_tensor_data(t))[i] = value + step * (float)(i % 7);
    if (!st) st = pgy_gs_constant(out, g, name, t, err);
    pgy_tensor_release(t);
    return st;
}

/* Adds a node at the end of the list, without attributes. */
static inline pgy_status add_node(pgy_gs_graph *g, const char *op, const char *name, pgy_gs_tensor *const *inputs, size_t input_count,
                                  pgy_gs_tensor *const *outputs, size_t output_count, pgy_error *err)
{
    const pgy_gs_node_spec spec = {.op = op, .name = name, .inputs = inputs, .input_count = input_count, .outputs = outputs, .output_count = output_count};
    pgy_gs_node *n;
    return pgy_gs_add_node(&n, g, &spec, err);
}

/* Sets *out to the output "<name>_<n>" of a new node that reads `inputs`; the name is generated. */
static inline pgy_status add_layer(pgy_gs_tensor **out, pgy_gs_graph *g, const char *op, const pgy_gs_operand *inputs, size_t count,
                                   const char *name, const pgy_gs_attr *attrs, size_t attr_count, pgy_error *err)
{
    const pgy_gs_operand output = pgy_gs_name_operand(name);
    const pgy_gs_layer_spec spec = {
        .op = op, .inputs = inputs, .input_count = count, .outputs = &output, .output_count = 1, .attrs = attrs, .attr_count = attr_count};
    pgy_gs_node *n;
    pgy_status st = pgy_gs_layer(&n, g, &spec, err);
    if (!st) *out = n->outputs[0];
    return st;
}

/* The tensors of these names, as operands. */
static inline pgy_status find_operands(pgy_gs_operand *out, pgy_gs_graph *g, const char *const *names, size_t count, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i++) {
        pgy_gs_tensor *found = NULL;
        st = pgy_gs_get_tensor(&found, g, names[i], err);
        out[i] = pgy_gs_tensor_operand(found);
    }
    return st;
}

static inline pgy_status set_io(pgy_gs_graph *g, pgy_gs_tensor *in, pgy_gs_tensor *out, pgy_error *err)
{
    pgy_status st = pgy_gs_set_graph_inputs(g, &in, 1, err);
    return st ? st : pgy_gs_set_graph_outputs(g, &out, 1, err);
}

static inline pgy_status tidy(pgy_gs_graph *g, pgy_error *err)
{
    pgy_status st = pgy_gs_cleanup(g, NULL, err);
    return st ? st : pgy_gs_toposort(g, NULL, err);
}

/* main(): runs `work`, which takes the paths of the command line. */
static inline int run_case(int argc, char **argv, int paths, pgy_status (*work)(char **paths, pgy_error *err))
{
    pgy_error err = {0};
    if (argc != paths + 1) {
        fprintf(stderr, "usage: %s with %d paths of models\n", argv[0], paths);
        return 2;
    }
    if (work(argv + 1, &err)) {
        fprintf(stderr, "error: %s\n", err.text);
        return 1;
    }
    return 0;
}

#endif
