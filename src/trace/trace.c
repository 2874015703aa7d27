/* SPDX-License-Identifier: Apache-2.0 */
/* The trace in memory: rows, events, args and facts. */
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static const kind_form FORMS[TRACE_KIND_END] = {
    [TRACE_PHASE] = {"phase", PGY_TRACE_SLICE, true},
    [TRACE_RUN] = {"iteration", PGY_TRACE_SLICE, true},
    [TRACE_LAYER] = {"layer", PGY_TRACE_SLICE, true},
    [TRACE_ENQUEUE] = {"enqueue", PGY_TRACE_SLICE, false},
    [TRACE_COPY] = {"memcpy", PGY_TRACE_SLICE, true},
    [TRACE_WORKER] = {"worker", PGY_TRACE_SLICE, false},
    [TRACE_KERNEL] = {"kernel", PGY_TRACE_SLICE, true},
    [TRACE_TIMING] = {"timing", PGY_TRACE_SLICE, true},
    [TRACE_CHECK] = {"check", PGY_TRACE_INSTANT, true},
    [TRACE_MEMORY] = {"", PGY_TRACE_COUNTER, false},
    [TRACE_BUSY] = {"", PGY_TRACE_COUNTER, false},
    [TRACE_SPAN] = {"", PGY_TRACE_SLICE, true},
    [TRACE_POINT] = {"", PGY_TRACE_INSTANT, true},
    [TRACE_COUNT] = {"", PGY_TRACE_COUNTER, true},
};

const kind_form *trace_kind_form(uint32_t kind)
{
    return &FORMS[kind];
}

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a trace");
}

/* ---- Life ----------------------------------------------------------------------------------- */

pgy_status pgy_trace_create(pgy_trace **out, pgy_error *err)
{
    pgy_trace *t = mem_calloc(1, sizeof *t);
    if (!t) return no_memory(err);
    *out = t;
    return PGY_OK;
}

void pgy_trace_destroy(pgy_trace *t)
{
    if (!t) return;
    mem_free(t->records);
    mem_free(t->labels);
    mem_free(t->rows);
    mem_free(t->runs);
    mem_free(t->sums);
    strmap_deinit(&t->known);
    strmap_deinit(&t->facts);
    tracer_take_deinit(&t->taken);
    arena_deinit(&t->memory);
    mem_free(t);
}

/* ---- Rows ----------------------------------------------------------------------------------- */

size_t pgy_trace_row_count(const pgy_trace *t)
{
    return t->row_count;
}

/* The public struct and the recorder's have the same members. */
const pgy_trace_row *pgy_trace_row_at(const pgy_trace *t, size_t i)
{
    return (const pgy_trace_row *)&t->rows[i];
}
_Static_assert(sizeof(pgy_trace_row) == sizeof(trace_row), "rows of the two layers are the same");

pgy_status pgy_trace_add_row(size_t *out, pgy_trace *t, const pgy_trace_row *row, pgy_error *err)
{
    for (size_t i = 0; i < t->row_count; i++)
        if (t->rows[i].process == row->process && t->rows[i].thread == row->thread) {
            *out = i;
            return PGY_OK;
        }
    if (!mem_grow((void **)&t->rows, &t->row_capacity, t->row_count + 1, sizeof *t->rows))
        return no_memory(err);
    const trace_row made = {
        .process = row->process,
        .thread = row->thread,
        .process_name = arena_strdup(&t->memory, row->process_name ? row->process_name : ""),
        .name = arena_strdup(&t->memory, row->name ? row->name : "")};
    if (!made.process_name || !made.name) return no_memory(err);
    t->rows[t->row_count] = made;
    *out = t->row_count++;
    return PGY_OK;
}

/* ---- Events --------------------------------------------------------------------------------- */

const trace_run *trace_run_of(const pgy_trace *t, const trace_record *r)
{
    return r->run == TRACE_NONE ? NULL : &t->runs[r->run];
}

size_t pgy_trace_event_count(const pgy_trace *t)
{
    return t->record_count;
}

pgy_trace_event pgy_trace_event_at(const pgy_trace *t, size_t i)
{
    const trace_record *r = &t->records[i];
    const trace_label *l = &t->labels[r->label];
    const trace_run *run = trace_run_of(t, r);
    pgy_trace_event e = {.kind = FORMS[r->kind].form,
                         .name = l->name,
                         .category = l->category ? l->category : FORMS[r->kind].category,
                         .row = r->row,
                         .start_ns = r->start_ns - t->start_ns,
                         .duration_ns = r->end_ns - r->start_ns};
    if (run) {
        e.has_run = true;
        e.run = run->index;
        e.is_warm_up = run->is_warm_up;
    }
    if (r->kind >= TRACE_SPAN && r->words[0]) {
        e.has_run = true;
        e.run = (int64_t)r->words[1];
        e.is_warm_up = r->words[2] != 0;
    }
    if (r->kind == TRACE_LAYER || r->kind == TRACE_SPAN) {
        e.bytes = l->bytes;
        e.flops = l->flops;
    }
    if (r->kind == TRACE_COPY) e.bytes = r->words[0];
    return e;
}

