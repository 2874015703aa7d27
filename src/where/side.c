/* SPDX-License-Identifier: Apache-2.0 */
/* Reads tensors of one side: the engine shows them through debug marks, which leave its fusions as
 * they are; other runtimes get them as outputs; stored results have what was saved. */
#include <polygraphy/engine_runner.h>
#include <polygraphy/loader.h>

#include <string.h>

#include "base/sized.h"
#include "runner/options.h"
#include "where/side.h"

/* ---- Models ---------------------------------------------------------------------------------- */

/* A part's bytes are in memory until its runner is destroyed. */
static pgy_status part_open(pgy_backend_model *out, void *user, pgy_error *err)
{
    const where_part *part = user;
    (void)err;
    out->data = part->bytes;
    out->data_size = part->size_bytes;
    out->model = part->model;
    return PGY_OK;
}

static pgy_status model_open(pgy_backend_model *out, void *user, pgy_error *err)
{
    (void)err;
    out->model = user;
    return PGY_OK;
}

static void borrowed_close(pgy_backend_model *model, void *user)
{
    (void)user;
    *model = (pgy_backend_model){.size = sizeof *model};
}

static void borrowed_destroy(void *user)
{
    (void)user;
}

/* These backends are inside the library and read the model as it is, without a copy of all weights
 * as bytes. */
static bool reads_models(const pgy_backend *b)
{
    return pgy_backend_has(b, PGY_BACKEND_BUILDS_PLANS) ||
           pgy_backend_has(b, PGY_BACKEND_IS_REFERENCE);
}

static pgy_status model_source(pgy_model_source *out, const pgy_backend *backend, pgy_model *model,
                               pgy_error *err)
{
    pgy_loader *loader = NULL;
    *out = (pgy_model_source){
        .open = model_open, .close = borrowed_close, .destroy = borrowed_destroy, .user = model};
    if (reads_models(backend)) return PGY_OK;
    *out = (pgy_model_source){0};
    /* a loader passes models that are too large for one buffer in a temporary file */
    const pgy_status st = pgy_loader_from_model(&loader, model, err);
    return st ? st : pgy_loader_source(out, loader, err);
}

static pgy_status part_source(pgy_model_source *out, const pgy_backend *backend, where_part *part,
                              pgy_error *err)
{
    if (!part->bytes) return model_source(out, backend, part->model, err);
    *out = (pgy_model_source){
        .open = part_open, .close = borrowed_close, .destroy = borrowed_destroy, .user = part};
    return PGY_OK;
}

/* ---- Options --------------------------------------------------------------------------------- */

static pgy_status next_handed(pgy_tensor_map **out, void *user, pgy_error *err)
{
    where_source *s = user;
    const pgy_tensor_map *from = s->calibrated ? NULL : s->handed;
    pgy_status st = from ? pgy_tensor_map_create(out, err) : PGY_OK;
    s->calibrated = true;
    for (size_t i = 0; !st && from && i < pgy_tensor_map_count(from); i++)
        st =
            pgy_tensor_map_set(*out, pgy_tensor_map_name(from, i), pgy_tensor_map_at(from, i), err);
    return st;
}

static pgy_status restart_handed(void *user, const pgy_metadata *inputs, pgy_error *err)
{
    (void)inputs, (void)err;
    ((where_source *)user)->calibrated = false;
    return PGY_OK;
}

/* Nodes that run alone are calibrated by the values that they are handed: the user's data lack
 * their inputs. */
static pgy_status calibrate_alone(pgy_build_config *config, where_source *s, pgy_error *err)
{
    static const pgy_data_loader_functions FUNCTIONS = {
        .size = sizeof FUNCTIONS, .next = next_handed, .set_metadata = restart_handed};
    if (!config->calibration) return PGY_OK;
    s->calibration = (pgy_calibration){.size = sizeof s->calibration};
    pgy_status st = SIZED_TAKE(pgy_calibration, &s->calibration, config->calibration, err);
    if (!st) st = pgy_data_loader_create(&s->loader, &FUNCTIONS, s, err);
    s->calibration.cache = NULL;
    s->calibration.data = s->loader;
    config->calibration = &s->calibration;
    return st;
}

/* The engine shows every tensor that is left after fusion. Marking tensors by name would keep them
 * from being fused, so the run would not be the one that the user asks about. */
