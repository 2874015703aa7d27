/* SPDX-License-Identifier: Apache-2.0 */
/* The report of `check lint -o`: findings at nodes. */
#include <string.h>

#include "viewer/sources/result_file.h"

static const view_column COLUMNS[] = {{"node", VIEW_COLUMN_NODE},
                                      {"level", VIEW_COLUMN_TEXT},
                                      {"message", VIEW_COLUMN_TEXT},
                                      {"found by", VIEW_COLUMN_TEXT}};
enum { COLUMN_COUNT = 4 };

static bool accept(const char *path, span start, const json_value *json)
{
    (void)path, (void)start;
    const json_value *entries = json_get(json, "lint_entries");
    return entries && entries->type == JSON_ARRAY;
}

typedef struct lint_run {
    result_file file;
    view_table *table;
    size_t errors, warnings;
} lint_run;

static pgy_status add_finding(lint_run *run, const char *node_name, const char *level,
                              const char *message, const char *source, pgy_error *err)
{
    result_file *f = &run->file;
    const bool is_error = strcmp(level, "exception") == 0;
    const uint32_t node = node_name ? result_node(f, node_name) : VIEW_NONE;
    const view_cell cells[COLUMN_COUNT] = {cell_ref(node, node_name), cell_text(level),
                                           cell_text(message), cell_text(source)};
    pgy_status st = view_table_row(f->results, run->table, cells, err);
    if (st || node == VIEW_NONE) return st;
    /* A node may have several findings. */
    const view_mark mark = {.at = node,
                            .of = VIEW_OF_NODE,
                            .kind = is_error ? VIEW_MARK_FAIL : VIEW_MARK_FINDING,
                            .text = message};
    return view_mark_add(f->results, &mark, err);
}

static pgy_status add_entry(lint_run *run, const json_value *v, pgy_error *err)
{
    result_file *f = &run->file;
    const char *level = result_text(f, v, "level"), *message = result_text(f, v, "message");
    const char *source = result_text(f, v, "source");
    const json_value *nodes = json_get(v, "nodes");
    pgy_status st = PGY_OK;
    if (!level || !message)
        return pgy_error_set(err, PGY_E_FORMAT, "line %u: a finding needs 'level' and 'message'",
                             v->line);
    *(strcmp(level, "exception") == 0 ? &run->errors : &run->warnings) += 1;
    if (!nodes || nodes->type != JSON_ARRAY || !nodes->count)
        return add_finding(run, NULL, level, message, source, err);
    for (const json_value *n = nodes->first; n && !st; n = n->next) {
        const char *name = n->type == JSON_STRING ? json_string(n, &f->json.memory, NULL) : NULL;
        if (!name)
            return pgy_error_set(err, PGY_E_FORMAT, "line %u: the name of a node is expected",
                                 n->line);
        st = add_finding(run, name, level, message, source, err);
    }
    return st;
}

/* The summary names all nodes that were looked at, which tells whose report this is. */
static void count_nodes(result_file *f, const char *list)
{
    const json_value *names = json_get(json_get(f->json.root, "summary"), list);
    for (const json_value *v = names ? names->first : NULL; v; v = v->next) {
        const char *name = v->type == JSON_STRING ? json_string(v, &f->json.memory, NULL) : NULL;
        if (name && *name) result_node(f, name);
    }
}

static pgy_status conclude(lint_run *run, pgy_error *err)
{
    result_file *f = &run->file;
    str text = {0};
    str_printf(&text, "%zu errors and %zu warnings of lint", run->errors, run->warnings);
    pgy_status st = result_judge(f, !run->errors, false, str_text(&text), err);
    str_deinit(&text);
    if (!st) st = result_summary(f, "Lint", "errors", err, "%zu", run->errors);
    return st ? st : result_summary(f, "Lint", "warnings", err, "%zu", run->warnings);
}

static pgy_status add(pgy_page *p, const char *path, pgy_error *err)
{
    lint_run run = {0};
    result_file *f = &run.file;
    pgy_status st = result_open_json(f, p, path, err);
    if (!st) {
        count_nodes(f, "passing");
        count_nodes(f, "failing");
        st = result_table(&run.table, f, "lint", "Findings of lint", COLUMNS, COLUMN_COUNT, err);
    }
    const json_value *entries = st ? NULL : json_get(f->json.root, "lint_entries");
    for (const json_value *v = entries ? entries->first : NULL; v && !st; v = v->next)
        st = add_entry(&run, v, err);
    if (!st) st = result_end(f, "nodes", err);
    if (!st) st = conclude(&run, err);
    result_close(f);
    return st;
}

const view_source view_source_lint = {"lint", "findings of check lint", accept, add};
