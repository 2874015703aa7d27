/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of saved outputs for the text of a plan's layers. Values are converted to float64. */
#include "inspect/tensor_ranges.h"

#include <math.h>

#include "base/log.h"

static const char LOG_PATH[] = "inspect/tensor_ranges.c";

static void append_value(str *out, const char *label, double v)
{
    if (isnan(v))
        str_printf(out, ", %s=nan", label);
    else
        str_printf(out, ", %s=%.2f", label, v);
}

static void append_range(str *out, const double *v, size_t count)
{
    double low = v[0], high = v[0], sum = 0;
    for (size_t i = 0; i < count; i++) {
        low = v[i] < low || isnan(v[i]) ? v[i] : low;
        high = v[i] > high || isnan(v[i]) ? v[i] : high;
        sum += v[i];
    }
    append_value(out, "min", isnan(sum) ? sum : low);
    append_value(out, "max", isnan(sum) ? sum : high);
    append_value(out, "avg", sum / (double)count);
}

static pgy_status add_tensor(tensor_ranges *r, const char *name, pgy_tensor *t, pgy_error *err)
{
    pgy_tensor *loaded = NULL, *wide = NULL;
    str text = {0};
    if (pgy_tensor_dtype(t) == PGY_STRING || !pgy_tensor_count(t)) return PGY_OK;
    pgy_status st = pgy_tensor_load(&loaded, t, err);
    if (!st) st = pgy_tensor_cast(&wide, pgy_tensor_view(loaded), PGY_F64, err);
    if (!st) append_range(&text, pgy_tensor_data(wide), pgy_tensor_count(wide));
    const char *kept = st ? NULL : arena_strdup(&r->memory, str_text(&text));
    if (!st && (text.failed || !kept || !strmap_put(&r->texts, name, (void *)(uintptr_t)kept)))
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    str_deinit(&text);
    pgy_tensor_release(wide);
    pgy_tensor_release(loaded);
    return st;
}

static pgy_status add_runner(tensor_ranges *r, const pgy_results *results, size_t runner,
                             pgy_error *err)
{
    const pgy_tensor_map *outputs = pgy_results_at(results, runner, 0)->outputs;
    const size_t iterations = pgy_results_iteration_count(results, runner);
    pgy_status st = PGY_OK;
    if (iterations > 1)
        LOG(WARNING, "The file has %zu iterations; the ranges are those of the first one",
            iterations);
    for (size_t i = 0; !st && i < pgy_tensor_map_count(outputs); i++)
        st = add_tensor(r, pgy_tensor_map_name(outputs, i), pgy_tensor_map_at(outputs, i), err);
    return st;
}

pgy_status tensor_ranges_fill(tensor_ranges *out, const pgy_results *results, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_results_runner_count(results); i++) {
        if (!pgy_results_iteration_count(results, i)) {
            LOG(WARNING, "Runner '%s' has no iterations", pgy_results_runner_name(results, i));
            continue;
        }
        st = add_runner(out, results, i, err);
        break;
    }
    return st;
}

void tensor_ranges_deinit(tensor_ranges *r)
{
    strmap_deinit(&r->texts);
    arena_deinit(&r->memory);
}

const char *tensor_ranges_text(const tensor_ranges *r, const char *name)
{
    const char *text = r ? strmap_get(&r->texts, name) : NULL;
    return text ? text : "";
}
