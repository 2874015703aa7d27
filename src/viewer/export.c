/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as CSV and JSON. */
#include "viewer/export.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/printable.h"
#include "base/pytext.h"
#include "viewer/export_list.h"

/* ---- CSV ------------------------------------------------------------------------------------ */

/* Spreadsheets calculate cells that begin like this. */
static bool looks_like_formula(const char *text)
{
    return *text && strchr("=+-@\t\r", *text);
}

static void append_quoted(str *out, const char *text)
{
    str clean = {0};
    if (looks_like_formula(text)) str_append_char(&clean, '\'');
    str_append_printable(&clean, text, strlen(text), "\n\t");
    const char *shown = str_text(&clean);
    const size_t size = clean.size;
    const bool needs_quotes =
        strpbrk(shown, ",\"\n\t") ||
        (size && (isspace((unsigned char)*shown) || isspace((unsigned char)shown[size - 1])));
    if (needs_quotes) str_append_char(out, '"');
    for (const char *c = shown; *c; c++) {
        if (*c == '"') str_append_char(out, '"');
        str_append_char(out, *c);
    }
    if (needs_quotes) str_append_char(out, '"');
    out->failed |= clean.failed;
    str_deinit(&clean);
}

static bool is_text(view_column_kind kind)
{
    return kind == VIEW_COLUMN_TEXT || kind == VIEW_COLUMN_VERDICT || kind == VIEW_COLUMN_NODE ||
           kind == VIEW_COLUMN_TENSOR;
}

static void append_cell(str *out, view_column_kind kind, const view_cell *cell)
{
    char number[32];
    if (cell->is_empty) return;
    if (is_text(kind)) {
        append_quoted(out, cell->text ? cell->text : "");
        return;
    }
    /* Counts without a point, so that a spreadsheet shows them as such. */
    if (cell->number == trunc(cell->number) && fabs(cell->number) < 1e15) {
        str_printf(out, "%.0f", cell->number);
        return;
    }
    py_double_repr(number, cell->number);
    str_append(out, number);
}

static const char *unit_of(view_column_kind kind)
{
    return kind == VIEW_COLUMN_BYTES     ? " [bytes]"
           : kind == VIEW_COLUMN_US      ? " [us]"
           : kind == VIEW_COLUMN_PERCENT ? " [%]"
                                         : "";
}

static void append_header(str *out, const view_column *column)
{
    str name = {0};
    str_append(&name, column->name);
    if (!strchr(column->name, '[')) str_append(&name, unit_of(column->kind));
    append_quoted(out, str_text(&name));
    out->failed |= name.failed;
    str_deinit(&name);
}

void view_export_csv(str *out, const view_table *t)
{
    for (uint32_t c = 0; c < t->column_count; c++) {
        if (c) str_append_char(out, ',');
        append_header(out, &t->columns[c]);
    }
    str_append_char(out, '\n');
    for (size_t row = 0; row < t->row_count && !out->failed && !cancel_requested(); row++) {
        const view_cell *cells = t->cells + row * t->column_count;
        for (uint32_t c = 0; c < t->column_count; c++) {
            if (c) str_append_char(out, ',');
            append_cell(out, t->columns[c].kind, &cells[c]);
        }
        str_append_char(out, '\n');
    }
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* A key of its own for each column, also if two have the same name. */
static void put_key(json_writer *w, const view_table *t, uint32_t column)
{
    char number[16];
    int same = 1;
    str key = {0};
    for (uint32_t c = 0; c < column; c++)
        same += !strcmp(t->columns[c].name, t->columns[column].name);
    snprintf(number, sizeof number, " %d", same);
    str_append(&key, t->columns[column].name);
    if (same > 1) str_append(&key, number);
    json_key(w, key.failed ? number : str_text(&key));
    str_deinit(&key);
}

static void put_cell(json_writer *w, view_column_kind kind, const view_cell *cell)
{
    if (cell->is_empty || (is_text(kind) && !cell->text))
        json_null(w);
    else if (is_text(kind))
        json_text(w, cell->text);
    else if (isfinite(cell->number))
        json_real(w, cell->number);
    else
        json_text(w, isnan(cell->number) ? "nan" : cell->number > 0 ? "inf" : "-inf");
}

void view_export_json(json_writer *w, const view_table *t)
{
    json_begin_object(w);
    json_put_text(w, "id", t->id);
    json_put_text(w, "title", t->title);
    json_put_text(w, "note", t->note);
    view_table_write_columns(w, t);
    json_key(w, "rows");
    json_begin_array(w);
    for (size_t row = 0; row < t->row_count && !cancel_requested(); row++) {
        json_begin_object(w);
        for (uint32_t c = 0; c < t->column_count; c++) {
            put_key(w, t, c);
            put_cell(w, t->columns[c].kind, &t->cells[row * t->column_count + c]);
        }
        json_end_object(w);
    }
    json_end_array(w);
    json_end_object(w);
}

/* ---- Files ---------------------------------------------------------------------------------- */

static pgy_status save_csv(const view_table *t, const char *path, pgy_error *err)
{
    str out = {0};
    view_export_csv(&out, t);
    pgy_status st = out.failed
                        ? pgy_error_set(err, PGY_E_MEMORY, "out of memory for table '%s'", t->id)
                        : cancel_check(err);
    if (!st) st = file_write_all(path, out.data, out.size, err);
    str_deinit(&out);
    return st;
}

static pgy_status write_json(json_writer *w, const void *user, pgy_error *err)
{
    view_export_json(w, user);
    return cancel_check(err);
}

static pgy_status unknown_table(const pgy_page *p, const char *id, pgy_error *err)
{
    str known = {0};
    for (size_t i = 0; i < p->results.table_count; i++)
        str_printf(&known, "%s, ", p->results.tables[i]->id);
    const pgy_status st =
        pgy_error_set(err, PGY_E_NOT_FOUND, "the view has no table '%s'; it has: %snodes, tensors",
                      id, str_text(&known));
    str_deinit(&known);
    return st;
}

pgy_status view_export_table(pgy_page *p, const char *id, const char *path, pgy_error *err)
{
    const char *extension = path_extension(path);
    const bool csv = str_equal_nocase(extension, ".csv");
    if (!csv && !str_equal_nocase(extension, ".json"))
        return pgy_error_set(err, PGY_E_ARGUMENT, "'%s' does not end in .csv or .json", path);
    pgy_status st = page_complete(p, err);
    if (st) return st;
    const view_table *t = view_table_find(&p->results, id);
    export_list list = {0};
    if (!t && (!strcmp(id, "nodes") || !strcmp(id, "tensors"))) {
        st = export_list_make(&list, p, *id == 'n' ? VIEW_OF_NODE : VIEW_OF_TENSOR, err);
        t = &list.table;
    }
    if (!st && !t) st = unknown_table(p, id, err);
    if (!st) st = csv ? save_csv(t, path, err) : json_save(path, write_json, t, err);
    export_list_deinit(&list);
    return st;
}
