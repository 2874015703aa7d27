/* SPDX-License-Identifier: Apache-2.0 */
/* Finds Gelu, written as x / sqrt(2), Erf, + 1, * x, * 0.5, and replaces it by one node. A pattern
 * describes operators and their connections; the program checks the values of constants in each
 * match. The third group of nodes in this graph looks like a Gelu, but ends in * 0.25, so it stays.
 *
 *     match_a_pattern gelu.onnx
 */
#include <math.h>
#include <stdio.h>

#include <polygraphy/polygraphy.h>

static const float SQRT_2 = 1.41421356f;

/* Adds a node with one output. */
static pgy_status add(pgy_gs_tensor **out, pgy_gs_graph *g, const char *op, pgy_gs_tensor *x, pgy_gs_operand y,
                      pgy_error *err)
{
    pgy_gs_node *n = NULL;
    const pgy_gs_operand inputs[] = {pgy_gs_tensor_operand(x), y}, output = pgy_gs_name_operand(op);
    const size_t count = y.kind == PGY_GS_OMITTED ? 1 : 2;
    const pgy_gs_layer_spec spec = {
        .op = op, .inputs = inputs, .input_count = count, .outputs = &output, .output_count = 1};
    const pgy_status st = pgy_gs_layer(&n, g, &spec, err);
    if (!st) *out = n->outputs[0];
    return st;
}

static pgy_status add_gelu(pgy_gs_tensor **x, pgy_gs_graph *g, float half, pgy_error *err)
{
    pgy_gs_tensor *t = NULL;
    pgy_status st = add(&t, g, "Div", *x, pgy_gs_float_operand(SQRT_2), err);
    if (!st) st = add(&t, g, "Erf", t, pgy_gs_omitted_operand(), err);
    if (!st) st = add(&t, g, "Add", t, pgy_gs_float_operand(1), err);
    if (!st) st = add(&t, g, "Mul", *x, pgy_gs_tensor_operand(t), err);
    return st ? st : add(x, g, "Mul", t, pgy_gs_float_operand(half), err);
}

static pgy_status build(pgy_gs_graph *g, pgy_error *err)
{
    static const pgy_dim shape[] = {{-1, "batch"}, {8, NULL}};
    pgy_gs_tensor *x = NULL;
    pgy_status st = pgy_gs_set_opset(g, 20, err);
    if (!st) st = pgy_gs_variable(&x, g, "x", PGY_F32, 2, shape, err);
    if (!st) st = pgy_gs_add_graph_input(g, x, err);
    if (!st) st = add_gelu(&x, g, 0.5f, err);
    if (!st) st = add_gelu(&x, g, 0.5f, err);
    if (!st) st = add_gelu(&x, g, 0.25f, err);
    if (!st) st = pgy_gs_rename(x, "y", err);
    if (!st) st = pgy_gs_set_type(x, PGY_F32, 2, shape, err);
    return st ? st : pgy_gs_add_graph_output(g, x, err);
}

static pgy_status step(pgy_gs_slot *out, pgy_gs_pattern *p, const char *name, const char *op, pgy_gs_slot a,
                       pgy_gs_slot b, pgy_error *err)
{
    const pgy_gs_slot inputs[] = {a, b};
    const pgy_gs_pattern_node node = {.name = name, .op = op, .inputs = inputs, .input_count = b < 0 ? 1 : 2};
    return pgy_gs_pattern_add(out, 1, p, &node, err);
}

static pgy_status declare(pgy_gs_pattern *p, pgy_error *err)
{
    pgy_gs_slot x, root, one, half, t = -1;
    pgy_status st = pgy_gs_pattern_variable(&x, p, err);
    if (!st) st = pgy_gs_pattern_constant(&root, p, "root", err);
    if (!st) st = pgy_gs_pattern_constant(&one, p, "one", err);
    if (!st) st = pgy_gs_pattern_constant(&half, p, "half", err);
    if (!st) st = step(&t, p, "div", "Div", x, root, err);
    if (!st) st = step(&t, p, "erf", "Erf", t, -1, err);
    if (!st) st = step(&t, p, "add", "Add", t, one, err);
    if (!st) st = step(&t, p, "mul", "Mul", x, t, err);
    if (!st) st = step(&t, p, "scale", "Mul", t, half, err);
    return st ? st : pgy_gs_pattern_outputs(p, &t, 1, err);
}

static bool is_number(const pgy_gs_match *m, const char *name, float wanted)
{
    pgy_tensor *values = NULL;
    if (pgy_gs_values(&values, pgy_gs_match_constant(m, name), NULL)) return false;
    const pgy_view v = pgy_tensor_view(values);
    const bool is = v.dtype == PGY_F32 && pgy_view_count(v) == 1 && fabsf(*(const float *)v.data - wanted) < 1e-6f;
    pgy_tensor_release(values);
    return is;
}

static pgy_status replace(size_t *replaced, pgy_gs_graph *g, const pgy_gs_match *m, pgy_error *err)
{
    const pgy_gs_node *erf = pgy_gs_match_node(m, "erf");
    const bool is_gelu = is_number(m, "root", SQRT_2) && is_number(m, "one", 1) && is_number(m, "half", 0.5f);
    printf("  around %s, from %s to %s: %s\n", erf->name, m->inputs[0]->name, m->outputs[0]->name,
           is_gelu ? "Gelu" : "something else");
    if (!is_gelu) return PGY_OK;
    const pgy_gs_node_spec spec = {
        .op = "Gelu", .inputs = m->inputs, .input_count = 1, .outputs = m->outputs, .output_count = 1};
    ++*replaced;
    return pgy_gs_replace_region(NULL, g, &spec, err);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s gelu.onnx\n", argv[0]);
        return 2;
    }
    pgy_error err = {0};
    pgy_gs_graph *g = NULL;
    pgy_gs_pattern *p = NULL;
    pgy_gs_match *matches = NULL;
    pgy_model *model = NULL;
    size_t count = 0, replaced = 0;
    pgy_status st = pgy_gs_create(&g, &err);
    if (!st) st = build(g, &err);
    if (!st) st = pgy_gs_pattern_create(&p, &err);
    if (!st) st = declare(p, &err);
    if (!st) st = pgy_gs_match_all(&matches, &count, p, g, &err);
    if (!st) printf("%zu matches:\n", count);
    for (size_t i = 0; i < count && !st; i++) st = replace(&replaced, g, &matches[i], &err);
    if (!st) st = pgy_gs_cleanup(g, NULL, &err);
    if (!st) st = pgy_gs_toposort(g, NULL, &err);
    for (size_t i = 0; !st && i < g->node_count; i++)
        printf("  %-5s -> %s\n", g->nodes[i]->op, g->nodes[i]->outputs[0]->name);
    if (!st) st = pgy_gs_export(&model, g, NULL, &err);
    if (!st) st = pgy_model_save(model, argv[1], NULL, &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    const size_t left = st ? 0 : g->node_count;
    pgy_gs_matches_free(matches, count);
    pgy_gs_pattern_destroy(p);
    pgy_model_destroy(model);
    pgy_gs_destroy(g);
    return st || replaced != 2 || left != 7;
}
