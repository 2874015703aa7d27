/* SPDX-License-Identifier: Apache-2.0 */
/* Runners: the states, checks, names and times that every runtime shares. The backend's instance
 * and the opened model exist only while the runner is active, so an inactive runner holds no memory
 * for a model. */
#include <polygraphy/runner.h>

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/ranges.h"
#include "base/str.h"
#include "base/system.h"
#include "base/tracer.h"
#include "runner/feed.h"
#include "runner/options.h"
#include "runner/registry.h"

static const char LOG_PATH[] = "backend/base/runner.py";

struct pgy_runner {
    const pgy_backend *given;
    pgy_backend backend; /* the backend as this version of the interface knows it */
    char *name;
    pgy_backend_options *options; /* copy; NULL = the backend's defaults */
    pgy_model_source source;
    bool has_source, active;
    pgy_backend_model model; /* valid while active, like the members below */
    bool model_open;
    void *instance;
    pgy_metadata *inputs, *outputs;
    bool inputs_unknown, outputs_unknown;
    int64_t last_time_ns, last_preparation_ns; /* -1: unknown */
};

/* Makes "<prefix>-N<count>-<MM/DD/YY>-<HH:MM:SS>.<microseconds>-<process>". The original ends with
 * the seconds. But names are keys in result files, and two runs in the same second must not get the
 * same name. */
static pgy_status make_name(char **out, const char *prefix, pgy_error *err)
{
    size_t count;
    char when[64];
    struct tm local;
    struct timespec now;
    str name = {0};

    pgy_status st = registry_count_name(&count, prefix, err);
    if (st) return st;
    if (clock_gettime(CLOCK_REALTIME, &now) || !localtime_r(&now.tv_sec, &local))
        return pgy_error_set(err, PGY_E_INTERNAL, "the system does not give the local time");
    strftime(when, sizeof when, "%m/%d/%y-%H:%M:%S", &local);
    str_printf(&name, "%s-N%zu-%s.%06ld-%ld", prefix, count, when, now.tv_nsec / 1000,
               (long)getpid());
    *out = str_take(&name);
    return *out ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static pgy_status copy_options(pgy_runner *r, const pgy_backend_options *options, pgy_error *err)
{
    if (!options) return PGY_OK;
    if (options_backend(options) != r->given)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "the options belong to backend %s, but the runner uses backend %s",
                             options_backend(options)->name, r->backend.name);
    return options_copy(&r->options, options, err);
}

static void source_destroy(pgy_model_source *source)
{
    if (source && source->destroy) source->destroy(source->user);
    if (source) *source = (pgy_model_source){0};
}

pgy_status pgy_runner_create(pgy_runner **out, const pgy_backend *backend, pgy_model_source *source,
                             const pgy_backend_options *options, const char *name, pgy_error *err)
{
    pgy_runner *r = NULL;
    pgy_status st;
    if (!backend) {
        st = pgy_error_set(err, PGY_E_ARGUMENT, "'backend' must not be NULL");
        goto done;
    }
    r = mem_calloc(1, sizeof *r);
    if (!r) {
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        goto done;
    }
    ranges_detect();
    r->given = backend;
    r->last_time_ns = r->last_preparation_ns = -1;
    st = registry_take(&r->backend, backend, err);
    if (!st) st = copy_options(r, options, err);
    if (st) goto done;
    if (name) {
        r->name = mem_strdup(name);
        st = r->name ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    } else {
        st = make_name(&r->name, r->backend.runner_prefix, err);
    }
    if (st) goto done;
    if (source && source->open) {
        r->source = *source;
        r->has_source = true;
        *source = (pgy_model_source){0};
    }
    *out = r;
    r = NULL;
done:
    source_destroy(source);
    pgy_runner_destroy(r);
    return st;
}

const char *pgy_runner_name(const pgy_runner *r)
{
    return r->name;
}

const pgy_backend *pgy_runner_backend(const pgy_runner *r)
{
    return r->given;
}

