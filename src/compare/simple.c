/* SPDX-License-Identifier: Apache-2.0 */
/* The function `simple`: absolute and relative differences against two tolerances, one of which
 * must hold, per element or for a statistic. Differences are never stored as arrays, except for the
 * values that the log shows. Integer differences are exact; a warning says when the original's wrap
 * around and change its verdict. Strings are compared for equality. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/pytext.h"
#include "compare/compare.h"
#include "compare/judge.h"
#include "compare/plots.h"
#include "compare/stats.h"

static const char LOG_PATH[] = "comparator/compare.py";

static const double DEFAULT_TOLERANCE = 1e-5, DEFAULT_QUANTILE = 0.99;

typedef struct simple_run {
    const compare_job *job;
    pgy_tensor *a, *b;               /* equal shapes */
    pgy_tensor *narrow_a, *narrow_b; /* in types that sources accept */
    source s;
    pgy_error_stat stat;
    double quantile;
    bool whole_quantile; /* the quantile was given as an integer: NumPy then takes an element
                            without interpolation */
    array_stats stats[ARITH_STREAMS];
    pair_counts counts;
} simple_run;

static void log_tolerance(const simple_run *run)
{
    str line = {0};
    str_append(&line, "Tolerance: [abs=");
    str_append_g(&line, 5, run->s.options.atol.real);
    str_append(&line, ", rel=");
    str_append_g(&line, 5, run->s.options.rtol.real);
    LOG(INFO, "%s] | Checking %s error", str_text(&line), pgy_error_stat_name(run->stat));
    str_deinit(&line);
}

static pgy_status log_array(const compare_side *side, const pgy_tensor *t, pgy_error *err)
{
    if (!LOG_IS_ON(SUPER_VERBOSE)) return PGY_OK;
    str line = {0};
    str_printf(&line, "%-35s | Output: %s ", side->runner, side->output);
    compare_describe(&line, t);
    str_append(&line, ":\n");
    pgy_status st = compare_array_text(&line, 4, pgy_tensor_view(t), err);
    if (!st) LOG(SUPER_VERBOSE, "%s", str_text(&line));
    str_deinit(&line);
    return st;
}

/* ---- What differs, element by element (EXTRA_VERBOSE and up)
 * ----------------------------------------- */

/* Positions of the first `count` elements that are out of tolerance. */
static pgy_status find_mismatches(size_t *positions, size_t count, const source *s, pgy_error *err)
{
    block *b = mem_alloc_aligned(64, sizeof *b);
    if (!b) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while listing mismatches");
    size_t found = 0;
    for (size_t i = 0; i < s->count && found < count; i += ARITH_BLOCK) {
        size_t n = s->count - i < ARITH_BLOCK ? s->count - i : ARITH_BLOCK;
        b->counts = (pair_counts){0};
        source_fill(s, i, n, b);
        if (!b->counts.mismatched) continue;
        for (size_t k = i; k < i + n && found < count; k++) {
            b->counts.mismatched = 0;
            source_fill(s, k, 1, b);
            if (b->counts.mismatched) positions[found++] = k;
        }
    }
    mem_free(b);
    return PGY_OK;
}

static pgy_status log_indices(const size_t *positions, size_t count, const pgy_tensor *t,
                              pgy_error *err)
{
    size_t rank = pgy_tensor_rank(t);
    const int64_t *shape = pgy_tensor_shape(t);
    pgy_tensor *indices = NULL;
    str text = {0};
    pgy_status st =
        pgy_tensor_create(&indices, PGY_I64, 2, (int64_t[]){(int64_t)count, (int64_t)rank}, err);
    if (st) return st;
    int64_t *to = pgy_tensor_data(indices);
    for (size_t i = 0; i < count; i++) {
        size_t at = positions[i];
        for (size_t k = rank; k-- > 0;) {
            to[i * rank + k] = (int64_t)(at % (size_t)shape[k]);
            at /= (size_t)shape[k];
        }
    }
    st = compare_array_text(&text, 0, pgy_tensor_view(indices), err);
    if (!st) LOG(SUPER_VERBOSE, "Mismatched indices:\n%s", str_text(&text));
    str_deinit(&text);
    pgy_tensor_release(indices);
    return st;
}

