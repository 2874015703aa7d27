/* SPDX-License-Identifier: Apache-2.0 */
/* Folds only some constants. Results above 64 KiB would make the file large, so they are still
 * computed at run time, as are nodes whose names start with "calibration/". A second fold without
 * limits folds the others.
 *
 *     fold_a_subset folded.onnx
 */
#include <stdio.h>
#include <string.h>

#include <polygraphy/polygraphy.h>

static bool is_calibration(const pgy_gs_node *n, void *user)
{
    return strncmp(n->name, user, strlen(user)) == 0;
}

/* Adds a node with one output of the given name. */
static pgy_status add(pgy_gs_tensor **out, pgy_gs_graph *g, const char *op, const char *name,
                      const pgy_gs_operand *inputs, size_t count, pgy_error *err)
{
    pgy_gs_node *n = NULL;
    const pgy_gs_operand output = pgy_gs_name_operand(name);
    const pgy_gs_layer_spec spec = {
        .op = op, .name = name, .inputs = inputs, .input_count = count, .outputs = &output, .output_count = 1};
    const pgy_status st = pgy_gs_layer(&n, g, &spec, err);
    if (!st) *out = n->outputs[0];
    return st;
}

/* y = x * (0.5 + 1.5) + abs(-3) + table[i], the table being 0, 1, ... 99999 */
static pgy_status build(pgy_gs_graph *g, pgy_error *err)
{
    static const pgy_dim shape[] = {{-1, "batch"}, {4, NULL}};
    pgy_gs_tensor *x = NULL, *i = NULL, *scale = NULL, *offset = NULL, *table = NULL, *item = NULL, *y = NULL;
    const pgy_gs_operand sum[] = {pgy_gs_float_operand(0.5f), pgy_gs_float_operand(1.5f)},
                         three = pgy_gs_float_operand(-3);
    const pgy_gs_operand range[] = {pgy_gs_float_operand(0), pgy_gs_float_operand(100000), pgy_gs_float_operand(1)};
    pgy_status st = pgy_gs_set_opset(g, 17, err);
    if (!st) st = pgy_gs_variable(&x, g, "x", PGY_F32, 2, shape, err);
    if (!st) st = pgy_gs_variable(&i, g, "i", PGY_I64, 2, shape, err);
    if (!st) st = pgy_gs_add_graph_input(g, x, err);
    if (!st) st = pgy_gs_add_graph_input(g, i, err);
    if (!st) st = add(&scale, g, "Add", "scale", sum, 2, err);
    if (!st) st = add(&offset, g, "Abs", "calibration/offset", &three, 1, err);
    if (!st) st = add(&table, g, "Range", "table", range, 3, err);
    const pgy_gs_operand places[] = {pgy_gs_tensor_operand(table), pgy_gs_tensor_operand(i)};
    if (!st) st = add(&item, g, "Gather", "item", places, 2, err);
    const pgy_gs_operand product[] = {pgy_gs_tensor_operand(x), pgy_gs_tensor_operand(scale)};
    if (!st) st = add(&y, g, "Mul", "scaled", product, 2, err);
    const pgy_gs_operand total[] = {pgy_gs_tensor_operand(y), pgy_gs_tensor_operand(offset),
                                    pgy_gs_tensor_operand(item)};
    if (!st) st = add(&y, g, "Sum", "total", total, 3, err);
    if (!st) st = pgy_gs_set_type(y, PGY_F32, 2, shape, err);
    return st ? st : pgy_gs_add_graph_output(g, y, err);
}

static pgy_status fold_and_list(pgy_gs_graph *g, const pgy_gs_fold_options *options, pgy_error *err)
{
    pgy_status st = pgy_gs_fold_constants(g, options, err);
    if (!st) st = pgy_gs_cleanup(g, NULL, err);
    for (size_t i = 0; !st && i < g->node_count; i++) printf("  %-10s %s\n", g->nodes[i]->op, g->nodes[i]->name);
    return st;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s folded.onnx\n", argv[0]);
        return 2;
    }
    pgy_error err = {0};
    pgy_gs_graph *g = NULL;
    pgy_model *model = NULL;
    size_t some = 0;
    pgy_gs_fold_options options = pgy_gs_fold_options_default();
    options.size_threshold = 64 << 10;
    options.exclude = is_calibration;
    options.user = "calibration/";
    pgy_status st = pgy_gs_create(&g, &err);
    if (!st) st = build(g, &err);
    if (!st) puts("up to 64 KiB, without calibration:");
    if (!st) st = fold_and_list(g, &options, &err);
    if (!st) some = g->node_count;
    if (!st) st = pgy_gs_export(&model, g, NULL, &err);
    if (!st) st = pgy_model_save(model, argv[1], NULL, &err);
    if (!st) puts("everything:");
    if (!st) st = fold_and_list(g, NULL, &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    const size_t rest = st ? 0 : g->node_count;
    pgy_model_destroy(model);
    pgy_gs_destroy(g);
    return st || some != 5 || rest != 3;
}