bool pgy_runner_is_active(const pgy_runner *r)
{
    return r->active;
}

/* Restores the state before activation, also after an activation that failed halfway. */
static void tear_down(pgy_runner *r)
{
    if (r->active) r->backend.deactivate(r->instance);
    if (r->instance) r->backend.destroy(r->instance);
    if (r->model_open && r->source.close) r->source.close(&r->model, r->source.user);
    pgy_metadata_destroy(r->inputs);
    pgy_metadata_destroy(r->outputs);
    r->inputs = r->outputs = NULL;
    r->instance = NULL;
    r->active = r->model_open = r->inputs_unknown = r->outputs_unknown = false;
    r->last_time_ns = r->last_preparation_ns = -1;
}

pgy_status pgy_runner_activate(pgy_runner *r, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (r->active) {
        LOG(WARNING, "%-35s | Already active; will not activate again.", r->name);
        return PGY_OK;
    }
    tracer_phase_begin(r->name);
    r->model = (pgy_backend_model){.size = sizeof r->model};
    if (r->has_source) {
        st = r->source.open(&r->model, r->source.user, err);
        if (st) goto done;
        r->model_open = true;
    }
    st = r->backend.create(&r->instance, r->has_source ? &r->model : NULL,
                           r->options ? options_settings(r->options) : NULL, err);
    if (st) goto done;
    st = r->backend.activate(r->instance, err);
    if (st) goto done;
    r->active = true;
done:
    tracer_phase_end();
    if (st) tear_down(r);
    return st;
}

void pgy_runner_deactivate(pgy_runner *r)
{
    if (r->active)
        tear_down(r);
    else
        LOG(WARNING, "%-35s | Not active; will not deactivate.", r->name);
}

void pgy_runner_destroy(pgy_runner *r)
{
    if (!r) return;
    tear_down(r);
    source_destroy(&r->source);
    pgy_backend_options_destroy(r->options);
    mem_free(r->name);
    mem_free(r);
}

static pgy_status must_be_active(const pgy_runner *r, const char *what, pgy_error *err)
{
    if (r->active) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT, "%-35s | Must be activated prior to calling %s()",
                         r->name, what);
}

/* Asks the backend for its inputs or outputs once and keeps the answer. PGY_E_UNSUPPORTED: the
 * backend does not know them. */
static pgy_status describe(pgy_metadata **kept, bool *unknown, pgy_runner *r,
                           pgy_status (*ask)(void *, pgy_metadata *, pgy_error *), pgy_error *err)
{
    pgy_metadata *m = NULL;
    if (*kept || *unknown) return PGY_OK;
    pgy_status st = pgy_metadata_create(&m, err);
    if (st) return st;
    st = ask(r->instance, m, err);
    if (!st) {
        *kept = m;
        return PGY_OK;
    }
    pgy_metadata_destroy(m);
    if (st != PGY_E_UNSUPPORTED) return st;
    *unknown = true;
    return PGY_OK;
}

pgy_status pgy_runner_inputs(const pgy_metadata **out, pgy_runner *r, pgy_error *err)
{
    pgy_status st = must_be_active(r, "get_input_metadata", err);
    if (!st) st = describe(&r->inputs, &r->inputs_unknown, r, r->backend.inputs, err);
    if (!st) *out = r->inputs;
    return st;
}

pgy_status pgy_runner_outputs(const pgy_metadata **out, pgy_runner *r, pgy_error *err)
{
    pgy_status st = must_be_active(r, "get_output_metadata", err);
    if (!st) st = describe(&r->outputs, &r->outputs_unknown, r, r->backend.outputs, err);
    if (!st) *out = r->outputs;
    return st;
}

static void log_inputs(const pgy_runner *r, const pgy_metadata *inputs)
{
    char *text = NULL;
    if (!LOG_IS_ON(VERBOSE) || pgy_metadata_text(&text, inputs, NULL)) return;
    LOG_ONCE(VERBOSE, "%-35s | Input metadata is: %s", r->name, text);
    pgy_text_free(text);
}

