/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines: ours, profiles of ONNX Runtime, traces of PyTorch, times and profiles of trtexec, and
 * what Nsight Systems exports. A second one is compared with the first. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "viewer/sources/layer_names.h"
#include "viewer/sources/trace_file.h"

extern const view_source view_source_trace;

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

/* ---- Names ---------------------------------------------------------------------------------- */

static const view_quantity CATEGORIES[] = {{.id = "kernel",
                                            .label = "kernel",
                                            .group = "type",
                                            .of = VIEW_OF_NODE,
                                            .scale = VIEW_CATEGORY,
                                            .fold = VIEW_FOLD_SAME},
                                           {.id = "precision",
                                            .label = "precision",
                                            .group = "type",
                                            .of = VIEW_OF_NODE,
                                            .scale = VIEW_CATEGORY,
                                            .fold = VIEW_FOLD_SAME},
                                           {.id = "device",
                                            .label = "device",
                                            .group = "type",
                                            .of = VIEW_OF_NODE,
                                            .scale = VIEW_CATEGORY,
                                            .fold = VIEW_FOLD_SAME}};

static pgy_status set_categories(view_trace_run *run, uint32_t node, const json_value *args,
                                 pgy_error *err)
{
    arena scratch = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < sizeof CATEGORIES / sizeof *CATEGORIES && !st; i++) {
        const json_value *v = json_get(args, CATEGORIES[i].id);
        const char *name = v && v->type == JSON_STRING ? json_string(v, &scratch, NULL) : NULL;
        if (name) st = result_set_category(&run->file, &CATEGORIES[i], node, name, err);
    }
    arena_deinit(&scratch);
    return st;
}

static pgy_status keep_name(view_trace_run *run, const char *name, uint32_t node, pgy_error *err)
{
    trace_name *made = arena_alloc(&run->file.results->memory, sizeof *made);
    if (made) *made = (trace_name){view_text(run->file.results, name), node};
    if (made && made->text && strmap_put(&run->names, name, made)) return PGY_OK;
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a timeline");
}

/* `event`: a slice of the layer; SIZE_MAX: there is none. */
static pgy_status find_layer(view_trace_run *run, const char *name, size_t event, pgy_error *err)
{
    arena scratch = {0};
    json_value *args = NULL;
    char *text = NULL;
    uint32_t node = VIEW_NONE;
    pgy_status st = PGY_OK;
    if (event != SIZE_MAX) st = pgy_trace_args(&text, run->trace, event, err);
    if (!st && text) st = json_parse(&args, text, strlen(text), &scratch, err);
    if (!st) st = layer_find(&node, &run->file, name, json_get(args, "nodes"), err);
    if (!st && args && !run->is_second) st = set_categories(run, node, args, err);
    if (!st) st = keep_name(run, name, node, err);
    pgy_text_free(text);
    arena_deinit(&scratch);
    return st;
}

uint32_t trace_node(const view_trace_run *run, const char *name)
{
    const trace_name *known = strmap_get(&run->names, name);
    return known ? known->node : VIEW_NONE;
}

/* Files of sums have layers without slices, and the first timeline may have other layers. */
static pgy_status find_summed(view_trace_run *run, const pgy_trace_summary *s, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t p = 0; p < pgy_trace_summary_count(s) && !st; p++) {
        const pgy_trace_process *process = pgy_trace_summary_at(s, p);
        for (size_t i = 0; i < process->layer_count && !st; i++)
            if (!strmap_has(&run->names, process->layers[i].name))
                st = find_layer(run, process->layers[i].name, SIZE_MAX, err);
    }
    return st;
}

/* Finds the node of each layer, by the args of its first slice if they list nodes; sets the
 * categories that the args have: kernel, precision, device. */
static pgy_status find_layers(view_trace_run *run, pgy_error *err)
{
    const size_t count = pgy_trace_event_count(run->trace);
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < count && !st; i++) {
        const pgy_trace_event e = pgy_trace_event_at(run->trace, i);
        if (e.kind != PGY_TRACE_SLICE || strcmp(e.category, "layer") != 0) continue;
        if (!strmap_has(&run->names, e.name)) st = find_layer(run, e.name, i, err);
        if (!st) st = cancel_check(err);
    }
    if (!st && run->summary) st = find_summed(run, run->summary, err);
    return st;
}

const pgy_trace_process *trace_process(const pgy_trace_summary *s, size_t *from)
{
    for (; s && *from < pgy_trace_summary_count(s); ++*from)
        if (pgy_trace_summary_at(s, *from)->layer_count) return pgy_trace_summary_at(s, *from);
    return NULL;
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
    const pgy_page *p = run->file.page;
    size_t before = 0;
    pgy_status st = load(&run->trace, &run->summary, path, err);
    for (size_t i = 0; i < p->file_count && !st && strcmp(p->files[i].path, path) != 0; i++) {
        if (p->files[i].source != &view_source_trace) continue;
        run->is_second = true;
        if (!before++) st = load(&run->other, &run->other_summary, p->files[i].path, err);
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
    if (!st) st = find_layers(&run, err);
    if (!st) st = result_end(&run.file, "layers", err);
    if (!st && run.other_summary) st = find_summed(&run, run.other_summary, err);
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
