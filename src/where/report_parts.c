/* SPDX-License-Identifier: Apache-2.0 */
/* Lines and members that both reports have. */
#include "where/report_parts.h"

#include <math.h>

void report_put_number(str *out, const char *title, double v)
{
    if (isnan(v))
        str_printf(out, "%s unknown", title);
    else
        str_printf(out, "%s %.3g", title, v);
}

void report_put_end(str *out, const strvec *failures, const char *next)
{
    for (size_t i = 0; i < failures->count; i++)
        str_printf(out, "Failure: %s\n", failures->items[i]);
    if (next) str_printf(out, "Next: %s\n", next);
}

void report_put_real(json_writer *w, const char *key, double v)
{
    if (isnan(v))
        json_put_null(w, key);
    else
        json_put_real(w, key, v);
}

void report_put_failures(json_writer *w, const strvec *failures)
{
    json_key(w, "failures");
    json_begin_array(w);
    for (size_t i = 0; i < failures->count; i++) json_text(w, failures->items[i]);
    json_end_array(w);
}
