/* SPDX-License-Identifier: Apache-2.0 */
/* Files of results against the graph of a small model: whatever a source accepts, the blocks of the
 * page are valid JSON, and no index leads out of the graph. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "viewer/sources/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LAYERS = 4, NODES = 3 * LAYERS + 1, TENSORS = 5 * LAYERS + 2 };

static uint32_t add_tensor(view_graph *g, const char *name, uint32_t producer)
{
    view_tensor *t = &g->tensors[g->tensor_count];
    *t = (view_tensor){.name = name, .dtype = "float32", .shape = "2x8", .producer = producer};
    if (!strmap_put(&g->tensor_by_name, name, t)) abort();
    return g->tensor_count++;
}

static uint32_t add_node(view_graph *g, const char *name, uint32_t a, uint32_t b,
                         const char *output)
{
    const uint32_t at = g->node_count++;
    view_node *n = &g->nodes[at];
    *n = (view_node){.name = name, .input_count = b == VIEW_NONE ? 1 : 2, .output_count = 1};
    n->inputs = arena_alloc_array(&g->memory, 2, sizeof *n->inputs);
    n->outputs = arena_alloc_array(&g->memory, 1, sizeof *n->outputs);
    if (!n->inputs || !n->outputs || !strmap_put(&g->node_by_name, name, n)) abort();
    n->inputs[0] = a;
    n->inputs[1] = b;
    n->outputs[0] = add_tensor(g, output, at);
    g->containers[0].children[at] = (view_item){VIEW_ITEM_NODE, at};
    return n->outputs[0];
}

/* The names of tests/data/viewer/net.onnx, which the seeds have. */
static view_graph *make_graph(void)
{
    view_graph *g = mem_calloc(1, sizeof *g);
    if (!g) abort();
    g->name = "net.onnx";
    g->nodes = arena_alloc_array(&g->memory, NODES, sizeof *g->nodes);
    g->tensors = arena_alloc_array(&g->memory, TENSORS, sizeof *g->tensors);
    g->containers = arena_alloc_array(&g->memory, 1, sizeof *g->containers);
    if (!g->nodes || !g->tensors || !g->containers) abort();
    g->container_count = 1;
    g->containers[0] = (view_container){.kind = VIEW_GRAPH,
                                        .name = "",
                                        .parent = VIEW_NONE,
                                        .node = VIEW_NONE,
                                        .child_count = NODES};
    g->containers[0].children = arena_alloc_array(&g->memory, NODES, sizeof(view_item));
    if (!g->containers[0].children) abort();
    uint32_t last = add_tensor(g, "x", VIEW_NONE);
    for (int i = 0; i < LAYERS; i++) {
        arena *a = &g->memory;
        const uint32_t w = add_tensor(g, arena_printf(a, "w%d", i), VIEW_NONE);
        const uint32_t b = add_tensor(g, arena_printf(a, "b%d", i), VIEW_NONE);
        last =
            add_node(g, arena_printf(a, "/layer.%d/matmul", i), last, w, arena_printf(a, "m%d", i));
        last = add_node(g, arena_printf(a, "/layer.%d/add", i), last, b, arena_printf(a, "a%d", i));
        last = add_node(g, arena_printf(a, "/layer.%d/relu", i), last, VIEW_NONE,
                        arena_printf(a, "r%d", i));
    }
    add_node(g, "/softmax", last, VIEW_NONE, "y");
    return g;
}

/* ---- What must hold ------------------------------------------------------------------------- */

static void check_index(uint32_t at, uint32_t count, bool may_be_none)
{
    if (at >= count && !(may_be_none && at == VIEW_NONE)) abort();
}

static void check_results(const pgy_page *p)
{
    const view_results *r = &p->results;
    const view_graph *g = p->graphs[0];
    for (size_t i = 0; i < r->mark_count; i++)
        check_index(r->marks[i].at,
                    r->marks[i].of == VIEW_OF_NODE ? g->node_count : g->tensor_count, false);
    for (size_t i = 0; i < r->quantity_count; i++) {
        const view_quantity *q = &r->quantities[i];
        for (uint32_t k = 0; q->scale == VIEW_CATEGORY && k < q->count; k++)
            if (q->is_measured[k] && !(q->values[k] >= 0 && q->values[k] < q->name_count)) abort();
    }
    for (size_t i = 0; i < r->stats_count; i++)
        check_index(r->stats[i]->tensor, g->tensor_count, false);
    for (size_t i = 0; i < r->timeline.slice_count; i++) {
        check_index(r->timeline.slices[i].row, r->timeline.row_count, false);
        check_index(r->timeline.slices[i].node, g->node_count, true);
    }
    for (size_t i = 0; i < r->step_count; i++)
        for (uint32_t k = 0; k < r->steps[i].node_count; k++)
            check_index(r->steps[i].nodes[k], g->node_count, false);
    for (size_t i = 0; i < g->node_count; i++)
        check_index(g->nodes[i].parent, g->container_count, false);
}

static pgy_status write_all(json_writer *w, const void *user, pgy_error *err)
{
    const pgy_page *p = user;
    (void)err;
    json_begin_array(w);
    view_results_write(w, &p->results);
    view_stats_write(w, &p->results, 0);
    view_timeline_write(w, &p->results);
    view_search_write(w, &p->results);
    for (size_t i = 0; i < p->results.table_count; i++) view_table_write(w, p->results.tables[i]);
    json_end_array(w);
    return PGY_OK;
}

static void check_json(const pgy_page *p)
{
    char *text = NULL;
    arena memory = {0};
    json_value *root = NULL;
    if (json_to_text(&text, write_all, p, NULL)) return; /* out of memory */
    if (json_parse(&root, text, strlen(text), &memory, NULL) == PGY_E_FORMAT) abort();
    arena_deinit(&memory);
    mem_free(text);
}

/* ---- Running -------------------------------------------------------------------------------- */

static const view_source *source_for(const char *path, span start)
{
    static const char *const OTHERS[] = {"model", "plan", "diff", "attachment"};
    arena memory = {0};
    json_value *json = NULL;
    const view_source *found = NULL;
    if (json_parse(&json, start.data, start.size, &memory, NULL)) json = NULL;
    for (size_t i = 0; VIEW_SOURCES[i] && !found; i++) {
        bool is_other = false;
        for (size_t k = 0; k < 4; k++) is_other |= strcmp(VIEW_SOURCES[i]->name, OTHERS[k]) == 0;
        if (!is_other && VIEW_SOURCES[i]->accept(path, start, json)) found = VIEW_SOURCES[i];
    }
    arena_deinit(&memory);
    return found;
}

static char *write_input(const uint8_t *data, size_t size)
{
    static char *path;
    if (!path && file_temp_path(&path, ".json", NULL)) abort();
    FILE *f = fopen(path, "wb");
    if (!f || (size && fwrite(data, 1, size, f) != size) || fclose(f)) abort();
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const span start = {(const char *)data, size};
    if (size > 7 && !memcmp(data, "SQLite ", 7)) return 0; /* trace_nsys */
    const char *path = write_input(data, size);
    const view_source *from = source_for(path, start);
    if (!from) return 0;
    pgy_page p = {.graph_count = 1, .options.embed_values = 1024};
    view_file file = {.path = path, .label = "input", .source = from};
    p.graphs[0] = make_graph();
    p.files = &file;
    p.file_count = 1;
    if (!from->add(&p, path, NULL)) {
        check_results(&p);
        check_json(&p);
    }
    view_graph_destroy(p.graphs[0]);
    view_results_deinit(&p.results);
    strvec_deinit(&p.warnings);
    arena_deinit(&p.memory);
    return 0;
}
