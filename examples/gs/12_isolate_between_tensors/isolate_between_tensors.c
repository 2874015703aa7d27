/* SPDX-License-Identifier: Apache-2.0 */
/* Extracts the part of a model between two tensors, which are found by their names.
 *
 *     12_isolate_between_tensors before.onnx after.onnx
 */
#include "../models.h"

static pgy_status isolate(pgy_gs_graph *g, pgy_error *err)
{
    pgy_gs_tensor *from, *to;
    pgy_status st = pgy_gs_get_tensor(&from, g, "x1", err);
    if (!st) st = pgy_gs_get_tensor(&to, g, "add_out", err);
    if (!st) st = set_io(g, from, to, err);
    return st ? st : pgy_gs_cleanup(g, NULL, err);
}

static pgy_status work(char **paths, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    pgy_status st = pgy_gs_create(&g, err);
    if (!st) st = build_scaled_sum(g, -1, err);
    if (!st) st = write_model(g, paths[0], err);
    if (!st) st = isolate(g, err);
    if (!st) st = write_model(g, paths[1], err);
    pgy_gs_destroy(g);
    return st;
}

int main(int argc, char **argv)
{
    return run_case(argc, argv, 2, work);
}
