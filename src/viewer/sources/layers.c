/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of an engine: the file of `trtexec --exportLayerInfo`, NVIDIA's or ours. */
#include <string.h>

#include "viewer/sources/layer_names.h"

enum { LAYER, TYPE, KERNEL, PRECISION, FORMAT, NODES, COLUMN_COUNT };
static const view_column COLUMNS[COLUMN_COUNT] = {
    {"layer", VIEW_COLUMN_NODE},     {"type", VIEW_COLUMN_TEXT},   {"kernel", VIEW_COLUMN_TEXT},
    {"precision", VIEW_COLUMN_TEXT}, {"format", VIEW_COLUMN_TEXT}, {"nodes", VIEW_COLUMN_NUMBER}};

static bool accept(const char *path, span start, const json_value *json)
{
    (void)path, (void)start;
    const json_value *layers = json_get(json, "Layers"), *bindings = json_get(json, "Bindings");
    return layers && layers->type == JSON_ARRAY && (!bindings || bindings->type == JSON_ARRAY);
}

/* ---- Nodes of a layer ----------------------------------------------------------------------- */

/* "[ONNX Layer: a]\x1e[ONNX Layer: b]" */
static bool read_metadata(strvec *out, const char *text)
{
    static const char BEFORE[] = "[ONNX Layer: ";
    for (const char *p = strstr(text, BEFORE); p; p = strstr(p, BEFORE)) {
        p += strlen(BEFORE);
        const char *end = strchr(p, '\x1e');
        size_t size = end ? (size_t)(end - p) : strlen(p);
        if (size && p[size - 1] == ']') size--;
        if (!strvec_push_n(out, p, size)) return false;
        p += size;
    }
    return true;
}

/* Ours lists the nodes, newer ones of NVIDIA have them in the metadata. */
static bool read_members(strvec *out, result_file *f, const json_value *layer)
{
    const json_value *sources = json_get(layer, "Sources");
    const char *metadata = result_text(f, layer, "Metadata");
    if (!sources || sources->type != JSON_ARRAY) return !metadata || read_metadata(out, metadata);
    for (const json_value *v = sources->first; v; v = v->next) {
        const char *name = v->type == JSON_STRING ? json_string(v, &f->json.memory, NULL) : "";
        if (!name || !strvec_push(out, name)) return false;
    }
    return true;
}

/* ---- Types and formats ---------------------------------------------------------------------- */

/* The type in a text like "FP16", "Half" or "Row major linear FP16 format"; NULL: none. */
static const char *type_in(const char *text)
{
    static const struct {
        const char *word, *type;
    } WORDS[] = {
        {"FP32", "float32"}, {"Float", "float32"}, {"BF16", "bfloat16"}, {"BFloat16", "bfloat16"},
        {"FP16", "float16"}, {"Half", "float16"},  {"FP8", "float8"},    {"FP4", "float4"},
        {"Int8", "int8"},    {"INT8", "int8"},     {"UINT8", "uint8"},   {"Int4", "int4"},
        {"INT4", "int4"},    {"Int32", "int32"},   {"INT32", "int32"},   {"Int64", "int64"},
        {"INT64", "int64"},  {"Bool", "bool"},     {"BOOL", "bool"}};
    size_t best = 0;
    const char *found = NULL;
    for (size_t i = 0; text && i < sizeof WORDS / sizeof *WORDS; i++) {
        const size_t size = strlen(WORDS[i].word);
        if (size > best && strstr(text, WORDS[i].word)) {
            best = size;
            found = WORDS[i].type;
        }
    }
    return found;
}

static const char *type_of(result_file *f, const json_value *tensor)
{
    const char *type = type_in(result_text(f, tensor, "Datatype"));
    return type ? type : type_in(result_text(f, tensor, "Format/Datatype"));
}

static const char *format_of(result_file *f, const json_value *tensor)
{
    const char *format = result_text(f, tensor, "Format");
    return format ? format : result_text(f, tensor, "Format/Datatype");
}

/* A layer whose output has a type that no input has. */
static pgy_status mark_precision(result_file *f, const json_value *layer, uint32_t node,
                                 const char *type, pgy_error *err)
{
    const json_value *inputs = json_get(layer, "Inputs");
    const char *other = NULL;
    if (!type || !inputs || inputs->type != JSON_ARRAY) return PGY_OK;
    for (const json_value *v = inputs->first; v; v = v->next) {
        const char *t = type_of(f, v);
        if (t && strcmp(t, type) == 0) return PGY_OK;
        if (t) other = t;
    }
    if (!other) return PGY_OK;
    return result_mark(f, VIEW_OF_NODE, node, VIEW_MARK_PRECISION, err, "%s in, %s out", other,
                       type);
}

/* ---- Layers --------------------------------------------------------------------------------- */

typedef struct layers_run {
    result_file file;
    view_table *table;
    size_t count, fused;
} layers_run;

