/* SPDX-License-Identifier: Apache-2.0 */
/* Logs statistics of both runners' outputs, after all comparison functions have run. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "compare/compare.h"
#include "compare/judge.h"
#include "compare/stats.h"

typedef struct logged_output {
    str prefix;
    pgy_tensor *tensor, *narrow;
    pgy_view view;
    source s;
    array_stats stats;
} logged_output;

static void logged_deinit(logged_output *l)
{
    str_deinit(&l->prefix);
    pgy_tensor_release(l->tensor);
    pgy_tensor_release(l->narrow);
}

static pgy_status logged_init(logged_output *l, const pgy_iteration *it, const char *output,
                              pgy_error *err)
{
    str_printf(&l->prefix, "%s: %s | Stats: ", it->runner_name, output);
    pgy_status st = pgy_tensor_load(&l->tensor, pgy_tensor_map_find(it->outputs, output), err);
    if (st) return st;
    l->view = pgy_tensor_view(l->tensor);
    if (l->view.dtype == PGY_STRING) return PGY_OK;
    st = arith_compact(&l->narrow, l->tensor, err);
    if (st) return st;
    l->s = source_array(pgy_tensor_view(l->narrow));
    stats_request request = stats_request_line();
    return stats_compute(&l->stats, NULL, &l->s, &request, err);
}

static pgy_status log_logged(const logged_output *l, bool failed, const histogram_range *range,
                             pgy_error *err)
{
    static const char UTIL_PATH[] = "comparator/util.py";
    if (l->view.dtype == PGY_STRING) {
        pgy_log_write(PGY_LOG_INFO, UTIL_PATH, __LINE__, "%s<Error while computing statistics>",
                      str_text(&l->prefix));
        return PGY_OK;
    }
    stats_place place = {str_text(&l->prefix), &l->s,  0,      (size_t)l->view.rank,
                         l->view.shape,        failed, *range, &l->view};
    return stats_log(&place, &l->stats, err);
}

static pgy_status log_pair(const pgy_iteration *a, const pgy_iteration *b, const char *name,
                           const char *partner, bool failed, pgy_error *err)
{
    logged_output x = {0}, y = {0};
    pgy_status st = logged_init(&x, a, name, err);
    if (!st) st = logged_init(&y, b, partner, err);
    if (!st) {
        histogram_range range = {.given = true};
        range.low = y.stats.min < x.stats.min ? y.stats.min : x.stats.min;
        range.high = y.stats.max > x.stats.max ? y.stats.max : x.stats.max;
        st = log_logged(&x, failed, &range, err);
        if (!st) st = log_logged(&y, failed, &range, err);
    }
    logged_deinit(&x);
    logged_deinit(&y);
    return st;
}

/* Did any comparison function judge this output? *failed: it failed in at least one of them. */
static bool find_verdict(bool *failed, const pgy_verdicts *const *verdicts, size_t count,
                         const char *output)
{
    bool found = false;
    *failed = false;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < pgy_verdicts_count(verdicts[i]); k++) {
            const pgy_verdict *v = pgy_verdicts_at(verdicts[i], k);
            if (strcmp(v->output, output)) continue;
            found = true;
            *failed |= !v->passed;
        }
    return found;
}

pgy_status compare_log_outputs(const pgy_iteration *a, const pgy_iteration *b,
                               const pgy_verdicts *const *verdicts, size_t count, bool compat,
                               pgy_error *err)
{
    size_t *partners = NULL;
    if (!pgy_log_is_on(PGY_LOG_INFO, "comparator/util.py")) return PGY_OK;
    pgy_status st = compare_find_partners(&partners, a, b, compat, err);
    for (size_t i = 0; !st && i < pgy_tensor_map_count(a->outputs); i++) {
        const char *name = pgy_tensor_map_name(a->outputs, i);
        bool failed;
        if (partners[i] == NO_PARTNER || !find_verdict(&failed, verdicts, count, name)) continue;
        st = log_pair(a, b, name, pgy_tensor_map_name(b->outputs, partners[i]), failed, err);
    }
    mem_free(partners);
    return st;
}
