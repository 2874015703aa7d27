/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of `nsys stats --format csv`: sums of kernels, ranges, calls and copies, and lists of
 * single ones. A file may have several tables with an empty line behind each, and lines of progress
 * between them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/printable.h"
#include "trace/load_args.h"

typedef enum column {
    NAME,
    STYLE, /* what tells apart rows of one name: the style of a range, the range of a kernel */
    TOTAL,
    CALLS,
    MEDIAN,
    LEAST,
    GREATEST,
    START,
    DURATION,
    DEVICE,
    STREAM,
    THREAD,
    GRID,
    COLUMN_COUNT
} column;

/* Titles without their unit. Of two that mean the same column, the earlier one counts, and
 * of two that name a category. */
static const struct {
    const char *title;
    column is;
    const char *category; /* of a table with this title; NULL: says nothing */
} TITLES[] = {
    {"Total Proj Time", TOTAL, "layer"},
    {"Total Time", TOTAL, NULL},
    {"Kern Inst", CALLS, "kernel"},
    {"Range Instances", CALLS, "layer"},
    {"Kernel Name", NAME, NULL},
    {"Name", NAME, NULL},
    {"Range", NAME, "nvtx"},
    {"Operation", NAME, NULL},
    {"NVTX Range", STYLE, NULL},
    {"Style", STYLE, NULL},
    {"Instances", CALLS, "kernel"},
    {"Num Calls", CALLS, "api"},
    {"Calls", CALLS, "api"},
    {"Count", CALLS, "memcpy"},
    {"Operations", CALLS, "memcpy"},
    {"Proj Med", MEDIAN, NULL},
    {"Med", MEDIAN, NULL},
    {"Proj Min", LEAST, NULL},
    {"Min", LEAST, NULL},
    {"Minimum", LEAST, NULL},
    {"Proj Max", GREATEST, NULL},
    {"Max", GREATEST, NULL},
    {"Maximum", GREATEST, NULL},
    {"Projected Start", START, "layer"},
    {"Start", START, NULL},
    {"Projected Duration", DURATION, "layer"},
    {"Duration", DURATION, NULL},
    {"Device", DEVICE, NULL},
    {"Strm", STREAM, NULL},
    {"TID", THREAD, NULL},
    {"Tid", THREAD, NULL},
    {"GrdX", GRID, NULL},
    {"RangeStack", COLUMN_COUNT, "nvtx"},
    {"Result", COLUMN_COUNT, "api"},
};
enum { TITLE_COUNT = sizeof TITLES / sizeof *TITLES, MOST_FIELDS = 64 };
static const double MOST_US = 2e15;

typedef struct table {
    int at[COLUMN_COUNT];    /* the field of a column; -1: none */
    double us[COLUMN_COUNT]; /* microseconds in one of the column's unit */
    const char *category;
    size_t field_count;
} table;

typedef struct table_reader {
    trace_reader *r;
    const char *p, *end;
    uint32_t line;
    const char *fields[MOST_FIELDS];
    size_t count;
    table now;
    bool in_table, any;
    pgy_error *err;
} table_reader;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a trace");
}

/* ---- Fields --------------------------------------------------------------------------------- */

static const char *end_of_line(const table_reader *t)
{
    const char *end = memchr(t->p, '\n', (size_t)(t->end - t->p));
    return end ? end : t->end;
}

/* Reads a field in quotes, in which a doubled quote is one. */
static pgy_status read_quoted(table_reader *t, str *out)
{
    const uint32_t line = t->line;
    for (t->p++; t->p < t->end; t->p++) {
        if (*t->p == '\n') t->line++;
        if (*t->p == '"' && (t->p + 1 == t->end || t->p[1] != '"')) break;
        if (*t->p == '"') t->p++;
        str_append_char(out, *t->p);
    }
    if (t->p == t->end)
        return pgy_error_set(t->err, PGY_E_FORMAT, "line %u: a field has no closing quote", line);
    t->p++;
    return PGY_OK;
}

