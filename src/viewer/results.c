/* SPDX-License-Identifier: Apache-2.0 */
/* Results of a view: adders and finders. Texts and values live in the arena; the lists, which grow,
 * have blocks of their own. */
#include "viewer/results.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while results are added to a view");
}

void view_results_deinit(view_results *r)
{
    for (size_t i = 0; i < r->table_count; i++) mem_free(r->tables[i]->cells);
    mem_free(r->quantities);
    mem_free(r->marks);
    mem_free(r->tables);
    mem_free(r->stats);
    mem_free(r->steps);
    mem_free(r->timeline.rows);
    mem_free(r->timeline.slices);
    mem_free(r->summary);
    strmap_deinit(&r->placed);
    arena_deinit(&r->memory);
    *r = (view_results){0};
}

const char *view_text(view_results *r, const char *text)
{
    return arena_strdup(&r->memory, text);
}

/* Replaces a text with its copy; NULL stays. */
static bool copy_text(view_results *r, const char **text)
{
    if (!*text) return true;
    *text = view_text(r, *text);
    return *text;
}

/* ---- Quantities and marks ------------------------------------------------------------------- */

const view_quantity *view_quantity_find(const view_results *r, const char *id, uint32_t graph)
{
    for (size_t i = 0; i < r->quantity_count; i++) {
        const view_quantity *q = &r->quantities[i];
        if (q->graph == graph && strcmp(q->id, id) == 0) return q;
    }
    return NULL;
}

static bool copy_names(view_results *r, view_quantity *q)
{
    const char **names = arena_alloc_array(&r->memory, q->name_count, sizeof *names);
    if (!names) return false;
    for (uint32_t i = 0; i < q->name_count; i++)
        if (!(names[i] = view_text(r, q->names[i]))) return false;
    q->names = names;
    return true;
}

pgy_status view_quantity_add(view_quantity **out, view_results *r, const view_graph *g,
                             const view_quantity *like, pgy_error *err)
{
    const view_quantity *known = view_quantity_find(r, like->id, like->graph);
    if (known) {
        *out = r->quantities + (known - r->quantities);
        return PGY_OK;
    }
    view_quantity q = *like;
    q.count = q.of == VIEW_OF_NODE ? g->node_count : g->tensor_count;
    q.values = arena_alloc_array(&r->memory, q.count, sizeof *q.values);
    q.is_measured = arena_alloc_array(&r->memory, q.count, sizeof *q.is_measured);
    if (!q.unit) q.unit = "";
    if (!q.values || !q.is_measured || !copy_text(r, &q.id) || !copy_text(r, &q.label) ||
        !copy_text(r, &q.unit) || !copy_text(r, &q.group) || !copy_names(r, &q) ||
        !mem_grow((void **)&r->quantities, &r->quantity_capacity, r->quantity_count + 1, sizeof q))
        return no_memory(err);
    r->quantities[r->quantity_count] = q;
    *out = &r->quantities[r->quantity_count++];
    return PGY_OK;
}

void view_quantity_set(view_quantity *q, uint32_t at, double value)
{
    if (at >= q->count) return; /* a name that the graph lacks: VIEW_NONE */
    q->values[at] = value;
    q->is_measured[at] = true;
}

pgy_status view_mark_add(view_results *r, const view_mark *mark, pgy_error *err)
{
    view_mark m = *mark;
    if (!copy_text(r, &m.text) ||
        !mem_grow((void **)&r->marks, &r->mark_capacity, r->mark_count + 1, sizeof m))
        return no_memory(err);
    r->marks[r->mark_count++] = m;
    return PGY_OK;
}

pgy_status view_mark_once(view_results *r, const view_mark *mark, pgy_error *err)
{
    char place[48];
    snprintf(place, sizeof place, "%u.%d.%u.%d", mark->graph, (int)mark->of, mark->at,
             (int)mark->kind);
    if (strmap_has(&r->placed, place)) return PGY_OK;
    if (!strmap_put(&r->placed, place, r)) return no_memory(err);
    return view_mark_add(r, mark, err);
}

/* ---- Tables and summary --------------------------------------------------------------------- */

pgy_status view_table_add(view_table **out, view_results *r, const view_table *like, pgy_error *err)
{
    view_table *t = arena_alloc(&r->memory, sizeof *t);
    if (!t) return no_memory(err);
    *t = *like;
    t->cells = NULL;
    t->row_count = t->capacity = 0;
    t->columns = arena_alloc_array(&r->memory, t->column_count, sizeof *t->columns);
    if (!t->columns || !copy_text(r, &t->id) || !copy_text(r, &t->title) || !copy_text(r, &t->note))
        return no_memory(err);
    for (uint32_t i = 0; i < t->column_count; i++) {
        t->columns[i] = like->columns[i];
        if (!copy_text(r, &t->columns[i].name)) return no_memory(err);
    }
    if (!mem_grow((void **)&r->tables, &r->table_capacity, r->table_count + 1, sizeof *r->tables))
        return no_memory(err);
    r->tables[r->table_count++] = t;
    *out = t;
    return PGY_OK;
}

view_table *view_table_find(const view_results *r, const char *id)
{
    for (size_t i = 0; i < r->table_count; i++)
        if (strcmp(r->tables[i]->id, id) == 0) return r->tables[i];
    return NULL;
}

