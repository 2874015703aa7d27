/* SPDX-License-Identifier: Apache-2.0 */
/* What leaves a view as text: tables for spreadsheets and scripts, and a block for bug reports. */
#ifndef VIEWER_EXPORT_H
#define VIEWER_EXPORT_H

#include "viewer/page.h"

/* Writes a table of the view; the path's extension decides the form: ".csv" or ".json". @param id
 * that of a table, or "nodes" or "tensors": all of graph A with all quantities.
 * @return PGY_E_NOT_FOUND: there is no such table; the error lists those that there are */
pgy_status view_export_table(pgy_page *p, const char *id, const char *path,
                             pgy_error *err) PGY_MUST_CHECK;
/* Appends the lines of a CSV file (RFC 4180 with line feeds). Text that a spreadsheet would take
 * for a formula gets an apostrophe in front. */
void view_export_csv(str *out, const view_table *t);
/* Writes {"id", "title", "note", "columns": [{"name", "kind"}], "rows": [{column: value}]}. */
void view_export_json(json_writer *w, const view_table *t);

/* Appends a block of text for a bug report: verdict, first failing layer, errors, marks, and how to
 * repeat it. */
pgy_status view_export_report(str *out, pgy_page *p, pgy_error *err) PGY_MUST_CHECK;

#endif
