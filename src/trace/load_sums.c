/* SPDX-License-Identifier: Apache-2.0 */
/* Files that have sums of each layer instead of single runs, such as trtexec's --exportProfile. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "trace/load_args.h"

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a trace");
}

pgy_status trace_add_sum(trace_reader *r, const pgy_trace_row *row, const pgy_trace_event *e,
                         const char *op, const trace_sum *figures, pgy_error *err)
{
    pgy_trace *t = r->trace;
    trace_sum made = *figures;
    size_t index = 0;
    str args = {0};
    if (op && *op) trace_put_text(&args, "op", op);
    pgy_status st = args.failed ? no_memory(err) : pgy_trace_add_row(&index, t, row, err);
    if (!st) st = trace_find_label(&made.label, t, e, str_text(&args), err);
    str_deinit(&args);
    if (st) return st;
    if (!mem_grow((void **)&t->sums, &t->sum_capacity, t->sum_count + 1, sizeof *t->sums))
        return no_memory(err);
    made.row = (uint32_t)index;
    t->sums[t->sum_count++] = made;
    return PGY_OK;
}

/* ---- What is summed up without being told -----------------------------------------------------
 */

/* Without ranges there are no layers, and kernels are the next best. */
void trace_choose_category(pgy_trace *t)
{
    static const char *const ORDER[] = {"layer", "kernel", "nvtx", "api", "memcpy", "memset"};
    for (size_t k = 0; k < sizeof ORDER / sizeof *ORDER; k++) {
        for (size_t i = 0; i < t->record_count; i++)
            if (!strcmp(t->labels[t->records[i].label].category, ORDER[k])) t->category = ORDER[k];
        for (size_t i = 0; i < t->sum_count; i++)
            if (!strcmp(t->labels[t->sums[i].label].category, ORDER[k])) t->category = ORDER[k];
        if (t->category) return;
    }
}

/* ---- trtexec's --exportProfile --------------------------------------------------------------- */

/* Times in ms; `out` in us. */
static pgy_status read_ms(double *out, const json_value *item, const char *member, bool required,
                          pgy_error *err)
{
    const double most_ms = 1e15, us_per_ms = 1e3;
    const json_value *v = json_get(item, member);
    *out = NAN;
    if (!v && !required) return PGY_OK;
    const bool is_number = v && (v->type == JSON_INT || v->type == JSON_REAL);
    if (!is_number || !(v->real >= 0 && v->real < most_ms))
        return trace_wrong(item, member, "a time in ms", err);
    *out = v->real * us_per_ms;
    return PGY_OK;
}

/* The first item has the number of runs, which the others need. */
static pgy_status read_count(trace_reader *r, const json_value *item, pgy_error *err)
{
    const int64_t most = 1000000000000;
    const json_value *v = json_get(item, "count");
    if (!v || v->type != JSON_INT || v->integer < 1 || v->integer > most)
        return trace_wrong(item, "count", "a number of runs of at least 1", err);
    r->profiled_runs = (uint64_t)v->integer;
    r->trace->source = "trtexec";
    return PGY_OK;
}

pgy_status trace_read_profile(trace_reader *r, const json_value *item, pgy_error *err)
{
    static const pgy_trace_row ROW = {1, 1, "trtexec", "layers"};
    const json_value *name = json_get(item, "name");
    trace_sum figures = {.min_us = NAN, .max_us = NAN};
    if (item->type != JSON_OBJECT)
        return pgy_error_set(err, PGY_E_FORMAT, "line %u: a layer is not an object", item->line);
    if (!r->profiled_runs) return read_count(r, item, err);
    if (!name || name->type != JSON_STRING) return trace_wrong(item, "name", "a text", err);
    pgy_status st = read_ms(&figures.total_us, item, "timeMs", true, err);
    if (!st) st = read_ms(&figures.median_us, item, "medianMs", false, err);
    if (st) return st;
    const pgy_trace_event e = {.name = json_string(name, &r->item, NULL), .category = "layer"};
    figures.calls = r->profiled_runs;
    return e.name ? trace_add_sum(r, &ROW, &e, NULL, &figures, err) : no_memory(err);
}
