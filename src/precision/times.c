/* SPDX-License-Identifier: Apache-2.0 */
/* The times of layers in float32 and in the narrow types: measured by the engine in one build for
 * each type, or read from a file.
 *
 * The engine fuses layers and names such a step by all of them. Its time is divided by the layers'
 * bytes. What the engine of a narrow type spends outside of layers more than the float32 engine are
 * the Casts, or QuantizeLinears, at the borders of its layers; they give the time of one per byte.
 */
#include <polygraphy/engine.h>
#include <polygraphy/perf.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "precision/precision.h"

static const char LOG_PATH[] = "precision/times.c";

enum { RUNS = 20 };
static const double SECONDS = 0.4, NOISY = 1.5;

void times_deinit(layer_times *t)
{
    for (level of = LEVEL_WIDE; of < LEVELS; of++) mem_free(t->ms[of]);
    mem_free(t->input_bytes);
    *t = (layer_times){0};
}

/* ---- Measuring ------------------------------------------------------------------------------ */

/* Adds the time of a step to the layers that its name lists. *other: what belongs to none. */
static void divide(const pgy_precision *p, double *ms, double *other, const strmap *by_name,
                   const pgy_perf_layer *step)
{
    static const char AND[] = " + ";
    double all = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (const char *at = step->name; at;) {
            const char *end = strstr(at, AND);
            const size_t size = end ? (size_t)(end - at) : strlen(at);
            const size_t *layer = strmap_get_n(by_name, at, size);
            const double bytes = layer ? 1 + (double)p->node_bytes[p->nodes[*layer]] : 0;
            if (!pass)
                all += bytes;
            else if (layer)
                ms[*layer] += step->median_ms * bytes / all;
            at = end ? end + sizeof AND - 1 : NULL;
        }
        if (all == 0) {
            *other += step->median_ms;
            return;
        }
    }
}

static pgy_status divide_all(const pgy_precision *p, double *ms, double *other,
                             const pgy_perf_profile *profile, pgy_error *err)
{
    const size_t layers = p->summary.layers;
    strmap by_name = {0};
    size_t *numbers = mem_alloc((layers + 1) * sizeof *numbers);
    bool good = numbers != NULL;
    for (size_t i = 0; good && i < layers; i++) {
        numbers[i] = i;
        good = strmap_put(&by_name, p->layers[i].name, &numbers[i]);
    }
    for (size_t i = 0; good && i < pgy_perf_profile_count(profile); i++)
        divide(p, ms, other, &by_name, pgy_perf_profile_at(profile, i));
    strmap_deinit(&by_name);
    mem_free(numbers);
    return good ? PGY_OK : search_no_memory(err);
}

/* Builds an engine of g for the shapes of the first sample and times its layers. */
static pgy_status time_graph(const pgy_precision *p, pgy_graph *g, double *ms, double *other,
                             double *noise, pgy_error *err)
{
    pgy_perf_options o = pgy_perf_options_default();
    pgy_model *model = NULL, *fixed = NULL;
    pgy_engine *engine = NULL;
    pgy_perf_profile *profile = NULL;
    o.iterations = RUNS;
    o.duration_s = SECONDS;
    pgy_status st = pgy_graph_export(&model, g, err);
    if (!st) st = samples_fix_shapes(&fixed, p, model, err);
    if (!st) st = pgy_engine_build(&engine, fixed, NULL, err);
    if (!st) st = pgy_perf_profile_layers(&profile, engine, p->samples[0], &o, err);
    if (!st) st = divide_all(p, ms, other, profile, err);
    if (!st) {
        const pgy_perf_layer total = pgy_perf_profile_total(profile);
        *noise = fmax(*noise, total.average_ms / fmax(total.median_ms, 1e-9));
    }
    pgy_perf_profile_destroy(profile);
    pgy_engine_release(engine);
    pgy_model_destroy(fixed);
    pgy_model_destroy(model);
    return cancel_check_after(st, err);
}

/* Measures the layers at one level, all of them that can have it. */
static pgy_status measure_level(pgy_precision *p, level of, double *noise, pgy_error *err)
{
    layer_times *t = &p->times;
    pgy_graph *g = NULL;
    double other = 0;
    level *all = mem_calloc(p->summary.layers + 1, sizeof *all);
    if (!all) return search_no_memory(err);
    for (size_t i = 0; i < p->summary.layers; i++)
        if (mix_can(p, i, of)) all[i] = of;
    pgy_status st = layers_convert_all(&g, p, of, err);
    if (!st) st = time_graph(p, g, t->ms[of], &other, noise, err);
    const uint64_t bytes = st ? 0 : border_bytes(p, all, of);
    if (bytes && other > t->other_ms)
        t->cast_ms_per_byte[of] = (other - t->other_ms) / (double)bytes;
    pgy_graph_destroy(g);
    mem_free(all);
    return st;
}

