/* SPDX-License-Identifier: Apache-2.0 */
/* The database of `nsys export --type sqlite`: its tables become rows and slices. Newer versions
 * have more columns, older ones fewer; a column that is missing counts as unknown. */
#include "trace/nsys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "trace/load_args.h"

static const int64_t MOST_NS = INT64_C(1) << 60;

/* ---- Texts ---------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const nsys_text *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static pgy_status read_texts(nsys_reader *n)
{
    static const char TABLE[] = "StringIds";
    static const char *const COLUMNS[] = {"id", "value"};
    sqlite_rows rows;
    pgy_status st = sqlite_select(&rows, n->db, TABLE, COLUMNS, 2, n->err);
    while (!st && sqlite_next(&rows, &st, n->err)) {
        const char *text = sqlite_text(&rows, 1);
        st = nsys_limit(n, n->text_count, TABLE);
        if (st || !text) continue;
        text = arena_strdup(&n->memory, text);
        if (!text ||
            !mem_grow((void **)&n->texts, &n->text_capacity, n->text_count + 1, sizeof *n->texts))
            st = nsys_no_memory(n->err);
        else
            n->texts[n->text_count++] = (nsys_text){sqlite_int(&rows, 0), text};
    }
    sqlite_end(&rows);
    if (n->text_count) qsort(n->texts, n->text_count, sizeof *n->texts, by_id);
    return st;
}

/* The text that a column refers to; NULL: none. */
static const char *text_of(const nsys_reader *n, const sqlite_rows *rows, int column)
{
    const nsys_text wanted = {.id = sqlite_int(rows, column)};
    if (sqlite_is_null(rows, column) || !n->text_count) return NULL;
    const nsys_text *found = bsearch(&wanted, n->texts, n->text_count, sizeof wanted, by_id);
    return found ? found->text : NULL;
}

/* Reads the times of a row, in its columns 0 and 1. False: it has no end, as markers and ranges
 * that were open at the end of the recording. */
static bool read_times(pgy_trace_event *e, const sqlite_rows *rows, const char *table,
                       const nsys_reader *n, pgy_status *st)
{
    const int64_t start = sqlite_int(rows, 0), end = sqlite_int(rows, 1);
    if (sqlite_is_null(rows, 0) || sqlite_is_null(rows, 1)) return false;
    if (start < -MOST_NS || start > MOST_NS || end < start || end > MOST_NS) {
        *st = pgy_error_set(n->err, PGY_E_FORMAT, "table %s: a row lasts from %lld to %lld ns",
                            table, (long long)start, (long long)end);
        return false;
    }
    e->start_ns = start;
    e->duration_ns = end - start;
    return true;
}

/* ---- The device ------------------------------------------------------------------------------ */

static pgy_status read_devices(nsys_reader *n)
{
    static const char *const COLUMNS[] = {"id", "name"};
    sqlite_rows rows;
    pgy_status st = sqlite_select(&rows, n->db, "TARGET_INFO_GPU", COLUMNS, 2, n->err);
    while (!st && sqlite_next(&rows, &st, n->err)) {
        const char *name = sqlite_text(&rows, 1);
        char key[32];
        snprintf(key, sizeof key, "%lld", (long long)sqlite_int(&rows, 0));
        char *kept = name ? arena_strdup(&n->memory, name) : NULL;
        if (name &&
            (n->devices.count >= TRACE_MOST_ROWS || !kept || !strmap_put(&n->devices, key, kept)))
            st = nsys_no_memory(n->err);
    }
    sqlite_end(&rows);
    return st;
}

/* The columns of all tables of work on a device. */
enum { START, END, DEVICE, STREAM, CORRELATION, PROCESS, OWN };

static pgy_status put_work(nsys_reader *n, pgy_trace_event *e, const sqlite_rows *rows,
                           const char *args)
{
    const int64_t device = sqlite_int(rows, DEVICE), stream = sqlite_int(rows, STREAM);
    char name[48];
    if (device < 0 || device >= TRACE_MOST_ROWS)
        return pgy_error_set(n->err, PGY_E_FORMAT, "work on device %lld; expected 0 to %d",
                             (long long)device, TRACE_MOST_ROWS - 1);
    snprintf(name, sizeof name, "stream %lld", (long long)stream);
    pgy_status st = nsys_device_row(&e->row, n, device, 10 + (stream & INT32_MAX), name);
    if (!st) st = nsys_add(n, e, args);
    if (st) return st;
    if (!mem_grow((void **)&n->works, &n->work_capacity, n->work_count + 1, sizeof *n->works))
        return nsys_no_memory(n->err);
    n->works[n->work_count++] =
        (nsys_work){e->start_ns, e->start_ns + e->duration_ns, sqlite_int(rows, CORRELATION),
                    sqlite_int(rows, PROCESS) >> NSYS_PROCESS_BITS, device};
    return PGY_OK;
}