static bool fits_buffer(const pgy_tensor *past, const pgy_tensor *buffer)
{
    const int64_t *a = past ? pgy_tensor_shape(past) : NULL, *b = pgy_tensor_shape(buffer);
    return a && pgy_tensor_rank(past) == 4 && pgy_tensor_rank(buffer) == 4 &&
           pgy_tensor_dtype(past) == pgy_tensor_dtype(buffer) && a[0] == b[0] && a[1] == b[1] &&
           a[2] <= b[2] && a[3] == b[3];
}

static pgy_status check_caches(const pgy_runner *r, const pgy_tensor_map *feed,
                               const pgy_kept_cache *caches, size_t count, pgy_error *err)
{
    if (!pgy_runner_keeps_caches(r))
        return pgy_error_set(err, PGY_E_UNSUPPORTED, "runtime '%s' has no caches in place",
                             r->backend.name);
    for (size_t i = 0; i < count; i++)
        if (!fits_buffer(pgy_tensor_map_find(feed, caches[i].input), caches[i].buffer))
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "the buffer of cache '%s' does not fit its input; expected "
                                 "[batch, heads, rows, size] of the same type with enough rows",
                                 caches[i].input);
    return PGY_OK;
}

bool pgy_runner_keeps_caches(const pgy_runner *r)
{
    return r->backend.infer_keeping != NULL;
}

static pgy_status infer(pgy_runner *r, const pgy_tensor_map *feed, pgy_kept_cache *caches,
                        size_t count, pgy_tensor_map *out, int64_t *time_ns, pgy_error *err)
{
    for (size_t i = 0; i < count; i++) caches[i].length = -1;
    return count ? r->backend.infer_keeping(r->instance, feed, caches, count, out, time_ns, err)
                 : r->backend.infer(r->instance, feed, out, time_ns, err);
}

pgy_status pgy_runner_infer(pgy_tensor_map **out, pgy_runner *r, const pgy_tensor_map *feed,
                            pgy_error *err)
{
    return pgy_runner_infer_keeping(out, r, feed, NULL, 0, err);
}

pgy_status pgy_runner_infer_keeping(pgy_tensor_map **out, pgy_runner *r, const pgy_tensor_map *feed,
                                    pgy_kept_cache *caches, size_t cache_count, pgy_error *err)
{
    const pgy_metadata *inputs = NULL;
    pgy_tensor_map *result = NULL;
    int64_t time_ns = -1, begin;
    uint32_t run = TRACE_NONE;

    pgy_status st = must_be_active(r, "infer", err);
    if (st) goto done;
    st = pgy_runner_inputs(&inputs, r, err);
    if (st) goto done;
    if (inputs) {
        log_inputs(r, inputs);
        st = feed_check(feed, inputs, err);
        if (st) goto done;
    }
    if (cache_count) st = check_caches(r, feed, caches, cache_count, err);
    if (!st) st = pgy_tensor_map_create(&result, err);
    if (st) goto done;
    if (tracer_is_on()) run = tracer_run_begin(r->name);
    begin = clock_ns();
    st = infer(r, feed, caches, cache_count, result, &time_ns, err);
    if (st) goto done;
    r->last_time_ns = time_ns >= 0 ? time_ns : clock_ns() - begin;
    r->last_preparation_ns =
        r->backend.preparation_ns ? r->backend.preparation_ns(r->instance) : -1;
    tracer_run_end_as_told(run, begin, clock_ns());
    run = TRACE_NONE;
    *out = result;
    result = NULL;
done:
    tracer_run_drop(run);
    pgy_tensor_map_destroy(result);
    return st;
}

int64_t pgy_runner_last_time_ns(const pgy_runner *r)
{
    return r->last_time_ns;
}

int64_t pgy_runner_last_preparation_ns(const pgy_runner *r)
{
    return r->last_preparation_ns < 0 ? -1 : r->last_preparation_ns;
}
