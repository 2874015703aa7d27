/* SPDX-License-Identifier: Apache-2.0 */
/* All nodes or tensors of a graph as a table, with a column for each quantity. */
#ifndef VIEWER_EXPORT_LIST_H
#define VIEWER_EXPORT_LIST_H

#include "viewer/page.h"

typedef struct export_list {
    view_table table;
    arena memory;
} export_list;

/* @param of  what the rows are; quantities of the other kind are left out */
pgy_status export_list_make(export_list *out, const pgy_page *p, view_of of,
                            pgy_error *err) PGY_MUST_CHECK;
void export_list_deinit(export_list *l);

#endif
