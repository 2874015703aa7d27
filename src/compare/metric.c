/* SPDX-License-Identifier: Apache-2.0 */
/* Functions with one number per output: L2 norm, cosine similarity, PSNR and SNR. LPIPS needs a
 * neural network that this library does not have, so it fails with a message that says so. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/pytext.h"
#include "compare/compare.h"
#include "compare/judge.h"
#include "compare/metric_sums.h"

static const char LOG_PATH[] = "comparator/compare.py";

/* ---- The numbers
 * ------------------------------------------------------------------------------------- */

static double cosine(const metric_sums *t)
{
    double a = sqrt(t->aa), b = sqrt(t->bb);
    if (a == 0 && b == 0) return 1;
    if (a == 0 || b == 0) return 0;
    double c = t->ab / (a * b);
    return c > 1 ? 1 : c < -1 ? -1 : c;
}

static double psnr(const metric_sums *t, double n)
{
    double mse = t->mean_dd / n, high = t->high;
    if (n == 0) return NAN;
    if (mse == 0) return INFINITY;
    if (high <= 0) high = 1;
    return 20 * log10(high) - 10 * log10(mse);
}

static double snr(const metric_sums *t, double n)
{
    double noise = t->mean_dd / n, signal = t->mean_aa / n;
    if (n == 0) return NAN;
    if (noise == 0) return INFINITY;
    if (signal == 0) return -INFINITY;
    return 10 * log10(signal / noise);
}

static double metric_value(pgy_compare_kind kind, const metric_sums *t, size_t count)
{
    switch (kind) {
    case PGY_COMPARE_L2: return sqrt(t->dd);
    case PGY_COMPARE_COSINE_SIMILARITY: return cosine(t);
    case PGY_COMPARE_PSNR: return psnr(t, (double)count);
    default: return snr(t, (double)count);
    }
}

static pgy_status compute(double *out, pgy_compare_kind kind, const pgy_tensor *a,
                          const pgy_tensor *b, bool wrap, pgy_error *err)
{
    metric_sums t;
    const pgy_status st = metric_sums_take(&t, a, b, wrap, err);
    if (!st) *out = metric_value(kind, &t, pgy_tensor_count(a));
    return st;
}

/* ---- Text
 * -------------------------------------------------------------------------------------------- */

/* Prints the fewest digits, but at least 5, that make value and threshold differ. */
static void append_pair(str *value, str *threshold, double v, double t)
{
    for (int digits = 5; digits <= 17; digits++) {
        str_clear(value);
        str_clear(threshold);
        str_append_g(value, digits, v);
        str_append_g(threshold, digits, t);
        if (v == t || strcmp(str_text(value), str_text(threshold))) return;
    }
}

void metric_line(str *out, const pgy_verdict *v)
{
    const compare_kind_row *row = compare_kind_find(v->kind);
    str value = {0}, threshold = {0};
    append_pair(&value, &threshold, v->metric, v->threshold.real);
    str_printf(out, "%s: %s%s (%s: %s%s) | %s", row->label,
               v->verified ? str_text(&value) : "not verified", v->verified ? row->unit : "",
               row->bound, str_text(&threshold), row->unit, v->passed ? "PASSED" : "FAILED");
    str_deinit(&value);
    str_deinit(&threshold);
}

static void log_line(const pgy_verdict *v)
{
    str line = {0};
    metric_line(&line, v);
    pgy_log_write(v->passed ? PGY_LOG_FINISH : PGY_LOG_ERROR, LOG_PATH, __LINE__, "%s",
                  str_text(&line));
    str_deinit(&line);
}

/* ---- Comparing
 * --------------------------------------------------------------------------------------- */

static void refuse_lpips(pgy_verdict *v, const compare_job *job)
{
    v->has_metrics = true;
    v->verified = false;
    v->metric = NAN;
    v->passed = job->compat;
    if (job->compat)
        LOG(WARNING,
            "LPIPS needs torch and the lpips package and was not computed for output '%s'; as the "
            "original does, this "
            "output is treated as a PASS, so its accuracy was NOT verified.",
            job->a.output);
    else
        LOG(ERROR,
            "FAILED | Output: '%s' | LPIPS needs torch and the lpips package and was not verified",
            job->a.output);
}

