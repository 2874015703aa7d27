/* SPDX-License-Identifier: Apache-2.0 */
/* Tries methods of quantizing, before the search: all layers together, on the samples of the
 * search. The first is plain: the whole range of each tensor, weights rounded to nearest. Each next
 * step keeps what was chosen before: a calibrator, zero points, smoothing, adaptive rounding, bias
 * correction. A step that is asked for is taken; one that is tried is taken if it makes the error
 * less. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "base/progress.h"
#include "engine/precision/precision.h"
#include "precision/quant.h"

static const char LOG_PATH[] = "precision/quant_methods.c";

static const quant_method PLAIN = {.calibrator = PGY_CALIBRATOR_MIN_MAX};

/* ---- Measuring ------------------------------------------------------------------------------ */

typedef struct measured {
    double error, noise; /* by the criterion; noise divided by signal */
} measured;

/* Measures all layers that the emulator now has. */
static pgy_status measure_all(measured *out, const pgy_precision *p, size_t layers, emulation as,
                              pgy_error *err)
{
    pgy_precision by_noise = *p;
    by_noise.options.criterion = PGY_PRECISION_SNR;
    by_noise.script = NULL; /* it gets each result once */
    judge j = {.p = p}, noise = {.p = &by_noise};
    level *set = mem_calloc(layers + 1, sizeof *set);
    pgy_status st = set ? PGY_OK : search_no_memory(err);
    for (size_t i = 0; !st && i < layers; i++) set[i] = LEVEL_FIRST;
    progress_begin("samples of all layers", search_count(p));
    for (size_t s = 0; !st && s < search_count(p); s++) {
        pgy_tensor_map *got = NULL;
        st = cancel_check(err);
        if (!st) st = emulator_run(&got, p->emulator, s, set, as, false, err);
        if (!st) st = judge_add(&j, s, got, err);
        if (!st) st = judge_add(&noise, s, got, err);
        pgy_tensor_map_destroy(got);
        progress_advance(s + 1);
    }
    progress_end();
    mem_free(set);
    if (!st) st = judge_finish(&out->error, &j, err);
    if (!st) st = judge_finish(&out->noise, &noise, err);
    return cancel_check_after(st, err);
}

static bool is_better(const measured *a, const measured *b)
{
    return a->error < b->error || (a->error == b->error && a->noise < b->noise);
}

static pgy_status measure_fit(measured *out, quantizer *q, quant_fit *f, pgy_error *err)
{
    q->fit = f;
    const pgy_status st =
        emulator_set_type(q->p->emulator, q->type, q, q->nodes, q->site_count, err);
    return st ? st : measure_all(out, q->p, q->site_count, EMULATE_STORED, err);
}

/* ---- Steps ---------------------------------------------------------------------------------- */

typedef struct trial {
    quantizer *q;
    quant_fit *best;
    measured least;
} trial;

static pgy_status report(const trial *t, const char *name, const measured *m, size_t *row,
                         pgy_error *err)
{
    pgy_precision *p = t->q->p;
    pgy_precision_method *more = mem_realloc(p->methods, (p->method_count + 1) * sizeof *more);
    if (!more) return search_no_memory(err);
    p->methods = more;
    pgy_precision_method *to = &more[p->method_count];
    *to = (pgy_precision_method){.error = m->error, .noise = m->noise};
    (void)snprintf(to->name, sizeof to->name, "%s", name);
    LOG(INFO, "All %zu layers in %s, %s: error %.3g, noise/signal %.3g", t->q->site_count,
        pgy_dtype_name(t->q->type), name, m->error, m->noise);
    *row = p->method_count++;
    return PGY_OK;
}

/* Tries one method. `taken`: the row of the method that this step has taken so far, or SIZE_MAX;
 * forced: take it in any case. */