static void put_three(str *out, const char *name, const sqlite_rows *rows, int first)
{
    if (sqlite_is_null(rows, first)) return;
    trace_put_key(out, name);
    str_printf(out, "[%lld,%lld,%lld]", (long long)sqlite_int(rows, first),
               (long long)sqlite_int(rows, first + 1), (long long)sqlite_int(rows, first + 2));
}

static void put_one(str *out, const char *name, const sqlite_rows *rows, int column)
{
    if (!sqlite_is_null(rows, column))
        trace_put_number(out, name, (double)sqlite_int(rows, column));
}

static pgy_status read_kernel(nsys_reader *n, pgy_trace_event *e, const sqlite_rows *rows)
{
    enum { DEMANGLED = OWN, SHORT, GRID, BLOCK = GRID + 3, REGISTERS = BLOCK + 3, SHARED };
    str args = {0};
    e->name = text_of(n, rows, DEMANGLED);
    if (!e->name) e->name = text_of(n, rows, SHORT);
    if (!e->name) e->name = "unknown kernel";
    put_one(&args, "device", rows, DEVICE);
    put_one(&args, "stream", rows, STREAM);
    put_three(&args, "grid", rows, GRID);
    put_three(&args, "block", rows, BLOCK);
    put_one(&args, "registers", rows, REGISTERS);
    put_one(&args, "shared_bytes", rows, SHARED);
    str object = {0};
    str_printf(&object, "{%s}", str_text(&args));
    const pgy_status st = args.failed || object.failed ? nsys_no_memory(n->err)
                                                       : put_work(n, e, rows, str_text(&object));
    str_deinit(&args);
    str_deinit(&object);
    return st;
}

static pgy_status read_copy(nsys_reader *n, pgy_trace_event *e, const sqlite_rows *rows)
{
    enum { BYTES = OWN, KIND };
    static const struct {
        int64_t kind;
        const char *name;
    } KINDS[] = {{1, "H2D"}, {2, "D2H"}, {8, "D2D"}, {10, "P2P"}};
    e->name = "copy";
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (KINDS[i].kind == sqlite_int(rows, KIND)) e->name = KINDS[i].name;
    e->bytes = sqlite_int(rows, BYTES) > 0 ? (uint64_t)sqlite_int(rows, BYTES) : 0;
    return put_work(n, e, rows, NULL);
}

static pgy_status read_fill(nsys_reader *n, pgy_trace_event *e, const sqlite_rows *rows)
{
    e->name = "memset";
    return put_work(n, e, rows, NULL);
}

/* ---- The host -------------------------------------------------------------------------------- */

/* "cudaLaunchKernel_v7000" without the version of the call. */
static const char *without_version(nsys_reader *n, const char *name)
{
    const char *end = strstr(name, "_v");
    const bool is_version = end && end[2] && !end[2 + strspn(end + 2, "0123456789")];
    return is_version ? arena_strndup(&n->r->item, name, (size_t)(end - name)) : name;
}

static pgy_status read_call(nsys_reader *n, pgy_trace_event *e, const sqlite_rows *rows)
{
    enum { THREAD = 2, ID, NAME };
    const char *name = text_of(n, rows, NAME);
    const int64_t thread = sqlite_int(rows, THREAD);
    e->name = without_version(n, name ? name : "unknown call");
    pgy_status st = e->name ? nsys_host_row(&e->row, n, thread) : nsys_no_memory(n->err);
    if (!st) st = nsys_add(n, e, NULL);
    arena_deinit(&n->r->item);
    if (st) return st;
    if (!mem_grow((void **)&n->calls, &n->call_capacity, n->call_count + 1, sizeof *n->calls))
        return nsys_no_memory(n->err);
    n->calls[n->call_count++] = (nsys_call){thread, e->start_ns, sqlite_int(rows, ID), SIZE_MAX};
    return PGY_OK;
}

