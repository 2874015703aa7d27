/* SPDX-License-Identifier: Apache-2.0 */
/* Texts and JSON of the noise floor, origins of NaN, and headroom. */
#include <polygraphy/noise.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/sized.h"

enum { DEFAULT_ROWS = 20 };

typedef struct request {
    pgy_noise_reports reports;
    pgy_noise_report_options options;
} request;

static pgy_status take(request *r, const pgy_noise_reports *reports,
                       const pgy_noise_report_options *options, pgy_error *err)
{
    *r = (request){.options = {.model = "model", .max_rows = DEFAULT_ROWS}};
    pgy_status st = SIZED_TAKE(pgy_noise_reports, &r->reports, reports, err);
    if (!st) st = SIZED_TAKE(pgy_noise_report_options, &r->options, options, err);
    if (!r->options.max_rows) r->options.max_rows = DEFAULT_ROWS;
    if (!r->options.model) r->options.model = "model";
    return st;
}

static void append_more(str *out, const request *r, size_t count)
{
    if (count > r->options.max_rows)
        str_printf(out, "  ... %zu more%s\n", count - r->options.max_rows,
                   r->options.more ? r->options.more : "");
}

static void append_shape(str *out, const int64_t *items, int32_t rank)
{
    str_append_char(out, '[');
    for (int32_t d = 0; d < rank; d++)
        str_printf(out, "%s%lld", d ? ", " : "", (long long)items[d]);
    str_append_char(out, ']');
}

/* ---- Noise floor ---------------------------------------------------------------------------- */

static double relative(const pgy_floor_tensor *t)
{
    return t->value_rms > 0 ? t->rms / t->value_rms : t->rms > 0 ? INFINITY : 0;
}

static void floor_text(str *out, const request *r, const pgy_floor *f)
{
    const size_t count = pgy_floor_count(f);
    str_printf(out, "Noise floor of %zu tensors: the error that rounding causes\n", count);
    str_printf(out, "  %-12s %-12s %-12s %-10s tensor\n", "max error", "RMS error", "RMS/value",
               "type");
    for (size_t i = 0; i < count && i < r->options.max_rows; i++) {
        const pgy_floor_tensor *t = pgy_floor_at(f, i);
        if (t->unknown_why)
            str_printf(out, "  unknown: %s: '%s'\n", t->unknown_why, t->name);
        else
            str_printf(out, "  %-12.4g %-12.4g %-12.4g %-10s %s (%s)\n", t->max_abs, t->rms,
                       relative(t), pgy_dtype_name(t->dtype), t->name, t->op_type);
    }
    append_more(out, r, count);
}

static void floor_json(json_writer *w, const pgy_floor *f)
{
    json_key(w, "floor");
    json_begin_array(w);
    for (size_t i = 0; i < pgy_floor_count(f); i++) {
        const pgy_floor_tensor *t = pgy_floor_at(f, i);
        json_begin_object(w);
        json_put_text(w, "tensor", t->name);
        json_put_text(w, "node", t->node);
        json_put_text(w, "op_type", t->op_type);
        json_put_text(w, "dtype", pgy_dtype_name(t->dtype));
        json_put_real(w, "max_abs", t->max_abs);
        json_put_real(w, "rms", t->rms);
        json_put_real(w, "value_rms", t->value_rms);
        json_put_real(w, "value_max", t->value_max);
        json_put_uint(w, "overflows", t->overflows);
        json_put_uint(w, "count", t->count);
        json_put_text(w, "unknown_why", t->unknown_why);
        json_end_object(w);
    }
    json_end_array(w);
}

/* ---- Origin of NaN and infinity ------------------------------------------------------------- */

static void operand_text(str *out, const pgy_nan_operand *o)
{
    if (!o->dtype) return;
    str_printf(out, "    %s: %s", o->name, pgy_dtype_name(o->dtype));
    append_shape(out, o->shape, o->rank);
    if (o->has_value) str_printf(out, ", value there %.9g", o->value);
    if (o->low <= o->high) str_printf(out, ", range %.6g to %.6g", o->low, o->high);
    str_append_char(out, '\n');
}

static void origin_text(str *out, const pgy_nan_origin *o)
{
    if (o->from_input)
        str_printf(out, "  '%s', an input or weight, holds", o->name);
    else
        str_printf(out, "  %s '%s' makes '%s'", o->op_type, o->node, o->name);
    str_printf(out, " %llu NaN and %llu infinite of %llu elements (%s, sample %zu); "
                    "the first: %g at ",
               (unsigned long long)o->nan_count, (unsigned long long)o->inf_count,
               (unsigned long long)o->count, pgy_dtype_name(o->dtype),
               o->sample, isnan(o->value) ? (double)NAN : o->value);
    append_shape(out, o->index, o->rank);
    str_append_char(out, '\n');
    for (size_t i = 0; i < o->operand_count; i++) operand_text(out, &o->operands[i]);
}

