/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics as a line of text, in the original's form. */
#include "base/pytext.h"
#include "compare/stats.h"

stats_request stats_request_line(void)
{
    return (stats_request){true, true, {0.9, 0.95, 0.99}, 3};
}

static void append_position(str *out, size_t at, const array_stats *s, size_t rank,
                            const int64_t *shape)
{
    int64_t index[PGY_MAX_RANK];
    if (!s->count) {
        str_append(out, "0");
        return;
    }
    for (size_t i = rank; i-- > 0;) {
        index[i] = (int64_t)(at % (size_t)shape[i]);
        at /= (size_t)shape[i];
    }
    str_append_py_tuple(out, index, rank);
}

static void append_value(str *out, const char *name, double v)
{
    str_append(out, name);
    str_append_g(out, 5, v);
}

void stats_append_line(str *out, const array_stats *s, size_t rank, const int64_t *shape)
{
    static const char *const NAMES[] = {", p90=", ", p95=", ", p99="};
    append_value(out, "mean=", s->mean);
    append_value(out, ", std-dev=", s->std);
    append_value(out, ", var=", s->var);
    append_value(out, ", median=", s->median);
    append_value(out, ", min=", s->min);
    str_append(out, " at ");
    append_position(out, s->min_at, s, rank, shape);
    append_value(out, ", max=", s->max);
    str_append(out, " at ");
    append_position(out, s->max_at, s, rank, shape);
    append_value(out, ", avg-magnitude=", s->avg_magnitude);
    for (size_t i = 0; s->dtype != PGY_BOOL && i < 3; i++)
        append_value(out, NAMES[i], s->quantiles[i]);
}

pgy_status pgy_statistics_text(char **out, pgy_view v, pgy_error *err)
{
    str text = {0};
    pgy_tensor *compact = NULL;
    array_stats stats;
    pgy_status st = PGY_OK;
    if (v.dtype == PGY_STRING) {
        str_append(&text, "<Error while computing statistics>");
    } else {
        st = arith_compact_view(&compact, v, err);
        if (st) goto done;
        source s = source_array(pgy_tensor_view(compact));
        stats_request request = stats_request_line();
        st = stats_compute(&stats, NULL, &s, &request, err);
        if (st) goto done;
        stats_append_line(&text, &stats, (size_t)v.rank, v.shape);
    }
    char *result = str_take(&text);
    if (result)
        *out = result;
    else
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory for a line of statistics");
done:
    pgy_tensor_release(compact);
    str_deinit(&text);
    return st;
}
