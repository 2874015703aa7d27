/* SPDX-License-Identifier: Apache-2.0 */
/* The criteria. Each gives one number per set, of which less is better, so the search needs no
 * cases. A criterion is a row of CRITERIA. A script gets all samples of a set at once, so it can
 * compute an accuracy; inputs and references are sent to it only once. */
#include <math.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/progress.h"
#include "precision/precision.h"

enum { FLOOR_DRAWS = 8 };

typedef struct sides {
    const double *a, *b; /* reference, result */
    size_t count, row;   /* row: elements of the last axis */
    const char *name;
    const int64_t *shape;
    size_t rank;
} sides;

/* ---- Criteria ------------------------------------------------------------------------------- */

static pgy_status add_tolerance(judge *j, sides s, pgy_error *err)
{
    (void)err;
    for (size_t i = 0; i < s.count; i++) j->worst = fmax(j->worst, fabs(s.a[i] - s.b[i]));
    return PGY_OK;
}

static pgy_status add_snr(judge *j, sides s, pgy_error *err)
{
    (void)err;
    double signal = 0, noise = 0;
    for (size_t i = 0; i < s.count; i++) {
        signal += s.a[i] * s.a[i];
        noise += (s.a[i] - s.b[i]) * (s.a[i] - s.b[i]);
    }
    const double ratio = noise == 0 ? 0 : signal == 0 ? INFINITY : sqrt(noise / signal);
    j->worst = fmax(j->worst, ratio);
    return PGY_OK;
}

/* Counts the row as right if fewer than k elements exceed the one that the reference puts first. */
static pgy_status add_top_k(judge *j, sides s, pgy_error *err)
{
    (void)err;
    for (size_t r = 0; s.row && r + s.row <= s.count; r += s.row) {
        const double *a = s.a + r, *b = s.b + r;
        size_t first = 0;
        int64_t above = 0;
        for (size_t i = 1; i < s.row; i++)
            if (a[i] > a[first]) first = i;
        for (size_t i = 0; i < s.row; i++)
            above += b[i] > b[first] || (i < first && b[i] == b[first]);
        j->rows++;
        j->wrong += above >= j->p->options.k;
    }
    return PGY_OK;
}

static pgy_status add_floor(judge *j, sides s, pgy_error *err)
{
    pgy_floor_verdict v;
    const pgy_status st =
        pgy_floor_judge(&v, j->p->floor, s.name, pgy_view_of((void *)s.a, PGY_F64, s.rank, s.shape),
                        pgy_view_of((void *)s.b, PGY_F64, s.rank, s.shape), err);
    if (!st) j->worst = isnan(v.times) ? INFINITY : fmax(j->worst, v.times);
    return st;
}

/* The whole sample was sent already; see judge_add. */
static pgy_status add_nothing(judge *j, sides s, pgy_error *err)
{
    (void)j, (void)s, (void)err;
    return PGY_OK;
}

static double limit_as_given(double limit)
{
    return limit;
}
static double limit_of_snr(double limit)
{
    return pow(10, -limit / 20);
}
static double limit_of_share(double limit)
{
    return 1 - limit;
}

static const struct {
    pgy_status (*add)(judge *j, sides s, pgy_error *err);
    double (*limit)(double limit);
} CRITERIA[] = {
    [PGY_PRECISION_TOLERANCE] = {add_tolerance, limit_as_given},
    [PGY_PRECISION_SNR] = {add_snr, limit_of_snr},
    [PGY_PRECISION_TOP_K] = {add_top_k, limit_of_share},
    [PGY_PRECISION_FLOOR] = {add_floor, limit_as_given},
    [PGY_PRECISION_SCRIPT] = {add_nothing, limit_as_given},
};