static pgy_status set_categories(result_file *f, uint32_t node, const char *const *names,
                                 pgy_error *err)
{
    static const known_quantity WHICH[] = {Q_KERNEL, Q_PRECISION, Q_FORMAT};
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < 3 && !st; i++)
        if (names[i])
            st = result_set_category(f, known_quantity_like(WHICH[i]), node, names[i], err);
    return st;
}

static size_t part_count(const strvec *members, const char *name)
{
    size_t count = 1;
    for (const char *p = strstr(name, " + "); p; p = strstr(p + 3, " + ")) count++;
    return members->count ? members->count : count;
}

static pgy_status add_layer(layers_run *run, const json_value *v, const char *name,
                            const strvec *members, pgy_error *err)
{
    result_file *f = &run->file;
    const json_value *output = json_at(json_get(v, "Outputs"), 0);
    const char *categories[] = {result_text(f, v, "TacticName"), type_of(f, output),
                                format_of(f, output)};
    const size_t parts = part_count(members, name);
    uint32_t node;
    pgy_status st = layer_find(&node, f, name, members, err);
    if (!st) st = set_categories(f, node, categories, err);
    if (!st) st = mark_precision(f, v, node, categories[1], err);
    const view_cell cells[COLUMN_COUNT] = {
        cell_ref(node, name),     cell_text(result_text(f, v, "LayerType")),
        cell_text(categories[0]), cell_text(categories[1]),
        cell_text(categories[2]), cell_number((double)parts)};
    run->count++;
    run->fused += parts > 1;
    return st ? st : view_table_row(f->results, run->table, cells, err);
}

/* A layer is an object, or with little verbosity its name. */
static pgy_status read_layer(layers_run *run, const json_value *v, pgy_error *err)
{
    result_file *f = &run->file;
    const char *name =
        v->type == JSON_STRING ? json_string(v, &f->json.memory, NULL) : result_text(f, v, "Name");
    strvec members = {0};
    if (!name)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "line %u: a layer has no 'Name'; record it with "
                             "--profilingVerbosity=detailed",
                             v->line);
    pgy_status st = read_members(&members, f, v)
                        ? add_layer(run, v, name, &members, err)
                        : pgy_error_set(err, PGY_E_MEMORY, "out of memory for layers");
    strvec_deinit(&members);
    return st;
}

/* Nodes that no layer names were computed while the engine was built, or were not needed. Nothing
 * is said if some layers are not known. */
static pgy_status mark_folded(result_file *f, const bool *is_in_layer, pgy_error *err)
{
    const view_graph *g = f->graph;
    pgy_status st = PGY_OK;
    for (uint32_t i = 0; i < g->node_count && !st; i++) {
        uint32_t c = g->nodes[i].parent;
        while (g->containers[c].kind == VIEW_FUSED) c = g->containers[c].parent;
        if (g->nodes[i].kind == VIEW_NODE && c == 0 && !is_in_layer[i])
            st = result_mark(f, VIEW_OF_NODE, i, VIEW_MARK_NOT_RUN, err,
                             "in no layer of the engine: folded or removed");
    }
    return st;
}

static pgy_status mark_nodes(layers_run *run, pgy_error *err)
{
    result_file *f = &run->file;
    arena scratch = {0};
    bool *is_in = arena_alloc_array(&scratch, f->graph->node_count, sizeof *is_in);
    pgy_status st = is_in ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory for layers");
    for (size_t i = 0; is_in && i < run->table->row_count; i++) {
        const uint32_t node = run->table->cells[i * COLUMN_COUNT].ref;
        if (node == VIEW_NONE) continue;
        is_in[node] = true;
        const view_container *c = &f->graph->containers[f->graph->nodes[node].parent];
        for (uint32_t k = 0; c->kind == VIEW_FUSED && k < c->child_count; k++)
            if (c->children[k].kind == VIEW_ITEM_NODE) is_in[c->children[k].ref] = true;
    }
    if (!st) st = mark_folded(f, is_in, err);
    arena_deinit(&scratch);
    return st;
}

static pgy_status add(pgy_page *p, const char *path, pgy_error *err)
{
    layers_run run = {0};
    result_file *f = &run.file;
    pgy_status st = result_open_json(f, p, path, err);
    if (!st)
        st = result_table(&run.table, f, "fusions", "Engine layers", COLUMNS, COLUMN_COUNT,
                          err);
    const json_value *layers = st ? NULL : json_get(f->json.root, "Layers");
    for (const json_value *v = layers ? layers->first : NULL; v && !st; v = v->next)
        st = read_layer(&run, v, err);
    if (!st) st = result_end(f, "layers", err);
    if (!st && run.count && !f->missing) st = mark_nodes(&run, err);
    if (!st)
        st = result_summary(f, "Engine", "layers", err, "%zu, of which %zu are fused", run.count,
                            run.fused);
    result_close(f);
    return st;
}

const view_source view_source_layers = {"layers", "layers of an engine (trtexec --exportLayerInfo)",
                                        accept, add};
