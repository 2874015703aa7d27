/* SPDX-License-Identifier: Apache-2.0 */
/* The list of findings, and the original's JSON report. */
#include "inspect/lint/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"

static const char *const LEVELS[] = {"exception", "warning", "info"};
static const char *const SOURCES[] = {"onnxruntime", "onnx_checker", "onnx_loader",
                                      "onnx_graphsurgeon"};

void report_deinit(lint_report *r)
{
    arena_deinit(&r->memory);
    mem_free(r->findings);
    strmap_deinit(&r->passing);
    strmap_deinit(&r->failing);
}

void lint_add(lint_report *r, const pgy_lint_finding *finding)
{
    pgy_lint_finding f = *finding;
    f.message = lint_clean_message(&r->memory, finding->message);
    f.node = arena_strdup(&r->memory, finding->node ? finding->node : "");
    f.value = arena_strdup(&r->memory, finding->value ? finding->value : "");
    f.op_type = arena_strdup(&r->memory, finding->op_type ? finding->op_type : "");
    if (!f.message || !f.node || !f.value || !f.op_type ||
        !mem_grow((void **)&r->findings, &r->capacity, r->count + 1, sizeof *r->findings)) {
        r->failed = true;
        return;
    }
    r->findings[r->count++] = f;
    if (f.level == PGY_LINT_EXCEPTION && f.node[0] && !strmap_put(&r->failing, f.node, r))
        r->failed = true;
    if (r->found) r->found(&f, r->user);
}

void lint_pass(lint_report *r, const char *node)
{
    if (!strmap_put(&r->passing, node, r)) r->failed = true;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    return strcmp(((const strmap_entry *)a)->key, ((const strmap_entry *)b)->key);
}

/* Writes the names that are not in `except`, sorted. */
static bool write_names(json_writer *w, const char *key, const strmap *names, const strmap *except)
{
    strmap_entry *sorted = mem_calloc(names->count + 1, sizeof *sorted);
    if (!sorted) return false;
    if (names->count) memcpy(sorted, names->entries, names->count * sizeof *sorted);
    qsort(sorted, names->count, sizeof *sorted, by_key);
    json_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < names->count; i++)
        if (!except || !strmap_has(except, sorted[i].key)) json_text(w, sorted[i].key);
    json_end_array(w);
    mem_free(sorted);
    return true;
}

static void write_finding(json_writer *w, const pgy_lint_finding *f)
{
    json_begin_object(w);
    json_put_text(w, "level", LEVELS[f->level]);
    json_put_text(w, "source", SOURCES[f->source]);
    json_put_text(w, "message", f->message);
    if (f->node[0]) {
        json_key(w, "nodes");
        json_begin_array(w);
        json_text(w, f->node);
        json_end_array(w);
    }
    if (f->extra) json_put_text(w, "code", f->code);
    json_end_object(w);
}

static pgy_status write_report(json_writer *w, const void *user, pgy_error *err)
{
    const lint_report *r = user;
    json_begin_object(w);
    json_key(w, "summary");
    json_begin_object(w);
    const bool ok = write_names(w, "passing", &r->passing, &r->failing) &&
                    write_names(w, "failing", &r->failing, NULL);
    json_end_object(w);
    json_key(w, "lint_entries");
    json_begin_array(w);
    for (size_t i = 0; i < r->count; i++) write_finding(w, &r->findings[i]);
    json_end_array(w);
    json_end_object(w);
    return ok ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

pgy_status pgy_lint_json(char **out, const pgy_lint *l, pgy_error *err)
{
    return json_to_text(out, write_report, &l->report, err);
}

pgy_status pgy_lint_save_json(const pgy_lint *l, const char *path, pgy_error *err)
{
    return json_save(path, write_report, &l->report, err);
}