pgy_status judge_options(const pgy_precision_options *o, pgy_error *err)
{
    const bool share = o->criterion == PGY_PRECISION_TOP_K;
    if (o->type != PGY_F16 && o->type != PGY_BF16 && o->type != PGY_I8 && o->type != PGY_F8E4M3FN)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'options.type' must be float16, bfloat16, int8 or float8e4m3fn");
    if (o->rest_type && o->rest_type != PGY_F16 && o->rest_type != PGY_BF16)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'options.rest_type' must be float16 or bfloat16, or not be set");
    if (o->rest_type && o->type != PGY_I8 && o->type != PGY_F8E4M3FN)
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "'options.rest_type' needs 'options.type' int8 or float8e4m3fn, but it "
            "is %s",
            pgy_dtype_name(o->type));
    if ((size_t)o->criterion >= sizeof CRITERIA / sizeof *CRITERIA)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'options.criterion': %d is no criterion",
                             (int)o->criterion);
    if (o->criterion == PGY_PRECISION_FLOOR && o->type != PGY_F16 && o->type != PGY_BF16)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'options.criterion': the noise floor is that of float16 or bfloat16; "
                             "choose another criterion for %s",
                             pgy_dtype_name(o->type));
    if (!isfinite(o->limit) || o->limit < 0 || (share && o->limit > 1))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'options.limit' is %g, but the criterion expects a number %s",
                             o->limit, share ? "from 0 to 1" : "of at least 0");
    if (share && o->k < 1)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'options.k' is %lld, but must be at least 1",
                             (long long)o->k);
    if (o->cost != PGY_PRECISION_BYTES && o->cost != PGY_PRECISION_TIME)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'options.cost': %d is no cost", (int)o->cost);
    if (o->criterion == PGY_PRECISION_SCRIPT && (!o->script || !*o->script))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'options.script' must name the script of the criterion");
    if (o->samples < 1)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'options.samples' is %lld, but must be at least 1",
                             (long long)o->samples);
    return PGY_OK;
}

double judge_limit(const pgy_precision_options *o)
{
    return CRITERIA[o->criterion].limit(o->limit);
}

/* ---- References ----------------------------------------------------------------------------- */

static bool all_finite(const double *v, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(v[i])) return false;
    return true;
}

pgy_status judge_reference(const pgy_tensor_map *reference, pgy_error *err)
{
    size_t elements = 0;
    for (size_t i = 0; i < pgy_tensor_map_count(reference); i++) {
        const char *name = pgy_tensor_map_name(reference, i);
        pgy_tensor *t = pgy_tensor_map_at(reference, i), *wide = NULL;
        const pgy_dtype_kind kind = pgy_dtype_describe(pgy_tensor_dtype(t))->kind;
        if (kind == PGY_KIND_STRING || kind == PGY_KIND_COMPLEX)
            return pgy_error_set(err, PGY_E_UNSUPPORTED,
                                 "output '%s' is of type %s, which no criterion can judge", name,
                                 pgy_dtype_name(pgy_tensor_dtype(t)));
        const pgy_status st = pgy_tensor_cast(&wide, pgy_tensor_view(t), PGY_F64, err);
        if (st) return st;
        const bool finite = all_finite(pgy_tensor_data(wide), pgy_tensor_count(wide));
        elements += pgy_tensor_count(wide);
        pgy_tensor_release(wide);
        if (!finite)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "output '%s' has NaN or infinities in float32 already: no error "
                                 "can be measured",
                                 name);
    }
    if (elements) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "the outputs of the model have no elements: no error can be measured");
}

/* ---- Preparing ------------------------------------------------------------------------------ */

static pgy_status send_samples(pgy_precision *p, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t s = 0; !st && s < p->summary.samples; s++) {
        char kind;
        st = python_ask(p->script, 's', err);
        if (!st) st = python_put_results(p->script, "inputs", NAN, p->samples[s], err);
        if (!st) st = python_put_results(p->script, "reference", NAN, p->references[s], err);
        if (!st) st = python_answer(&kind, p->script, err);
    }
    return st;
}

/* Measures the error that the type must cause where all layers have it. */
static pgy_status measure_floor(pgy_precision *p, pgy_error *err)
{
    const pgy_floor_options o = {.size = sizeof o, .assume = p->options.type, .draws = FLOOR_DRAWS};
    pgy_model *model = NULL;
    pgy_status st = pgy_graph_export(&model, p->graph, err);
    if (!st) st = pgy_floor_create(&p->floor, model, &o, err);
    progress_begin("samples of the noise floor", p->summary.samples);
    for (size_t s = 0; !st && s < p->summary.samples; s++) {
        st = pgy_floor_add(p->floor, p->samples[s], err);
        progress_advance(s + 1);
    }
    progress_end();
    pgy_model_destroy(model);
    return cancel_check_after(st, err);
}