static pgy_status warn_wrapped(const pgy_verdict *v, const compare_job *job, const pgy_tensor *a,
                               const pgy_tensor *b, pgy_error *err)
{
    if (!pgy_dtype_is_integer(pgy_tensor_dtype(a)) && !pgy_dtype_is_integer(pgy_tensor_dtype(b)))
        return PGY_OK;
    pgy_verdict other = *v;
    pgy_status st = compute(&other.metric, v->kind, a, b, !job->compat, err);
    if (st) return st;
    verdict_judge(&other);
    if (other.passed == v->passed) return PGY_OK;
    const pgy_verdict *exact = job->compat ? &other : v, *original = job->compat ? v : &other;
    LOG(WARNING,
        "Output: '%s' | Integers overflow in the original's %s: the original's verdict is %s, but "
        "the exact value %g means %s.%s",
        job->a.output, compare_kind_find(v->kind)->label, original->passed ? "PASSED" : "FAILED",
        exact->metric, exact->passed ? "PASSED" : "FAILED",
        job->compat ? " The original's verdict counts." : "");
    return PGY_OK;
}

/* Converts both sides to types that the sums accept. Complex numbers are compared only with complex
 * numbers of the same width. */
static pgy_status narrow(pgy_tensor **x, pgy_tensor **y, pgy_tensor *a, pgy_tensor *b,
                         pgy_error *err)
{
    if (metric_is_complex(a) || metric_is_complex(b)) {
        pgy_status st = pgy_tensor_cast(x, pgy_tensor_view(a), PGY_C128, err);
        return st ? st : pgy_tensor_cast(y, pgy_tensor_view(b), PGY_C128, err);
    }
    pgy_status st = arith_compact(x, a, err);
    return st ? st : arith_compact(y, b, err);
}

pgy_status metric_of(double *out, pgy_compare_kind kind, pgy_tensor *a, pgy_tensor *b,
                     pgy_error *err)
{
    pgy_tensor *x = NULL, *y = NULL;
    pgy_status st = narrow(&x, &y, a, b, err);
    if (!st) st = compute(out, kind, x, y, false, err);
    pgy_tensor_release(x);
    pgy_tensor_release(y);
    return st;
}

pgy_status metric_compare(pgy_verdict *v, const compare_job *job, pgy_error *err)
{
    const pgy_compare_options *o = &job->compare->options;
    pgy_tensor *a = NULL, *b = NULL, *x = NULL, *y = NULL;
    bool same;
    v->kind = o->kind;
    v->verified = true;
    v->threshold = compare_number(&o->threshold, job->a.output, job_partner(job),
                                  compare_real(compare_kind_find(o->kind)->threshold));
    LOG(EXTRA_VERBOSE, "Note: Comparing %s vs. %s", job->a.runner, job->b.runner);
    pgy_status st = compare_match_shapes(&same, &a, &b, job, err);
    if (st || !same) goto done;
    if (o->kind == PGY_COMPARE_LPIPS) {
        refuse_lpips(v, job);
        goto done;
    }
    if (pgy_tensor_dtype(a) == PGY_STRING || pgy_tensor_dtype(b) == PGY_STRING) {
        LOG(ERROR, "FAILED | Output: '%s' | Strings have no %s", job->a.output,
            compare_kind_find(o->kind)->label);
        goto done;
    }
    st = narrow(&x, &y, a, b, err);
    if (!st) st = compute(&v->metric, o->kind, x, y, job->compat, err);
    if (st) goto done;
    v->has_metrics = true;
    verdict_judge(v);
    log_line(v);
    st = warn_wrapped(v, job, x, y, err);
done:
    pgy_tensor_release(a);
    pgy_tensor_release(b);
    pgy_tensor_release(x);
    pgy_tensor_release(y);
    return st;
}
