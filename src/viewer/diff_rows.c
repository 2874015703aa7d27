/* SPDX-License-Identifier: Apache-2.0 */
/* The quantity `change`, and the table `diff`: one row for each difference, with the node that it
 * belongs to. */
#include <inttypes.h>
#include <string.h>

#include "viewer/diff.h"

pgy_status view_change_quantity(view_quantity **out, view_results *r, const view_graph *g,
                                uint32_t graph, pgy_error *err)
{
    static const char *const NAMES[VIEW_CHANGE_COUNT] = {"same", "changed", "added", "removed",
                                                         "fused"};
    const view_quantity like = {.id = "change",
                                .label = "Change",
                                .group = "change",
                                .graph = graph,
                                .of = VIEW_OF_NODE,
                                .scale = VIEW_CATEGORY,
                                .fold = VIEW_FOLD_MAX,
                                .names = NAMES,
                                .name_count = VIEW_CHANGE_COUNT};
    return view_quantity_add(out, r, g, &like, err);
}

pgy_status view_diff_table(view_table **out, view_results *r, uint32_t graph, pgy_error *err)
{
    view_column columns[] = {{"Node", VIEW_COLUMN_NODE},   {"Operator", VIEW_COLUMN_TEXT},
                             {"Change", VIEW_COLUMN_TEXT}, {"What", VIEW_COLUMN_TEXT},
                             {"Before", VIEW_COLUMN_TEXT}, {"After", VIEW_COLUMN_TEXT}};
    const view_table like = {.id = "diff",
                             .title = "Differences",
                             .graph = graph,
                             .columns = columns,
                             .column_count = sizeof columns / sizeof *columns};
    return view_table_add(out, r, &like, err);
}

static view_cell text_cell(const char *text)
{
    return (view_cell){.text = text, .is_empty = !text || !*text, .ref = VIEW_NONE};
}

pgy_status view_diff_add_row(view_results *r, view_table *t, const view_diff_row *row,
                             pgy_error *err)
{
    view_cell cells[6] = {text_cell(row->name), text_cell(row->op),     text_cell(row->change),
                          text_cell(row->what), text_cell(row->before), text_cell(row->after)};
    cells[0].ref = row->node;
    cells[0].is_empty = row->node == VIEW_NONE && cells[0].is_empty;
    return view_table_row(r, t, cells, err);
}

void view_diff_what(str *out, const pgy_difference *e)
{
    const char *field = e->field;
    switch (e->part) {
    case PGY_DIFF_ATTRIBUTE: str_printf(out, "attribute %s", field); break;
    case PGY_DIFF_WEIGHT:
        str_printf(out, "weight %s", e->name);
        if (e->change == PGY_DIFF_CHANGED && *field) str_printf(out, ": %s", field);
        break;
    case PGY_DIFF_TENSOR:
        str_printf(out, "tensor %s", e->name);
        if (*field) str_printf(out, ": %s", field);
        break;
    case PGY_DIFF_OPSET: str_printf(out, "opset of %s", field); break;
    case PGY_DIFF_NODE:
        if (e->change == PGY_DIFF_RENAMED)
            str_append(out, "name");
        else if (e->change == PGY_DIFF_MOVED)
            str_append(out, "place in the file");
        else
            str_append(out, *field ? field : "node");
        break;
    default:
        str_append(out, pgy_diff_part_name(e->part));
        if (*e->name) str_printf(out, " %s", e->name);
        if (*field) str_printf(out, ": %s", field);
    }
}

void view_diff_after(str *out, const pgy_difference *e)
{
    const pgy_weight_change *w = e->weight;
    if (e->change == PGY_DIFF_UNREAD && *e->field) {
        str_append(out, e->field);
    } else if (w && w->compared && strcmp(e->field, "values") == 0) {
        str_printf(out, "%" PRIu64 " of %" PRIu64 " elements differ, by %.4g at most; SNR %.3g dB",
                   w->changed, w->count, w->max_abs, w->snr_db);
    } else if (e->change == PGY_DIFF_RENAMED) {
        str_append(out, e->new_name ? e->new_name : "");
    } else {
        str_append(out, e->after ? e->after : "");
    }
}

const char *view_diff_before(const pgy_difference *e)
{
    const bool is_values = e->weight && e->weight->compared && strcmp(e->field, "values") == 0;
    return e->change == PGY_DIFF_RENAMED ? e->name : is_values ? "" : e->before;
}

void view_diff_tell(str *out, const char *what, const char *before, const char *after)
{
    str_printf(out, "%s: ", what);
    if (!before || *before) str_printf(out, "%s > ", before ? before : "none");
    str_append(out, after && *after ? after : "none");
}
