/* SPDX-License-Identifier: Apache-2.0 */
/* What is printed and exported about the engine itself: layers, ranges of shapes, weights. */
#include <polygraphy/refit.h>

#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "cli/trtexec/trtexec.h"

static const char LOG_PATH[] = "cli/trtexec/layers.c";

/* ---- Layers --------------------------------------------------------------------------------- */

/* A layer is an object with a name, or a name only. */
static void append_layer(str *out, const json_value *layer, arena *a)
{
    const json_value *name = layer->type == JSON_OBJECT ? json_get(layer, "Name") : layer;
    const char *text = name && name->type == JSON_STRING ? json_string(name, a, NULL) : NULL;
    str_printf(out, "%s\n", text ? text : "?");
}

static pgy_status print_layers(const json_value *root, arena *a, pgy_error *err)
{
    str text = {0};
    const json_value *layers = json_get(root, "Layers"), *tensors = json_get(root, "I/O Tensors");
    str_append(&text, "Layer Information:\nLayers:\n");
    for (const json_value *v = layers ? layers->first : NULL; v; v = v->next)
        append_layer(&text, v, a);
    str_append(&text, "\nBindings:\n");
    for (const json_value *v = tensors ? tensors->first : NULL; v; v = v->next)
        append_layer(&text, v, a);
    const bool failed = text.failed;
    if (!failed) console_text(str_text(&text));
    str_deinit(&text);
    return failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory") : PGY_OK;
}

typedef struct layer_source {
    const json_value *root;
    const pgy_engine *engine;
    arena *memory;
} layer_source;

static void copy_value(json_writer *w, const json_value *v, arena *a)
{
    const char *text;
    switch (v->type) {
    case JSON_NULL: json_null(w); break;
    case JSON_BOOL: json_bool(w, v->boolean); break;
    case JSON_INT: json_int(w, v->integer); break;
    case JSON_REAL: json_real(w, v->real); break;
    case JSON_STRING:
        text = json_string(v, a, NULL);
        json_text(w, text ? text : "");
        break;
    case JSON_ARRAY:
        json_begin_array(w);
        for (const json_value *c = v->first; c; c = c->next) copy_value(w, c, a);
        json_end_array(w);
        break;
    case JSON_OBJECT:
        json_begin_object(w);
        for (const json_value *c = v->first; c; c = c->next) {
            str key = {0};
            str_append_n(&key, c->key.data, c->key.size);
            json_key(w, str_text(&key));
            str_deinit(&key);
            copy_value(w, c, a);
        }
        json_end_object(w);
        break;
    }
}

static pgy_status write_layers(json_writer *w, const void *user, pgy_error *err)
{
    const layer_source *s = user;
    const pgy_metadata *ends[] = {pgy_engine_inputs(s->engine), pgy_engine_outputs(s->engine)};
    const json_value *layers = json_get(s->root, "Layers");
    (void)err;
    json_begin_object(w);
    json_key(w, "Layers");
    if (layers) {
        copy_value(w, layers, s->memory);
    } else {
        json_begin_array(w);
        json_end_array(w);
    }
    json_key(w, "Bindings");
    json_begin_array(w);
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < pgy_metadata_count(ends[k]); i++)
            json_text(w, pgy_metadata_at(ends[k], i)->name);
    json_end_array(w);
    json_end_object(w);
    return PGY_OK;
}

static pgy_status show_layers(trtexec_session *s, pgy_error *err)
{
    char *text = NULL;
    const char *path = NULL;
    arena memory = {0};
    json_value *root = NULL;
    pgy_status st = pgy_engine_inspect(&text, s->engine, PGY_INSPECT_JSON, err);
    if (!st) st = json_parse(&root, text, strlen(text), &memory, err);
    if (!st && s->a->dump_layers) st = print_layers(root, &memory, err);
    if (!st && s->a->export_layers) {
        const layer_source source = {root, s->engine, &memory};
        st = trtexec_path(&path, s->a->export_layers, &s->line->memory, err);
        if (!st) st = json_save(path, write_layers, &source, err);
    }
    arena_deinit(&memory);
    pgy_text_free(text);
    return st;
}

/* ---- Ranges and weights --------------------------------------------------------------------- */

static void show_profiles(const trtexec_session *s)
{
    for (size_t p = 0; p < pgy_engine_profile_count(s->engine); p++) {
        LOG(INFO, "Optimization Profile %zu:", p);
        for (size_t i = 0; i < pgy_metadata_count(pgy_engine_inputs(s->engine)); i++) {
            pgy_profile_range r = {0};
            str text = {0};
            if (pgy_engine_range(&r, s->engine, p, i) == PGY_BOUND_NONE) continue;
            str_append(&text, "MIN: ");
            append_shape(&text, r.count, r.min);
            str_append(&text, ", OPT: ");
            append_shape(&text, r.count, r.opt);
            str_append(&text, ", MAX: ");
            append_shape(&text, r.count, r.max);
            LOG(INFO, "  %s: %s", r.name, str_text(&text));
            str_deinit(&text);
        }
    }
}

static pgy_status show_weights(trtexec_session *s, pgy_error *err)
{
    pgy_refitter *r = NULL;
    pgy_status st = pgy_refitter_create(&r, s->engine, err);
    if (st) return pgy_error_prefix(err, st, "--dumpRefit: ");
    LOG(INFO, "Refittable weights:");
    for (size_t i = 0; i < pgy_refitter_weight_count(r); i++)
        LOG(INFO, "  %s", pgy_refitter_weight_at(r, i)->name);
    pgy_refitter_destroy(r);
    return PGY_OK;
}

pgy_status session_layers(trtexec_session *s, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (s->a->dump_layers || s->a->export_layers) st = show_layers(s, err);
    if (!st && s->a->dump_profiles) show_profiles(s);
    if (!st && s->a->dump_refit) st = show_weights(s, err);
    return st;
}
