/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome's trace event JSON: the object form, one event per line, times in microseconds with
 * exactly three decimals, relative to the start of the trace. What the events of a label or row
 * share is turned into text once, so a million events take a fraction of a second. */
#include <string.h>

#include "base/alloc.h"
#include "trace/trace.h"

/* Texts that many lines contain. */
typedef struct parts {
    span *rows;   /* of each row: "pid":10,"tid":1 */
    span *labels; /* of each label: its name */
    str text;
} parts;

static void put_int(str *s, int64_t value)
{
    char text[24], *at = text + sizeof text;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    if (value < 0) *--at = '-';
    str_append_n(s, at, (size_t)(text + sizeof text - at));
}

static void put(str *s, const char *text)
{
    str_append_n(s, text, strlen(text));
}

static void put_span(str *s, span t)
{
    str_append_n(s, t.data, t.size);
}

/* ---- Names of processes and rows ------------------------------------------------------------- */

static void begin_line(trace_sink *s, bool *first)
{
    put(sink_text(s), *first ? "\n" : ",\n");
    *first = false;
    sink_flow(s);
}

static void put_name(trace_sink *s, const trace_row *row, const char *what, const char *name,
                     bool *first)
{
    str *out = sink_text(s);
    begin_line(s, first);
    str_printf(out, "{\"ph\":\"M\",\"pid\":%lld,\"tid\":%lld,\"name\":\"%s\",\"args\":{\"name\":",
               (long long)row->process, (long long)row->thread, what);
    trace_text(out, name);
    put(out, "}}");
}

static void put_order(trace_sink *s, const trace_row *row, const char *what, int64_t order,
                      bool *first)
{
    begin_line(s, first);
    str_printf(sink_text(s),
               "{\"ph\":\"M\",\"pid\":%lld,\"tid\":%lld,\"name\":\"%s\",\"args\":{\"sort_index\":"
               "%lld}}",
               (long long)row->process, (long long)row->thread, what, (long long)order);
}

static bool is_first_of_process(const pgy_trace *t, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (t->rows[k].process == t->rows[i].process) return false;
    return true;
}

static void put_rows(trace_sink *s, const pgy_trace *t, bool *first)
{
    for (size_t i = 0; i < t->row_count; i++) {
        const trace_row *row = &t->rows[i];
        if (is_first_of_process(t, i)) {
            put_name(s, row, "process_name", row->process_name, first);
            put_order(s, row, "process_sort_index", row->process, first);
        }
        put_name(s, row, "thread_name", row->name, first);
        put_order(s, row, "thread_sort_index", row->thread, first);
    }
}

/* ---- Events --------------------------------------------------------------------------------- */

static span since(const str *text, size_t from)
{
    return (span){(const char *)(uintptr_t)from, text->size - from};
}

/* The text may move while it grows, so the spans hold offsets until it is complete. */
static bool make_parts(parts *p, const pgy_trace *t)
{
    p->rows = mem_calloc(t->row_count + 1, sizeof *p->rows);
    p->labels = mem_calloc(t->label_count + 1, sizeof *p->labels);
    if (!p->rows || !p->labels) return false;
    for (size_t i = 0; i < t->row_count; i++) {
        const size_t from = p->text.size;
        str_printf(&p->text, "\"pid\":%lld,\"tid\":%lld", (long long)t->rows[i].process,
                   (long long)t->rows[i].thread);
        p->rows[i] = since(&p->text, from);
    }
    for (size_t i = 0; i < t->label_count; i++) {
        const size_t from = p->text.size;
        trace_text_short(&p->text, t->labels[i].name);
        p->labels[i] = since(&p->text, from);
    }
    if (p->text.failed) return false;
    const char *base = str_text(&p->text);
    for (size_t i = 0; i < t->row_count; i++) p->rows[i].data = base + (uintptr_t)p->rows[i].data;
    for (size_t i = 0; i < t->label_count; i++)
        p->labels[i].data = base + (uintptr_t)p->labels[i].data;
    return true;
}

