/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the cache of a search. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "perf/route.h"

enum { MOST_RESULTS = 10 * ROUTE_MAX_LIST };

/* Where values come from and go to. */
typedef struct line_reader {
    route_cache *cache;
    const char *path;
    size_t number; /* of the line, from 1 */
    arena values;  /* of this line */
} line_reader;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for the results of routes");
}

static pgy_status wrong(const line_reader *r, const char *key, const char *expected, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_FORMAT, "%s: line %zu: '%s' is missing or not %s", r->path,
                         r->number, key, expected);
}

static pgy_status get_text(const char **out, line_reader *r, const json_value *object,
                           const char *key, pgy_error *err)
{
    const json_value *v = json_get(object, key);
    size_t size = 0;
    if (!v || v->type != JSON_STRING) return wrong(r, key, "a text", err);
    const char *text = json_string(v, &r->cache->memory, &size);
    if (!text) return no_memory(err);
    if (strlen(text) != size) return wrong(r, key, "a text without NUL", err);
    *out = text;
    return PGY_OK;
}

static pgy_status get_bool(bool *out, line_reader *r, const json_value *object, const char *key,
                           pgy_error *err)
{
    const json_value *v = json_get(object, key);
    if (!v || v->type != JSON_BOOL) return wrong(r, key, "true or false", err);
    *out = v->boolean;
    return PGY_OK;
}

static pgy_status get_real(double *out, line_reader *r, const json_value *object, const char *key,
                           pgy_error *err)
{
    const json_value *v = json_get(object, key);
    if (!v || (v->type != JSON_REAL && v->type != JSON_INT) || !isfinite(v->real) || v->real < 0)
        return wrong(r, key, "a number of at least 0", err);
    *out = v->real;
    return PGY_OK;
}

static pgy_status get_uint(uint64_t *out, line_reader *r, const json_value *object, const char *key,
                           pgy_error *err)
{
    const json_value *v = json_get(object, key);
    if (!v || v->type != JSON_INT || v->integer < 0)
        return wrong(r, key, "an integer of at least 0", err);
    *out = (uint64_t)v->integer;
    return PGY_OK;
}

/* ---- The first line ------------------------------------------------------------------------- */

static pgy_status get_arguments(line_reader *r, const json_value *root, pgy_error *err)
{
    route_header *h = &r->cache->header;
    const json_value *list = json_get(root, "argv");
    if (!list || list->type != JSON_ARRAY) return wrong(r, "argv", "a list of texts", err);
    h->arguments = arena_alloc_array(&r->cache->memory, list->count + 1, sizeof *h->arguments);
    if (!h->arguments) return no_memory(err);
    for (const json_value *v = list->first; v; v = v->next) {
        size_t size = 0;
        if (v->type != JSON_STRING) return wrong(r, "argv", "a list of texts", err);
        const char *text = json_string(v, &r->cache->memory, &size);
        if (!text) return no_memory(err);
        if (strlen(text) != size) return wrong(r, "argv", "a list of texts without NUL", err);
        h->arguments[h->argument_count++] = text;
    }
    return PGY_OK;
}

static pgy_status read_header(line_reader *r, const json_value *root, pgy_error *err)
{
    route_header *h = &r->cache->header;
    const json_value *parameter = json_get(root, "accuracy_parameter");
    const json_value *files = json_get(root, "files");
    const char *against = "";
    pgy_status st = get_text(&h->version, r, root, "tuner_version", err);
    if (!st) st = get_text(&h->algorithm, r, root, "accuracy_algorithm", err);
    if (!st) st = get_real(&h->atol, r, parameter, "atol", err);
    if (!st) st = get_real(&h->rtol, r, parameter, "rtol", err);
    if (!st) st = get_real(&h->threshold, r, parameter, "epsilon", err);
    if (!st) st = get_text(&against, r, root, "accuracy_against", err);
    if (!st) st = get_text(&h->strategy, r, root, "searching_algorithm", err);
    if (!st) st = get_text(&h->command_line, r, root, "command_line", err);
    if (!st) st = get_text(&h->baseline, r, root, "default_build_route", err);
    if (!st) st = get_text(&h->expression, r, root, "tuning_expr", err);
    if (!st) st = get_text(&h->model, r, files, "model", err);
    if (!st) st = get_text(&h->model_hash, r, files, "model_hash", err);
    if (!st) st = get_text(&h->folder, r, files, "folder", err);
    h->has_references = !strcmp(against, "references");
    return st ? st : get_arguments(r, root, err);
}

