/* SPDX-License-Identifier: Apache-2.0 */
/* A model file is read into a view, grouped, and written as the page's JSON, which must be valid.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "viewer/graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const view_graph *g, bool details)
{
    str s = {0};
    arena memory = {0};
    json_value *v = NULL;
    json_writer *w = NULL;
    if (json_writer_create_str(&w, &s, NULL)) return;
    if (details)
        view_detail_write(w, g, 0);
    else
        view_graph_write(w, g);
    if (json_writer_finish(w, NULL)) abort();
    json_writer_destroy(w);
    if (json_parse(&v, str_text(&s), s.size, &memory, NULL)) abort();
    arena_deinit(&memory);
    str_deinit(&s);
}

/* Each node and container is where its parent has it. */
static uint32_t count_children(const view_graph *g)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->container_count; i++) {
        const view_container *c = &g->containers[i];
        for (uint32_t k = 0; k < c->child_count; k++) {
            const view_item item = c->children[k];
            const uint32_t parent = item.kind == VIEW_ITEM_NODE ? g->nodes[item.ref].parent
                                                                : g->containers[item.ref].parent;
            if (parent != i) abort();
        }
        count += c->child_count + (c->node != VIEW_NONE) + (c->parent == VIEW_NONE);
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_model *model = NULL;
    view_graph *g = NULL;
    strvec warnings = {0};
    const pgy_model_load_options options = {.size = sizeof options, .ignore_external_data = true};
    if (pgy_model_parse(&model, data, size, true, &options, NULL)) return 0;
    if (view_graph_from_model(&g, model, "model", &warnings, NULL) == PGY_OK) {
        if (view_graph_group(g, NULL)) abort();
        if (count_children(g) != g->node_count + g->container_count) abort();
        check(g, false);
        check(g, true);
    }
    view_graph_destroy(g);
    pgy_model_destroy(model);
    strvec_deinit(&warnings);
    return 0;
}