static pgy_status read_field(table_reader *t)
{
    str text = {0};
    pgy_status st = PGY_OK;
    if (t->p < t->end && *t->p == '"') st = read_quoted(t, &text);
    while (!st && t->p < t->end && *t->p != ',' && *t->p != '\n') {
        if (*t->p != '\r') str_append_char(&text, *t->p);
        t->p++;
    }
    const char *kept = st ? NULL : arena_strdup(&t->r->item, str_text(&text));
    if (!st && (!kept || text.failed)) st = no_memory(t->err);
    if (!st && t->count == MOST_FIELDS)
        st = pgy_error_set(t->err, PGY_E_FORMAT, "line %u: more than %d fields", t->line,
                           MOST_FIELDS);
    if (!st) t->fields[t->count++] = kept;
    str_deinit(&text);
    return st;
}

static pgy_status read_record(table_reader *t)
{
    pgy_status st = PGY_OK;
    t->count = 0;
    for (bool more = true; !st && more;) {
        st = read_field(t);
        more = !st && t->p < t->end && *t->p == ',';
        if (more) t->p++;
    }
    if (!st && t->p < t->end) t->p++; /* the end of the line */
    return st;
}

/* ---- Headers -------------------------------------------------------------------------------- */

/* Cuts the unit off a title. @return microseconds in it; 0: no unit of time */
static double cut_unit(char *title)
{
    static const struct {
        const char *name;
        double us;
    } UNITS[] = {{" (ns)", 1e-3}, {" (us)", 1},     {" (\xc2\xb5s)", 1}, {" (usec)", 1},
                 {" (ms)", 1e3},  {" (msec)", 1e3}, {" (s)", 1e6},       {" (sec)", 1e6}};
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++)
        if (str_ends_with(title, UNITS[i].name)) {
            title[strlen(title) - strlen(UNITS[i].name)] = 0;
            return UNITS[i].us;
        }
    return strchr(title, '(') ? 0 : 1e-3; /* old tables name no unit and mean ns */
}

static bool is_time(column c)
{
    return c == TOTAL || (c >= MEDIAN && c <= DURATION);
}

/* Finds the columns that the fields of a line name. False: the line is no header of a table of
 * times. */
static bool find_columns(table *out, table_reader *t)
{
    *out = (table){.field_count = t->count};
    for (size_t c = 0; c < COLUMN_COUNT; c++) out->at[c] = -1;
    for (size_t i = 0; i < TITLE_COUNT; i++)
        for (size_t f = 0; f < t->count; f++) {
            char *title = arena_strdup(&t->r->item, t->fields[f]);
            const double us = title ? cut_unit(title) : 0;
            if (!title || strcmp(title, TITLES[i].title)) continue;
            const column c = TITLES[i].is;
            if (c < COLUMN_COUNT && (out->at[c] >= 0 || (is_time(c) && us <= 0))) continue;
            if (c < COLUMN_COUNT) {
                out->at[c] = (int)f;
                out->us[c] = us;
            }
            if (!out->category) out->category = TITLES[i].category;
        }
    const bool has_sums = out->at[TOTAL] >= 0 && out->at[CALLS] >= 0;
    return out->at[NAME] >= 0 && (has_sums || (out->at[START] >= 0 && out->at[DURATION] >= 0));
}

/* ---- Rows ----------------------------------------------------------------------------------- */

static const char *field(const table_reader *t, column c)
{
    return t->now.at[c] < 0 ? "" : t->fields[t->now.at[c]];
}

static pgy_status wrong(const table_reader *t, column c, const char *expected)
{
    return pgy_error_set(t->err, PGY_E_FORMAT, "line %u: field %d is '%.40s'; expected %s", t->line,
                         t->now.at[c] + 1, printable_name(field(t, c)), expected);
}

