/* SPDX-License-Identifier: Apache-2.0 */
/* What reports of one and of two timelines write alike: names, times, and the figures of a layer.
 */
#include <math.h>

#include "base/printable.h"
#include "trace/summary.h"

void trace_put_name(str *out, const pgy_trace_times *t)
{
    str_append(out, printable_name(t->name));
    if (*t->op) str_printf(out, " [%s]", printable_name(t->op));
}

void trace_put_us(str *out, int width, double us)
{
    if (isnan(us))
        str_printf(out, "%*s ", width, "-");
    else
        str_printf(out, "%*.3f ", width, us);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void put_known(json_writer *w, const char *key, double value)
{
    if (isnan(value))
        json_put_null(w, key);
    else
        json_put_real(w, key, value);
}

void trace_times_json(json_writer *w, const pgy_trace_times *t)
{
    json_begin_object(w);
    json_put_text(w, "name", t->name);
    json_put_text(w, "op", t->op);
    json_put_uint(w, "calls", t->calls);
    json_put_real(w, "total_us", t->total_us);
    json_put_real(w, "share", t->share);
    json_put_real(w, "mean_us", t->mean_us);
    put_known(w, "median_us", t->median_us);
    put_known(w, "p90_us", t->p90_us);
    put_known(w, "p99_us", t->p99_us);
    put_known(w, "min_us", t->min_us);
    put_known(w, "max_us", t->max_us);
    json_end_object(w);
}
