/* SPDX-License-Identifier: Apache-2.0 */
/* The capability report as text and JSON. Scripts parse the two text tables, so their layout must
 * not change. */
#include <polygraphy/capability.h>

#include <stdio.h>
#include <string.h>

#include "base/json.h"

enum { MAX_COLUMNS = 4 };

/* A text table. Cells are padded to the widest cell of their column, except in the last column. */
typedef struct table {
    size_t column_count;
    const char *separators[MAX_COLUMNS]; /* text before each column */
    size_t widths[MAX_COLUMNS];
} table;

static size_t wider(size_t width, const char *text)
{
    const size_t size = strlen(text);
    return size > width ? size : width;
}

static void table_row(str *out, const table *t, const char *const *cells)
{
    for (size_t i = 0; i < t->column_count; i++) {
        const size_t size = strlen(cells[i]);
        str_append(out, t->separators[i]);
        str_append_n(out, cells[i], size);
        if (size < t->widths[i]) str_append_fill(out, ' ', t->widths[i] - size);
    }
    str_append_char(out, '\n');
}

static void table_header(str *out, const table *t, const char *const *titles)
{
    str_append(out, "===== Summary =====\n");
    const size_t start = out->size;
    table_row(out, t, titles);
    const size_t size = out->size - start;
    str_append_fill(out, '-', size);
    str_append_char(out, '\n');
}

/* ---- By call stack -------------------------------------------------------------------------- */

static void append_rows(str *out, const pgy_unsupported *rows, size_t count)
{
    static const char *const TITLES[] = {"Stack trace", "Operator", "Node", "Reason"};
    table t = {.column_count = 4,
               .separators = {"", " | ", " | ", " | "},
               .widths = {sizeof "Stack trace", sizeof "Operator", sizeof "Node", 0}};
    strmap printed = {0};
    for (size_t i = 0; i < count; i++) {
        t.widths[0] = wider(t.widths[0], rows[i].trace);
        t.widths[1] = wider(t.widths[1], rows[i].op_type);
        t.widths[2] = wider(t.widths[2], rows[i].node);
        t.widths[3] = wider(t.widths[3], rows[i].reason);
    }
    table_header(out, &t, TITLES);
    for (size_t i = 0; i < count; i++) {
        if (strmap_has(&printed, rows[i].trace)) continue;
        if (!strmap_put(&printed, rows[i].trace, out)) out->failed = true;
        for (size_t k = i; k < count; k++)
            if (!strcmp(rows[k].trace, rows[i].trace))
                table_row(out, &t,
                          (const char *const[]){rows[k].trace, rows[k].op_type, rows[k].node,
                                                rows[k].reason});
        if (out->failed) break;
    }
    strmap_deinit(&printed);
}

/* ---- By group of consecutive nodes ---------------------------------------------------------- */

static bool same_row(const pgy_capability_part *a, const pgy_capability_part *b)
{
    return !a->supported && !b->supported && !strcmp(a->op_type, b->op_type) &&
           !strcmp(a->reason, b->reason);
}

static bool is_first(const pgy_capability_part *parts, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (same_row(&parts[k], &parts[i])) return false;
    return !parts[i].supported;
}

static void append_parts(str *out, const pgy_capability_part *parts, size_t count)
{
    static const char *const TITLES[] = {"Operator", "Count", "Reason", "Nodes"};
    table t = {.column_count = 4,
               .separators = {"", "| ", " | ", " | "},
               .widths = {sizeof "Operator", 7, 0, 0}};
    for (size_t i = 0; i < count; i++) {
        t.widths[0] = parts[i].supported ? t.widths[0] : wider(t.widths[0], parts[i].op_type);
        t.widths[2] = wider(t.widths[2], parts[i].reason);
    }
    table_header(out, &t, TITLES);
    for (size_t i = 0; i < count; i++) {
        str ranges = {0};
        char number[32];
        size_t alike = 0;
        if (!is_first(parts, i)) continue;
        for (size_t k = i; k < count; k++)
            if (same_row(&parts[k], &parts[i]))
                str_printf(&ranges, alike++ ? ", [%zu, %zu]" : "[[%zu, %zu]", parts[k].first,
                           parts[k].end);
        str_append_char(&ranges, ']');
        snprintf(number, sizeof number, "%7zu", alike);
        table_row(
            out, &t,
            (const char *const[]){parts[i].op_type, number, parts[i].reason, str_text(&ranges)});
        out->failed |= ranges.failed;
        str_deinit(&ranges);
    }
}