/* A time in us; NaN: the table has no such column, or the field is empty. */
static pgy_status read_us(double *out, const table_reader *t, column c, bool required)
{
    const char *text = field(t, c);
    char *end = NULL;
    *out = NAN;
    if (!*text && !required) return PGY_OK;
    const double v = strtod(text, &end) * t->now.us[c];
    if (!*text || *end || !(v >= 0 && v <= MOST_US)) return wrong(t, c, "a time");
    *out = v;
    return PGY_OK;
}

static pgy_status read_calls(uint64_t *out, const table_reader *t)
{
    const char *text = field(t, CALLS);
    char *end = NULL;
    const double v = strtod(text, &end);
    if (!*text || *end || !(v >= 1 && v <= 1e15)) return wrong(t, CALLS, "a number of at least 1");
    *out = (uint64_t)v;
    return PGY_OK;
}

/* Names of ranges have their domain in front; that of TensorRT and the default one say nothing. */
static const char *without_domain(const char *name)
{
    static const char DOMAIN[] = "TensorRT:";
    if (str_starts_with(name, DOMAIN)) return name + strlen(DOMAIN);
    return *name == ':' && name[1] ? name + 1 : name;
}

static pgy_status add_sum(table_reader *t)
{
    static const pgy_trace_row ROW = {1, 1, "nsys", "sums"};
    trace_sum s = {0};
    const char *name = without_domain(field(t, NAME));
    const pgy_trace_event e = {.name = name, .category = t->now.category};
    pgy_status st = read_calls(&s.calls, t);
    if (!st) st = read_us(&s.total_us, t, TOTAL, true);
    if (!st) st = read_us(&s.median_us, t, MEDIAN, false);
    if (!st) st = read_us(&s.min_us, t, LEAST, false);
    if (!st) st = read_us(&s.max_us, t, GREATEST, false);
    const char *style = field(t, STYLE);
    return st ? st
              : trace_add_sum(t->r, &ROW, &e, strcmp(style, "PushPop") ? style : "", &s, t->err);
}

/* Copies have names such as [CUDA memcpy HtoD] and [CUDA memcpy Host-to-Device]. */
static const char *name_of_copy(const char *name)
{
    static const struct {
        const char *part, *name;
    } COPIES[] = {{"HtoD", "H2D"},           {"Host-to-Device", "H2D"}, {"DtoH", "D2H"},
                  {"Device-to-Host", "D2H"}, {"DtoD", "D2D"},           {"Device-to-Device", "D2D"},
                  {"PtoP", "P2P"},           {"Peer-to-Peer", "P2P"}};
    for (size_t i = 0; i < sizeof COPIES / sizeof *COPIES; i++)
        if (strstr(name, COPIES[i].part)) return COPIES[i].name;
    return name;
}

static const char *category_of_slice(const table_reader *t)
{
    const char *name = field(t, NAME);
    if (t->now.category) return t->now.category;
    if (t->now.at[GRID] < 0) return "nvtx";
    if (*field(t, GRID) && strcmp(field(t, GRID), "-")) return "kernel";
    return strstr(name, "memset") ? "memset" : "memcpy";
}

static pgy_status find_row(size_t *out, const table_reader *t)
{
    const bool on_device = t->now.at[STREAM] >= 0;
    const char *device = *field(t, DEVICE) ? field(t, DEVICE) : "unknown";
    const long long lane = strtoll(field(t, on_device ? STREAM : THREAD), NULL, 10);
    char name[64], process[128];
    const pgy_trace_row row = {on_device ? 100 : 1, lane, process, name};
    snprintf(process, sizeof process, on_device ? "device: %.100s" : "host", device);
    snprintf(name, sizeof name, on_device ? "stream %lld" : "thread %lld", lane);
    if (t->r->trace->row_count >= TRACE_MOST_ROWS)
        return pgy_error_set(t->err, PGY_E_FORMAT, "line %u: more than %d threads", t->line,
                             TRACE_MOST_ROWS);
    return pgy_trace_add_row(out, t->r->trace, &row, t->err);
}

