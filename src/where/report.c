/* SPDX-License-Identifier: Apache-2.0 */
/* The report: its contents, as text and as JSON. */
#include <math.h>

#include "base/alloc.h"
#include "base/json.h"
#include "where/report_parts.h"
#include "where/where.h"

enum { SHOWN_STARTERS = 10, SHOWN_MISSING = 5 };

void pgy_where_report_destroy(pgy_where_report *r)
{
    if (!r) return;
    for (size_t i = 0; i < r->feed_count; i++) pgy_tensor_map_destroy(r->feeds[i]);
    mem_free(r->feeds);
    where_rows_deinit(&r->rows);
    for (size_t i = 0; i < r->inner_count; i++) pgy_where_report_destroy(r->inner[i]);
    mem_free(r->inner);
    strvec_deinit(&r->failures);
    arena_deinit(&r->memory);
    mem_free(r);
}

size_t pgy_where_report_count(const pgy_where_report *r)
{
    return r->rows.count;
}

const pgy_where_tensor *pgy_where_report_at(const pgy_where_report *r, size_t i)
{
    return i < r->rows.count ? &r->rows.items[i].line : NULL;
}

const pgy_where_tensor *pgy_where_report_first(const pgy_where_report *r)
{
    for (size_t i = 0; i < r->rows.count; i++)
        if (r->rows.items[i].line.differs || r->rows.items[i].line.starts)
            return &r->rows.items[i].line;
    return NULL;
}

size_t pgy_where_report_failure_count(const pgy_where_report *r)
{
    return r->failures.count;
}

const char *pgy_where_report_failure(const pgy_where_report *r, size_t i)
{
    return i < r->failures.count ? r->failures.items[i] : NULL;
}

bool pgy_where_report_passed(const pgy_where_report *r)
{
    return !r->failures.count && !pgy_where_report_first(r);
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void put_shape(str *out, const pgy_where_tensor *t)
{
    str_append_char(out, '(');
    for (int32_t d = 0; d < t->rank; d++)
        str_printf(out, "%s%lld", d ? ", " : "", (long long)t->shape[d]);
    str_append(out, t->rank == 1 ? ",)" : ")");
}

static void split_index(int64_t *at, const pgy_where_tensor *t, uint64_t rest)
{
    for (int32_t d = t->rank; d-- > 0;) {
        at[d] = t->shape[d] > 0 ? (int64_t)(rest % (uint64_t)t->shape[d]) : 0;
        rest = t->shape[d] > 0 ? rest / (uint64_t)t->shape[d] : 0;
    }
}

static void put_index(str *out, const pgy_where_tensor *t, uint64_t index)
{
    int64_t at[PGY_MAX_RANK];
    split_index(at, t, index);
    str_append_char(out, '[');
    for (int32_t d = 0; d < t->rank; d++)
        str_printf(out, "%s%lld", d ? ", " : "", (long long)at[d]);
    str_append_char(out, ']');
}

static void put_tensor(str *out, const pgy_where_tensor *t)
{
    str_printf(out, "    tensor  %s", t->name);
    if (span_equals(span_of(t->name), t->other_name) == false)
        str_printf(out, " (on side B: %s)", t->other_name);
    str_append_char(out, '\n');
    if (t->node[0]) str_printf(out, "    node    %s (%s)\n", t->node, t->op_type);
    if (t->module[0]) str_printf(out, "    module  %s\n", t->module);
    str_printf(out, "    type    %s ", pgy_dtype_name(t->dtype));
    put_shape(out, t);
    report_put_number(out, "\n    error   made", t->made);
    report_put_number(out, ", handed", t->handed);
    report_put_number(out, ", total", t->error);
    report_put_number(out, ", allowed", t->allowed);
    if (!isnan(t->amplification)) report_put_number(out, ", amplification", t->amplification);
    if (t->floor_dtype)
        str_printf(out, "\n    floor   %.3g times what %s must cost here", t->floor_times,
                   pgy_dtype_name(t->floor_dtype));
    for (size_t i = 0; i < t->worst_count && (!i || t->worst[i].a != t->worst[i].b); i++) {
        str_append(out, i ? "\n            " : "\n    worst   ");
        put_index(out, t, t->worst[i].index);
        str_printf(out, ": %.9g on side A, %.9g on side B", t->worst[i].a, t->worst[i].b);
        if (!i) str_printf(out, ", sample %zu", t->sample);
    }
    if (t->note[0]) str_printf(out, "\n    note    %s", t->note);
    str_append_char(out, '\n');
}

static void put_missing(str *out, const pgy_where_report *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->rows.count; i++) count += !r->rows.items[i].line.compared;
    if (!count) return;
    str_printf(out, "Not compared: %zu tensors\n", count);
    for (size_t i = 0, shown = 0; i < r->rows.count && shown < SHOWN_MISSING; i++) {
        const pgy_where_tensor *t = &r->rows.items[i].line;
        if (t->compared) continue;
        str_printf(out, "    %s (%s): %s\n", t->name, t->op_type, t->note);
        shown++;
    }
    if (count > SHOWN_MISSING) str_printf(out, "    ... and %zu more\n", count - SHOWN_MISSING);
}

