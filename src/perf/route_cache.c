/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of a search: one JSON object per line, the first about the search, the others about a
 * candidate each. The file is replaced as a whole after each candidate, so an interrupted search
 * leaves a complete one. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "perf/route.h"

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for the results of routes");
}

static const char *const LOSSES[] = {"l0", "l1", "l2", "lInf", "cos"};
static const char *const STRATEGIES[] = {"fast", "full", "mixed"};

const char *route_loss_name(pgy_perf_loss_kind kind)
{
    return LOSSES[kind];
}

const char *route_strategy_name(pgy_route_strategy strategy)
{
    return STRATEGIES[strategy];
}

/* ---- Life ----------------------------------------------------------------------------------- */

void route_cache_deinit(route_cache *c)
{
    strmap_deinit(&c->by_route);
    arena_deinit(&c->memory);
    mem_free(c->results);
    *c = (route_cache){0};
}

const pgy_route_result *route_cache_find(const route_cache *c, const char *route)
{
    const size_t *index = strmap_get(&c->by_route, route);
    return index ? &c->results[*index] : NULL;
}

static pgy_status copy_losses(pgy_route_result *to, const pgy_route_result *r, arena *a,
                              pgy_error *err)
{
    pgy_route_loss *losses = arena_alloc_array(a, r->loss_count + 1, sizeof *losses);
    if (!losses) return no_memory(err);
    for (size_t i = 0; i < r->loss_count; i++) {
        losses[i] = (pgy_route_loss){arena_strdup(a, r->losses[i].name), r->losses[i].loss};
        if (!losses[i].name) return no_memory(err);
    }
    to->losses = losses;
    return PGY_OK;
}

pgy_status route_cache_add(route_cache *c, const pgy_route_result *r, pgy_error *err)
{
    pgy_route_result copy = *r;
    size_t *index = arena_alloc(&c->memory, sizeof *index);
    copy.route = arena_strdup(&c->memory, r->route);
    copy.error = arena_strdup(&c->memory, r->error ? r->error : "");
    if (!index || !copy.route || !copy.error) return no_memory(err);
    const pgy_status st = copy_losses(&copy, r, &c->memory, err);
    if (st) return st;
    *index = c->count;
    if (!mem_grow((void **)&c->results, &c->capacity, c->count + 1, sizeof *c->results) ||
        !strmap_put(&c->by_route, copy.route, index))
        return no_memory(err);
    c->results[c->count++] = copy;
    return PGY_OK;
}

/* ---- Writing -------------------------------------------------------------------------------- */

static pgy_status write_header(json_writer *w, const void *user, pgy_error *err)
{
    const route_header *h = user;
    (void)err;
    json_begin_object(w);
    json_put_text(w, "tuner_version", h->version);
    json_put_text(w, "accuracy_algorithm", h->algorithm);
    json_key(w, "accuracy_parameter");
    json_begin_object(w);
    json_put_real(w, "atol", h->atol);
    json_put_real(w, "rtol", h->rtol);
    json_put_real(w, "epsilon", h->threshold);
    json_end_object(w);
    json_put_text(w, "accuracy_against", h->has_references ? "references" : "baseline");
    json_put_text(w, "searching_algorithm", h->strategy);
    json_put_text(w, "command_line", h->command_line);
    json_put_text(w, "default_build_route", h->baseline);
    json_put_text(w, "tuning_expr", h->expression);
    json_key(w, "files");
    json_begin_object(w);
    json_put_text(w, "model", h->model);
    json_put_text(w, "model_hash", h->model_hash);
    json_put_text(w, "folder", h->folder);
    json_end_object(w);
    json_key(w, "argv");
    json_begin_array(w);
    for (size_t i = 0; i < h->argument_count; i++) json_text(w, h->arguments[i]);
    json_end_array(w);
    json_end_object(w);
    return PGY_OK;
}

static pgy_status write_result(json_writer *w, const void *user, pgy_error *err)
{
    const pgy_route_result *r = user;
    (void)err;
    json_begin_object(w);
    json_put_uint(w, "iter", r->iteration);
    json_put_text(w, "build_route", r->route);
    json_put_bool(w, "crash", r->crash);
    json_put_text(w, "error_message", r->error);
    json_put_bool(w, "accuracy_failed", r->accuracy_failed);
    route_losses_write(w, r->losses, r->loss_count);
    if (isnan(r->gpu_time_ms))
        json_put_null(w, "gpu_time_ms");
    else
        json_put_real(w, "gpu_time_ms", r->gpu_time_ms);
    json_put_uint(w, "plan_bytes", r->plan_bytes);
    json_end_object(w);
    return PGY_OK;
}

/* The writer breaks lines only between items, because texts have \n for theirs. */
static pgy_status append_line(str *out, json_body write, const void *user, pgy_error *err)
{
    char *text = NULL;
    const pgy_status st = json_to_text(&text, write, user, err);
    if (st) return st;
    for (const char *c = text; *c; c++) {
        if (*c != '\n') {
            str_append_char(out, *c);
            continue;
        }
        while (c[1] == ' ') c++;
        if (c[1] != '}' && c[1] != ']' && out->size && out->data[out->size - 1] == ',')
            str_append_char(out, ' ');
    }
    str_append_char(out, '\n');
    mem_free(text);
    return out->failed ? no_memory(err) : PGY_OK;
}

pgy_status route_cache_text(str *out, const route_cache *c, pgy_error *err)
{
    pgy_status st = append_line(out, write_header, &c->header, err);
    for (size_t i = 0; !st && i < c->count; i++)
        st = append_line(out, write_result, &c->results[i], err);
    return st;
}

pgy_status route_cache_save(const route_cache *c, const char *path, pgy_error *err)
{
    str text = {0};
    pgy_status st = route_cache_text(&text, c, err);
    if (!st) st = file_write_all(path, str_text(&text), text.size, err);
    str_deinit(&text);
    return st;
}