static pgy_status try_method(trial *t, const quant_method *m, const char *name, bool forced,
                             size_t *taken, pgy_error *err)
{
    quant_fit *f = NULL;
    measured got = {0, 0};
    size_t row = 0;
    pgy_status st = quant_fit_create(&f, t->q, m, err);
    if (!st) st = measure_fit(&got, t->q, f, err);
    if (!st) st = report(t, name, &got, &row, err);
    quant_fit *drop = f;
    if (!st && (forced || !t->best || is_better(&got, &t->least))) {
        if (*taken != SIZE_MAX) t->q->p->methods[*taken].kept = false;
        drop = t->best;
        t->best = f;
        t->least = got;
        t->q->p->methods[row].kept = true;
        *taken = row;
    }
    t->q->fit = t->best;
    quant_fit_destroy(drop, t->q);
    return st;
}

/* The row of the plain method counts as one of the calibrators. */
static pgy_status try_calibrators(trial *t, size_t plain, pgy_error *err)
{
    static const pgy_calibrator ALL[] = {PGY_CALIBRATOR_ENTROPY_2, PGY_CALIBRATOR_ENTROPY,
                                         PGY_CALIBRATOR_LEGACY, PGY_CALIBRATOR_LEAST_ERROR};
    const pgy_precision_options *o = &t->q->p->options;
    const bool all = o->tries & PGY_PRECISION_TRY_CALIBRATORS;
    size_t taken = plain;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < sizeof ALL / sizeof *ALL; i++) {
        char name[sizeof(((pgy_precision_method *)0)->name)];
        quant_method m = PLAIN;
        if (!all && ALL[i] != o->calibrator) continue;
        m.calibrator = ALL[i];
        m.quantile = o->quantile;
        (void)snprintf(name, sizeof name, "calibrator %s", pgy_precision_calibrator_name(ALL[i]));
        st = try_method(t, &m, name, !all, &taken, err);
    }
    return st;
}

static pgy_status try_asymmetric(trial *t, pgy_error *err)
{
    size_t taken = SIZE_MAX;
    quant_method m = t->best->method;
    if (!t->q->p->options.asymmetric) return PGY_OK;
    m.asymmetric = true;
    return try_method(t, &m, "asymmetric", true, &taken, err);
}

static pgy_status try_smoothing(trial *t, pgy_error *err)
{
    static const double ALL[] = {0.25, 0.5, 0.75};
    const pgy_precision_options *o = &t->q->p->options;
    const bool all = o->tries & PGY_PRECISION_TRY_SMOOTHING;
    const size_t count = all ? sizeof ALL / sizeof *ALL : o->smooth > 0;
    size_t taken = SIZE_MAX;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i++) {
        char name[sizeof(((pgy_precision_method *)0)->name)];
        quant_method m = t->best->method;
        m.smooth = all ? ALL[i] : o->smooth;
        (void)snprintf(name, sizeof name, "smoothing %g", m.smooth);
        st = try_method(t, &m, name, !all, &taken, err);
    }
    return st;
}

static pgy_status try_weights(trial *t, pgy_error *err)
{
    const pgy_precision_options *o = &t->q->p->options;
    size_t taken = SIZE_MAX;
    pgy_status st = PGY_OK;
    if (o->adaptive_rounding || o->tries & PGY_PRECISION_TRY_ROUNDING) {
        quant_method m = t->best->method;
        m.adaptive = true;
        st = try_method(t, &m, "adaptive rounding", o->adaptive_rounding, &taken, err);
    }
    taken = SIZE_MAX;
    if (!st && (o->bias_correction || o->tries & PGY_PRECISION_TRY_BIAS_CORRECTION)) {
        quant_method m = t->best->method;
        m.bias_correction = true;
        st = try_method(t, &m, "bias correction", o->bias_correction, &taken, err);
    }
    return st;
}

