/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a vote, as text and as JSON. */
#include <math.h>

#include "base/json.h"
#include "where/report_parts.h"
#include "where/vote.h"

enum { SHOWN = 10, SIDES = 3 };

static void put_row(str *out, const pgy_vote *v, const pgy_vote_tensor *t)
{
    str_printf(out, "    tensor  %s\n", t->name);
    if (t->node[0]) str_printf(out, "    node    %s (%s)\n", t->node, t->op_type);
    if (t->odd >= 0)
        str_printf(out, "    odd     side %c (%s)\n", 'A' + t->odd, v->names[t->odd]);
    else
        str_append(out, "    odd     undecided\n");
    report_put_number(out, "    errors  A and B", t->ab);
    report_put_number(out, ", A and C", t->ac);
    report_put_number(out, ", B and C", t->bc);
    report_put_number(out, "\n    referee distance of A", t->referee[0]);
    report_put_number(out, ", B", t->referee[1]);
    report_put_number(out, ", C", t->referee[2]);
    if (!isnan(t->margin))
        str_printf(out, ": side %c is %.3g times farther from float64", 'A' + t->odd, t->margin);
    if (t->note[0]) str_printf(out, "\n    note    %s", t->note);
    str_append_char(out, '\n');
}

pgy_status pgy_vote_text(char **out, const pgy_vote *v, const char *next, pgy_error *err)
{
    str text = {0};
    size_t odd[SIDES] = {0}, undecided = 0, shown = 0, more = 0;
    for (size_t i = 0; i < v->count; i++) {
        const pgy_vote_tensor *t = &v->rows[i];
        if (t->odd >= 0)
            odd[t->odd]++;
        else
            undecided += t->odd == PGY_VOTE_UNDECIDED;
    }
    str_printf(&text,
               "A: %s, B: %s, C: %s | %zu tensors | odd one out: A %zu, B %zu, C %zu times, "
               "undecided %zu | referee: %s in float64\n",
               v->names[0], v->names[1], v->names[2], v->count, odd[0], odd[1], odd[2], undecided,
               v->referee < 0 ? "opref" : v->names[v->referee]);
    for (size_t i = 0; i < v->count; i++) {
        if (!v->rows[i].differs) continue;
        if (shown == SHOWN) {
            more++;
            continue;
        }
        str_append(&text, shown++ ? "  Then:\n" : "First tensor without agreement:\n");
        put_row(&text, v, &v->rows[i]);
    }
    if (more) str_printf(&text, "  ... and %zu more\n", more);
    report_put_end(&text, &v->failures, next);
    return str_give(out, &text, err);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

typedef struct document {
    const pgy_vote *vote;
    const char *next;
} document;

static void put_line(json_writer *w, const pgy_vote_tensor *t)
{
    static const char *const KEYS[SIDES] = {"a", "b", "c"};
    json_begin_object(w);
    json_put_text(w, "name", t->name);
    json_put_text(w, "node", t->node);
    json_put_text(w, "op_type", t->op_type);
    json_put_text(w, "odd",
                  t->odd >= 0                    ? KEYS[t->odd]
                  : t->odd == PGY_VOTE_UNDECIDED ? "undecided"
                                                 : NULL);
    report_put_real(w, "ab", t->ab);
    report_put_real(w, "ac", t->ac);
    report_put_real(w, "bc", t->bc);
    json_key(w, "referee");
    json_begin_object(w);
    for (size_t i = 0; i < SIDES; i++) report_put_real(w, KEYS[i], t->referee[i]);
    json_end_object(w);
    report_put_real(w, "margin", t->margin);
    json_put_text(w, "note", t->note);
    json_key(w, "iterations");
    json_begin_array(w);
    for (size_t i = 0; i < t->iteration_count; i++) json_int(w, t->iterations[i]);
    json_end_array(w);
    json_end_object(w);
}

static pgy_status write(json_writer *w, const void *user, pgy_error *err)
{
    const document *d = user;
    const pgy_vote *v = d->vote;
    const pgy_vote_tensor *first = pgy_vote_first(v);
    (void)err;
    json_begin_object(w);
    json_put_text(w, "a", v->names[0]);
    json_put_text(w, "b", v->names[1]);
    json_put_text(w, "c", v->names[2]);
    json_put_text(w, "referee", v->referee < 0 ? "opref" : v->names[v->referee]);
    json_put_bool(w, "passed", pgy_vote_passed(v));
    json_put_text(w, "first", first ? first->name : NULL);
    json_put_text(w, "next", d->next);
    report_put_failures(w, &v->failures);
    json_key(w, "tensors");
    json_begin_array(w);
    for (size_t i = 0; i < v->count; i++) put_line(w, &v->rows[i]);
    json_end_array(w);
    json_end_object(w);
    return PGY_OK;
}

pgy_status pgy_vote_save(const pgy_vote *v, const char *path, const char *next, pgy_error *err)
{
    const document d = {v, next};
    return json_save(path, write, &d, err);
}