static void nan_text(str *out, const request *r, const pgy_nan_search *s)
{
    const size_t count = pgy_nan_count(s);
    const unsigned long long total = pgy_nan_total(s), checked = pgy_nan_checked(s);
    if (!count) {
        str_printf(out, "No NaN or infinity in %llu tensors\n", checked);
        return;
    }
    str_printf(out,
               "NaN or infinity out of finite numbers at %llu place%s; the first comes first:\n",
               total, total == 1 ? "" : "s");
    for (size_t i = 0; i < count && i < r->options.max_rows; i++)
        origin_text(out, pgy_nan_at(s, i));
    append_more(out, r, (size_t)total);
}

static void operand_json(json_writer *w, const pgy_nan_operand *o)
{
    json_begin_object(w);
    json_put_text(w, "tensor", o->name);
    if (o->dtype) {
        json_put_text(w, "dtype", pgy_dtype_name(o->dtype));
        json_put_ints(w, "shape", o->shape, (size_t)o->rank);
        if (o->has_value) json_put_real(w, "value", o->value);
        if (o->low <= o->high) json_put_real(w, "low", o->low);
        if (o->low <= o->high) json_put_real(w, "high", o->high);
    }
    json_end_object(w);
}

static void nan_json(json_writer *w, const pgy_nan_search *s)
{
    json_key(w, "nan");
    json_begin_object(w);
    json_put_uint(w, "total", pgy_nan_total(s));
    json_put_uint(w, "checked", pgy_nan_checked(s));
    json_key(w, "origins");
    json_begin_array(w);
    for (size_t i = 0; i < pgy_nan_count(s); i++) {
        const pgy_nan_origin *o = pgy_nan_at(s, i);
        json_begin_object(w);
        json_put_text(w, "tensor", o->name);
        json_put_text(w, "node", o->node);
        json_put_text(w, "op_type", o->op_type);
        json_put_text(w, "dtype", pgy_dtype_name(o->dtype));
        json_put_ints(w, "shape", o->shape, (size_t)o->rank);
        json_put_ints(w, "index", o->index, (size_t)o->rank);
        json_put_real(w, "value", o->value);
        json_put_uint(w, "nan_count", o->nan_count);
        json_put_uint(w, "inf_count", o->inf_count);
        json_put_uint(w, "count", o->count);
        json_put_uint(w, "sample", o->sample);
        json_put_bool(w, "from_input", o->from_input);
        json_key(w, "operands");
        json_begin_array(w);
        for (size_t k = 0; k < o->operand_count; k++) operand_json(w, &o->operands[k]);
        json_end_array(w);
        json_end_object(w);
    }
    json_end_array(w);
    json_end_object(w);
}

/* ---- Headroom ------------------------------------------------------------------------------- */

static int by_magnitude(const void *a, const void *b)
{
    const pgy_headroom_tensor *const *x = a, *const *y = b;
    return ((*x)->max_abs < (*y)->max_abs) - ((*x)->max_abs > (*y)->max_abs);
}

static void format_summary(str *out, const pgy_headroom *h, size_t f)
{
    size_t over = 0;
    const char *first = NULL;
    for (size_t i = 0; i < pgy_headroom_count(h); i++) {
        const pgy_headroom_tensor *t = pgy_headroom_at(h, i);
        if (!t->fits[f].overflows) continue;
        if (!over++) first = t->name;
    }
    str_printf(out, "  %-13s %zu tensor%s overflow%s", pgy_dtype_name(pgy_headroom_format(f)), over,
               over == 1 ? "" : "s", over == 1 ? "s" : "");
    if (first) str_printf(out, "; the first: '%s'", first);
    str_append_char(out, '\n');
}

static void fit_text(str *out, const pgy_headroom_tensor *t, size_t f)
{
    char text[32];
    const pgy_headroom_fit *fit = &t->fits[f];
    const double lost = t->count ? 100.0 * (double)(fit->subnormals + fit->underflows) /
                                       (double)t->count
                                 : 0;
    if (fit->overflows)
        snprintf(text, sizeof text, "OVERFLOWS");
    else
        snprintf(text, sizeof text, "%+.1f/%.0f%%", fit->bits, lost);
    str_printf(out, " %-14s", text);
}

