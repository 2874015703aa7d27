/* SPDX-License-Identifier: Apache-2.0 */
/* The report as JSON; docs/decode.md describes it. */
#include <math.h>

#include "base/json.h"
#include "decode/decode.h"

enum { JSON_VERSION = 1 };

typedef struct json_source {
    const pgy_decode_report *report;
    const char *model;
} json_source;

/* Not measured is null; infinite is a text. */
static void number(json_writer *w, const char *key, double v)
{
    json_key(w, key);
    if (isnan(v))
        json_null(w);
    else
        json_real_or_text(w, v);
}

static void difference(json_writer *w, const char *key, const pgy_decode_difference *d)
{
    if (!d->tensor) return;
    json_key(w, key);
    json_begin_object(w);
    json_put_text(w, "tensor", d->tensor);
    number(w, "max_abs", d->max_abs);
    number(w, "max_rel", d->max_rel);
    number(w, "error", d->error);
    number(w, "allowed", d->allowed);
    if (!isnan(d->floor_times)) number(w, "floor_times", d->floor_times);
    json_put_bool(w, "differs", d->differs);
    json_end_object(w);
}

static void comparison(json_writer *w, const pgy_decode_comparison *c)
{
    json_begin_object(w);
    json_put_uint(w, "step", c->step);
    json_put_bool(w, "compared", c->compared);
    if (c->compared) {
        json_put_bool(w, "passed", !c->differs);
        difference(w, "logits", &c->logits);
        difference(w, "caches", &c->caches);
        difference(w, "others", &c->others);
        json_put_uint(w, "positions", c->positions);
        json_put_uint(w, "same_top1", c->same_top1);
        number(w, "same_top5", c->same_top5);
    }
    if (c->made_tensor) {
        json_put_text(w, "made_tensor", c->made_tensor);
        number(w, "made", c->made);
        json_put_bool(w, "makes", c->makes);
    }
    json_end_object(w);
}

static void pair(json_writer *w, const pgy_decode_report *r, size_t p)
{
    const pgy_decode_comparison *first = pgy_decode_report_first(r, p);
    size_t step, row;
    json_begin_object(w);
    json_put_text(w, "first", r->names.items[0]);
    json_put_text(w, "second", r->names.items[p + 1]);
    json_key(w, "first_differs");
    if (first)
        json_uint(w, first->step);
    else
        json_null(w);
    json_key(w, "parts_after");
    if (pgy_decode_report_parting(&step, &row, r, p))
        json_uint(w, step);
    else
        json_null(w);
    json_key(w, "steps");
    json_begin_array(w);
    for (size_t i = 0; i < r->step_count; i++) comparison(w, pgy_decode_report_at(r, p, i));
    json_end_array(w);
    json_end_object(w);
}

static void choices(json_writer *w, const pgy_decode_report *r, size_t runner)
{
    json_key(w, "tokens");
    json_begin_array(w);
    for (size_t row = 0; row < r->batch; row++) {
        json_begin_array(w);
        for (size_t i = 0; i < r->step_count; i++)
            json_int(w, pgy_decode_report_choice(r, runner, row, i));
        json_end_array(w);
    }
    json_end_array(w);
}

static pgy_status runner(json_writer *w, const pgy_decode_report *r, size_t i, pgy_error *err)
{
    pgy_decode_latency l;
    const pgy_status st = pgy_decode_report_latency(&l, r, i, err);
    if (st) return st;
    json_begin_object(w);
    json_put_text(w, "name", r->names.items[i]);
    choices(w, r, i);
    json_put_uint(w, "caches_in_place", pgy_decode_report_kept_caches(r, i));
    json_key(w, "latency_ms");
    json_begin_object(w);
    number(w, "prefill", l.prefill_ms);
    json_put_uint(w, "count", l.count);
    const struct {
        const char *key;
        double value;
    } FIGURES[] = {{"total", l.total_ms},   {"mean", l.mean_ms}, {"min", l.min_ms},
                   {"median", l.median_ms}, {"p90", l.p90_ms},   {"p95", l.p95_ms},
                   {"p99", l.p99_ms},       {"max", l.max_ms}};
    for (size_t k = 0; k < sizeof FIGURES / sizeof *FIGURES; k++)
        number(w, FIGURES[k].key, FIGURES[k].value);
    json_key(w, "steps");
    json_begin_array(w);
    for (size_t k = 0; k < r->step_count; k++)
        json_real(w, (double)pgy_decode_report_time_ns(r, i, k) / 1e6);
    json_end_array(w);
    json_key(w, "preparation");
    json_begin_array(w);
    for (size_t k = 0; k < r->step_count; k++) {
        const int64_t ns = pgy_decode_report_preparation_ns(r, i, k);
        if (ns < 0)
            json_null(w);
        else
            json_real(w, (double)ns / 1e6);
    }
    json_end_array(w);
    json_end_object(w);
    json_end_object(w);
    return PGY_OK;
}

static void put_steps(json_writer *w, const pgy_decode_report *r)
{
    json_key(w, "steps");
    json_begin_array(w);
    for (size_t i = 0; i < r->step_count; i++) {
        json_begin_object(w);
        json_put_int(w, "past", r->steps[i].past);
        json_put_int(w, "length", r->steps[i].length);
        json_end_object(w);
    }
    json_end_array(w);
}

static void prompts(json_writer *w, const pgy_decode_report *r)
{
    json_key(w, "prompt");
    json_begin_array(w);
    for (size_t i = 0; i < r->batch; i++) {
        json_begin_array(w);
        for (size_t k = 0; k < r->prompt.length; k++) json_int(w, prompt_row(&r->prompt, i)[k]);
        json_end_array(w);
    }
    json_end_array(w);
}

static void texts(json_writer *w, const char *key, const strvec *v)
{
    json_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < v->count; i++) json_text(w, v->items[i]);
    json_end_array(w);
}

static pgy_status write(json_writer *w, const void *user, pgy_error *err)
{
    const json_source *s = user;
    const pgy_decode_report *r = s->report;
    pgy_status st = PGY_OK;
    json_begin_object(w);
    json_put_text(w, "format", "polygraphy-decode");
    json_put_int(w, "version", JSON_VERSION);
    json_put_text(w, "tool", "polygraphy " PGY_VERSION);
    json_put_text(w, "model", s->model);
    json_put_bool(w, "passed", !r->failed);
    json_put_text(w, "reason", str_text(&r->reason));
    texts(w, "failures", &r->failures);
    json_put_text(w, "judge", r->judge);
    json_put_bool(w, "free_running", r->free_running);
    json_put_uint(w, "batch", r->batch);
    texts(w, "caches", &r->patterns);
    prompts(w, r);
    put_steps(w, r);
    json_key(w, "runners");
    json_begin_array(w);
    for (size_t i = 0; !st && i < r->names.count; i++) st = runner(w, r, i, err);
    json_end_array(w);
    json_key(w, "pairs");
    json_begin_array(w);
    for (size_t i = 0; i + 1 < r->names.count; i++) pair(w, r, i);
    json_end_array(w);
    json_end_object(w);
    return st;
}

pgy_status pgy_decode_report_save(const pgy_decode_report *r, const char *path, const char *model,
                                  pgy_error *err)
{
    const json_source s = {r, model};
    return json_save(path, write, &s, err);
}