static pgy_status log_values(const size_t *positions, size_t count, const compare_side *side,
                             const pgy_tensor *t, pgy_error *err)
{
    size_t bytes = pgy_dtype_describe(pgy_tensor_dtype(t))->bits / 8;
    pgy_tensor *values = NULL;
    str text = {0};
    if (bytes == 0) return PGY_OK; /* packed types have no element addresses */
    pgy_status st =
        pgy_tensor_create(&values, pgy_tensor_dtype(t), 1, (int64_t[]){(int64_t)count}, err);
    if (st) return st;
    for (size_t i = 0; i < count; i++)
        memcpy((char *)pgy_tensor_data(values) + i * bytes,
               (char *)pgy_tensor_data(t) + positions[i] * bytes, bytes);
    st = compare_array_text(&text, 0, pgy_tensor_view(values), err);
    if (!st) LOG(EXTRA_VERBOSE, "%-35s | Mismatched values:\n%s", side->runner, str_text(&text));
    str_deinit(&text);
    pgy_tensor_release(values);
    return st;
}

static pgy_status log_mismatches(const simple_run *run, pgy_error *err)
{
    if (run->stat != PGY_STAT_ELEMWISE || !LOG_IS_ON(EXTRA_VERBOSE)) return PGY_OK;
    size_t count = run->counts.mismatched;
    size_t *positions = mem_calloc(count + 1, sizeof *positions);
    if (!positions)
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory while listing %zu mismatches",
                             count);
    pgy_status st = find_mismatches(positions, count, &run->s, err);
    pgy_log_indent(1);
    if (!st && LOG_IS_ON(SUPER_VERBOSE)) st = log_indices(positions, count, run->a, err);
    if (!st) st = log_values(positions, count, &run->job->a, run->a, err);
    if (!st) st = log_values(positions, count, &run->job->b, run->b, err);
    pgy_log_indent(-1);
    mem_free(positions);
    return st;
}

/* ---- Metrics
 * ----------------------------------------------------------------------------------------- */

static stats_request wanted(const simple_run *run)
{
    stats_request r = {.median = true};
    if (LOG_IS_ON(INFO)) r = stats_request_line();
    if (run->stat == PGY_STAT_QUANTILE) {
        r.quantiles[3] = run->quantile;
        r.quantile_count = 4;
        r.whole_quantile = run->whole_quantile;
        if (!LOG_IS_ON(INFO)) r.quantiles[0] = r.quantiles[1] = r.quantiles[2] = run->quantile;
    }
    return r;
}

static void set_metrics(pgy_verdict *v, const simple_run *run)
{
    const array_stats *d = &run->stats[0], *r = &run->stats[1];
    v->has_metrics = true;
    v->verified = true;
    v->stat = run->stat;
    v->atol = run->s.options.atol;
    v->rtol = run->s.options.rtol;
    v->max_absdiff = d->max;
    v->max_reldiff = r->max;
    v->mean_absdiff = d->mean;
    v->mean_reldiff = r->mean;
    v->median_absdiff = d->median;
    v->median_reldiff = r->median;
    v->has_quantile = run->stat == PGY_STAT_QUANTILE;
    if (v->has_quantile) {
        v->quantile_absdiff = d->quantiles[3];
        v->quantile_reldiff = r->quantiles[3];
    }
    v->passed = run->counts.mismatched == 0;
    verdict_judge(v);
}