static pgy_status check_floor(const pgy_precision *p, pgy_error *err)
{
    for (size_t i = 0; i < p->graph->output_count; i++) {
        const char *name = p->graph->outputs[i]->name;
        const pgy_floor_tensor *t = pgy_floor_find(p->floor, name);
        if (!t || t->unknown_why)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "output '%s' has no noise floor (%s): choose another criterion",
                                 name, t ? t->unknown_why : "it is not a float tensor");
    }
    return PGY_OK;
}

pgy_status judge_prepare(pgy_precision *p, pgy_error *err)
{
    if (p->options.criterion == PGY_PRECISION_SCRIPT) return send_samples(p, err);
    if (p->options.criterion != PGY_PRECISION_FLOOR) return PGY_OK;
    const pgy_status st = measure_floor(p, err);
    return st ? st : check_floor(p, err);
}

/* ---- Judging -------------------------------------------------------------------------------- */

static pgy_status add_output(judge *j, const char *name, pgy_tensor *a, pgy_tensor *b,
                             pgy_error *err)
{
    const pgy_view va = pgy_tensor_view(a), vb = pgy_tensor_view(b);
    pgy_tensor *wide_a = NULL, *wide_b = NULL;
    if (!pgy_view_same_shape(va, vb)) {
        j->worst = INFINITY;
        return PGY_OK;
    }
    pgy_status st = pgy_tensor_cast(&wide_a, va, PGY_F64, err);
    if (!st) st = pgy_tensor_cast(&wide_b, vb, PGY_F64, err);
    if (!st) {
        const sides s = {.a = pgy_tensor_data(wide_a),
                         .b = pgy_tensor_data(wide_b),
                         .count = pgy_tensor_count(wide_a),
                         .row = va.rank > 0 ? (size_t)va.shape[va.rank - 1] : 1,
                         .name = name,
                         .shape = va.shape,
                         .rank = (size_t)va.rank};
        if (all_finite(s.b, s.count))
            st = CRITERIA[j->p->options.criterion].add(j, s, err);
        else
            j->worst = INFINITY; /* fmax would drop a NaN */
    }
    pgy_tensor_release(wide_a);
    pgy_tensor_release(wide_b);
    return st;
}

static pgy_status send_result(const pgy_precision *p, size_t sample, const pgy_tensor_map *got,
                              pgy_error *err)
{
    const uint8_t index[4] = {(uint8_t)sample, (uint8_t)(sample >> 8), (uint8_t)(sample >> 16),
                              (uint8_t)(sample >> 24)};
    char kind;
    pgy_status st = python_ask(p->script, 'a', err);
    if (!st) st = python_put(p->script, index, sizeof index, err);
    if (!st) st = python_put_results(p->script, "result", NAN, got, err);
    if (!st) st = python_answer(&kind, p->script, err);
    return st;
}

pgy_status judge_add(judge *j, size_t sample, const pgy_tensor_map *got, pgy_error *err)
{
    const pgy_tensor_map *reference = j->p->references[sample];
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_tensor_map_count(reference); i++) {
        const char *name = pgy_tensor_map_name(reference, i);
        pgy_tensor *b = pgy_tensor_map_find(got, name);
        if (!b) return pgy_error_set(err, PGY_E_NOT_FOUND, "output '%s' is missing", name);
        st = add_output(j, name, pgy_tensor_map_at(reference, i), b, err);
    }
    return st || !j->p->script ? st : send_result(j->p, sample, got, err);
}

static pgy_status ask_script(double *error, const pgy_precision *p, pgy_error *err)
{
    char kind;
    pgy_status st = python_ask(p->script, 'j', err);
    if (!st) st = python_answer(&kind, p->script, err);
    if (!st) st = python_take(p->script, error, sizeof *error, err);
    return st ? pgy_error_prefix(
                    err, st, "'%s' of the criterion's script: ", python_script_symbol(p->script))
              : PGY_OK;
}

pgy_status judge_finish(double *error, const judge *j, pgy_error *err)
{
    double measured = j->worst;
    pgy_status st = j->p->script ? ask_script(&measured, j->p, err) : PGY_OK;
    if (st) return st;
    if (j->p->options.criterion == PGY_PRECISION_TOP_K)
        measured = j->rows ? (double)j->wrong / (double)j->rows : INFINITY;
    *error = isinf(j->worst) || isnan(measured) ? INFINITY : measured;
    return PGY_OK;
}