static void deinit_parts(parts *p)
{
    mem_free(p->rows);
    mem_free(p->labels);
    str_deinit(&p->text);
}

static void put_args(str *out, const pgy_trace *t, const trace_record *r)
{
    trace_arg args[TRACE_MAX_ARGS];
    const char *of_label = trace_kind_form(r->kind)->has_label_args ? t->labels[r->label].args : "";
    const size_t count = trace_event_args(args, t, r);
    put(out, ",\"args\":{");
    put(out, of_label);
    for (size_t i = 0; i < count; i++) {
        put(out, i || *of_label ? ",\"" : "\"");
        put(out, args[i].name);
        put(out, "\":");
        if (args[i].type == ARG_MILLI)
            trace_milli(out, args[i].value);
        else if (args[i].type == ARG_BOOL)
            put(out, args[i].value ? "true" : "false");
        else
            put_int(out, args[i].value);
    }
    put(out, "}}");
}

static void put_event(trace_sink *s, const pgy_trace *t, const parts *p, const trace_record *r)
{
    static const char *const PHASES[] = {[PGY_TRACE_SLICE] = "{\"ph\":\"X\",",
                                         [PGY_TRACE_INSTANT] = "{\"ph\":\"i\",",
                                         [PGY_TRACE_COUNTER] = "{\"ph\":\"C\","};
    str *out = sink_text(s);
    const kind_form *form = trace_kind_form(r->kind);
    const char *own = t->labels[r->label].category;
    put(out, PHASES[form->form]);
    put_span(out, p->rows[r->row]);
    put(out, ",\"ts\":");
    trace_milli(out, r->start_ns - t->start_ns);
    if (form->form == PGY_TRACE_SLICE) {
        put(out, ",\"dur\":");
        trace_milli(out, r->end_ns - r->start_ns);
    }
    if (form->form == PGY_TRACE_INSTANT) put(out, ",\"s\":\"t\"");
    if (own && *own) {
        put(out, ",\"cat\":");
        trace_text(out, own);
    } else if (*form->category) {
        put(out, ",\"cat\":\"");
        put(out, form->category);
        put(out, "\"");
    }
    put(out, ",\"name\":");
    put_span(out, p->labels[r->label]);
    put_args(out, t, r);
}

/* An arrow from the call that launched a kernel to the kernel. */
static void put_flow(trace_sink *s, const pgy_trace *t, const parts *p, const trace_record *r,
                     bool *first)
{
    str *out = sink_text(s);
    bool is_end = false;
    const uint64_t id = trace_flow(r, &is_end);
    if (!id) return;
    begin_line(s, first);
    put(out, is_end ? "{\"ph\":\"f\",\"bp\":\"e\"," : "{\"ph\":\"s\",");
    put_span(out, p->rows[r->row]);
    put(out, ",\"ts\":");
    trace_milli(out, r->start_ns - t->start_ns);
    put(out, ",\"cat\":\"flow\",\"name\":\"launch\",\"id\":");
    put_int(out, (int64_t)id);
    put(out, "}");
}

static void put_facts(trace_sink *s, const pgy_trace *t)
{
    str *out = sink_text(s);
    put(out, "\n],\"otherData\":{");
    for (size_t i = 0; i < t->facts.count; i++) {
        put(out, i ? ",\n" : "\n");
        trace_text(out, t->facts.entries[i].key);
        put(out, ":");
        put(out, t->facts.entries[i].value);
    }
    put(out, "}}\n");
}

void trace_write_json(trace_sink *s, const pgy_trace *t)
{
    parts p = {0};
    bool first = true;
    put(sink_text(s), "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    put_rows(s, t, &first);
    if (make_parts(&p, t)) {
        for (size_t i = 0; i < t->record_count; i++) {
            const trace_record *r = &t->records[i];
            begin_line(s, &first);
            put_event(s, t, &p, r);
            put_flow(s, t, &p, r, &first);
        }
        put_facts(s, t);
    } else {
        sink_text(s)->failed = true;
    }
    deinit_parts(&p);
}
