/* SPDX-License-Identifier: Apache-2.0 */
/* The list of findings, and models of single nodes made to find them. */
#include "cli/lint.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/log.h"

static const char LOG_PATH[] = "tools/check/subtool/lint.py";

static const char *const LEVELS[] = {"exception", "warning", "info"};
static const char *const SOURCES[] = {"onnxruntime", "onnx_checker", "onnx_loader",
                                      "onnx_graphsurgeon"};

/* ---- The report ----------------------------------------------------------------------------- */

void lint_report_deinit(lint_report *r)
{
    arena_deinit(&r->memory);
    mem_free(r->entries);
    strvec_deinit(&r->passing);
    strvec_deinit(&r->failing);
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

/* One line, double quotes as back-quotes, as the original writes messages. */
static char *clean(arena *a, const char *message)
{
    char *text = arena_strdup(a, message);
    if (!text) return NULL;
    drop_runtime_prefix(text);
    drop_source_place(text);
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
    str where = {0};
    if (e.node[0] && e.op_type[0]) str_printf(&where, "Name: %s, Op: %s | ", e.node, e.op_type);
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

bool lint_node_failed(const lint_report *r, const char *node)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->entries[i].level == LINT_EXCEPTION && !strcmp(r->entries[i].node, node)) return true;
    return false;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void write_names(json_writer *w, const char *key, strvec *names)
{
    if (names->count) qsort(names->items, names->count, sizeof *names->items, by_text);
    json_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < names->count; i++)
        if (!i || strcmp(names->items[i], names->items[i - 1])) json_text(w, names->items[i]);
    json_end_array(w);
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
    json_end_object(w);
}

static void write_report(json_writer *w, lint_report *r)
{
    json_begin_object(w);
    json_key(w, "summary");
    json_begin_object(w);
    write_names(w, "passing", &r->passing);
    write_names(w, "failing", &r->failing);
    json_end_object(w);
    json_key(w, "lint_entries");
    json_begin_array(w);
    for (size_t i = 0; i < r->count; i++) write_entry(w, &r->entries[i]);
    json_end_array(w);
    json_end_object(w);
}

pgy_status lint_report_save(lint_report *r, const char *path, pgy_error *err)
{
    json_output file = {0};
    LOG(INFO, "Saving linting report to %s", path);
    pgy_status st = json_output_open(&file, path, err);
    if (st) return st;
    write_report(file.json, r);
    st = json_output_commit(&file, err);
    json_output_close(&file);
    return st;
}

/* ---- Models of single nodes ----------------------------------------------------------------- */

/* Names that a graph uses but does not define, its subgraphs included. */
static bool outer_names(strmap *out, const pgy_onnx_graph *g)
{
    strmap own = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < g->input_count; i++)
        ok = strmap_put(&own, g->inputs[i]->name, (void *)g);
    for (size_t i = 0; ok && i < g->initializer_count; i++)
        ok = strmap_put(&own, g->initializers[i]->name, (void *)g);
    for (size_t i = 0; ok && i < g->node_count; i++)
        for (size_t k = 0; ok && k < g->nodes[i]->output_count; k++)
            ok = strmap_put(&own, g->nodes[i]->outputs[k], (void *)g);
    strmap inner = {0};
    for (size_t i = 0; ok && i < g->node_count; i++) {
        const pgy_onnx_node *n = g->nodes[i];
        for (size_t k = 0; ok && k < n->input_count; k++)
            if (n->inputs[k][0]) ok = strmap_put(&inner, n->inputs[k], (void *)g);
        for (size_t k = 0; ok && k < n->attribute_count; k++)
            if (n->attributes[k]->g) ok = outer_names(&inner, n->attributes[k]->g);
    }
    for (size_t i = 0; ok && i < g->output_count; i++)
        ok = strmap_put(&inner, g->outputs[i]->name, (void *)g);
    for (size_t i = 0; ok && i < inner.count; i++)
        if (!strmap_has(&own, inner.entries[i].key))
            ok = strmap_put(out, inner.entries[i].key, (void *)g);
    strmap_deinit(&own);
    strmap_deinit(&inner);
    return ok;
}

static bool needed_names(strmap *out, const pgy_node *node)
{
    bool ok = true;
    for (size_t i = 0; ok && i < node->input_count; i++)
        if (node->inputs[i]) ok = strmap_put(out, node->inputs[i]->name, (void *)node);
    for (size_t i = 0; ok && i < node->attribute_count; i++)
        if (node->attributes[i]->g) ok = outer_names(out, node->attributes[i]->g);
    return ok;
}