static pgy_status measure(pgy_precision *p, pgy_error *err)
{
    double noise = 0;
    if (is_mix(p))
        LOG(INFO, "Measuring the times of %zu layers in float32, %s and %s", p->summary.layers,
            pgy_dtype_name(p->options.type), pgy_dtype_name(p->options.rest_type));
    else
        LOG(INFO, "Measuring the times of %zu layers in float32 and in %s", p->summary.layers,
            pgy_dtype_name(p->options.type));
    pgy_status st =
        time_graph(p, p->graph, p->times.ms[LEVEL_WIDE], &p->times.other_ms, &noise, err);
    for (level of = LEVEL_FIRST; !st && of <= last_level(p); of++)
        st = measure_level(p, of, &noise, err);
    if (st) return pgy_error_prefix(err, st, "while measuring the times of layers: ");
    if (noise > NOISY)
        LOG(WARNING,
            "The times vary: runs take %.1f times the median run on average. The processor seems "
            "busy; the cost in bytes does not depend on that",
            noise);
    return PGY_OK;
}

/* ---- Files ---------------------------------------------------------------------------------- */

enum { KEY_SIZE = 64 };

/* "float16_ms" */
static const char *ms_key(char *out, const pgy_precision *p, level of)
{
    snprintf(out, KEY_SIZE, "%s_ms", pgy_dtype_name(mix_type(p, of)));
    return out;
}

/* A file for one narrow type has one such time; that of a mix names the type. */
static const char *cast_key(char *out, const pgy_precision *p, level of)
{
    snprintf(out, KEY_SIZE, "%s%scast_ms_per_byte",
             is_mix(p) ? pgy_dtype_name(mix_type(p, of)) : "", is_mix(p) ? "_" : "");
    return out;
}

static bool has_time(const pgy_precision *p, size_t layer, level of)
{
    return of == LEVEL_WIDE || mix_can(p, layer, of);
}

pgy_status times_write(json_writer *w, const void *user, pgy_error *err)
{
    const pgy_precision *p = user;
    char key[KEY_SIZE];
    (void)err;
    json_begin_object(w);
    json_put_real(w, "other_ms", p->times.other_ms);
    for (level of = LEVEL_FIRST; of <= last_level(p); of++)
        json_put_real(w, cast_key(key, p, of), p->times.cast_ms_per_byte[of]);
    json_key(w, "layers");
    json_begin_array(w);
    for (size_t i = 0; i < p->summary.layers; i++) {
        json_begin_object(w);
        json_put_text(w, "name", p->layers[i].name);
        for (level of = LEVEL_WIDE; of <= last_level(p); of++)
            if (has_time(p, i, of)) json_put_real(w, ms_key(key, p, of), p->times.ms[of][i]);
        json_end_object(w);
    }
    json_end_array(w);
    json_end_object(w);
    return PGY_OK;
}

/* Where in a file of times a value is read. */
typedef struct place {
    const char *path, *layer; /* layer NULL: outside of layers */
} place;

static pgy_status read_ms(double *out, const json_value *in, const char *key, place at,
                          pgy_error *err)
{
    const json_value *v = json_get(in, key);
    const bool number = v && (v->type == JSON_INT || v->type == JSON_REAL);
    if (number && isfinite(v->real) && v->real >= 0) {
        *out = v->real;
        return PGY_OK;
    }
    return pgy_error_set(err, PGY_E_FORMAT,
                         "%s: line %u: '%s'%s%s%s is %s; expected a number of at least 0", at.path,
                         (v ? v : in)->line, key, at.layer ? " of layer '" : "",
                         at.layer ? at.layer : "", at.layer ? "'" : "",
                         !v       ? "missing"
                         : number ? "negative or not finite"
                                  : "not a number");
}

