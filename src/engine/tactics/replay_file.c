/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the JSON of a tactic replay. Numbers are kept as their digits, since an implementation or
 * tactic number may exceed 64 bits. */
#include "engine/tactics/replay_file.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static bool is_class(const json_value *object, const char *name)
{
    const json_value *v = json_get(object, "polygraphy_class");
    return v && v->type == JSON_STRING && span_equals(v->raw, name);
}

/* Is it a whole number? Those too large for 64 bits are JSON_REAL, with their digits kept. */
static bool is_integer(const json_value *v)
{
    if (!v) return false;
    if (v->type == JSON_INT) return true;
    if (v->type != JSON_REAL) return false;
    for (size_t i = 0; i < v->raw.size; i++)
        if ((v->raw.data[i] < '0' || v->raw.data[i] > '9') && (i || v->raw.data[i] != '-'))
            return false;
    return true;
}

/* State of a reader: `bad` after an unexpected value, `failed` when out of memory. */
typedef struct reader {
    arena *memory;
    bool bad, failed;
} reader;

static const char *read_digits(reader *r, const json_value *v)
{
    if (!is_integer(v)) {
        r->bad = true;
        return NULL;
    }
    const char *digits = arena_strndup(r->memory, v->raw.data, v->raw.size);
    if (!digits) r->failed = true;
    return digits;
}

/* Reads a vectorised dimension or its size, which TensorRT before 8.6 did not record. */
static const char *read_optional(reader *r, const json_value *v)
{
    return v && v->type == JSON_NULL ? NULL : read_digits(r, v);
}

static void read_strides(reader *r, pgy_tactic_operand *o, const json_value *list)
{
    if (!list || list->type != JSON_ARRAY) {
        r->bad = true;
        return;
    }
    const char **strides = arena_alloc_array(r->memory, list->count + 1, sizeof *strides);
    if (!strides) {
        r->failed = true;
        return;
    }
    for (const json_value *v = list->first; v; v = v->next)
        strides[o->stride_count++] = read_digits(r, v);
    o->strides = strides;
}

static void read_operand(reader *r, pgy_tactic_operand *o, const json_value *v)
{
    const json_value *dtype = json_get(v, "dtype");
    if (!is_class(v, "TensorInfo")) r->bad = true;
    if (dtype && dtype->type == JSON_STRING) {
        o->dtype = arena_strndup(r->memory, dtype->raw.data, dtype->raw.size);
        if (!o->dtype) r->failed = true;
    } else {
        r->bad = true;
    }
    read_strides(r, o, json_get(v, "strides"));
    o->vectorized_dim = read_optional(r, json_get(v, "vectorized_dim"));
    o->components_per_element = read_optional(r, json_get(v, "components_per_element"));
}

static const pgy_tactic_operand *read_operands(reader *r, size_t *count, const json_value *list)
{
    *count = 0;
    if (!list || list->type != JSON_ARRAY) {
        r->bad = true;
        return NULL;
    }
    pgy_tactic_operand *items = arena_alloc_array(r->memory, list->count + 1, sizeof *items);
    if (!items) {
        r->failed = true;
        return NULL;
    }
    for (const json_value *v = list->first; v; v = v->next) {
        items[*count] = (pgy_tactic_operand){0};
        read_operand(r, &items[(*count)++], v);
    }
    return items;
}

static pgy_status read_layer(pgy_tactic_layer *l, arena *memory, const json_value *v, bool strict,
                             pgy_error *err)
{
    reader must = {.memory = memory}, may = {.memory = memory};
    const json_value *kernel = json_get(v, "kernel");
    *l = (pgy_tactic_layer){.name = arena_strndup(memory, v->key.data, v->key.size)};
    must.bad = !is_class(v, "Algorithm");
    l->implementation = read_digits(&must, json_get(v, "implementation"));
    l->tactic = read_digits(&must, json_get(v, "tactic"));
    l->inputs = read_operands(&may, &l->input_count, json_get(v, "inputs"));
    l->outputs = read_operands(&may, &l->output_count, json_get(v, "outputs"));
    if (kernel && kernel->type == JSON_STRING) {
        l->kernel = json_string(kernel, memory, NULL);
        if (!l->kernel) may.failed = true;
    }
    if (!l->name || must.failed || may.failed) return no_memory(err);
    if (must.bad || (strict && may.bad))
        return pgy_error_set(err, PGY_E_FORMAT,
                             "line %u: the algorithm of layer '%s' is missing or malformed",
                             v->line, l->name);
    return PGY_OK;
}

static pgy_status read_replay(pgy_tactic_replay *r, const file_map *map, bool strict,
                              pgy_error *err)
{
    json_value *root = NULL;
    pgy_status st = json_parse(&root, map->data, map->size_bytes, &r->memory, err);
    if (st) return st;
    const json_value *replay = json_get(root, "replay");
    if (!is_class(root, "TacticReplayData") || !replay || replay->type != JSON_OBJECT)
        return pgy_error_set(
            err, PGY_E_FORMAT,
            "the file is not a tactic replay");
    const json_value *passes = json_get(root, "passes");
    if (passes && passes->type == JSON_STRING) {
        r->passes = json_string(passes, &r->memory, NULL);
        if (!r->passes) return no_memory(err);
    }
    r->layers = arena_alloc_array(&r->memory, replay->count + 1, sizeof *r->layers);
    if (!r->layers) return no_memory(err);
    for (const json_value *v = replay->first; !st && v; v = v->next)
        st = read_layer(&r->layers[r->count++], &r->memory, v, strict, err);
    return st;
}

pgy_status replay_file_load(pgy_tactic_replay **out, const char *path, bool strict, pgy_error *err)
{
    file_map map = {0};
    pgy_tactic_replay *r = mem_calloc(1, sizeof *r);
    if (!r) return no_memory(err);
    pgy_status st = file_map_open(&map, path, err);
    if (!st) {
        st = read_replay(r, &map, strict, err);
        if (st) st = pgy_error_prefix(err, st, "'%s': ", path);
        file_map_close(&map);
    }
    if (st)
        pgy_tactic_replay_destroy(r);
    else
        *out = r;
    return st;
}

pgy_status pgy_tactic_replay_load(pgy_tactic_replay **out, const char *path, pgy_error *err)
{
    return replay_file_load(out, path, true, err);
}

void pgy_tactic_replay_destroy(pgy_tactic_replay *r)
{
    if (!r) return;
    arena_deinit(&r->memory);
    mem_free(r);
}

size_t pgy_tactic_replay_count(const pgy_tactic_replay *r)
{
    return r->count;
}

const pgy_tactic_layer *pgy_tactic_replay_at(const pgy_tactic_replay *r, size_t i)
{
    return i < r->count ? &r->layers[i] : NULL;
}
