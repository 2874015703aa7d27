/* SPDX-License-Identifier: Apache-2.0 */
/* Random float32 input data from the library's loader: `bench.random [COUNT]`, 1e8 by default.
 * Prints seconds; the comparison with NumPy is in bench/run. */
#include <polygraphy/data.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/system.h"

static pgy_status draw(pgy_metadata *inputs, double *sum, pgy_error *err)
{
    pgy_random_options o = pgy_random_options_default();
    pgy_data_loader *loader = NULL;
    pgy_tensor_map *feed = NULL;
    pgy_status st = pgy_random_loader_create(&loader, &o, err);
    if (!st) st = pgy_data_loader_set_metadata(loader, inputs, err);
    if (!st) st = pgy_data_loader_next(&feed, loader, err);
    if (!st) *sum = (double)((const float *)pgy_tensor_data(pgy_tensor_map_find(feed, "x")))[0];
    pgy_tensor_map_destroy(feed);
    pgy_data_loader_destroy(loader);
    return st;
}

int main(int argc, char **argv)
{
    const int64_t count = (int64_t)(argc > 1 ? strtod(argv[1], NULL) : 1e8);
    pgy_error err = {0};
    pgy_metadata *inputs = NULL;
    double first = 0;
    pgy_tensor_info info = {.name = "x", .dtype = PGY_F32, .rank = 1, .shape = &count};
    pgy_status st = pgy_metadata_create(&inputs, &err);
    if (!st) st = pgy_metadata_set(inputs, &info, &err);
    const int64_t start = clock_ns();
    if (!st) st = draw(inputs, &first, &err);
    const double took = (double)(clock_ns() - start) * 1e-9;
    if (st)
        fprintf(stderr, "%s\n", err.text);
    else
        printf("%.6f seconds, %.1f million a second, the first is %.9g\n", took,
               (double)count / took * 1e-6, first);
    pgy_metadata_destroy(inputs);
    return st != PGY_OK;
}
