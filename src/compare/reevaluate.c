/* SPDX-License-Identifier: Apache-2.0 */
/* Judges saved metrics by other thresholds. Each comparison function picks the first saved
 * comparison that has its metric and was not picked yet. A request that the saved metrics cannot
 * answer is an error. So is one that judges no saved comparison, because that must not look like a
 * pass. */
#include "base/alloc.h"
#include "base/log.h"
#include "base/pytext.h"
#include "compare/compare.h"
#include "compare/judge.h"

static const char LOG_PATH[] = "comparator/struct.py";

static bool has_threshold(pgy_compare_kind kind)
{
    return kind == PGY_COMPARE_SIMPLE || compare_kind_find(kind)->has_metric;
}

/* Names of the metrics in the original's notation. */
static const char *metric_names(pgy_compare_kind kind)
{
    static const char SIMPLE[] =
        "['max_absdiff', 'max_reldiff', 'mean_absdiff', 'mean_reldiff', 'median_absdiff', "
        "'median_reldiff', 'quantile_absdiff', 'quantile_reldiff']";
    static const char *const NAMES[] = {
        [PGY_COMPARE_SIMPLE] = SIMPLE,
        [PGY_COMPARE_INDICES] = "[]",
        [PGY_COMPARE_L2] = "['l2_norm']",
        [PGY_COMPARE_COSINE_SIMILARITY] = "['cosine_similarity']",
        [PGY_COMPARE_PSNR] = "['psnr']",
        [PGY_COMPARE_SNR] = "['snr']",
        [PGY_COMPARE_LPIPS] = "['lpips']",
        [PGY_COMPARE_CALLBACK] = "[]",
    };
    return NAMES[kind];
}

/* ---- One verdict ---- */

static pgy_status judge_simple(pgy_verdict *v, const pgy_compare *c, pgy_error *err)
{
    const pgy_compare_options *o = &c->options;
    v->stat = compare_stat(c, v->output, NULL);
    v->atol = compare_number(&o->atol, v->output, NULL, compare_real(1e-5));
    v->rtol = compare_number(&o->rtol, v->output, NULL, compare_real(1e-5));
    if (v->stat == PGY_STAT_ELEMWISE)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "output '%s': 'elemwise' compares each element, but saved metrics "
                             "have no elements. Choose compare.stats max, mean, median or "
                             "quantile, or compare saved outputs again (run.load_outputs).",
                             v->output);
    if (v->stat == PGY_STAT_QUANTILE && !v->has_quantile)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "output '%s': the quantile of the errors was not saved. Choose "
                             "compare.stats max, mean or median.",
                             v->output);
    return PGY_OK;
}

static pgy_status judge(pgy_verdict *v, const pgy_compare *c, pgy_error *err)
{
    pgy_compare_kind kind = compare_kind(c);
    if (!v->has_metrics || v->kind != kind)
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "output '%s' has no saved metrics %s to judge (its shapes differed, or another "
            "function compared it). Compare saved outputs again instead (run.load_outputs).",
            v->output, metric_names(kind));
    pgy_status st = PGY_OK;
    if (kind == PGY_COMPARE_SIMPLE)
        st = judge_simple(v, c, err);
    else
        v->threshold = compare_number(&c->options.threshold, v->output, NULL,
                                      compare_real(compare_kind_find(kind)->threshold));
    if (!st) verdict_judge(v);
    return st;
}

/* ---- One function ---- */

static pgy_status judge_iteration(pgy_verdicts *to, const pgy_verdicts *from, const pgy_compare *c,
                                  pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_verdicts_count(from); i++) {
        pgy_verdict v = *pgy_verdicts_at(from, i);
        st = judge(&v, c, err);
        if (!st) st = verdicts_put(to, &v, err);
    }
    return st;
}

/* Fails where averages cannot be formed. The means themselves are formed again whenever somebody
 * asks for the verdict, which would then only say that an output failed. */
