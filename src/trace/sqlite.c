/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite's C interface, as far as reading tables needs it. Its declarations stand here, because the
 * build needs no SQLite. */
#include "trace/sqlite.h"

#include <ctype.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/dl.h"
#include "base/printable.h"

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
enum {
    OK = 0,
    ROW = 100,
    DONE = 101,
    TYPE_NULL = 5,
    OPEN_READONLY = 1,
    OPEN_URI = 0x40,
    OPEN_NO_MUTEX = 0x8000,
    LIMIT_LENGTH = 0,
    LONGEST_VALUE = 1 << 24,
    STEPS_BETWEEN_CHECKS = 20000,
};

static struct {
    int (*open_v2)(const char *, sqlite3 **, int, const char *);
    int (*close)(sqlite3 *);
    int (*prepare_v2)(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
    int (*step)(sqlite3_stmt *);
    int (*finalize)(sqlite3_stmt *);
    int (*column_type)(sqlite3_stmt *, int);
    int64_t (*column_int64)(sqlite3_stmt *, int);
    const unsigned char *(*column_text)(sqlite3_stmt *, int);
    int (*bind_text)(sqlite3_stmt *, int, const char *, int, void (*)(void *));
    const char *(*errmsg)(sqlite3 *);
    int (*limit)(sqlite3 *, int, int);
    void (*progress_handler)(sqlite3 *, int, int (*)(void *), void *);
    int (*exec)(sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *, char **);
} api;

struct sqlite_file {
    sqlite3 *db;
};

/* ---- The library ----------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_loaded;

static pgy_status load(pgy_error *err)
{
    static const char *const NAMES[] = {"libsqlite3.so.0", "libsqlite3.so"};
    const dl_symbol symbols[] = {
        {"sqlite3_open_v2", (void **)&api.open_v2, true},
        {"sqlite3_close", (void **)&api.close, true},
        {"sqlite3_prepare_v2", (void **)&api.prepare_v2, true},
        {"sqlite3_step", (void **)&api.step, true},
        {"sqlite3_finalize", (void **)&api.finalize, true},
        {"sqlite3_column_type", (void **)&api.column_type, true},
        {"sqlite3_column_int64", (void **)&api.column_int64, true},
        {"sqlite3_column_text", (void **)&api.column_text, true},
        {"sqlite3_bind_text", (void **)&api.bind_text, true},
        {"sqlite3_errmsg", (void **)&api.errmsg, true},
        {"sqlite3_limit", (void **)&api.limit, true},
        {"sqlite3_progress_handler", (void **)&api.progress_handler, true},
        {"sqlite3_exec", (void **)&api.exec, true},
    };
    void *handle = NULL;
    pgy_status st = dl_open(&handle, NAMES, sizeof NAMES / sizeof *NAMES, NULL, err);
    if (!st) st = dl_resolve(handle, symbols, sizeof symbols / sizeof *symbols, err);
    return st ? pgy_error_prefix(err, st,
                                 "the file is a SQLite database, which the system's SQLite library "
                                 "reads (package libsqlite3-0 or sqlite-libs): ")
              : PGY_OK;
}

static pgy_status need_library(pgy_error *err)
{
    pgy_status st = PGY_OK;
    pthread_mutex_lock(&lock);
    if (!is_loaded) st = load(err);
    is_loaded = is_loaded || !st;
    pthread_mutex_unlock(&lock);
    return st;
}

/* ---- A database ------------------------------------------------------------------------------ */

static int is_cancelled(void *unused)
{
    (void)unused;
    return cancel_requested();
}

static pgy_status fail(const sqlite_file *f, pgy_error *err)
{
    const pgy_status st = cancel_check(err);
    return st ? st
              : pgy_error_set(err, PGY_E_FORMAT, "SQLite cannot read the database: %s",
                              printable_name(f->db ? api.errmsg(f->db) : "out of memory"));
}

/* A URI can say that nobody changes the file, so that SQLite makes no files beside it for locks. */
static char *uri_of(const char *path)
{
    str uri = {0};
    str_append(&uri, "file:");
    for (const char *c = path; *c; c++)
        if (isalnum((unsigned char)*c) || strchr("/._-", *c))
            str_append_char(&uri, *c);
        else
            str_printf(&uri, "%%%02X", (unsigned)(unsigned char)*c);
    str_append(&uri, "?mode=ro&immutable=1");
    return str_take(&uri);
}

static pgy_status open_file(sqlite_file *f, const char *path, pgy_error *err)
{
    char *uri = uri_of(path);
    if (!uri) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    const int code = api.open_v2(uri, &f->db, OPEN_READONLY | OPEN_NO_MUTEX | OPEN_URI, NULL);
    mem_free(uri);
    return code == OK ? PGY_OK : fail(f, err);
}

pgy_status sqlite_open(sqlite_file **out, const char *path, pgy_error *err)
{
    pgy_status st = need_library(err);
    sqlite_file *f = st ? NULL : mem_calloc(1, sizeof *f);
    if (st) return st;
    if (!f) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    st = open_file(f, path, err);
    if (!st) {
        /* The file is not trusted: its schema must not call functions, and values have a limit.
         * Older libraries do not know the first pragma and ignore it. */
        api.limit(f->db, LIMIT_LENGTH, LONGEST_VALUE);
        api.progress_handler(f->db, STEPS_BETWEEN_CHECKS, is_cancelled, NULL);
        if (api.exec(f->db,
                     "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; "
                     "SELECT 1 FROM sqlite_master LIMIT 1",
                     NULL, NULL, NULL) != OK)
            st = fail(f, err);
    }
    if (st)
        sqlite_close(f);
    else
        *out = f;
    return st;
}

void sqlite_close(sqlite_file *f)
{
    if (!f) return;
    if (f->db) api.close(f->db);
    mem_free(f);
}

/* Does a query with one text have a row? */
static bool finds(const sqlite_file *f, const char *query, const char *text)
{
    sqlite3_stmt *s = NULL;
    bool found = api.prepare_v2(f->db, query, -1, &s, NULL) == OK &&
                 api.bind_text(s, 1, text, -1, NULL) == OK && api.step(s) == ROW;
    api.finalize(s);
    return found;
}

bool sqlite_has_table(sqlite_file *f, const char *table)
{
    return finds(f, "SELECT 1 FROM sqlite_master WHERE type='table' AND rootpage>0 AND name=?1",
                 table);
}

bool sqlite_has_column(sqlite_file *f, const char *table, const char *column)
{
    sqlite3_stmt *s = NULL;
    str query = {0};
    bool found = false;
    str_printf(&query, "PRAGMA table_info(%s)", table);
    if (!query.failed && api.prepare_v2(f->db, str_text(&query), -1, &s, NULL) == OK)
        while (!found && api.step(s) == ROW) {
            const unsigned char *name = api.column_text(s, 1);
            found = name && !strcmp((const char *)name, column);
        }
    api.finalize(s);
    str_deinit(&query);
    return found;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

pgy_status sqlite_select(sqlite_rows *out, sqlite_file *f, const char *table,
                         const char *const *columns, size_t count, pgy_error *err)
{
    str query = {0};
    sqlite3_stmt *s = NULL;
    pgy_status st = PGY_OK;
    *out = (sqlite_rows){.file = f};
    if (!sqlite_has_table(f, table)) return cancel_check(err);
    str_append(&query, "SELECT ");
    for (size_t i = 0; i < count; i++)
        str_printf(&query, "%s%s%s%s", i ? "," : "",
                   sqlite_has_column(f, table, columns[i]) ? "\"" : "NULL",
                   sqlite_has_column(f, table, columns[i]) ? columns[i] : "",
                   sqlite_has_column(f, table, columns[i]) ? "\"" : "");
    str_printf(&query, " FROM %s", table);
    if (query.failed) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st && api.prepare_v2(f->db, str_text(&query), -1, &s, NULL) != OK) st = fail(f, err);
    str_deinit(&query);
    out->statement = s;
    return st;
}

bool sqlite_next(sqlite_rows *r, pgy_status *st, pgy_error *err)
{
    if (!r->statement) return false;
    *st = cancel_check(err);
    const int code = *st ? DONE : api.step(r->statement);
    if (code != ROW && code != DONE) *st = fail(r->file, err);
    return code == ROW;
}

bool sqlite_is_null(const sqlite_rows *r, int column)
{
    return api.column_type(r->statement, column) == TYPE_NULL;
}

int64_t sqlite_int(const sqlite_rows *r, int column)
{
    return api.column_int64(r->statement, column);
}

const char *sqlite_text(const sqlite_rows *r, int column)
{
    return (const char *)api.column_text(r->statement, column);
}

void sqlite_end(sqlite_rows *r)
{
    if (r->statement) api.finalize(r->statement);
    r->statement = NULL;
}