/* The starter with the largest own error that is not listed yet. */
static const pgy_where_tensor *next_starter(const pgy_where_report *r, const pgy_where_tensor *last)
{
    const pgy_where_tensor *best = NULL;
    for (size_t i = 0; i < r->rows.count; i++) {
        const pgy_where_tensor *t = &r->rows.items[i].line;
        const double size = isnan(t->made) ? t->error : t->made;
        const double limit = !last ? INFINITY : isnan(last->made) ? last->error : last->made;
        const double found = !best ? -1 : isnan(best->made) ? best->error : best->made;
        if (!t->starts || size > limit || (last && size == limit && t <= last)) continue;
        if (size > found) best = t;
    }
    return best;
}

pgy_status pgy_where_report_text(char **out, const pgy_where_report *r, const char *next,
                                 pgy_error *err)
{
    str text = {0};
    size_t compared = 0, differ = 0, starters = 0, shown = 0;
    const pgy_where_tensor *first = pgy_where_report_first(r);
    for (size_t i = 0; i < r->rows.count; i++) {
        compared += r->rows.items[i].line.compared;
        differ += r->rows.items[i].line.differs;
        starters += r->rows.items[i].line.starts;
    }
    str_printf(
        &text,
        "A: %s, B: %s | %zu of %zu tensors compared, %zu differ | %zu samples, %zu batches\n", r->a,
        r->b, compared, r->rows.count, differ, r->samples, r->batches);
    if (first) {
        str_append(&text, "First wrong tensor:\n");
        put_tensor(&text, first);
    }
    if (starters)
        str_printf(&text, "Nodes that start an error: %zu, the largest first\n", starters);
    for (const pgy_where_tensor *t = next_starter(r, NULL); t && shown < SHOWN_STARTERS;
         t = next_starter(r, t), shown++) {
        str_printf(&text, "  %zu.\n", shown + 1);
        put_tensor(&text, t);
    }
    put_missing(&text, r);
    report_put_end(&text, &r->failures, next);
    return str_give(out, &text, err);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

typedef struct document {
    const pgy_where_report *report;
    const char *next;
} document;

static void put_line(json_writer *w, const pgy_where_tensor *t)
{
    json_begin_object(w);
    json_put_text(w, "name", t->name);
    json_put_text(w, "other_name", t->other_name);
    json_put_text(w, "node", t->node);
    json_put_text(w, "op_type", t->op_type);
    json_put_text(w, "module", t->module);
    json_put_text(w, "dtype", pgy_dtype_name(t->dtype));
    if (t->rank < 0)
        json_put_null(w, "shape");
    else
        json_put_ints(w, "shape", t->shape, (size_t)t->rank);
    json_put_bool(w, "compared", t->compared);
    json_put_bool(w, "differs", t->differs);
    json_put_bool(w, "starts", t->starts);
    json_put_ints(w, "iterations", t->iterations, t->iteration_count);
    report_put_real(w, "error", t->error);
    report_put_real(w, "handed", t->handed);
    report_put_real(w, "made", t->made);
    report_put_real(w, "amplification", t->amplification);
    report_put_real(w, "allowed", t->allowed);
    json_put_uint(w, "sample", t->sample);
    json_put_uint(w, "worst_index", t->worst_index);
    report_put_real(w, "worst_a", t->worst_a);
    report_put_real(w, "worst_b", t->worst_b);
    json_key(w, "worst");
    json_begin_array(w);
    for (size_t i = 0; i < t->worst_count; i++) {
        int64_t at[PGY_MAX_RANK];
        split_index(at, t, t->worst[i].index);
        json_begin_object(w);
        json_put_ints(w, "index", at, (size_t)t->rank);
        report_put_real(w, "a", t->worst[i].a);
        report_put_real(w, "b", t->worst[i].b);
        json_end_object(w);
    }
    json_end_array(w);
    report_put_real(w, "floor_times", t->floor_times);
    json_put_text(w, "floor_dtype", t->floor_dtype ? pgy_dtype_name(t->floor_dtype) : NULL);
    json_put_text(w, "note", t->note);
    json_end_object(w);
}

static pgy_status write(json_writer *w, const void *user, pgy_error *err)
{
    const document *d = user;
    const pgy_where_report *r = d->report;
    const pgy_where_tensor *first = pgy_where_report_first(r);
    (void)err;
    json_begin_object(w);
    json_put_text(w, "a", r->a);
    json_put_text(w, "b", r->b);
    json_put_bool(w, "passed", pgy_where_report_passed(r));
    json_put_bool(w, "complete", r->complete);
    json_put_text(w, "first", first ? first->name : NULL);
    json_put_text(w, "next", d->next);
    json_key(w, "starters");
    json_begin_array(w);
    for (const pgy_where_tensor *t = next_starter(r, NULL); t; t = next_starter(r, t))
        json_text(w, t->name);
    json_end_array(w);
    report_put_failures(w, &r->failures);
    json_key(w, "tensors");
    json_begin_array(w);
    for (size_t i = 0; i < r->rows.count; i++) put_line(w, &r->rows.items[i].line);
    json_end_array(w);
    json_end_object(w);
    return PGY_OK;
}

pgy_status pgy_where_report_save(const pgy_where_report *r, const char *path, const char *next,
                                 pgy_error *err)
{
    const document d = {r, next};
    return json_save(path, write, &d, err);
}