/* ---- The operators that the library knows --------------------------------------------------- */

static void append_arity(str *out, size_t least, size_t most)
{
    if (most == SIZE_MAX)
        str_printf(out, " | %zu or more", least);
    else
        str_printf(out, least == most ? " | %zu" : " | %zu to %zu", least, most);
}

static void append_operators(str *out)
{
    pgy_operator row, next;
    str versions = {0};
    str_append(out, "| operator | domain | versions from | inputs | outputs | notes |\n"
                    "| --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; pgy_operator_at(&row, i) == PGY_OK; i++) {
        str_printf(&versions, versions.size ? ", %lld" : "%lld", (long long)row.since);
        if (pgy_operator_at(&next, i + 1) == PGY_OK && !strcmp(next.name, row.name) &&
            !strcmp(next.domain, row.domain))
            continue;
        str_printf(out, "| %s | %s | %s", row.name, *row.domain ? row.domain : "ai.onnx",
                   str_text(&versions));
        append_arity(out, row.min_inputs, row.max_inputs);
        append_arity(out, row.min_outputs, row.max_outputs);
        str_append(out, " | ");
        if (row.random) str_append(out, "random");
        if (row.deprecated)
            str_printf(out, "%sgone since %lld", row.random ? ", " : "", (long long)row.deprecated);
        str_append(out, " |\n");
        out->failed |= versions.failed;
        str_clear(&versions);
    }
    str_deinit(&versions);
}

/* ---- Public functions ----------------------------------------------------------------------- */

pgy_status pgy_unsupported_text(char **out, const pgy_unsupported *rows, size_t count,
                                pgy_error *err)
{
    str text = {0};
    append_rows(&text, rows, count);
    return str_give(out, &text, err);
}

pgy_status pgy_capability_parts_text(char **out, const pgy_capability_part *parts, size_t count,
                                     pgy_error *err)
{
    str text = {0};
    append_parts(&text, parts, count);
    return str_give(out, &text, err);
}

pgy_status pgy_operators_text(char **out, pgy_error *err)
{
    str text = {0};
    append_operators(&text);
    return str_give(out, &text, err);
}

typedef struct capability_document {
    const pgy_unsupported *rows;
    size_t row_count;
    const pgy_capability_part *parts;
    size_t part_count;
} capability_document;

static void write_row(json_writer *w, const pgy_unsupported *row)
{
    json_begin_object(w);
    json_put_uint(w, "index", row->index);
    json_put_text(w, "trace", row->trace);
    json_put_text(w, "node", row->node);
    json_put_text(w, "op_type", row->op_type);
    json_put_text(w, "reason", row->reason);
    json_end_object(w);
}

static void write_part(json_writer *w, const pgy_capability_part *part)
{
    json_begin_object(w);
    json_put_uint(w, "first", part->first);
    json_put_uint(w, "end", part->end);
    json_put_bool(w, "supported", part->supported);
    json_put_text(w, "op_type", part->op_type);
    json_put_text(w, "reason", part->reason);
    json_end_object(w);
}

static pgy_status write_document(json_writer *w, const void *user, pgy_error *err)
{
    const capability_document *d = user;
    (void)err;
    json_begin_object(w);
    json_key(w, "unsupported");
    json_begin_array(w);
    for (size_t i = 0; i < d->row_count; i++) write_row(w, &d->rows[i]);
    json_end_array(w);
    json_key(w, "parts");
    json_begin_array(w);
    for (size_t i = 0; i < d->part_count; i++) write_part(w, &d->parts[i]);
    json_end_array(w);
    json_end_object(w);
    return PGY_OK;
}

pgy_status pgy_capability_json(char **out, const pgy_unsupported *rows, size_t row_count,
                               const pgy_capability_part *parts, size_t part_count, pgy_error *err)
{
    const capability_document d = {rows, row_count, parts, part_count};
    return json_to_text(out, write_document, &d, err);
}
