/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the tables "nodes" and "tensors". */
#include "viewer/export_list.h"

#include <math.h>

#include "base/alloc.h"
#include "viewer/graph_ops.h"

enum { OWN_COLUMNS = 3 };

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a table of all nodes or tensors");
}

void export_list_deinit(export_list *l)
{
    arena_deinit(&l->memory);
}

static bool belongs(const view_quantity *q, view_of of)
{
    return q->of == of && q->graph == 0;
}

static pgy_status make_columns(export_list *l, const view_results *r, view_of of, pgy_error *err)
{
    static const view_column NODES[OWN_COLUMNS] = {{"node", VIEW_COLUMN_NODE},
                                                   {"operator", VIEW_COLUMN_TEXT},
                                                   {"category", VIEW_COLUMN_TEXT}},
                             TENSORS[OWN_COLUMNS] = {{"tensor", VIEW_COLUMN_TENSOR},
                                                     {"type", VIEW_COLUMN_TEXT},
                                                     {"shape", VIEW_COLUMN_TEXT}};
    view_table *t = &l->table;
    t->columns = arena_alloc_array(&l->memory, OWN_COLUMNS + r->quantity_count, sizeof *t->columns);
    if (!t->columns) return no_memory(err);
    for (uint32_t i = 0; i < OWN_COLUMNS; i++)
        t->columns[t->column_count++] = of == VIEW_OF_NODE ? NODES[i] : TENSORS[i];
    for (size_t i = 0; i < r->quantity_count; i++) {
        const view_quantity *q = &r->quantities[i];
        if (!belongs(q, of)) continue;
        const char *name =
            *q->unit ? arena_printf(&l->memory, "%s [%s]", q->label, q->unit) : q->label;
        if (!name) return no_memory(err);
        t->columns[t->column_count++] =
            (view_column){name, q->scale == VIEW_CATEGORY ? VIEW_COLUMN_TEXT : VIEW_COLUMN_NUMBER};
    }
    return PGY_OK;
}

static view_cell value_cell(const view_quantity *q, uint32_t at)
{
    if (at >= q->count || !q->is_measured[at]) return (view_cell){.is_empty = true};
    const double v = q->values[at];
    if (q->scale != VIEW_CATEGORY) return (view_cell){.number = v};
    return (view_cell){.text = v >= 0 && v < q->name_count ? q->names[(size_t)v] : ""};
}

static void make_row(view_cell *cells, const pgy_page *p, view_of of, uint32_t at)
{
    const view_graph *g = p->graphs[0];
    if (of == VIEW_OF_NODE) {
        const view_node *n = &g->nodes[at];
        cells[0] = (view_cell){.text = n->name, .ref = at};
        cells[1] = (view_cell){.text = g->ops[n->op].name};
        cells[2] = (view_cell){.text = graph_category_name(g->ops[n->op].category)};
    } else {
        const view_tensor *t = &g->tensors[at];
        cells[0] = (view_cell){.text = t->name, .ref = at};
        cells[1] = (view_cell){.text = t->dtype};
        cells[2] = (view_cell){.text = t->shape, .is_empty = !t->shape};
    }
    uint32_t column = OWN_COLUMNS;
    for (size_t i = 0; i < p->results.quantity_count; i++)
        if (belongs(&p->results.quantities[i], of))
            cells[column++] = value_cell(&p->results.quantities[i], at);
}

pgy_status export_list_make(export_list *out, const pgy_page *p, view_of of, pgy_error *err)
{
    const view_graph *g = p->graphs[0];
    view_table *t = &out->table;
    *t = of == VIEW_OF_NODE ? (view_table){.id = "nodes", .title = "Nodes"}
                            : (view_table){.id = "tensors", .title = "Tensors"};
    pgy_status st = make_columns(out, &p->results, of, err);
    if (st) return st;
    t->row_count = of == VIEW_OF_NODE ? g->node_count : g->tensor_count;
    size_t cells;
    if (!size_mul(&cells, t->row_count, t->column_count)) return no_memory(err);
    t->cells = arena_alloc_array(&out->memory, cells, sizeof *t->cells);
    if (!t->cells) return no_memory(err);
    for (size_t i = 0; i < t->row_count; i++)
        make_row(t->cells + i * t->column_count, p, of, (uint32_t)i);
    return PGY_OK;
}
