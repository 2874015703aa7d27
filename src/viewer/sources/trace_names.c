/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the layers of a timeline on the graph. */
#include <string.h>

#include "base/cancel.h"
#include "viewer/sources/layer_names.h"
#include "viewer/sources/trace_file.h"

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a timeline");
}

/* Args of layers that are categories of nodes; their names are those of the quantities. */
static const known_quantity CATEGORIES[] = {Q_KERNEL, Q_PRECISION, Q_DEVICE};

static pgy_status set_categories(view_trace_run *run, uint32_t node, const json_value *args,
                                 pgy_error *err)
{
    arena scratch = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < sizeof CATEGORIES / sizeof *CATEGORIES && !st; i++) {
        const view_quantity *like = known_quantity_like(CATEGORIES[i]);
        const json_value *v = json_get(args, like->id);
        const char *name = v && v->type == JSON_STRING ? json_string(v, &scratch, NULL) : NULL;
        if (name) st = result_set_category(&run->file, like, node, name, err);
    }
    arena_deinit(&scratch);
    return st;
}

static pgy_status keep_name(view_trace_run *run, const char *name, uint32_t node, pgy_error *err)
{
    trace_name *made = arena_alloc(&run->file.results->memory, sizeof *made);
    if (made) *made = (trace_name){view_text(run->file.results, name), node};
    if (made && made->text && strmap_put(&run->names, name, made)) return PGY_OK;
    return no_memory(err);
}

static bool read_members(strvec *out, const json_value *list, arena *scratch)
{
    if (!list || list->type != JSON_ARRAY) return true;
    for (const json_value *v = list->first; v; v = v->next) {
        const char *name = v->type == JSON_STRING ? json_string(v, scratch, NULL) : "";
        if (!name || !strvec_push(out, name)) return false;
    }
    return true;
}

/* `event`: a slice of the layer; SIZE_MAX: there is none. */
static pgy_status find_layer(view_trace_run *run, const char *name, size_t event, pgy_error *err)
{
    arena scratch = {0};
    json_value *args = NULL;
    char *text = NULL;
    strvec members = {0};
    uint32_t node = VIEW_NONE;
    pgy_status st = PGY_OK;
    if (event != SIZE_MAX) st = pgy_trace_args(&text, run->trace, event, err);
    if (!st && text) st = json_parse(&args, text, strlen(text), &scratch, err);
    if (!st && !read_members(&members, json_get(args, "nodes"), &scratch)) st = no_memory(err);
    if (!st) st = layer_find(&node, &run->file, name, &members, err);
    if (!st && args && !run->is_second) st = set_categories(run, node, args, err);
    if (!st) st = keep_name(run, name, node, err);
    pgy_text_free(text);
    strvec_deinit(&members);
    arena_deinit(&scratch);
    return st;
}

uint32_t trace_node(const view_trace_run *run, const char *name)
{
    const trace_name *known = strmap_get(&run->names, name);
    return known ? known->node : VIEW_NONE;
}

pgy_status trace_find_summed(view_trace_run *run, const pgy_trace_summary *s, pgy_error *err)
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

pgy_status trace_find_layers(view_trace_run *run, pgy_error *err)
{
    const size_t count = pgy_trace_event_count(run->trace);
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < count && !st; i++) {
        const pgy_trace_event e = pgy_trace_event_at(run->trace, i);
        if (e.kind != PGY_TRACE_SLICE || strcmp(e.category, "layer") != 0) continue;
        if (!strmap_has(&run->names, e.name)) st = find_layer(run, e.name, i, err);
        if (!st) st = cancel_check(err);
    }
    if (!st && run->summary) st = trace_find_summed(run, run->summary, err);
    return st;
}

const pgy_trace_process *trace_process(const pgy_trace_summary *s, size_t *from)
{
    for (; s && *from < pgy_trace_summary_count(s); ++*from)
        if (pgy_trace_summary_at(s, *from)->layer_count) return pgy_trace_summary_at(s, *from);
    return NULL;
}
