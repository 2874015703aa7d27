/* SPDX-License-Identifier: Apache-2.0 */
/* Texts about what can be run: the two summaries keep the layout that scripts parse. */
#include "cli/capability.h"

#include <stdio.h>
#include <string.h>

enum { MAX_COLUMNS = 4 };

/* Columns padded to their widest cell; the last one is not. */
typedef struct table {
    size_t column_count;
    const char *separators[MAX_COLUMNS]; /* before each column */
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

void capability_text(str *out, const pgy_unsupported *rows, size_t count)
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

/* ---- By part -------------------------------------------------------------------------------- */

/* Distinct reasons of the rows [from, to), joined by " | ". */
static const char *join_reasons(const pgy_unsupported *rows, size_t from, size_t to, arena *memory)
{
    str text = {0};
    for (size_t i = from; i < to; i++) {
        bool known = false;
        for (size_t k = from; k < i && !known; k++) known = !strcmp(rows[k].reason, rows[i].reason);
        if (!known) str_printf(&text, text.size ? " | %s" : "%s", rows[i].reason);
    }
    const char *kept = text.failed ? NULL : arena_strdup(memory, str_text(&text));
    str_deinit(&text);
    return kept;
}

pgy_status capability_parts(capability_part **out, size_t *count, const pgy_graph *g,
                            const pgy_unsupported *rows, size_t row_count, arena *memory,
                            pgy_error *err)
{
    capability_part *parts = arena_alloc_array(memory, g->node_count, sizeof *parts);
    size_t made = 0, row = 0;
    if (!parts) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < g->node_count;) {
        const size_t first_row = row;
        capability_part part = {.first = i, .op_type = g->nodes[i]->op_type};
        part.supported = row == row_count || rows[row].index != i;
        while (i < g->node_count && (row == row_count || rows[row].index != i) == part.supported) {
            while (row < row_count && rows[row].index == i) row++;
            i++;
        }
        part.end = i;
        part.reason = part.supported ? "" : join_reasons(rows, first_row, row, memory);
        if (!part.reason) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        parts[made++] = part;
    }
    *out = parts;
    *count = made;
    return PGY_OK;
}

static bool same_row(const capability_part *a, const capability_part *b)
{
    return !a->supported && !b->supported && !strcmp(a->op_type, b->op_type) &&
           !strcmp(a->reason, b->reason);
}

static bool is_first(const capability_part *parts, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (same_row(&parts[k], &parts[i])) return false;
    return !parts[i].supported;
}

void capability_parts_text(str *out, const capability_part *parts, size_t count)
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

/* ---- The registry --------------------------------------------------------------------------- */

static void append_arity(str *out, size_t least, size_t most)
{
    if (most == SIZE_MAX)
        str_printf(out, " | %zu or more", least);
    else
        str_printf(out, least == most ? " | %zu" : " | %zu to %zu", least, most);
}

void capability_operators(str *out)
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
