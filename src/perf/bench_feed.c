/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of a side: data in the shapes that the side asks for, with the sizes of a sweep's
 * point. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/printable.h"
#include "perf/bench_sweep.h"

/* ---- Which dimensions an axis names ---------------------------------------------------------- */

/* An axis is the symbolic name of a dimension, or INPUT:AXIS. */
static bool is_named(const char *axis, const pgy_tensor_info *input, int32_t d)
{
    const char *symbol = input->dim_names ? input->dim_names[d] : NULL;
    const char *colon = strrchr(axis, ':');
    char number[16];
    if (input->shape[d] >= 0) return false;
    if (symbol && strcmp(symbol, axis) == 0) return true;
    snprintf(number, sizeof number, "%" PRId32, d);
    return colon && strcmp(colon + 1, number) == 0 &&
           strlen(input->name) == (size_t)(colon - axis) &&
           memcmp(input->name, axis, (size_t)(colon - axis)) == 0;
}

static void append_dimensions(str *out, const pgy_metadata *inputs)
{
    for (size_t i = 0; i < pgy_metadata_count(inputs); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(inputs, i);
        for (int32_t d = 0; d < info->rank; d++) {
            if (info->shape[d] >= 0) continue;
            const char *symbol = info->dim_names ? info->dim_names[d] : NULL;
            str_append(out, out->size ? ", " : "");
            if (symbol) str_printf(out, "'%s' (", printable_name(symbol));
            str_printf(out, "%s:%" PRId32 "%s", printable_name(info->name), d, symbol ? ")" : "");
        }
    }
}

static pgy_status refuse_axis(const char *axis, const pgy_metadata *inputs, pgy_error *err)
{
    str names = {0};
    append_dimensions(&names, inputs);
    const pgy_status st =
        names.size ? pgy_error_set(err, PGY_E_ARGUMENT,
                                   "bench.sweep: no input has the dynamic dimension '%s'; there "
                                   "are: %s",
                                   printable_name(axis), str_text(&names))
                   : pgy_error_set(err, PGY_E_ARGUMENT,
                                   "bench.sweep: no input has a dynamic dimension, so '%s' cannot "
                                   "vary",
                                   printable_name(axis));
    str_deinit(&names);
    return st;
}

/* The place of the axis that names the dimension; a->count: none does. */
static size_t axis_of(const pgy_bench_axes *a, const pgy_tensor_info *input, int32_t d)
{
    size_t i = 0;
    while (i < a->count && !is_named(a->items[i].name, input, d)) i++;
    return i;
}

static pgy_status apply_input(pgy_metadata *out, bool *used, const pgy_tensor_info *input,
                              const pgy_bench_axes *a, size_t point, pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK];
    pgy_tensor_info info = *input;
    for (int32_t d = 0; d < input->rank; d++) {
        const size_t axis = axis_of(a, input, d);
        shape[d] = axis < a->count ? bench_axes_at(a, point, axis) : input->shape[d];
        if (axis < a->count) used[axis] = true;
    }
    if (input->rank >= 0) info.shape = shape;
    return pgy_metadata_set(out, &info, err);
}

pgy_status bench_axes_apply(pgy_metadata **out, const pgy_metadata *inputs, const pgy_bench_axes *a,
                            size_t point, pgy_error *err)
{
    pgy_metadata *m = NULL;
    bool used[BENCH_AXES] = {false};
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(inputs); i++)
        st = apply_input(m, used, pgy_metadata_at(inputs, i), a, point, err);
    for (size_t i = 0; !st && i < a->count; i++)
        if (!used[i]) st = refuse_axis(a->items[i].name, inputs, err);
    if (st)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}

/* ---- Data ------------------------------------------------------------------------------------ */

/* A loader may have shapes of its own, from a file or the user. */
static pgy_status check_shapes(const pgy_tensor_map *feed, const pgy_metadata *wanted,
                               const pgy_bench_axes *a, pgy_error *err)
{
    for (size_t i = 0; a->count && i < pgy_metadata_count(wanted); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(wanted, i);
        const pgy_tensor *t = pgy_tensor_map_find(feed, info->name);
        for (int32_t d = 0; t && d < info->rank && (size_t)d < pgy_tensor_rank(t); d++)
            if (info->shape[d] >= 0 && pgy_tensor_shape(t)[d] != info->shape[d])
                return pgy_error_set(err, PGY_E_SHAPE,
                                     "the data of input '%s' have the size %" PRId64
                                     " at axis %" PRId32 ", where the sweep has %" PRId64,
                                     printable_name(info->name), pgy_tensor_shape(t)[d], d,
                                     info->shape[d]);
    }
    return PGY_OK;
}

/* Tells the loader the shapes, and starts it again for a point of a sweep. */
static pgy_status start_data(const pgy_bench_side *side, const pgy_metadata *wanted,
                             const pgy_bench_axes *a, pgy_error *err)
{
    if (a->count && !wanted)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "the runner does not know its inputs, so there is nothing to sweep");
    if (a->count && !pgy_data_loader_can_regenerate(side->data))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "bench.sweep: the data have one shape; leave them out, and they are "
                             "generated for each point");
    const pgy_status st = wanted ? pgy_data_loader_set_metadata(side->data, wanted, err) : PGY_OK;
    return st || !a->count ? st : pgy_data_loader_rewind(side->data, err);
}

pgy_status bench_feed(pgy_tensor_map **out, const pgy_bench_side *side, const pgy_bench_axes *a,
                      size_t point, pgy_error *err)
{
    const pgy_metadata *inputs = NULL;
    pgy_metadata *wanted = NULL;
    pgy_tensor_map *given = NULL, *feed = NULL;
    pgy_status st = pgy_runner_inputs(&inputs, side->runner, err);
    if (!st && inputs) st = bench_axes_apply(&wanted, inputs, a, point, err);
    if (!st) st = start_data(side, wanted, a, err);
    if (!st) st = pgy_data_loader_next(&given, side->data, err);
    if (!st && !given) st = pgy_error_set(err, PGY_E_ARGUMENT, "the data have no iteration");
    if (!st && inputs) st = pgy_feed_match(&feed, given, inputs, err);
    if (!st && inputs) st = check_shapes(feed, wanted, a, err);
    if (!st && !inputs) {
        feed = given;
        given = NULL;
    }
    pgy_metadata_destroy(wanted);
    pgy_tensor_map_destroy(given);
    if (st)
        pgy_tensor_map_destroy(feed);
    else
        *out = feed;
    return st;
}
