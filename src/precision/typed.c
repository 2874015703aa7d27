/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions: the search as a whole, and the model of its best set. */
#include <polygraphy/graph.h>
#include <polygraphy/loader.h>
#include <polygraphy/transform.h>

#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/sized.h"
#include "base/system.h"
#include "precision/precision.h"
#include "precision/quant.h"

static const char LOG_PATH[] = "precision/typed.c";

static const double FAR = 2, NEAR_SHARE = 0.1; /* see pgy_precision_verify */
enum { SETTLE_ROUNDS = 5 };

/* ---- The search ----------------------------------------------------------------------------- */

pgy_precision_options pgy_precision_options_default(void)
{
    return (pgy_precision_options){.size = sizeof(pgy_precision_options),
                                   .type = PGY_F16,
                                   .limit = 1e-3,
                                   .k = 1,
                                   .samples = 16,
                                   .max_bytes = (uint64_t)1 << 30,
                                   .calibrator = PGY_CALIBRATOR_LEAST_ERROR,
                                   .quantile = 0.9999};
}

pgy_status pgy_precision_search(pgy_precision **out, pgy_model *model, pgy_data_loader *data,
                                const pgy_precision_options *options, pgy_error *err)
{
    const int64_t start = clock_ns();
    if (!out || !model || !data)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out', 'model' and 'data' must not be NULL");
    pgy_precision *p = mem_calloc(1, sizeof *p);
    if (!p) return search_no_memory(err);
    p->options = pgy_precision_options_default();
    pgy_status st = SIZED_TAKE(pgy_precision_options, &p->options, options, err);
    if (!st) st = judge_options(&p->options, err);
    if (!st && p->options.criterion == PGY_PRECISION_SCRIPT)
        st = python_script_start(&p->script, p->options.script, "measure_error", "judge", err);
    p->options.script = NULL; /* the caller's */
    if (!st) st = layers_find(p, model, err);
    if (!st) st = samples_read(p, data, err);
    if (!st) st = emulator_create(&p->emulator, p, err);
    if (!st) st = search_run(p, err);
    emulator_destroy(p->emulator);
    p->emulator = NULL;
    p->options.times = NULL;
    p->summary.seconds = (double)(clock_ns() - start) * 1e-9;
    if (!st || (st == PGY_E_CANCELLED && p->summary.trials))
        *out = p;
    else
        pgy_precision_destroy(p);
    return st;
}

void pgy_precision_destroy(pgy_precision *p)
{
    if (!p) return;
    for (size_t i = 0; i < p->summary.samples; i++) {
        pgy_tensor_map_destroy(p->samples[i]);
        if (p->references) pgy_tensor_map_destroy(p->references[i]);
    }
    mem_free(p->samples);
    mem_free(p->references);
    mem_free(p->layers);
    mem_free(p->nodes);
    mem_free(p->layer_of);
    times_deinit(&p->times);
    mem_free(p->best);
    mem_free(p->can_rest);
    mem_free(p->node_bytes);
    mem_free(p->node_output_bytes);
    mem_free(p->sites);
    mem_free(p->points);
    python_script_stop(p->script);
    pgy_floor_destroy(p->floor);
    mem_free(p->methods);
    quantizer_destroy(p->quantizer);
    pgy_graph_destroy(p->graph);
    mem_free(p);
}

const pgy_precision_summary *pgy_precision_summarize(const pgy_precision *p)
{
    return &p->summary;
}

size_t pgy_precision_layer_count(const pgy_precision *p)
{
    return p->summary.layers;
}

const pgy_precision_layer *pgy_precision_layer_at(const pgy_precision *p, size_t i)
{
    return i < p->summary.layers ? &p->layers[i] : NULL;
}

size_t pgy_precision_point_count(const pgy_precision *p)
{
    return p->point_count;
}

const pgy_precision_point *pgy_precision_point_at(const pgy_precision *p, size_t i)
{
    return i < p->point_count ? &p->points[i] : NULL;
}

size_t pgy_precision_method_count(const pgy_precision *p)
{
    return p->method_count;
}

const pgy_precision_method *pgy_precision_method_at(const pgy_precision *p, size_t i)
{
    return i < p->method_count ? &p->methods[i] : NULL;
}

size_t pgy_precision_baseline_count(const pgy_precision *p)
{
    return p->baseline_count;
}