pgy_status quant_prepare(pgy_precision *p, pgy_error *err)
{
    trial t = {.q = p->quantizer};
    size_t plain = SIZE_MAX;
    pgy_status st = quant_observe(t.q, err);
    if (!st) st = try_method(&t, &PLAIN, "plain", true, &plain, err);
    if (!st) st = try_calibrators(&t, plain, err);
    if (!st) st = try_asymmetric(&t, err);
    if (!st) st = try_smoothing(&t, err);
    if (!st) st = try_weights(&t, err);
    t.q->fit = t.best;
    if (st) return st;
    return emulator_set_type(p->emulator, t.q->type, t.q, p->nodes, p->summary.layers, err);
}

/* ---- Comparison ----------------------------------------------------------------------------- */

static void add_baseline(pgy_precision *p, pgy_dtype type, double error, uint64_t bytes,
                         size_t layers)
{
    p->baselines[p->baseline_count++] =
        (pgy_precision_baseline){.type = type, .error = error, .bytes = bytes, .layers = layers};
}

static pgy_status compare_half(pgy_precision *p, pgy_error *err)
{
    const size_t count = p->graph->node_count;
    const uint64_t *bytes = emulator_bytes(p->emulator);
    uint64_t saved = 0;
    size_t layers = 0;
    measured stored = {0, 0}, fused = {0, 0};
    bool *is = mem_calloc(count + 1, sizeof *is);
    size_t *nodes = mem_calloc(count + 1, sizeof *nodes);
    pgy_status st = is && nodes ? layers_half(is, p, PGY_F16, err) : search_no_memory(err);
    for (size_t i = 0; !st && i < count; i++) {
        if (!is[i]) continue;
        nodes[layers++] = i;
        saved += bytes[i] / 2;
    }
    if (!st && layers) {
        st = emulator_set_type(p->emulator, PGY_F16, NULL, nodes, layers, err);
        if (!st) st = measure_all(&stored, p, layers, EMULATE_STORED, err);
        if (!st) st = measure_all(&fused, p, layers, EMULATE_FUSED, err);
        if (!st)
            add_baseline(p, PGY_F16, fmax(stored.error, fused.error), p->summary.wide_bytes - saved,
                         layers);
    }
    mem_free(is);
    mem_free(nodes);
    return st;
}

static pgy_status compare_int8(pgy_precision *p, pgy_error *err)
{
    quantizer *q = NULL;
    quant_fit *f = NULL;
    measured m = {0, 0};
    pgy_status st = quantizer_create(&q, p, PGY_I8, err);
    if (st || !q->site_count) goto done;
    level *set = mem_calloc(q->site_count, sizeof *set);
    if (!set) {
        st = search_no_memory(err);
        goto done;
    }
    st = quant_observe(q, err);
    if (!st) st = quant_fit_create(&f, q, &PLAIN, err);
    if (!st) st = measure_fit(&m, q, f, err); /* q owns the fit from now on */
    for (size_t i = 0; i < q->site_count; i++) set[i] = LEVEL_FIRST;
    if (!st)
        add_baseline(p, PGY_I8, m.error, p->summary.wide_bytes - quantizer_saves(q, set),
                     q->site_count);
    mem_free(set);
done:
    quantizer_destroy(q); /* with its fit, which the emulator does not use any more */
    return st;
}

/* The search does not depend on the comparison, so only an interrupt ends it. */
static pgy_status tolerate(pgy_status st, const char *what, pgy_error *err)
{
    if (st && st != PGY_E_CANCELLED)
        LOG(WARNING, "There is no comparison with %s: %s", what, err->text);
    return st == PGY_E_CANCELLED ? st : PGY_OK;
}

pgy_status quant_compare(pgy_precision *p, pgy_error *err)
{
    pgy_error why = {0};
    pgy_status st = tolerate(compare_half(p, &why), "all layers in float16", &why);
    if (!st && !precision_is_explicit(p->graph))
        st = tolerate(compare_int8(p, &why), "all layers in int8", &why);
    return st ? pgy_error_set(err, st, "%s", why.text) : PGY_OK;
}