/* Lists the layers of the file by name. */
static pgy_status index_layers(strmap *out, const json_value *layers, const char *path,
                               arena *memory, pgy_error *err)
{
    for (json_value *item = layers->first; item; item = item->next) {
        const json_value *v = json_get(item, "name");
        if (!v || v->type != JSON_STRING)
            return pgy_error_set(err, PGY_E_FORMAT, "%s: line %u: the layer has no 'name'", path,
                                 item->line);
        const char *name = json_string(v, memory, NULL);
        if (!name || !strmap_put(out, name, item)) return search_no_memory(err);
    }
    return PGY_OK;
}

static pgy_status read_layer(pgy_precision *p, size_t i, const strmap *items, const char *path,
                             pgy_error *err)
{
    const place at = {path, p->layers[i].name};
    const json_value *item = strmap_get(items, at.layer);
    char key[KEY_SIZE];
    pgy_status st = PGY_OK;
    if (!item)
        return pgy_error_set(err, PGY_E_NOT_FOUND,
                             "%s: layer '%s' is missing: the times are those of another model",
                             path, at.layer);
    for (level of = LEVEL_WIDE; !st && of <= last_level(p); of++)
        if (has_time(p, i, of))
            st = read_ms(&p->times.ms[of][i], item, ms_key(key, p, of), at, err);
    return st;
}

static pgy_status read_layers(pgy_precision *p, const json_value *root, const char *path,
                              arena *memory, pgy_error *err)
{
    const json_value *layers = json_get(root, "layers");
    const place at = {path, NULL};
    strmap items = {0};
    char key[KEY_SIZE];
    if (!layers || layers->type != JSON_ARRAY)
        return pgy_error_set(err, PGY_E_FORMAT, "%s: expected a JSON object with an array 'layers'",
                             path);
    pgy_status st = read_ms(&p->times.other_ms, root, "other_ms", at, err);
    for (level of = LEVEL_FIRST; !st && of <= last_level(p); of++)
        st = read_ms(&p->times.cast_ms_per_byte[of], root, cast_key(key, p, of), at, err);
    if (!st) st = index_layers(&items, layers, path, memory, err);
    for (size_t i = 0; !st && i < p->summary.layers; i++) st = read_layer(p, i, &items, path, err);
    strmap_deinit(&items);
    return st;
}

pgy_status times_parse(pgy_precision *p, span text, const char *path, pgy_error *err)
{
    arena memory = {0};
    json_value *root = NULL;
    pgy_status st = json_parse(&root, text.data, text.size, &memory, err);
    if (st)
        st = pgy_error_prefix(err, st, "%s: ", path);
    else
        st = read_layers(p, root, path, &memory, err);
    arena_deinit(&memory);
    return st;
}

static pgy_status load(pgy_precision *p, const char *path, pgy_error *err)
{
    str text = {0};
    pgy_status st = file_read(&text, path, err);
    if (!st) st = times_parse(p, (span){str_text(&text), text.size}, path, err);
    str_deinit(&text);
    return st;
}

pgy_status times_create(pgy_precision *p, pgy_error *err)
{
    const size_t layers = p->summary.layers;
    bool good = true;
    for (level of = LEVEL_WIDE; of < LEVELS; of++) {
        p->times.ms[of] = mem_calloc(layers + 1, sizeof(double));
        good &= p->times.ms[of] != NULL;
    }
    p->times.input_bytes = mem_calloc(p->graph ? p->graph->input_count + 1 : 1, sizeof(uint64_t));
    return good && p->times.input_bytes ? PGY_OK : search_no_memory(err);
}

pgy_status times_prepare(pgy_precision *p, pgy_error *err)
{
    pgy_status st = times_create(p, err);
    if (st) return st;
    for (size_t i = 0; i < p->graph->input_count; i++) {
        const pgy_tensor *t = pgy_tensor_map_find(p->samples[0], p->graph->inputs[i]->name);
        if (t && pgy_tensor_dtype(t) == PGY_F32) p->times.input_bytes[i] = pgy_tensor_size_bytes(t);
    }
    return p->options.times ? load(p, p->options.times, err) : measure(p, err);
}

pgy_status pgy_precision_save_times(const pgy_precision *p, const char *path, pgy_error *err)
{
    if (!p || !path) return pgy_error_set(err, PGY_E_ARGUMENT, "'p' and 'path' must not be NULL");
    if (p->options.cost != PGY_PRECISION_TIME || !p->times.ms[LEVEL_WIDE])
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "there are no times of layers: 'options.cost' is not "
                             "PGY_PRECISION_TIME");
    return json_save(path, times_write, p, err);
}