const pgy_precision_baseline *pgy_precision_baseline_at(const pgy_precision *p, size_t i)
{
    return i < p->baseline_count ? &p->baselines[i] : NULL;
}

/* ---- The model ------------------------------------------------------------------------------ */

/* Puts Casts around the layers that are rounded to a 16-bit type. */
static pgy_status add_casts(pgy_graph **out, const pgy_precision *p, level rounded, pgy_error *err)
{
    size_t count = 0;
    const char **keep = mem_calloc(p->summary.layers + 1, sizeof *keep);
    if (!keep) return search_no_memory(err);
    for (size_t i = 0; i < p->summary.layers; i++)
        if (p->best[i] != rounded) keep[count++] = p->layers[i].name;
    const pgy_status st = count == p->summary.layers
                              ? graph_clone(out, p->graph, err)
                              : layers_convert(out, p, mix_type(p, rounded), keep, count, err);
    mem_free(keep);
    return st;
}

/* The Q/DQ of a mix stand inside of its Casts. */
static pgy_status add_quantizers(pgy_graph *g, const pgy_precision *p, pgy_error *err)
{
    const quantizer *q = p->quantizer;
    for (size_t i = 0; i < q->site_count; i++) p->sites[i] = LEVEL_WIDE;
    for (size_t i = 0; i < p->summary.layers; i++)
        if (p->best[i] == LEVEL_FIRST) p->sites[q->site_of[p->nodes[i]] - 1] = LEVEL_FIRST;
    return quant_write(g, p, p->sites, err);
}

pgy_status pgy_precision_model(pgy_model **out, const pgy_precision *p, pgy_error *err)
{
    pgy_graph *g = NULL;
    if (p->quantizer && !is_mix(p)) return quant_model(out, p, err);
    pgy_status st = add_casts(&g, p, is_mix(p) ? LEVEL_REST : LEVEL_FIRST, err);
    if (!st && is_mix(p)) st = add_quantizers(g, p, err);
    if (!st) st = pgy_graph_export(out, g, err);
    pgy_graph_destroy(g);
    return st;
}

/* With more than its basic optimizations, ONNX Runtime 1.31 fuses Q/DQ of float8 with the operator
 * between them into one that has no float8, and then refuses its own graph; without that fusion
 * another one gives wrong results. */
static pgy_status options_for_float8(pgy_backend_options **out, const pgy_backend *backend,
                                     pgy_error *err)
{
    static const char LEVEL[] = "ORT_ENABLE_BASIC";
    pgy_status st = pgy_backend_options_create(out, backend, err);
    if (!st) st = pgy_backend_options_set(*out, "graph_optimization_level", LEVEL, err);
    if (st == PGY_E_NOT_FOUND) return PGY_OK; /* another runtime */
    if (!st)
        LOG(WARNING,
            "Runtime '%s' optimizes float8 wrongly: the typed model needs "
            "--graph-optimization-level %s there",
            backend->name, LEVEL);
    return st;
}

static pgy_status make_runner(pgy_runner **out, const pgy_precision *p, pgy_model *model,
                              const pgy_backend *backend, pgy_error *err)
{
    pgy_loader *loader = NULL;
    pgy_model_source source = {0};
    pgy_backend_options *options = NULL;
    pgy_runner *runner = NULL;
    pgy_status st = pgy_loader_from_model(&loader, model, err);
    if (!st) st = pgy_loader_source(&source, loader, err);
    if (!st && p->options.type == PGY_F8E4M3FN) st = options_for_float8(&options, backend, err);
    if (!st) st = pgy_runner_create(&runner, backend, &source, options, backend->name, err);
    if (!st) st = pgy_runner_activate(runner, err);
    pgy_backend_options_destroy(options);
    if (st)
        pgy_runner_destroy(runner);
    else
        *out = runner;
    return st;
}

static pgy_status judge_runner(judge *j, const pgy_precision *p, pgy_runner *runner, pgy_error *err)
{
    pgy_status st = PGY_OK;
    progress_begin("samples checked", p->summary.samples);
    for (size_t s = 0; !st && s < p->summary.samples; s++) {
        pgy_tensor_map *got = NULL;
        st = cancel_check(err);
        if (!st) st = pgy_runner_infer(&got, runner, p->samples[s], err);
        if (!st) st = judge_add(j, s, got, err);
        pgy_tensor_map_destroy(got);
        progress_advance(s + 1);
    }
    progress_end();
    return cancel_check_after(st, err);
}

