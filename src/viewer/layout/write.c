/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a container's layout for the page (docs/formats/page.md). */
#include "viewer/layout/layers.h"

static void write_refs(json_writer *w, const view_layout *l)
{
    json_key(w, "ref");
    json_begin_array(w);
    for (uint32_t i = 0; i < l->item_count; i++) json_uint(w, l->items[i].ref);
    json_end_array(w);
}

static void write_numbers(json_writer *w, const char *key, const float *numbers, uint32_t count)
{
    json_key(w, key);
    json_begin_array(w);
    for (uint32_t i = 0; i < count; i++) {
        if (numbers[i] == (float)(int32_t)numbers[i])
            json_int(w, (int32_t)numbers[i]);
        else
            json_real(w, (double)numbers[i]);
    }
    json_end_array(w);
}

static void write_edges(json_writer *w, const view_layout *l)
{
    json_key(w, "edges");
    json_begin_array(w);
    for (uint32_t i = 0; i < l->edge_count; i++) {
        const view_layout_edge *e = &l->edges[i];
        json_begin_array(w);
        json_uint(w, e->tensor);
        json_uint(w, e->from);
        json_uint(w, e->to);
        for (uint32_t k = 0; k < e->bend_count; k++) json_uint(w, e->bends[k]);
        json_end_array(w);
    }
    json_end_array(w);
}

void view_layout_write(json_writer *w, const view_graph *g, uint32_t container)
{
    const view_layout *l = g->containers[container].layout;
    if (!l) {
        json_null(w);
        return;
    }
    json_begin_object(w);
    write_numbers(w, "card", (const float[]){l->card_width, l->card_height}, 2);
    if (l->like != VIEW_NONE) {
        json_put_uint(w, "like", l->like);
        write_refs(w, l);
        json_key(w, "tensor");
        json_begin_array(w);
        for (uint32_t i = 0; i < l->edge_count; i++) json_uint(w, l->tensors[i]);
        json_end_array(w);
        json_end_object(w);
        return;
    }
    json_put_real(w, "w", (double)l->folded.width);
    json_put_real(w, "h", (double)l->folded.height);
    json_key(w, "kind");
    json_begin_array(w);
    for (uint32_t i = 0; i < l->item_count; i++) json_uint(w, l->items[i].kind);
    json_end_array(w);
    write_refs(w, l);
    json_key(w, "row");
    json_begin_array(w);
    for (uint32_t i = 0; i < l->item_count; i++) json_uint(w, l->rows[i]);
    json_end_array(w);
    write_numbers(w, "x", l->folded.x, l->item_count);
    write_numbers(w, "iw", l->folded.widths, l->item_count);
    write_numbers(w, "ih", l->folded.heights, l->item_count);
    write_edges(w, l);
    write_numbers(w, "y", l->folded.tops, l->row_count);
    json_end_object(w);
}