static pgy_status need_averages(const pgy_accuracy *a, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t pair = 0; !st && pair < pgy_accuracy_pair_count(a); pair++) {
        pgy_verdicts *means = NULL;
        st = verdicts_create(&means, err);
        if (!st) st = accuracy_average(means, a, pair, err);
        verdicts_destroy(means);
    }
    return st;
}

static pgy_status judge_function(pgy_accuracy_results *out, const pgy_accuracy *from,
                                 const pgy_compare *c, bool average, pgy_error *err)
{
    pgy_accuracy *to;
    pgy_status st = accuracy_add(&to, out, compare_kind(c), average, err);
    for (size_t pair = 0; !st && pair < pgy_accuracy_pair_count(from); pair++) {
        const char *first, *second;
        size_t index;
        pgy_accuracy_pair(from, pair, &first, &second);
        st = accuracy_add_pair(&index, to, first, second, err);
        for (size_t i = 0; !st && i < pgy_accuracy_iteration_count(from, pair); i++) {
            pgy_verdicts *verdicts;
            st = accuracy_add_iteration(&verdicts, to, index, err);
            if (!st) st = judge_iteration(verdicts, pgy_accuracy_at(from, pair, i), c, err);
        }
    }
    return st || !average ? st : need_averages(to, err);
}

/* ---- All functions ---- */

/* The first saved comparison of this kind that was not picked yet; count if all were. */
static size_t pick(const pgy_accuracy_results *r, const bool *picked, pgy_compare_kind kind)
{
    size_t i = 0, count = pgy_accuracy_results_count(r);
    while (i < count && (picked[i] || pgy_accuracy_kind(pgy_accuracy_results_at(r, i)) != kind))
        i++;
    return i;
}

static pgy_status judge_all(pgy_accuracy_results *out, bool *picked, const pgy_accuracy_results *r,
                            const pgy_compare *const *comparisons, size_t count, bool average,
                            pgy_error *err)
{
    for (size_t i = 0; i < count; i++) {
        pgy_compare_kind kind = compare_kind(comparisons[i]);
        if (!has_threshold(kind)) continue;
        size_t at = pick(r, picked, kind);
        if (at == pgy_accuracy_results_count(r))
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "No saved comparison has the metrics %s that '%s' needs.",
                                 metric_names(kind), compare_kind_find(kind)->name);
        picked[at] = true;
        pgy_status st =
            judge_function(out, pgy_accuracy_results_at(r, at), comparisons[i], average, err);
        if (st) return st;
    }
    if (pgy_accuracy_results_count(out)) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "None of the requested functions has a threshold, so no saved comparison "
                         "would be judged. Choose at least one of simple, l2, "
                         "cosine_similarity, psnr, snr and perceptual_metrics.");
}

pgy_status pgy_accuracy_reevaluate(pgy_accuracy_results **out, const pgy_accuracy_results *r,
                                   const pgy_compare *const *comparisons, size_t count,
                                   bool average, pgy_error *err)
{
    size_t saved = pgy_accuracy_results_count(r);
    pgy_accuracy_results *judged = NULL;
    pgy_status st = accuracy_expect_all(r, err);
    if (st) return st;
    bool *picked = mem_calloc(saved + 1, sizeof *picked);
    st = picked ? accuracy_results_create(&judged, err)
                : pgy_error_set(err, PGY_E_MEMORY, "out of memory while judging again");
    if (!st) st = judge_all(judged, picked, r, comparisons, count, average, err);
    for (size_t i = 0; !st && i < pgy_accuracy_results_failure_count(r); i++)
        if (!accuracy_add_failure(judged, pgy_accuracy_results_failure(r, i)))
            st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while judging again");
    if (st) goto done;
    for (size_t i = 0; i < saved; i++)
        if (!picked[i])
            LOG(INFO,
                "Ignoring saved comparison with metric fields %s: no matching threshold was "
                "requested.",
                metric_names(pgy_accuracy_kind(pgy_accuracy_results_at(r, i))));
    *out = judged;
    judged = NULL;
done:
    pgy_accuracy_results_destroy(judged);
    mem_free(picked);
    return st;
}