static bool keeps_promise(const pgy_precision *p, double error)
{
    const double limit = p->summary.limit_error, promised = p->summary.promised_error;
    return error <= limit && (error <= FAR * promised || error <= NEAR_SHARE * limit);
}

static pgy_status check_promise(double error, const pgy_precision *p, const char *runtime,
                                pgy_error *err)
{
    const double limit = p->summary.limit_error, promised = p->summary.promised_error;
    if (!(error <= limit))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "in runtime '%s' the typed model has error %.3g, but the limit is "
                             "%.3g (emulated: %.3g)",
                             runtime, error, limit, promised);
    if (!keeps_promise(p, error))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "in runtime '%s' the typed model has error %.3g, but the emulation "
                             "promised %.3g",
                             runtime, error, promised);
    LOG(INFO, "Runtime '%s': the typed model has error %.3g (promised: %.3g, limit: %.3g)", runtime,
        error, promised, limit);
    return PGY_OK;
}

static pgy_status run_typed(double *error, const pgy_precision *p, pgy_model *typed,
                            const pgy_backend *backend, pgy_error *err)
{
    pgy_runner *runner = NULL;
    pgy_model *fixed = NULL;
    judge j = {.p = p};
    pgy_status st = samples_fix_shapes(&fixed, p, typed, err);
    if (!st) st = make_runner(&runner, p, fixed, backend, err);
    if (!st) st = judge_runner(&j, p, runner, err);
    if (!st) st = judge_finish(error, &j, err);
    if (st && st != PGY_E_CANCELLED)
        st = pgy_error_prefix(err, st,
                              "the typed model cannot be checked in runtime '%s': ", backend->name);
    pgy_runner_destroy(runner);
    pgy_model_destroy(fixed);
    return st;
}

pgy_status pgy_precision_verify(double *error, const pgy_precision *p, pgy_model *typed,
                                const pgy_backend *backend, pgy_error *err)
{
    if (!error || !p || !typed || !backend)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'error', 'p', 'typed' and 'backend' must not be NULL");
    double measured = 0;
    pgy_status st = run_typed(&measured, p, typed, backend, err);
    if (!st) st = check_promise(measured, p, backend->name, err);
    if (!st) *error = measured;
    return st;
}

/* ---- Settling ------------------------------------------------------------------------------- */

/* Runs `typed` in all runtimes. *worst: the first error that is refused, and its runtime; on the
 * last round it is the call's error. */
static pgy_status verify_all(double *worst, const pgy_backend **in, const pgy_precision *p,
                             pgy_model *typed, const pgy_backend *const *backends, size_t count,
                             bool last, pgy_error *err)
{
    pgy_status st = PGY_OK;
    *in = NULL;
    for (size_t i = 0; !st && !*in && i < count; i++) {
        double error = 0;
        st = run_typed(&error, p, typed, backends[i], err);
        if (!st && !last && !keeps_promise(p, error)) {
            *worst = error;
            *in = backends[i];
        } else if (!st) {
            st = check_promise(error, p, backends[i]->name, err);
        }
    }
    return st;
}

pgy_status pgy_precision_settle(pgy_model **out, pgy_precision *p,
                                const pgy_backend *const *backends, size_t count, pgy_error *err)
{
    if (!out || !p || (count && !backends))
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out', 'p' and 'backends' must not be NULL");
    for (size_t i = 0; i < count; i++)
        if (!backends[i]) return pgy_error_set(err, PGY_E_ARGUMENT, "'backends[%zu]' is NULL", i);
    pgy_status st = PGY_OK;
    for (int round = 1; !st; round++) {
        const bool last = round == SETTLE_ROUNDS || !p->summary.narrow;
        const pgy_backend *in = NULL;
        pgy_model *typed = NULL;
        double error = 0;
        st = pgy_precision_model(&typed, p, err);
        if (!st) st = verify_all(&error, &in, p, typed, backends, count, last, err);
        if (!st && !in) {
            *out = typed;
            return PGY_OK;
        }
        pgy_model_destroy(typed);
        if (!st) st = search_tighten(p, error, in->name, err);
    }
    return st;
}