pgy_status view_table_row(view_results *r, view_table *t, const view_cell *cells, pgy_error *err)
{
    const size_t used = t->row_count * t->column_count;
    if (!mem_grow((void **)&t->cells, &t->capacity, used + t->column_count, sizeof *t->cells))
        return no_memory(err);
    for (uint32_t i = 0; i < t->column_count; i++) {
        t->cells[used + i] = cells[i];
        if (!copy_text(r, &t->cells[used + i].text)) return no_memory(err);
    }
    t->row_count++;
    return PGY_OK;
}

pgy_status view_summary_add(view_results *r, const char *section, const char *name,
                            const char *text, pgy_error *err)
{
    if (!copy_text(r, &section) || !copy_text(r, &name) || !copy_text(r, &text) ||
        !mem_grow((void **)&r->summary, &r->summary_capacity, r->summary_count + 1,
                  sizeof *r->summary))
        return no_memory(err);
    r->summary[r->summary_count].section = section;
    r->summary[r->summary_count].name = name;
    r->summary[r->summary_count++].text = text;
    return PGY_OK;
}

/* ---- Statistics ----------------------------------------------------------------------------- */

/* The first place whose tensor is not below `tensor`. */
static size_t stats_place(const view_results *r, uint32_t tensor)
{
    size_t low = 0, high = r->stats_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (r->stats[middle]->tensor < tensor)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const view_stats *view_stats_find(const view_results *r, uint32_t tensor)
{
    const size_t at = stats_place(r, tensor);
    return at < r->stats_count && r->stats[at]->tensor == tensor ? r->stats[at] : NULL;
}

pgy_status view_stats_add(view_stats **out, view_results *r, uint32_t tensor, pgy_error *err)
{
    const size_t at = stats_place(r, tensor);
    if (at < r->stats_count && r->stats[at]->tensor == tensor) {
        *out = r->stats[at];
        return PGY_OK;
    }
    view_stats *s = arena_alloc(&r->memory, sizeof *s);
    if (!s ||
        !mem_grow((void **)&r->stats, &r->stats_capacity, r->stats_count + 1, sizeof *r->stats))
        return no_memory(err);
    s->tensor = tensor;
    s->low = s->difference_low = 1;
    s->high = s->difference_high = 0;
    memmove(r->stats + at + 1, r->stats + at, (r->stats_count - at) * sizeof *r->stats);
    r->stats[at] = s;
    r->stats_count++;
    *out = s;
    return PGY_OK;
}

/* ---- Search and timeline -------------------------------------------------------------------- */

pgy_status view_step_add(view_results *r, const view_step *step, pgy_error *err)
{
    view_step s = *step;
    s.nodes = arena_alloc_array(&r->memory, s.node_count, sizeof *s.nodes);
    if (!s.nodes || !copy_text(r, &s.title) || !copy_text(r, &s.detail) ||
        !mem_grow((void **)&r->steps, &r->step_capacity, r->step_count + 1, sizeof s))
        return no_memory(err);
    if (s.node_count) memcpy(s.nodes, step->nodes, s.node_count * sizeof *s.nodes);
    r->steps[r->step_count++] = s;
    return PGY_OK;
}

pgy_status view_samples_add(view_results *r, const view_graph *g, uint32_t node, const double *us,
                            size_t count, pgy_error *err)
{
    if (node >= g->node_count) return PGY_OK;
    if (!r->samples) r->samples = arena_alloc_array(&r->memory, g->node_count, sizeof *r->samples);
    if (!r->samples) return no_memory(err);
    view_samples *s = &r->samples[node];
    if (s->is_known) {
        if (s->count != count) s->count = 0;
        for (size_t i = 0; i < s->count; i++) s->us[i] += us[i];
        return PGY_OK;
    }
    s->is_known = true;
    s->us = arena_alloc_array(&r->memory, count, sizeof *s->us);
    if (!s->us) return no_memory(err);
    if (count) memcpy(s->us, us, count * sizeof *us);
    s->count = count;
    return PGY_OK;
}

pgy_status view_timeline_row(uint32_t *row, view_results *r, const char *process, const char *name,
                             pgy_error *err)
{
    view_timeline *t = &r->timeline;
    for (*row = 0; *row < t->row_count; ++*row)
        if (strcmp(t->rows[*row].process, process) == 0 && strcmp(t->rows[*row].name, name) == 0)
            return PGY_OK;
    if (!copy_text(r, &process) || !copy_text(r, &name) ||
        !mem_grow((void **)&t->rows, &t->row_capacity, t->row_count + 1ull, sizeof *t->rows))
        return no_memory(err);
    t->rows[*row].process = process;
    t->rows[*row].name = name;
    t->row_count++;
    return PGY_OK;
}

pgy_status view_timeline_slice(view_results *r, const view_slice *slice, pgy_error *err)
{
    view_timeline *t = &r->timeline;
    if (!mem_grow((void **)&t->slices, &t->slice_capacity, t->slice_count + 1, sizeof *slice))
        return no_memory(err);
    t->slices[t->slice_count++] = *slice;
    return PGY_OK;
}