/* Warns if wrapped integers give another verdict in the original. */
static pgy_status warn_wrapped(const pgy_verdict *v, const simple_run *run, pgy_error *err)
{
    if (!run->counts.wrapped) return PGY_OK;
    simple_run other = *run;
    pgy_verdict verdict = {.kind = PGY_COMPARE_SIMPLE};
    pair_options options = run->s.options;
    options.wrap = !options.wrap;
    other.s = source_pair(pgy_tensor_view(run->narrow_a), pgy_tensor_view(run->narrow_b), &options);
    stats_request request = {.median = true};
    if (run->stat == PGY_STAT_QUANTILE) {
        request.quantile_count = 4;
        request.whole_quantile = run->whole_quantile;
        for (int i = 0; i < 4; i++) request.quantiles[i] = run->quantile;
    }
    pgy_status st = stats_compute(other.stats, &other.counts, &other.s, &request, err);
    if (st) return st;
    set_metrics(&verdict, &other);
    if (verdict.passed == v->passed) return PGY_OK;
    LOG(WARNING,
        "Output: '%s' | The original computes %zu integer difference(s) inexactly (it wraps around "
        "or rounds): its verdict is %s, but the exact differences mean %s.%s",
        run->job->a.output, run->counts.wrapped,
        (options.wrap ? verdict.passed : v->passed) ? "PASSED" : "FAILED",
        (options.wrap ? v->passed : verdict.passed) ? "PASSED" : "FAILED",
        run->job->compat ? " The original's verdict counts." : "");
    return PGY_OK;
}

static void log_required(const pgy_verdict *v, const simple_run *run)
{
    const double absolute[] = {v->max_absdiff, v->max_absdiff, v->mean_absdiff, v->median_absdiff,
                               v->quantile_absdiff};
    const double relative[] = {v->max_reldiff, v->max_reldiff, v->mean_reldiff, v->median_reldiff,
                               v->quantile_reldiff};
    str line = {0};
    str_printf(&line,
               "Minimum Required Tolerance: %s error | [abs=", pgy_error_stat_name(run->stat));
    str_append_g(&line, 5, absolute[run->stat]);
    str_append(&line, "] OR [rel=");
    str_append_g(&line, 5, relative[run->stat]);
    str_append_char(&line, ']');
    if (run->stat == PGY_STAT_ELEMWISE)
        str_append(&line, " (requirements may be lower if both abs/rel tolerances are set)");
    if (run->stat == PGY_STAT_QUANTILE) {
        str_append(&line, " (quantile=");
        str_append_g(&line, 4, run->quantile);
        str_append_char(&line, ')');
    }
    LOG(INFO, "%s", str_text(&line));
    str_deinit(&line);
}

static pgy_status log_metrics(const pgy_verdict *v, const simple_run *run, pgy_error *err)
{
    static const char *const PREFIXES[] = {"Absolute Difference | Stats: ",
                                           "Relative Difference | Stats: "};
    pgy_status st = PGY_OK;
    LOG(INFO, "Error Metrics: %s", run->job->a.output);
    pgy_log_indent(1);
    log_required(v, run);
    for (size_t i = 0; i < ARITH_STREAMS && !st; i++) {
        stats_place place = {
            PREFIXES[i], &run->s, i,   pgy_tensor_rank(run->a), pgy_tensor_shape(run->a),
            !v->passed,  {0},     NULL};
        st = stats_log(&place, &run->stats[i], err);
    }
    pgy_log_indent(-1);
    return st;
}

static void log_verdict(const simple_run *run, bool passed)
{
    const compare_job *job = run->job;
    str rtol = {0}, atol = {0}, a = {0}, b = {0};
    compare_number_text(&rtol, run->s.options.rtol);
    compare_number_text(&atol, run->s.options.atol);
    compare_describe(&a, run->a);
    compare_describe(&b, run->b);
    LOG(EXTRA_VERBOSE, "Finished comparing: '%s' %s [%s] and '%s' %s [%s]", job->a.output,
        str_text(&a), job->a.runner, job->b.output, str_text(&b), job->b.runner);
    if (passed)
        LOG(FINISH, "PASSED | Output: '%s' | Difference is within tolerance (rel=%s, abs=%s)",
            job->a.output, str_text(&rtol), str_text(&atol));
    else
        LOG(ERROR, "FAILED | Output: '%s' | Difference exceeds tolerance (rel=%s, abs=%s)",
            job->a.output, str_text(&rtol), str_text(&atol));
    str_deinit(&rtol);
    str_deinit(&atol);
    str_deinit(&a);
    str_deinit(&b);
}