static pgy_status add_slice(table_reader *t)
{
    pgy_trace_event e = {.kind = PGY_TRACE_SLICE, .category = category_of_slice(t)};
    double start = 0, duration = 0;
    const char *name = without_domain(field(t, NAME));
    pgy_status st = read_us(&start, t, START, true);
    if (!st) st = read_us(&duration, t, DURATION, true);
    if (!st) st = find_row(&e.row, t);
    if (st) return st;
    e.name = strcmp(e.category, "memcpy") ? name : name_of_copy(name);
    e.start_ns = llround(start * 1e3);
    e.duration_ns = llround(duration * 1e3);
    if (e.start_ns < t->r->first_ns) t->r->first_ns = e.start_ns;
    return pgy_trace_add(t->r->trace, &e, NULL, t->err);
}

/* ---- Lines ---------------------------------------------------------------------------------- */

/* nsys says what it does, between the tables. */
static bool is_progress(const table_reader *t)
{
    static const char *const BEGINNINGS[] = {
        "Processing [", "Generating ", "SKIPPED: ", "WARNING: ", "NOTICE: ", " ** "};
    for (size_t i = 0; i < sizeof BEGINNINGS / sizeof *BEGINNINGS; i++) {
        const size_t size = strlen(BEGINNINGS[i]);
        if ((size_t)(t->end - t->p) >= size && !memcmp(t->p, BEGINNINGS[i], size)) return true;
    }
    return false;
}

static pgy_status read_row(table_reader *t)
{
    const uint32_t line = t->line;
    pgy_status st = read_record(t);
    if (!st && ++t->r->count > TRACE_MOST_EVENTS)
        st = pgy_error_set(t->err, PGY_E_FORMAT, "line %u: more than %d rows", line,
                           TRACE_MOST_EVENTS);
    if (!st && t->count != t->now.field_count)
        st = pgy_error_set(t->err, PGY_E_FORMAT,
                           "line %u: has %zu fields, the header of its table %zu", line, t->count,
                           t->now.field_count);
    return st ? st : t->now.at[TOTAL] >= 0 && t->now.at[CALLS] >= 0 ? add_sum(t) : add_slice(t);
}

/* Outside a table, a line is a header, or means nothing here. */
static pgy_status read_outside(table_reader *t)
{
    const char *whole = t->end, *line_end = end_of_line(t);
    t->end = line_end; /* a quote of such a line does not swallow the next ones */
    const bool is_header = !is_progress(t) && !read_record(t) && find_columns(&t->now, t);
    t->end = whole;
    t->p = line_end < whole ? line_end + 1 : whole;
    t->any = t->any || is_header;
    t->in_table = is_header;
    return PGY_OK;
}

static bool is_blank_line(const table_reader *t)
{
    const char *p = t->p;
    while (p < t->end && (*p == ' ' || *p == '\t' || *p == '\r')) p++;
    return p == t->end || *p == '\n';
}

pgy_status trace_read_tables(trace_reader *r, span text, pgy_error *err)
{
    table_reader t = {.r = r, .p = text.data, .end = text.data + text.size, .line = 1, .err = err};
    pgy_status st = PGY_OK;
    const bool is_text = !memchr(text.data, 0, text.size);
    while (is_text && !st && t.p < t.end) {
        if (is_blank_line(&t) || is_progress(&t)) {
            const char *end = end_of_line(&t);
            t.p = end < t.end ? end + 1 : t.end;
            t.in_table = false;
        } else {
            st = t.in_table ? read_row(&t) : read_outside(&t);
        }
        t.line++;
        arena_deinit(&r->item);
        if (!st) st = cancel_check(err);
    }
    if (!st && !t.any)
        st = pgy_error_set(err, PGY_E_FORMAT,
                           "not a timeline; expected a file of --export-trace (JSON), ONNX "
                           "Runtime, PyTorch or trtexec, tables of 'nsys stats --format csv', or "
                           "the database of 'nsys export --type sqlite' (Perfetto's form is not "
                           "read)");
    r->trace->source = "Nsight Systems";
    if (!st) trace_choose_category(r->trace);
    return st;
}
