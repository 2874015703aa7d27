/* SPDX-License-Identifier: Apache-2.0 */
/* Figures for other programs (--report, --json), and the comparison with an earlier report. */
#include "cli/trtexec/report.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/printable.h"

static const char LOG_PATH[] = "cli/trtexec/report.c";

/* "5%" or "5" */
static pgy_status read_limit(double *out, const char *text, pgy_error *err)
{
    str number = {0};
    const size_t size = strlen(text);
    str_append_n(&number, text, size && text[size - 1] == '%' ? size - 1 : size);
    const pgy_status st = trtexec_real(out, str_text(&number), "--failOnRegression", 0, err);
    str_deinit(&number);
    *out /= 100;
    return st;
}

pgy_status report_options(trtexec_session *s, pgy_error *err)
{
    const trtexec_args *a = s->a;
    double limit = 0;
    uint64_t bytes = 0;
    const char *path = NULL;
    if (a->fail_on_regression && !a->compare)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--failOnRegression needs an earlier report; give --compare=FILE");
    pgy_status st = a->fail_on_regression ? read_limit(&limit, a->fail_on_regression, err) : PGY_OK;
    if (st || !a->compare) return st;
    st = trtexec_path(&path, a->compare, &s->line->memory, err);
    return st ? st : file_size(&bytes, path, err); /* it must not be missing after the loop */
}

static pgy_status keep_limit(const trtexec_session *s, const pgy_bench_verdict *v, pgy_error *err)
{
    double limit = 0;
    if (!s->a->fail_on_regression) return PGY_OK;
    const pgy_status st = read_limit(&limit, s->a->fail_on_regression, err);
    if (st) return st;
    if (v->low > 0 && v->effect >= limit)
        return pgy_error_set(err, PGY_E_BACKEND,
                             "--failOnRegression: the latency has grown by %.2f %%; less than "
                             "%.2f %% is allowed",
                             v->effect * 100, limit * 100);
    if (v->high > limit)
        LOG(WARNING,
            "A regression of %.2f %% is not shown, and not ruled out either; measure longer",
            limit * 100);
    return PGY_OK;
}

static pgy_status compare(trtexec_session *s, const pgy_perf_trace *t, pgy_error *err)
{
    pgy_bench_verdict v;
    const char *path = NULL;
    char *text = NULL;
    pgy_status st = trtexec_path(&path, s->a->compare, &s->line->memory, err);
    if (!st) st = pgy_perf_summary_compare(&v, t, path, err);
    if (st) return pgy_error_prefix(err, st, "--compare: ");
    st = pgy_bench_verdict_text(&text, &v, "this run", printable_name(path), err);
    if (!st) LOG(INFO, "=== Comparison ===\nLatency: %s", text);
    pgy_text_free(text);
    return st ? st : keep_limit(s, &v, err);
}

pgy_status report_figures(trtexec_session *s, const pgy_perf_trace *t,
                          const pgy_perf_profile *profile, pgy_error *err)
{
    const pgy_perf_summary summary = {.size = sizeof summary,
                                      .command_line = s->line->command,
                                      .percentiles = s->percentiles,
                                      .percentile_count = s->percentile_count,
                                      .streams = s->loop.streams,
                                      .engine_s = s->engine_s,
                                      .plan_bytes = s->plan_bytes,
                                      .profile = profile};
    const char *path = NULL;
    char *text = NULL;
    pgy_error why = {0};
    const pgy_status compared = s->a->compare ? compare(s, t, &why) : PGY_OK;
    pgy_status st = PGY_OK;
    if (s->a->report) st = trtexec_path(&path, s->a->report, &s->line->memory, err);
    if (!st && path) st = pgy_perf_summary_save(path, t, &summary, err);
    if (!st && s->a->json) st = pgy_perf_summary_text(&text, t, &summary, err);
    if (text) puts(text);
    pgy_text_free(text);
    if (!st && compared) return pgy_error_set(err, compared, "%s", why.text);
    return st;
}