/* ---- The other lines ------------------------------------------------------------------------ */

/* A route that comes twice counts once, as it was found first. */
static pgy_status read_result(line_reader *r, const json_value *root, pgy_error *err)
{
    pgy_route_result out = {.gpu_time_ms = NAN};
    const json_value *time = json_get(root, "gpu_time_ms");
    uint64_t iteration = 0;
    pgy_status st = get_uint(&iteration, r, root, "iter", err);
    if (!st) st = get_text(&out.route, r, root, "build_route", err);
    if (!st) st = get_bool(&out.crash, r, root, "crash", err);
    if (!st) st = get_text(&out.error, r, root, "error_message", err);
    if (!st) st = get_bool(&out.accuracy_failed, r, root, "accuracy_failed", err);
    if (!st) st = get_uint(&out.plan_bytes, r, root, "plan_bytes", err);
    if (!st && (!time || time->type != JSON_NULL))
        st = get_real(&out.gpu_time_ms, r, root, "gpu_time_ms", err);
    if (!st) st = route_losses_read(&out, root, r->path, &r->values, err);
    if (!st && iteration >= MOST_RESULTS) st = wrong(r, "iter", "below 1000000", err);
    out.iteration = (size_t)iteration;
    if (st || route_cache_find(r->cache, out.route)) return st;
    return route_cache_add(r->cache, &out, err);
}

static pgy_status read_line(line_reader *r, span line, pgy_error *err)
{
    json_value *root = NULL;
    pgy_error why = {0};
    pgy_status st = json_parse(&root, line.data, line.size, &r->values, &why);
    if (st)
        pgy_error_set(err, st, "%s: line %zu: %s", r->path, r->number, why.text);
    else if (root->type != JSON_OBJECT)
        st = pgy_error_set(err, PGY_E_FORMAT, "%s: line %zu: expected a JSON object", r->path,
                           r->number);
    else
        st = r->number == 1 ? read_header(r, root, err) : read_result(r, root, err);
    arena_deinit(&r->values);
    return st;
}

pgy_status route_cache_parse(route_cache *out, span text, const char *path, pgy_error *err)
{
    line_reader r = {.cache = out, .path = path};
    pgy_status st = PGY_OK;
    *out = (route_cache){0};
    for (size_t at = 0; !st && at < text.size;) {
        const char *begin = text.data + at;
        const char *end = memchr(begin, '\n', text.size - at);
        const span line = {begin, end ? (size_t)(end - begin) : text.size - at};
        pgy_error why = {0};
        r.number++;
        st = read_line(&r, line, &why);
        if (st && st != PGY_E_MEMORY && !end && r.number > 1)
            st = PGY_OK; /* its writer was killed */
        else if (st)
            pgy_error_set(err, st, "%s", why.text);
        at += line.size + 1;
    }
    if (!st && !r.number)
        st = pgy_error_set(err, PGY_E_FORMAT, "%s is empty; expected the cache of a search", path);
    if (st) route_cache_deinit(out);
    return st;
}

pgy_status route_cache_load(route_cache *out, const char *path, pgy_error *err)
{
    str text = {0};
    pgy_status st = file_read(&text, path, err);
    if (!st) st = route_cache_parse(out, (span){str_text(&text), text.size}, path, err);
    str_deinit(&text);
    return st;
}

pgy_status pgy_route_arguments_load(char ***out, size_t *count, const char *cache, pgy_error *err)
{
    route_cache c = {0};
    strvec arguments = {0};
    pgy_status st = route_cache_load(&c, cache, err);
    for (size_t i = 0; !st && i < c.header.argument_count; i++)
        if (!strvec_push(&arguments, c.header.arguments[i])) st = no_memory(err);
    route_cache_deinit(&c);
    if (st) {
        strvec_deinit(&arguments);
        return st;
    }
    *out = arguments.items;
    *count = arguments.count;
    return PGY_OK;
}

void pgy_route_arguments_free(char **arguments, size_t count)
{
    strvec v = {.items = arguments, .count = count};
    strvec_deinit(&v);
}
