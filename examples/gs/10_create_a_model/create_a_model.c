/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest model: one node without weights.
 *
 *     10_create_a_model pooled.onnx
 */
#include "../common.h"

static pgy_status work(char **paths, pgy_error *err)
{
    const pgy_dim before[] = {{1, NULL}, {3, NULL}, {5, NULL}, {5, NULL}}, after[] = {{1, NULL}, {3, NULL}, {1, NULL}, {1, NULL}};
    const pgy_gs_attr p = pgy_gs_attr_int("p", 2);
    pgy_gs_graph *g = NULL;
    pgy_gs_tensor *x, *y;
    pgy_gs_node *n;
    pgy_status st = pgy_gs_create(&g, err);
    if (!st) st = pgy_gs_variable(&x, g, "X", PGY_F32, 4, before, err);
    if (!st) st = pgy_gs_variable(&y, g, "Y", PGY_F32, 4, after, err);
    if (!st) {
        const pgy_gs_node_spec spec = {.op = "GlobalLpPool", .inputs = &x, .input_count = 1, .outputs = &y, .output_count = 1, .attrs = &p, .attr_count = 1};
        st = pgy_gs_add_node(&n, g, &spec, err);
    }
    if (!st) st = set_io(g, x, y, err);
    if (!st) st = write_model(g, paths[0], err);
    pgy_gs_destroy(g);
    return st;
}

int main(int argc, char **argv)
{
    return run_case(argc, argv, 1, work);
}