/* Only ranges that a thread pushed and popped nest. */
static pgy_status read_range(nsys_reader *n, pgy_trace_event *e, const sqlite_rows *rows)
{
    enum { THREAD = 2, TEXT, TEXT_ID, TYPE, PUSH_POP = 59 };
    const char *name = sqlite_text(rows, TEXT);
    if (!name) name = text_of(n, rows, TEXT_ID);
    e->name = arena_strdup(&n->memory, name ? name : "unnamed range");
    if (!e->name) return nsys_no_memory(n->err);
    pgy_status st = nsys_host_row(&e->row, n, sqlite_int(rows, THREAD));
    if (!st) st = nsys_add(n, e, NULL);
    if (st || (!sqlite_is_null(rows, TYPE) && sqlite_int(rows, TYPE) != PUSH_POP)) return st;
    if (!mem_grow((void **)&n->ranges, &n->range_capacity, n->range_count + 1, sizeof *n->ranges))
        return nsys_no_memory(n->err);
    n->ranges[n->range_count++] = (nsys_range){sqlite_int(rows, THREAD),
                                               e->start_ns,
                                               e->start_ns + e->duration_ns,
                                               e->name,
                                               SIZE_MAX,
                                               SIZE_MAX};
    return PGY_OK;
}

/* ---- Tables --------------------------------------------------------------------------------- */

enum { MOST_COLUMNS = 16 };
static const struct {
    const char *name, *category;
    pgy_status (*read)(nsys_reader *n, pgy_trace_event *e, const sqlite_rows *rows);
    const char *columns[MOST_COLUMNS];
} TABLES[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     "kernel",
     read_kernel,
     {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "demangledName",
      "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "registersPerThread",
      "staticSharedMemory"}},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     "memcpy",
     read_copy,
     {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes", "copyKind"}},
    {"CUPTI_ACTIVITY_KIND_MEMSET",
     "memset",
     read_fill,
     {"start", "end", "deviceId", "streamId", "correlationId", "globalPid"}},
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     "api",
     read_call,
     {"start", "end", "globalTid", "correlationId", "nameId"}},
    {"NVTX_EVENTS",
     "nvtx",
     read_range,
     {"start", "end", "globalTid", "text", "textId", "eventType"}},
};
enum { TABLE_COUNT = sizeof TABLES / sizeof *TABLES };

static pgy_status read_table(nsys_reader *n, size_t i)
{
    size_t count = 0;
    sqlite_rows rows;
    while (count < MOST_COLUMNS && TABLES[i].columns[count]) count++;
    pgy_status st = sqlite_select(&rows, n->db, TABLES[i].name, TABLES[i].columns, count, n->err);
    while (!st && sqlite_next(&rows, &st, n->err)) {
        pgy_trace_event e = {.kind = PGY_TRACE_SLICE, .category = TABLES[i].category};
        if (read_times(&e, &rows, TABLES[i].name, n, &st) && !st) st = TABLES[i].read(n, &e, &rows);
    }
    sqlite_end(&rows);
    return st;
}

/* A database of another program is not one without events. */
static pgy_status check_tables(nsys_reader *n)
{
    for (size_t i = 0; i < TABLE_COUNT; i++)
        if (sqlite_has_table(n->db, TABLES[i].name)) return PGY_OK;
    return pgy_error_set(n->err, PGY_E_FORMAT,
                         "the database has none of the tables of Nsight Systems (%s, %s ...); "
                         "expected one of 'nsys export --type sqlite'",
                         TABLES[0].name, TABLES[TABLE_COUNT - 1].name);
}

static void deinit(nsys_reader *n)
{
    sqlite_close(n->db);
    mem_free(n->texts);
    mem_free(n->calls);
    mem_free(n->ranges);
    mem_free(n->works);
    strmap_deinit(&n->devices);
    arena_deinit(&n->memory);
}

pgy_status trace_read_nsys(trace_reader *r, pgy_error *err)
{
    nsys_reader n = {.r = r, .err = err};
    pgy_status st = sqlite_open(&n.db, r->path, err);
    if (!st) st = check_tables(&n);
    if (!st) n.knows_process = sqlite_has_column(n.db, TABLES[0].name, "globalPid");
    if (!st) st = read_texts(&n);
    if (!st) st = read_devices(&n);
    for (size_t i = 0; !st && i < TABLE_COUNT; i++) st = read_table(&n, i);
    if (!st) st = nsys_project(&n);
    if (!st) trace_choose_category(r->trace);
    r->trace->source = "Nsight Systems";
    deinit(&n);
    return st;
}
