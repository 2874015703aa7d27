/* SPDX-License-Identifier: Apache-2.0 */
/* Differences as JSON. */
#include "base/json.h"
#include "inspect/diff_report.h"

static void put_if_given(json_writer *w, const char *key, const char *text)
{
    if (text) json_put_text(w, key, text);
}

static void write_weight(json_writer *w, const pgy_weight_change *c)
{
    json_key(w, "weight");
    json_begin_object(w);
    json_put_text(w, "dtype_before", pgy_dtype_name(c->dtype_a));
    json_put_text(w, "dtype_after", pgy_dtype_name(c->dtype_b));
    json_put_ints(w, "shape_before", c->dims_a, c->rank_a);
    json_put_ints(w, "shape_after", c->dims_b, c->rank_b);
    put_if_given(w, "stored_before", c->stored_a);
    put_if_given(w, "stored_after", c->stored_b);
    json_put_bool(w, "compared", c->compared);
    put_if_given(w, "why_not", c->why_not);
    if (c->compared) {
        json_put_uint(w, "elements", c->count);
        json_put_uint(w, "changed", c->changed);
        json_put_uint(w, "beyond_tolerance", c->beyond);
        json_put_uint(w, "nan_before", c->nan_a);
        json_put_uint(w, "nan_after", c->nan_b);
        json_put_uint(w, "max_index", c->max_index);
        json_put_real(w, "max_abs", c->max_abs);
        json_put_real(w, "max_rel", c->max_rel);
        json_put_real(w, "mean_abs", c->mean_abs);
        json_put_real(w, "rms", c->rms);
        json_put_real(w, "cosine", c->cosine);
        json_put_real(w, "snr_db", c->snr_db);
    }
    json_end_object(w);
}

static void write_difference(json_writer *w, const pgy_difference *e)
{
    json_begin_object(w);
    json_put_text(w, "part", pgy_diff_part_name(e->part));
    json_put_text(w, "change", pgy_diff_change_name(e->change));
    put_if_given(w, "path", e->path);
    put_if_given(w, "name", e->name);
    put_if_given(w, "new_name", e->new_name);
    put_if_given(w, "op_type", e->op_type[0] ? e->op_type : NULL);
    put_if_given(w, "field", e->field[0] ? e->field : NULL);
    put_if_given(w, "before", e->before);
    put_if_given(w, "after", e->after);
    if (e->weight) write_weight(w, e->weight);
    json_end_object(w);
}

static void write_side(json_writer *w, const char *key, const char *path, uint64_t nodes,
                       uint64_t weights, uint64_t bytes)
{
    json_key(w, key);
    json_begin_object(w);
    put_if_given(w, "path", path);
    json_put_uint(w, "nodes", nodes);
    json_put_uint(w, "weights", weights);
    json_put_uint(w, "weight_bytes", bytes);
    json_end_object(w);
}

static void write_summary(json_writer *w, const pgy_diff_summary *s)
{
    json_key(w, "summary");
    json_begin_object(w);
    json_put_uint(w, "differences", s->differences);
    json_put_uint(w, "nodes_matched", s->nodes_matched);
    json_put_uint(w, "weights_matched", s->weights_matched);
    json_put_uint(w, "weights_equal", s->weights_equal);
    json_put_uint(w, "weight_bytes_read", s->bytes_read);
    json_put_uint(w, "weight_bytes_shared", s->bytes_shared);
    json_key(w, "counts");
    json_begin_object(w);
    for (int p = 0; p < PGY_DIFF_PART_COUNT; p++) {
        json_key(w, pgy_diff_part_name((pgy_diff_part)p));
        json_begin_object(w);
        for (int c = 0; c < PGY_DIFF_CHANGE_COUNT; c++)
            if (s->counts[p][c])
                json_put_uint(w, pgy_diff_change_name((pgy_diff_change)c), s->counts[p][c]);
        json_end_object(w);
    }
    json_end_object(w);
    json_end_object(w);
}

typedef struct diff_document {
    const pgy_diff *diff;
    pgy_diff_report_options options;
} diff_document;

static pgy_status write_document(json_writer *w, const void *user, pgy_error *err)
{
    const diff_document *document = user;
    const pgy_diff *d = document->diff;
    const pgy_diff_report_options *o = &document->options;
    const pgy_diff_summary *s = pgy_diff_summarize(d);
    (void)err;
    json_begin_object(w);
    json_put_int(w, "version", 1);
    json_put_bool(w, "equal", pgy_diff_is_equal(d, o->ignore_unread));
    write_side(w, "before", o->before, s->nodes_a, s->weights_a, s->weight_bytes_a);
    write_side(w, "after", o->after, s->nodes_b, s->weights_b, s->weight_bytes_b);
    write_summary(w, s);
    json_key(w, "differences");
    json_begin_array(w);
    for (size_t i = 0; i < pgy_diff_count(d); i++) write_difference(w, pgy_diff_at(d, i));
    json_end_array(w);
    json_end_object(w);
    return PGY_OK;
}

bool pgy_diff_is_equal(const pgy_diff *d, bool ignore_unread)
{
    const pgy_diff_summary *s = pgy_diff_summarize(d);
    const uint64_t ignored = ignore_unread ? s->counts[PGY_DIFF_WEIGHT][PGY_DIFF_UNREAD] : 0;
    return s->differences == ignored;
}

pgy_status pgy_diff_json(char **out, const pgy_diff *d, const pgy_diff_report_options *options,
                         pgy_error *err)
{
    diff_document document = {.diff = d};
    const pgy_status st = diff_report_options(&document.options, options, err);
    return st ? st : json_to_text(out, write_document, &document, err);
}

pgy_status pgy_diff_save_json(const pgy_diff *d, const char *path,
                              const pgy_diff_report_options *options, pgy_error *err)
{
    diff_document document = {.diff = d};
    const pgy_status st = diff_report_options(&document.options, options, err);
    return st ? st : json_save(path, write_document, &document, err);
}
