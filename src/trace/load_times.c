/* SPDX-License-Identifier: Apache-2.0 */
/* The times of trtexec: each run becomes a slice, and its copies and computation others. */
#include <stdio.h>

#include "trace/load_args.h"

enum { PARTS = 3, RUN = PARTS };

static const struct {
    const char *name, *category, *row;
    const char *from, *old_from, *to, *old_to;
    int64_t thread;
} FORMS[] = {
    {"H2D", "memcpy", "transfers", "startH2dMs", "startInMs", "endH2dMs", "endInMs", 2},
    {"compute", "compute", "compute", "startComputeMs", NULL, "endComputeMs", NULL, 1},
    {"D2H", "memcpy", "transfers", "startD2hMs", "startOutMs", "endD2hMs", "endOutMs", 2},
    {NULL, "iteration", "iterations", NULL, NULL, NULL, NULL, 0},
};

typedef struct part {
    int64_t start, end;
} part;

static pgy_status read_ms(int64_t *out, const json_value *item, const char *member,
                          const char *old_member, pgy_error *err)
{
    const double us_per_ms = 1e3;
    const json_value *v = json_get(item, member);
    if (!v && old_member) v = json_get(item, old_member);
    json_value us = v ? *v : (json_value){0};
    us.real *= us_per_ms;
    us.raw = span_of("e"); /* no digits, so that `real` counts */
    if (v && trace_us_to_ns(out, &us)) return PGY_OK;
    return trace_wrong(item, v && !json_get(item, member) ? old_member : member, "a time in ms",
                       err);
}

static pgy_status read_part(part *out, const json_value *item, size_t i, pgy_error *err)
{
    pgy_status st = read_ms(&out->start, item, FORMS[i].from, FORMS[i].old_from, err);
    if (!st) st = read_ms(&out->end, item, FORMS[i].to, FORMS[i].old_to, err);
    if (!st && out->end < out->start)
        st = trace_wrong(item, FORMS[i].to, "a time that is not before its start", err);
    return st;
}

static pgy_status add(trace_reader *r, const part *p, size_t i, pgy_error *err)
{
    const pgy_trace_row row = {1, FORMS[i].thread, "trtexec", FORMS[i].row};
    char name[32];
    pgy_trace_event e = {.kind = PGY_TRACE_SLICE,
                         .name = FORMS[i].name ? FORMS[i].name : name,
                         .category = FORMS[i].category,
                         .start_ns = p->start,
                         .duration_ns = p->end - p->start,
                         .has_run = true,
                         .run = (int64_t)r->count - 1};
    snprintf(name, sizeof name, "run %lld", (long long)e.run);
    pgy_status st = pgy_trace_add_row(&e.row, r->trace, &row, err);
    if (!st) st = pgy_trace_add(r->trace, &e, NULL, err);
    if (!st && e.start_ns < r->first_ns) r->first_ns = e.start_ns;
    return st;
}

pgy_status trace_read_times(trace_reader *r, const json_value *item, pgy_error *err)
{
    part parts[PARTS + 1] = {{0}};
    pgy_status st = PGY_OK;
    if (item->type != JSON_OBJECT)
        return pgy_error_set(err, PGY_E_FORMAT, "line %u: a run is not an object", item->line);
    for (size_t i = 0; !st && i < PARTS; i++) st = read_part(&parts[i], item, i, err);
    parts[RUN] = (part){parts[0].start, parts[PARTS - 1].end};
    if (!st && parts[RUN].end < parts[RUN].start)
        st = trace_wrong(item, FORMS[PARTS - 1].to, "a time behind startH2dMs", err);
    for (size_t i = 0; !st && i <= RUN; i++) st = add(r, &parts[i], i, err);
    r->trace->source = "trtexec";
    return st;
}