static pgy_status headroom_text(str *out, const request *r, const pgy_headroom *h, pgy_error *err)
{
    const size_t count = pgy_headroom_count(h);
    const pgy_headroom_tensor **list = mem_calloc(count + 1, sizeof *list);
    if (!list) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++) list[i] = pgy_headroom_at(h, i);
    qsort(list, count, sizeof *list, by_magnitude);
    str_printf(out, "Headroom of %zu float tensors\n", count);
    for (size_t f = 0; f < PGY_HEADROOM_FORMATS; f++) format_summary(out, h, f);
    str_append(out, "  per format: bits between the largest value and the largest finite number / "
                    "share of values that are subnormal or round to 0\n");
    str_printf(out, "  %-12s", "largest");
    for (size_t f = 0; f < PGY_HEADROOM_FORMATS; f++)
        str_printf(out, " %-14s", pgy_dtype_name(pgy_headroom_format(f)));
    str_append(out, " tensor\n");
    for (size_t i = 0; i < count && i < r->options.max_rows; i++) {
        str_printf(out, "  %-12.5g", list[i]->max_abs);
        for (size_t f = 0; f < PGY_HEADROOM_FORMATS; f++) fit_text(out, list[i], f);
        str_printf(out, " %s", list[i]->name);
        if (list[i]->op_type[0]) str_printf(out, " (%s)", list[i]->op_type);
        if (list[i]->non_finite)
            str_printf(out, ", %llu NaN or infinite", (unsigned long long)list[i]->non_finite);
        str_append_char(out, '\n');
    }
    append_more(out, r, count);
    mem_free(list);
    return PGY_OK;
}

static void headroom_json(json_writer *w, const pgy_headroom *h)
{
    json_key(w, "headroom");
    json_begin_array(w);
    for (size_t i = 0; i < pgy_headroom_count(h); i++) {
        const pgy_headroom_tensor *t = pgy_headroom_at(h, i);
        json_begin_object(w);
        json_put_text(w, "tensor", t->name);
        json_put_text(w, "node", t->node);
        json_put_text(w, "op_type", t->op_type);
        json_put_text(w, "dtype", pgy_dtype_name(t->dtype));
        json_put_uint(w, "count", t->count);
        json_put_uint(w, "non_finite", t->non_finite);
        json_put_real(w, "max_abs", t->max_abs);
        json_put_real(w, "min_abs", t->min_abs);
        json_key(w, "formats");
        json_begin_object(w);
        for (size_t f = 0; f < PGY_HEADROOM_FORMATS; f++) {
            json_key(w, pgy_dtype_name(pgy_headroom_format(f)));
            json_begin_object(w);
            json_put_real(w, "bits", t->fits[f].bits);
            json_put_uint(w, "overflows", t->fits[f].overflows);
            json_put_uint(w, "subnormals", t->fits[f].subnormals);
            json_put_uint(w, "underflows", t->fits[f].underflows);
            json_end_object(w);
        }
        json_end_object(w);
        json_end_object(w);
    }
    json_end_array(w);
}

/* ---- Reports -------------------------------------------------------------------------------- */

pgy_status pgy_noise_text(char **out, const pgy_noise_reports *reports,
                          const pgy_noise_report_options *options, pgy_error *err)
{
    request r;
    str text = {0};
    pgy_status st = take(&r, reports, options, err);
    if (st) return st;
    str_printf(&text, "%s:\n", r.options.model);
    if (r.reports.nan) nan_text(&text, &r, r.reports.nan);
    if (r.reports.headroom) st = headroom_text(&text, &r, r.reports.headroom, err);
    if (!st && r.reports.floor) floor_text(&text, &r, r.reports.floor);
    if (!st) return str_give(out, &text, err);
    str_deinit(&text);
    return st;
}

static pgy_status write(json_writer *w, const void *user, pgy_error *err)
{
    const request *r = user;
    (void)err;
    json_begin_object(w);
    json_put_text(w, "model", r->options.model);
    if (r->reports.nan) nan_json(w, r->reports.nan);
    if (r->reports.headroom) headroom_json(w, r->reports.headroom);
    if (r->reports.floor) floor_json(w, r->reports.floor);
    json_end_object(w);
    return PGY_OK;
}

pgy_status pgy_noise_json(char **out, const pgy_noise_reports *reports,
                          const pgy_noise_report_options *options, pgy_error *err)
{
    request r;
    const pgy_status st = take(&r, reports, options, err);
    return st ? st : json_to_text(out, write, &r, err);
}

pgy_status pgy_noise_save_json(const char *path, const pgy_noise_reports *reports,
                               const pgy_noise_report_options *options, pgy_error *err)
{
    request r;
    const pgy_status st = take(&r, reports, options, err);
    return st ? st : json_save(path, write, &r, err);
}
