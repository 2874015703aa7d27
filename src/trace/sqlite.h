/* SPDX-License-Identifier: Apache-2.0 */
/* Reads databases by the system's SQLite library, which is opened at run time.
 *
 *     sqlite_rows rows = {0};
 *     pgy_status st = sqlite_select(&rows, db, "StringIds", COLUMNS, 2, err);
 *     while (!st && sqlite_next(&rows, &st, err)) ... sqlite_int(&rows, 0) ...
 *     sqlite_end(&rows);
 */
#ifndef TRACE_SQLITE_H
#define TRACE_SQLITE_H

#include <polygraphy/base.h>

typedef struct sqlite_file sqlite_file;

/* Opens a database for reading; nothing is written beside it. PGY_E_NOT_FOUND: the library is not
 * installed; the error lists the names that were tried. */
pgy_status sqlite_open(sqlite_file **out, const char *path, pgy_error *err) PGY_MUST_CHECK;
void sqlite_close(sqlite_file *f); /* NULL is fine */
/* Is there an ordinary table of this name? Views and virtual tables run code of the file. */
bool sqlite_has_table(sqlite_file *f, const char *table);
bool sqlite_has_column(sqlite_file *f, const char *table, const char *column);

typedef struct sqlite_rows {
    sqlite_file *file;
    void *statement;
} sqlite_rows;

/* Selects columns of a table; a column that the table lacks is NULL in each row. Without the table
 * there are no rows. Names are literals of ours, not texts of a user. */
pgy_status sqlite_select(sqlite_rows *out, sqlite_file *f, const char *table,
                         const char *const *columns, size_t count, pgy_error *err) PGY_MUST_CHECK;
/* Moves to the next row. False: no more rows, or *st is an error. */
bool sqlite_next(sqlite_rows *r, pgy_status *st, pgy_error *err);
bool sqlite_is_null(const sqlite_rows *r, int column);
int64_t sqlite_int(const sqlite_rows *r, int column);      /* 0 for NULL */
const char *sqlite_text(const sqlite_rows *r, int column); /* NULL for NULL; until sqlite_next */
void sqlite_end(sqlite_rows *r);

#endif