static pgy_status configure(pgy_backend_options *o, where_source *s, pgy_error *err)
{
    pgy_build_config config = {.size = sizeof config};
    pgy_status st =
        s->side->config ? SIZED_TAKE(pgy_build_config, &config, s->side->config, err) : PGY_OK;
    config.debug_unfused = s->marks;
    if (!st && !s->marks) {
        /* profiles name the model's inputs, and files are about the whole model */
        config.profiles = NULL, config.profile_count = 0;
        config.save_tactics = config.save_quantized = NULL;
        st = calibrate_alone(&config, s, err);
    }
    return st ? st : pgy_engine_runner_configure(o, &config, err);
}

/* Nodes that run alone do not get the engine's options: they choose a profile, a file for the plan
 * and the time of allocation, which have no effect on values. */
static pgy_status make_options(pgy_backend_options **out, where_source *s, pgy_error *err)
{
    const pgy_backend_options *given = s->side->options;
    pgy_status st = given && s->marks ? options_copy(out, given, err)
                                      : pgy_backend_options_create(out, s->side->backend, err);
    return st ? st : configure(*out, s, err);
}

static pgy_status open_runner(where_source *s, pgy_model_source *source, pgy_error *err)
{
    const pgy_backend *backend = s->side->backend;
    const bool builds = pgy_backend_has(backend, PGY_BACKEND_BUILDS_PLANS) && !s->side->plan;
    pgy_backend_options *own = NULL;
    pgy_status st = builds ? make_options(&own, s, err) : PGY_OK;
    if (st)
        source->destroy(source->user);
    else
        st =
            pgy_runner_create(&s->runner, backend, source, own ? own : s->side->options, NULL, err);
    if (!st) st = pgy_runner_activate(s->runner, err);
    pgy_backend_options_destroy(own);
    return st;
}

/* ---- Sources --------------------------------------------------------------------------------- */

static pgy_status open_source(where_source *s, pgy_status st, pgy_model_source *source,
                              pgy_error *err)
{
    if (!st) st = open_runner(s, source, err);
    if (!st) return PGY_OK;
    where_source_close(s);
    return pgy_error_prefix(err, st, "%s: ", s->side->backend->name);
}

bool where_is_one_runner(const pgy_where_side *a, const pgy_where_side *b)
{
    return a->backend == b->backend && a->options == b->options && a->config == b->config;
}

bool where_source_is_whole(const pgy_where_side *side)
{
    return !side->backend || side->plan || pgy_backend_has(side->backend, PGY_BACKEND_BUILDS_PLANS);
}

pgy_status where_source_open(where_source *s, pgy_error *err)
{
    pgy_model_source source = {0};
    if (!s->side->backend)
        return s->results ? PGY_OK : pgy_results_load(&s->results, s->side->results, err);
    s->marks = pgy_backend_has(s->side->backend, PGY_BACKEND_BUILDS_PLANS);
    const pgy_status st = s->side->plan
                              ? pgy_source_from_path(&source, s->side->plan, err)
                              : model_source(&source, s->side->backend, s->side->model, err);
    return open_source(s, st, &source, err);
}

pgy_status where_source_open_part(where_source *s, where_part *part, pgy_error *err)
{
    pgy_model_source source = {0};
    s->marks = false;
    return open_source(s, part_source(&source, s->side->backend, part, err), &source, err);
}

void where_source_close(where_source *s)
{
    pgy_runner_destroy(s->runner);
    pgy_data_loader_destroy(s->loader);
    s->runner = NULL;
    s->loader = NULL;
}

size_t where_source_stored(const where_source *s)
{
    return s->results && pgy_results_runner_count(s->results)
               ? pgy_results_iteration_count(s->results, 0)
               : 0;
}

/* The iteration `sample` of the first runner in the file. */
static pgy_status read_stored(const pgy_tensor_map **out, where_source *s, size_t sample,
                              pgy_error *err)
{
    if (!pgy_results_runner_count(s->results) ||
        sample >= pgy_results_iteration_count(s->results, 0))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'%s' has no results for sample %zu; give it the data with which it "
                             "was made",
                             s->side->results, sample);
    *out = pgy_results_at(s->results, 0, sample)->outputs;
    return PGY_OK;
}

pgy_status where_source_read(const pgy_tensor_map **out, pgy_tensor_map **held, where_source *s,
                             const pgy_tensor_map *feed, size_t sample, pgy_error *err)
{
    if (s->results) return read_stored(out, s, sample, err);
    const pgy_status st = pgy_runner_infer(held, s->runner, feed, err);
    if (st) return pgy_error_prefix(err, st, "%s: ", s->side->backend->name);
    *out = *held;
    return PGY_OK;
}