static pgy_status compare_numbers(pgy_verdict *v, simple_run *run, pgy_error *err)
{
    pair_options options = run->s.options;
    stats_request request = wanted(run);
    pgy_status st = arith_compact(&run->narrow_a, run->a, err);
    if (!st) st = arith_compact(&run->narrow_b, run->b, err);
    if (!st) st = log_array(&run->job->a, run->a, err);
    if (!st) st = log_array(&run->job->b, run->b, err);
    if (st) return st;
    run->s = source_pair(pgy_tensor_view(run->narrow_a), pgy_tensor_view(run->narrow_b), &options);
    st = stats_compute(run->stats, &run->counts, &run->s, &request, err);
    if (st) return st;
    if (run->counts.zeros)
        LOG_ONCE(WARNING,
                 "%-35s | Output: %s: Some values are 0. Will add a small epsilon quantity to "
                 "these when computing "
                 "relative difference. Note that this may cause some relative differences to be "
                 "extremely high. ",
                 run->job->b.runner, run->job->b.output);
    set_metrics(v, run);
    st = log_mismatches(run, err);
    if (!st) st = log_metrics(v, run, err);
    if (!st) st = warn_wrapped(v, run, err);
    if (!st) st = plots_draw(run->job, &run->s, run->stats, pgy_tensor_view(run->narrow_b), err);
    if (!st) log_verdict(run, v->passed);
    return st;
}

/* Strings have no numeric difference; they are only equal or not. */
static void compare_strings(pgy_verdict *v, const simple_run *run)
{
    size_t count = pgy_tensor_count(run->a), unequal = 0;
    bool both = pgy_tensor_dtype(run->a) == PGY_STRING && pgy_tensor_dtype(run->b) == PGY_STRING;
    const pgy_string *a = pgy_tensor_data(run->a), *b = pgy_tensor_data(run->b);
    for (size_t i = 0; both && i < count; i++)
        unequal += a[i].size != b[i].size || memcmp(a[i].data, b[i].data, a[i].size) != 0;
    v->verified = true;
    v->passed = both && unequal == 0;
    if (v->passed)
        LOG(FINISH, "PASSED | Output: '%s' | All %zu string(s) are equal", run->job->a.output,
            count);
    else if (both)
        LOG(ERROR, "FAILED | Output: '%s' | %zu of %zu string(s) differ", run->job->a.output,
            unequal, count);
    else
        LOG(ERROR, "FAILED | Output: '%s' | Cannot compare strings with numbers (%s with %s)",
            run->job->a.output, pgy_dtype_name(pgy_tensor_dtype(run->a)),
            pgy_dtype_name(pgy_tensor_dtype(run->b)));
}

pgy_status simple_compare(pgy_verdict *v, const compare_job *job, pgy_error *err)
{
    const pgy_compare_options *o = &job->compare->options;
    simple_run run = {.job = job};
    bool same;
    run.stat = compare_stat(job->compare, job->a.output, job_partner(job));
    pgy_number quantile = compare_number(&o->quantile, job->a.output, job_partner(job),
                                         compare_real(DEFAULT_QUANTILE));
    run.quantile = quantile.real;
    run.whole_quantile = quantile.is_integer;
    run.s.options.rtol =
        compare_number(&o->rtol, job->a.output, job_partner(job), compare_real(DEFAULT_TOLERANCE));
    run.s.options.atol =
        compare_number(&o->atol, job->a.output, job_partner(job), compare_real(DEFAULT_TOLERANCE));
    run.s.options.infinities_equal = o->infinities_compare_equal;
    run.s.options.wrap = job->compat;
    v->stat = run.stat;
    v->atol = run.s.options.atol;
    v->rtol = run.s.options.rtol;
    log_tolerance(&run);
    LOG(EXTRA_VERBOSE, "Note: Comparing %s vs. %s", job->a.runner, job->b.runner);
    pgy_status st = compare_match_shapes(&same, &run.a, &run.b, job, err);
    if (st || !same) goto done;
    if (pgy_tensor_dtype(run.a) == PGY_STRING || pgy_tensor_dtype(run.b) == PGY_STRING)
        compare_strings(v, &run);
    else
        st = compare_numbers(v, &run, err);
done:
    pgy_tensor_release(run.a);
    pgy_tensor_release(run.b);
    pgy_tensor_release(run.narrow_a);
    pgy_tensor_release(run.narrow_b);
    return st;
}
