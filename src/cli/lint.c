/* SPDX-License-Identifier: Apache-2.0 */
/* The list of findings, as lines of the log and as the original's JSON report. */
#include "cli/lint.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/log.h"
#include "base/printable.h"

static const char LOG_PATH[] = "tools/check/subtool/lint.py";

static const char *const LEVELS[] = {"exception", "warning", "info"};
static const char *const SOURCES[] = {"onnxruntime", "onnx_checker", "onnx_loader",
                                      "onnx_graphsurgeon"};

/* ---- The report ----------------------------------------------------------------------------- */

void lint_report_deinit(lint_report *r)
{
    arena_deinit(&r->memory);
    mem_free(r->entries);
    strmap_deinit(&r->passing);
    strmap_deinit(&r->failing);
}

/* Removes "file.cc:12 function(arguments)" of ONNX Runtime's sources. */
static void drop_source_place(char *text)
{
    char *place = strstr(text, "/onnxruntime_src/"), *end = place ? strchr(place, '(') : NULL;
    int depth = 0;
    for (; end && *end; end++) {
        depth += (*end == '(') - (*end == ')');
        if (depth == 0) break;
    }
    if (!end || !*end) return;
    end++;
    while (*end == ' ') end++;
    memmove(place, end, strlen(end) + 1);
}

/* Removes what ONNX Runtime, or its adapter, puts before the message proper. */
static void drop_runtime_prefix(char *text)
{
    static const char ADAPTER[] = "ONNX Runtime, ", STATUS[] = "[ONNXRuntimeError] : ";
    static const char NODE[] = "Non-zero status code returned", MESSAGE[] = "Status Message: ";
    char *from = text;
    if (!strncmp(from, ADAPTER, sizeof ADAPTER - 1) && strstr(from, ": "))
        from = strstr(from, ": ") + 2;
    if (!strncmp(from, STATUS, sizeof STATUS - 1)) {
        for (int i = 0; i < 3 && strstr(from, " : "); i++) from = strstr(from, " : ") + 3;
    }
    if (!strncmp(from, NODE, sizeof NODE - 1) && strstr(from, MESSAGE))
        from = strstr(from, MESSAGE) + sizeof MESSAGE - 1;
    memmove(text, from, strlen(from) + 1);
}

/* Removes what says no more than that something is wrong. */
static void drop_phrases(char *text)
{
    static const char *const PHRASES[] = {"This is an invalid model. ",
                                          "Error: ", "Failed to load model with error: ",
                                          "Exception caught: ", "Exception during loading: "};
    for (size_t i = 0; i < sizeof PHRASES / sizeof *PHRASES; i++) {
        const size_t size = strlen(PHRASES[i]);
        for (char *at = text; (at = strstr(at, PHRASES[i]));)
            memmove(at, at + size, strlen(at + size) + 1);
    }
    static const struct {
        const char *begin, *end;
    } PLACES[] = {{"In Node, ", ", Error "}, {"Node (", "[ShapeInferenceError] "}};
    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++) {
        const char *end = strstr(text, PLACES[i].end);
        if (strncmp(text, PLACES[i].begin, strlen(PLACES[i].begin)) != 0 || !end) continue;
        end += strlen(PLACES[i].end);
        memmove(text, end, strlen(end) + 1);
    }
}

/* One line, double quotes as back-quotes, as the original writes messages. */
static char *clean(arena *a, const char *message)
{
    char *text = arena_strdup(a, message);
    if (!text) return NULL;
    drop_runtime_prefix(text);
    drop_source_place(text);
    drop_phrases(text);
    size_t size = strlen(text);
    while (size && strchr(" \r\n", text[size - 1])) text[--size] = 0;
    for (char *p = text; *p; p++) {
        if (*p == '"') *p = '`';
        if (*p == '\n' || *p == '\r') *p = ' ';
    }
    return text;
}

void lint_add(lint_report *r, const lint_entry *entry)
{
    lint_entry e = *entry;
    e.message = clean(&r->memory, entry->message);
    e.node = arena_strdup(&r->memory, entry->node ? entry->node : "");
    e.value = arena_strdup(&r->memory, entry->value ? entry->value : "");
    e.op_type = arena_strdup(&r->memory, entry->op_type ? entry->op_type : "");
    if (!e.message || !e.node || !e.value || !e.op_type ||
        !mem_grow((void **)&r->entries, &r->capacity, r->count + 1, sizeof *r->entries)) {
        r->failed = true;
        return;
    }
    r->entries[r->count++] = e;
    if (e.level == LINT_EXCEPTION && e.node[0] && !strmap_put(&r->failing, e.node, r))
        r->failed = true;
    str where = {0};
    if (e.node[0] && e.op_type[0])
        str_printf(&where, "Name: %s, Op: %s | ", printable_name(e.node),
                   printable_name(e.op_type));
    if (e.level == LINT_EXCEPTION)
        LOG(ERROR, "LINT | %s%s", str_text(&where), e.message);
    else if (e.level == LINT_WARNING)
        LOG(WARNING, "LINT | %s%s", str_text(&where), e.message);
    else
        LOG(INFO, "LINT | %s%s", str_text(&where), e.message);
    str_deinit(&where);
}

bool lint_has_exception(const lint_report *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->entries[i].level == LINT_EXCEPTION) return true;
    return false;
}

void lint_pass(lint_report *r, const char *node)
{
    if (!strmap_put(&r->passing, node, r)) r->failed = true;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const strmap_entry *)a)->key, ((const strmap_entry *)b)->key);
}

/* Names but those of `except`, sorted. */
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

static void write_entry(json_writer *w, const lint_entry *e)
{
    json_begin_object(w);
    json_put_text(w, "level", LEVELS[e->level]);
    json_put_text(w, "source", SOURCES[e->source]);
    json_put_text(w, "message", e->message);
    if (e->node[0]) {
        json_key(w, "nodes");
        json_begin_array(w);
        json_text(w, e->node);
        json_end_array(w);
    }
    if (e->own) json_put_text(w, "code", e->code);
    json_end_object(w);
}

static bool write_report(json_writer *w, const lint_report *r)
{
    json_begin_object(w);
    json_key(w, "summary");
    json_begin_object(w);
    const bool ok = write_names(w, "passing", &r->passing, &r->failing) &&
                    write_names(w, "failing", &r->failing, NULL);
    json_end_object(w);
    json_key(w, "lint_entries");
    json_begin_array(w);
    for (size_t i = 0; i < r->count; i++) write_entry(w, &r->entries[i]);
    json_end_array(w);
    json_end_object(w);
    return ok;
}

pgy_status lint_report_save(const lint_report *r, const char *path, pgy_error *err)
{
    json_output file = {0};
    LOG(INFO, "Saving linting report to %s", path);
    pgy_status st = json_output_open(&file, path, err);
    if (st) return st;
    st = write_report(file.json, r) ? json_output_commit(&file, err)
                                    : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    json_output_close(&file);
    return st;
}
