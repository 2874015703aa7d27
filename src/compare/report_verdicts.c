/* SPDX-License-Identifier: Apache-2.0 */
/* What the formats of a report share: visits to all verdicts, and their description. */
#include "compare/report.h"

void report_each(const run_facts *facts, report_visit each, void *user)
{
    for (size_t f = 0; facts->compared && f < pgy_accuracy_results_count(facts->accuracy); f++) {
        const pgy_accuracy *a = pgy_accuracy_results_at(facts->accuracy, f);
        for (size_t p = 0; p < pgy_accuracy_pair_count(a); p++)
            for (size_t i = 0; i < pgy_accuracy_iteration_count(a, p); i++) {
                const pgy_verdicts *v = pgy_accuracy_at(a, p, i);
                for (size_t k = 0; k < pgy_verdicts_count(v); k++)
                    each(user, a, p, i, pgy_verdicts_at(v, k));
            }
    }
}

void report_describe(str *out, const pgy_verdict *v)
{
    str_printf(out, "output '%s': ", v->output);
    const char *label = pgy_compare_kind_label(v->kind);
    if (!v->has_metrics)
        str_printf(out, "%s failed (without metrics)", label && *label ? label : "the comparison");
    else if (v->kind == PGY_COMPARE_SIMPLE)
        str_printf(out,
                   "the difference exceeds the tolerances (%s; atol=%g, rtol=%g): max absolute %g, "
                   "max relative %g",
                   pgy_error_stat_name(v->stat), v->atol.real, v->rtol.real, v->max_absdiff,
                   v->max_reldiff);
    else
        str_printf(out, "%s is %g, threshold %g", label, v->metric, v->threshold.real);
}
