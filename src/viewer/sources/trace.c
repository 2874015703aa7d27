/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines: ours, profiles of ONNX Runtime, traces of PyTorch, times and profiles of trtexec, and
 * what Nsight Systems exports. A second one is compared with the first. */
#include <string.h>

#include "viewer/sources/trace_file.h"

/* ---- What the file is ----------------------------------------------------------------------- */

static bool has_bytes(span start, const char *bytes)
{
    const size_t size = strlen(bytes);
    for (size_t i = 0; i + size <= start.size; i++)
        if (!memcmp(start.data + i, bytes, size)) return true;
    return false;
}

static bool begins(span start, const char *bytes)
{
    return start.size >= strlen(bytes) && !memcmp(start.data, bytes, strlen(bytes));
}

static bool is_timeline(const json_value *json)
{
    const json_value *events = json_get(json, "traceEvents"), *first = json_at(json, 0);
    if (json->type == JSON_OBJECT) return events && events->type == JSON_ARRAY;
    return json->type == JSON_ARRAY && first &&
           (json_get(first, "ph") || json_get(first, "startComputeMs") ||
            (json_get(first, "count") && !json_get(first, "name") && first->count == 1));
}

/* JSON that is too long, or has no end, is known by its beginning. */
static bool starts_as_timeline(span start)
{
    size_t at = 0;
    while (at < start.size && strchr(" \t\r\n", start.data[at])) at++;
    if (at == start.size) return false;
    if (start.data[at] == '{') return has_bytes(start, "\"traceEvents\"");
    return start.data[at] == '[' &&
           (has_bytes(start, "\"ph\"") || has_bytes(start, "\"startComputeMs\""));
}

/* Tables of nsys. */
static bool is_table(const char *path, span start)
{
    return str_ends_with(path, ".csv") &&
           (has_bytes(start, "Name") || has_bytes(start, "Range") || has_bytes(start, "Operation"));
}

static bool accept(const char *path, span start, const json_value *json)
{
    if (json) return is_timeline(json);
    return starts_as_timeline(start) || begins(start, "SQLite format 3") || is_table(path, start) ||
           (str_ends_with(path, ".gz") && begins(start, "\x1f\x8b"));
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* *summary NULL: there is nothing to sum up. */
static pgy_status load(pgy_trace **trace, pgy_trace_summary **summary, const char *path,
                       pgy_error *err)
{
    const pgy_trace_summary_options options = {.size = sizeof options, .name = path_basename(path)};
    pgy_error why = {0};
    pgy_status st = pgy_trace_load(trace, path, err);
    if (st) return st;
    st = pgy_trace_summary_create(summary, *trace, &options, &why);
    if (st == PGY_E_NOT_FOUND) return PGY_OK;
    return st ? pgy_error_set(err, st, "%s", why.text) : PGY_OK;
}

static pgy_status load_both(view_trace_run *run, const char *path, pgy_error *err)
{
    const char *earlier;
    size_t before = 0, at = 0;
    pgy_status st = load(&run->trace, &run->summary, path, err);
    while (!st && (earlier = result_earlier(&run->file, &at))) {
        run->is_second = true;
        if (!before++) st = load(&run->other, &run->other_summary, earlier, err);
    }
    if (!st && before > 1)
        st = result_warn(&run->file, err, "a view compares two timelines; this is number %zu",
                         before + 1);
    return st;
}

/* Names of an ONNX model are in timelines of runtimes that were given the model. */
static bool names_nodes(const pgy_trace *t)
{
    const char *source = pgy_trace_source(t);
    return strcmp(source, "Polygraphy") == 0 || strcmp(source, "trtexec") == 0;
}

static pgy_status add(pgy_page *p, const char *path, pgy_error *err)
{
    view_trace_run run = {0};
    pgy_status st = result_open(&run.file, p, path, err);
    if (!st) st = load_both(&run, path, err);
    if (!st) run.file.may_be_foreign = !names_nodes(run.trace);
    if (!st) st = trace_find_layers(&run, err);
    if (!st) st = result_end(&run.file, "layers", err);
    if (!st && run.other_summary) st = trace_find_summed(&run, run.other_summary, err);
    if (!st) st = trace_add_timeline(&run, err);
    if (!st) st = trace_add_times(&run, err);
    pgy_trace_summary_destroy(run.summary);
    pgy_trace_summary_destroy(run.other_summary);
    pgy_trace_destroy(run.trace);
    pgy_trace_destroy(run.other);
    strmap_deinit(&run.names);
    result_close(&run.file);
    return st;
}

const view_source view_source_trace = {
    "trace", "timelines and profiles (--export-trace, ONNX Runtime, PyTorch, trtexec, nsys)",
    accept, add};
