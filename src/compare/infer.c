/* SPDX-License-Identifier: Apache-2.0 */
/* One inference of one runner, and its log lines. */
#include <math.h>

#include "base/cancel.h"
#include "base/log.h"
#include "base/pytext.h"
#include "compare/run.h"

static const char LOG_PATH[] = "comparator/comparator.py";

char *infer_describe(const char *title, const pgy_tensor_map *m)
{
    pgy_metadata *metadata = NULL;
    char *text = NULL;
    str all = {0};
    if (!pgy_metadata_from_map(&metadata, m, NULL) && !pgy_metadata_text(&text, metadata, NULL))
        str_printf(&all, "---- %s ----\n%s", title, text);
    pgy_metadata_destroy(metadata);
    pgy_text_free(text);
    return str_take(&all);
}

void infer_log_values(const char *heading, const pgy_tensor_map *m)
{
    str all = {0};
    if (!LOG_IS_ON(EXTRA_VERBOSE)) return;
    for (size_t i = 0; i < pgy_tensor_map_count(m); i++) {
        char *text = NULL;
        str_append(&all, i ? ",\n " : "{");
        str_append_py_repr(&all, pgy_tensor_map_name(m, i));
        if (!pgy_view_text(&text, pgy_tensor_view(pgy_tensor_map_at(m, i)), NULL, NULL))
            str_printf(&all, ": %s", text);
        pgy_text_free(text);
    }
    LOG(EXTRA_VERBOSE, "%s\n%s", heading,
        all.size ? (str_append(&all, "}"), str_text(&all)) : "{}");
    str_deinit(&all);
}

static double seconds(int64_t ns)
{
    return ns < 0 ? (double)NAN : (double)ns / 1e9;
}

infer_time infer_time_of(const pgy_runner *r)
{
    return (infer_time){seconds(pgy_runner_last_time_ns(r)),
                        seconds(pgy_runner_last_preparation_ns(r))};
}

pgy_status run_check_cancelled(const pgy_run_options *o, pgy_error *err)
{
    if (!o->cancelled || !o->cancelled(o->user)) return cancel_check(err);
    return pgy_error_set(err, PGY_E_CANCELLED, "cancelled");
}

pgy_status infer_match(pgy_tensor_map **out, pgy_runner *r, const pgy_tensor_map *feed,
                       pgy_error *err)
{
    const pgy_metadata *inputs = NULL;
    pgy_status st = pgy_runner_inputs(&inputs, r, err);
    if (st) return st;
    return inputs ? pgy_feed_match(out, feed, inputs, err) : pgy_tensor_map_copy(out, feed, err);
}

static void log_outputs(const pgy_runner *r, const pgy_tensor_map *outputs)
{
    str heading = {0};
    char *text = infer_describe("Inference Output(s)", outputs);
    if (text) LOG_ONCE(INFO, "%-35s\n%s", pgy_runner_name(r), text);
    pgy_text_free(text);
    if (!LOG_IS_ON(EXTRA_VERBOSE)) return;
    str_printf(&heading, "%-35s | Inference Time: %.3f ms | Received outputs:", pgy_runner_name(r),
               infer_time_of(r).whole_s * 1e3);
    infer_log_values(str_text(&heading), outputs);
    str_deinit(&heading);
}

pgy_status infer_matched(pgy_tensor_map **out, pgy_runner *r, const pgy_tensor_map *feed,
                         pgy_error *err)
{
    pgy_tensor_map *outputs = NULL;
    pgy_status st = pgy_runner_infer(&outputs, r, feed, err);
    if (st) return st;
    log_outputs(r, outputs);
    *out = outputs;
    return PGY_OK;
}

pgy_status infer_once(pgy_tensor_map **out, pgy_runner *r, const pgy_tensor_map *feed,
                      pgy_error *err)
{
    pgy_tensor_map *matched = NULL;
    pgy_status st = infer_match(&matched, r, feed, err);
    if (!st) st = infer_matched(out, r, matched, err);
    pgy_tensor_map_destroy(matched);
    return st;
}