pgy_status trace_find_label(uint32_t *out, pgy_trace *t, const pgy_trace_event *e, const char *args,
                            pgy_error *err)
{
    str key = {0};
    str_printf(&key, "%s%c%s%c%s%c%a %llx", e->name, 1, e->category ? e->category : "", 1, args, 1,
               e->flops, (unsigned long long)e->bytes);
    uintptr_t known = key.failed ? 0 : (uintptr_t)strmap_get(&t->known, str_text(&key));
    if (!known && !key.failed &&
        mem_grow((void **)&t->labels, &t->label_capacity, t->label_count + 1, sizeof *t->labels)) {
        const trace_label made = {.name = arena_strdup(&t->memory, e->name),
                                  .category =
                                      arena_strdup(&t->memory, e->category ? e->category : ""),
                                  .args = arena_strdup(&t->memory, args),
                                  .bytes = e->bytes,
                                  .flops = e->flops};
        t->labels[t->label_count] = made;
        if (made.name && made.category && made.args &&
            strmap_put(&t->known, str_text(&key), (void *)(uintptr_t)(t->label_count + 1)))
            known = ++t->label_count;
    }
    str_deinit(&key);
    *out = (uint32_t)(known - 1);
    return known ? PGY_OK : no_memory(err);
}

/* The text between the braces of a JSON object. */
static pgy_status take_members(char **out, const char *args, pgy_error *err)
{
    const char *from = args ? args : "{}", *end = from + strlen(from);
    while (*from == ' ') from++;
    while (end > from && (end[-1] == ' ' || end[-1] == '\n')) end--;
    if (end - from < 2 || *from != '{' || end[-1] != '}')
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "the args of an event must be a JSON object, but are '%.40s'", args);
    for (from++; *from == ' ' && from < end - 1;) from++;
    *out = mem_strndup(from, (size_t)(end - 1 - from));
    return *out ? PGY_OK : no_memory(err);
}

pgy_status pgy_trace_add(pgy_trace *t, const pgy_trace_event *e, const char *args, pgy_error *err)
{
    static const trace_kind KINDS[] = {[PGY_TRACE_SLICE] = TRACE_SPAN,
                                       [PGY_TRACE_INSTANT] = TRACE_POINT,
                                       [PGY_TRACE_COUNTER] = TRACE_COUNT};
    char *members = NULL;
    trace_record r = {.start_ns = t->start_ns + e->start_ns, .run = TRACE_NONE};
    if (e->row >= t->row_count)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the trace has no row %zu", e->row);
    if ((unsigned)e->kind > PGY_TRACE_COUNTER || !e->name || e->duration_ns < 0)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "an event needs a kind, a name, and a duration of at least 0");
    pgy_status st = take_members(&members, args, err);
    if (!st) st = trace_find_label(&r.label, t, e, members, err);
    mem_free(members);
    if (st) return st;
    if (!mem_grow((void **)&t->records, &t->record_capacity, t->record_count + 1,
                  sizeof *t->records))
        return no_memory(err);
    r.kind = KINDS[e->kind];
    r.row = (uint32_t)e->row;
    r.end_ns = r.start_ns + (e->kind == PGY_TRACE_SLICE ? e->duration_ns : 0);
    r.words[0] = e->has_run;
    r.words[1] = (uint64_t)e->run;
    r.words[2] = e->is_warm_up;
    t->records[t->record_count++] = r;
    return PGY_OK;
}

static int by_start(const void *a, const void *b)
{
    const trace_record *x = a, *y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns) return x->end_ns > y->end_ns ? -1 : 1;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

void pgy_trace_sort(pgy_trace *t)
{
    if (t->record_count) qsort(t->records, t->record_count, sizeof *t->records, by_start);
}

/* ---- Args ----------------------------------------------------------------------------------- */

static trace_arg milli(const char *name, double value)
{
    const double most = 9e15;
    return (trace_arg){name, ARG_MILLI, (int64_t)((value < most ? value : most) * 1e3 + 0.5)};
}

uint64_t trace_flow(const trace_record *r, bool *is_end)
{
    *is_end = r->kind != TRACE_ENQUEUE;
    if (r->kind == TRACE_ENQUEUE || r->kind == TRACE_KERNEL) return r->words[0];
    return r->kind == TRACE_COPY ? r->words[1] : 0;
}

static size_t layer_args(trace_arg *out, const trace_record *r, const trace_label *l)
{
    const double ns = (double)(r->end_ns - r->start_ns);
    size_t n = 0;
    if (l->flops > 0 && ns > 0) out[n++] = milli("gflops_per_s", l->flops / ns);
    if (l->bytes && ns > 0) out[n++] = milli("gb_per_s", (double)l->bytes / ns);
    return n;
}

static size_t copy_args(trace_arg *out, const trace_record *r)
{
    const double ns = (double)(r->end_ns - r->start_ns);
    out[0] = (trace_arg){"bytes", ARG_INT, (int64_t)r->words[0]};
    if (ns <= 0) return 1;
    out[1] = milli("gb_per_s", (double)r->words[0] / ns);
    return 2;
}