/* A value info; `t` NULL leaves the type to the runtime's inference. */
static pgy_onnx_value_info *make_info(pgy_model *m, const char *name, const pgy_tensor *t)
{
    pgy_onnx_value_info *info = pgy_model_alloc(m, 1, sizeof *info);
    if (!info) return NULL;
    info->name = pgy_model_strdup(m, name);
    info->doc_string = "";
    if (!t) return info->name ? info : NULL;
    size_t rank = pgy_tensor_rank(t);
    pgy_onnx_type *type = pgy_model_alloc(m, 1, sizeof *type);
    pgy_onnx_tensor_type *tensor = pgy_model_alloc(m, 1, sizeof *tensor);
    pgy_onnx_shape *shape = pgy_model_alloc(m, 1, sizeof *shape);
    pgy_onnx_dim *dims = pgy_model_alloc(m, rank + 1, sizeof *dims);
    pgy_onnx_dim **list = pgy_model_alloc(m, rank + 1, sizeof *list);
    if (!info->name || !type || !tensor || !shape || !dims || !list) return NULL;
    for (size_t i = 0; i < rank; i++) {
        dims[i] = (pgy_onnx_dim){.message.present = 2,
                                 .dim_value = pgy_tensor_shape(t)[i],
                                 .dim_param = "",
                                 .denotation = ""};
        list[i] = &dims[i];
    }
    *shape = (pgy_onnx_shape){.dims = list, .dim_count = rank};
    *tensor = (pgy_onnx_tensor_type){.elem_type = pgy_dtype_describe(pgy_tensor_dtype(t))->onnx,
                                     .shape = shape};
    *type = (pgy_onnx_type){.tensor_type = tensor, .denotation = ""};
    info->type = type;
    return info;
}

static bool fill_graph(pgy_onnx_graph *g, pgy_model *m, const pgy_node *node, const strmap *needed,
                       const pgy_tensor_map *values)
{
    pgy_onnx_node *copy = pgy_model_alloc(m, 1, sizeof *copy);
    pgy_onnx_node **nodes = pgy_model_alloc(m, 1, sizeof *nodes);
    pgy_onnx_value_info **inputs = pgy_model_alloc(m, needed->count + 1, sizeof *inputs);
    pgy_onnx_value_info **outputs = pgy_model_alloc(m, node->output_count + 1, sizeof *outputs);
    if (!copy || !nodes || !inputs || !outputs) return false;
    *copy = *node->proto;
    copy->message.raw = (pgy_bytes){0};
    copy->name = pgy_model_strdup(m, node->name);
    nodes[0] = copy;
    for (size_t i = 0; i < needed->count; i++) {
        inputs[i] = make_info(m, needed->entries[i].key,
                              pgy_tensor_map_find(values, needed->entries[i].key));
        if (!inputs[i]) return false;
    }
    size_t count = 0;
    for (size_t i = 0; i < node->output_count; i++) {
        if (!node->outputs[i]) continue;
        outputs[count] = make_info(m, node->outputs[i]->name, NULL);
        if (!outputs[count++]) return false;
    }
    *g = (pgy_onnx_graph){.nodes = nodes,
                          .node_count = 1,
                          .name = "one_node",
                          .doc_string = "",
                          .inputs = inputs,
                          .input_count = needed->count,
                          .outputs = outputs,
                          .output_count = count};
    return copy->name != NULL;
}

pgy_status lint_node_model(pgy_model **out, const pgy_node *node, pgy_model *whole,
                           const pgy_tensor_map *values, pgy_error *err)
{
    strmap needed = {0};
    pgy_model *m = NULL;
    pgy_status st =
        needed_names(&needed, node) ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    *out = NULL;
    for (size_t i = 0; !st && i < needed.count; i++)
        if (!pgy_tensor_map_find(values, needed.entries[i].key)) goto done;
    if (!st) st = pgy_model_create(&m, err);
    if (!st) st = pgy_model_keep(m, whole, err);
    if (!st) {
        pgy_onnx_model *proto = pgy_model_alloc(m, 1, sizeof *proto);
        pgy_onnx_graph *g = pgy_model_alloc(m, 1, sizeof *g);
        if (!proto || !g || !fill_graph(g, m, node, &needed, values)) {
            st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        } else {
            *proto = *pgy_model_proto(whole);
            proto->message = (pgy_onnx_message){0};
            proto->graph = g;
            pgy_model_set_proto(m, proto);
        }
    }
    if (!st) {
        *out = m;
        m = NULL;
    }
done:
    pgy_model_destroy(m);
    strmap_deinit(&needed);
    return st;
}
