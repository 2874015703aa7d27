/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the JSON of a tactic replay and writes each algorithm as Polygraphy prints it. Numbers are
 * copied digit by digit, since implementations and tactics may be of any size. */
#include "cli/tactic_file.h"

#include "base/file.h"
#include "base/json.h"

static bool is_class(const json_value *object, const char *name)
{
    const json_value *v = json_get(object, "polygraphy_class");
    return v && v->type == JSON_STRING && span_equals(v->raw, name);
}

/* Whole numbers too large for 64 bits are JSON_REAL, with their digits kept. */
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

static bool append_integer(str *s, const json_value *v)
{
    if (!is_integer(v)) return false;
    str_append_n(s, v->raw.data, v->raw.size);
    return true;
}

/* TensorRT before 8.6 did not tell vectorized dimensions. */
static bool append_optional(str *s, const json_value *v)
{
    if (!v || v->type != JSON_NULL) return append_integer(s, v);
    str_append(s, "None");
    return true;
}

/* (1, 2), (1,), () */
static bool append_tuple(str *s, const json_value *list,
                         bool (*append)(str *s, const json_value *item))
{
    if (!list || list->type != JSON_ARRAY) return false;
    str_append(s, "(");
    for (const json_value *v = list->first; v; v = v->next) {
        if (!append(s, v)) return false;
        if (v->next) str_append(s, ", ");
    }
    str_append(s, list->count == 1 ? ",)" : ")");
    return true;
}

static bool append_tensor(str *s, const json_value *v)
{
    const json_value *dtype = json_get(v, "dtype");
    if (!is_class(v, "TensorInfo") || !dtype || dtype->type != JSON_STRING) return false;
    str_append(s, "TensorInfo(");
    str_append_n(s, dtype->raw.data, dtype->raw.size);
    str_append(s, ", ");
    if (!append_tuple(s, json_get(v, "strides"), append_integer)) return false;
    str_append(s, ", ");
    if (!append_optional(s, json_get(v, "vectorized_dim"))) return false;
    str_append(s, ", ");
    if (!append_optional(s, json_get(v, "components_per_element"))) return false;
    str_append(s, ")");
    return true;
}

static bool append_algorithm(str *s, const json_value *v)
{
    if (!is_class(v, "Algorithm")) return false;
    str_append(s, "(Implementation: ");
    if (!append_integer(s, json_get(v, "implementation"))) return false;
    str_append(s, ", Tactic: ");
    if (!append_integer(s, json_get(v, "tactic"))) return false;
    str_append(s, ") | Inputs: ");
    if (!append_tuple(s, json_get(v, "inputs"), append_tensor)) return false;
    str_append(s, " | Outputs: ");
    return append_tuple(s, json_get(v, "outputs"), append_tensor);
}

static pgy_status add_layer(tactic_file *f, const json_value *v, pgy_error *err)
{
    str text = {0};
    pgy_status st = PGY_OK;
    tactic_layer *l = &f->layers[f->count++];
    if (append_algorithm(&text, v)) {
        l->name = arena_strndup(&f->memory, v->key.data, v->key.size);
        l->algorithm = arena_strdup(&f->memory, str_text(&text));
        if (text.failed || !l->name || !l->algorithm)
            st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    } else {
        st = pgy_error_set(err, PGY_E_FORMAT,
                           "line %u: layer '%.*s' has no algorithm that can be "
                           "read",
                           v->line, (int)v->key.size, v->key.data);
    }
    str_deinit(&text);
    return st;
}

static pgy_status read(tactic_file *f, const file_map *map, pgy_error *err)
{
    json_value *root = NULL;
    pgy_status st = json_parse(&root, map->data, map->size_bytes, &f->memory, err);
    if (st) return st;
    const json_value *replay = json_get(root, "replay");
    if (!is_class(root, "TacticReplayData") || !replay || replay->type != JSON_OBJECT)
        return pgy_error_set(err, PGY_E_FORMAT, "this is not a tactic replay");
    f->layers = arena_alloc_array(&f->memory, replay->count + 1, sizeof *f->layers);
    if (!f->layers) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (const json_value *v = replay->first; !st && v; v = v->next) st = add_layer(f, v, err);
    return st;
}

pgy_status tactic_file_load(tactic_file *out, const char *path, pgy_error *err)
{
    file_map map = {0};
    tactic_file f = {0};
    pgy_status st = file_map_open(&map, path, err);
    if (st) return st;
    st = read(&f, &map, err);
    file_map_close(&map);
    if (st) {
        tactic_file_deinit(&f);
        return pgy_error_prefix(err, st, "'%s': ", path);
    }
    *out = f;
    return PGY_OK;
}

void tactic_file_deinit(tactic_file *f)
{
    arena_deinit(&f->memory);
    *f = (tactic_file){0};
}