static size_t run_args(trace_arg *out, const trace_record *r, const trace_run *run)
{
    const int64_t ns = r->end_ns - r->start_ns;
    out[0] = (trace_arg){"index", ARG_INT, run->index};
    out[1] = (trace_arg){"warmup", ARG_BOOL, run->is_warm_up};
    out[2] = (trace_arg){"latency_us", ARG_MILLI, ns};
    out[3] = (trace_arg){"has_layers", ARG_BOOL, r->words[2] != 0};
    return 4;
}

static size_t named(trace_arg *out, const trace_record *r, const char *const *names)
{
    size_t n = 0;
    for (; names[n]; n++) out[n] = (trace_arg){names[n], ARG_INT, (int64_t)r->words[n]};
    return n;
}

size_t trace_event_args(trace_arg out[TRACE_MAX_ARGS], const pgy_trace *t, const trace_record *r)
{
    static const char *const MEMORY[] = {"live_bytes", "weights_bytes", "workspace_bytes", NULL};
    static const char *const CHECK[] = {"count", "first", NULL}, *const BUSY[] = {"value", NULL};
    static const char *const WORKER[] = {"part", "parts", NULL};
    const trace_label *l = &t->labels[r->label];
    const trace_run *run = trace_run_of(t, r);
    size_t n = 0;
    switch (r->kind) {
    case TRACE_RUN: return run ? run_args(out, r, run) : 0;
    case TRACE_MEMORY: return named(out, r, MEMORY);
    case TRACE_BUSY: return named(out, r, BUSY);
    case TRACE_LAYER: n = layer_args(out, r, l); break;
    case TRACE_COPY: n = copy_args(out, r); break;
    case TRACE_WORKER: n = named(out, r, WORKER); break;
    case TRACE_CHECK: n = named(out, r, CHECK); break;
    default: break;
    }
    bool is_end = false;
    if (trace_flow(r, &is_end))
        out[n++] = (trace_arg){"correlation", ARG_INT, (int64_t)trace_flow(r, &is_end)};
    if (run) out[n++] = (trace_arg){"run", ARG_INT, run->index};
    if ((r->kind == TRACE_SPAN || r->kind == TRACE_POINT) && r->words[0] &&
        !strstr(l->args, "\"run\""))
        out[n++] = (trace_arg){"run", ARG_INT, (int64_t)r->words[1]};
    return n;
}

pgy_status pgy_trace_args(char **out, const pgy_trace *t, size_t i, pgy_error *err)
{
    const trace_record *r = &t->records[i];
    trace_arg args[TRACE_MAX_ARGS];
    const size_t count = trace_event_args(args, t, r);
    const char *of_label = FORMS[r->kind].has_label_args ? t->labels[r->label].args : "";
    str s = {0};
    str_printf(&s, "{%s", of_label);
    for (size_t k = 0; k < count; k++) {
        str_printf(&s, "%s\"%s\":", k || *of_label ? "," : "", args[k].name);
        if (args[k].type == ARG_MILLI)
            trace_milli(&s, args[k].value);
        else if (args[k].type == ARG_BOOL)
            str_append(&s, args[k].value ? "true" : "false");
        else
            str_printf(&s, "%lld", (long long)args[k].value);
    }
    str_append_char(&s, '}');
    const pgy_status st = str_give(out, &s, err);
    str_deinit(&s);
    return st;
}

/* ---- Facts ---------------------------------------------------------------------------------- */

size_t pgy_trace_fact_count(const pgy_trace *t)
{
    return t->facts.count;
}

const char *pgy_trace_fact_name(const pgy_trace *t, size_t i)
{
    return t->facts.entries[i].key;
}

const char *pgy_trace_fact_at(const pgy_trace *t, size_t i)
{
    return t->facts.entries[i].value;
}

const char *pgy_trace_fact(const pgy_trace *t, const char *name)
{
    return strmap_get(&t->facts, name);
}

pgy_status pgy_trace_set_fact(pgy_trace *t, const char *name, const char *json, pgy_error *err)
{
    char *copy = arena_strdup(&t->memory, json);
    return copy && strmap_put(&t->facts, name, copy) ? PGY_OK : no_memory(err);
}

pgy_status pgy_trace_set_text(pgy_trace *t, const char *name, const char *text, pgy_error *err)
{
    str s = {0};
    trace_text(&s, text);
    const pgy_status st =
        s.failed ? no_memory(err) : pgy_trace_set_fact(t, name, str_text(&s), err);
    str_deinit(&s);
    return st;
}

pgy_status pgy_trace_set_number(pgy_trace *t, const char *name, double value, pgy_error *err)
{
    str s = {0};
    trace_put_number(&s, name, value);
    const char *colon = strrchr(str_text(&s), 58);
    const pgy_status st =
        s.failed || !colon ? no_memory(err) : pgy_trace_set_fact(t, name, colon + 1, err);
    str_deinit(&s);
    return st;
}
