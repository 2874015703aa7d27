/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a page is made from. */
#ifndef VIEWER_PAGE_FILES_H
#define VIEWER_PAGE_FILES_H

#include "viewer/page.h"

/* Appends a file of any kind. A model or plan is read at once; a file of results as soon as there
 * is a graph, so that its place on a command line does not matter.
 * @param name  shown instead of the path; NULL: the path is shown
 * @param owner  whom its results belong to: VIEW_OF_A ... */
pgy_status page_file_add(pgy_page *p, const char *path, const char *name, size_t owner,
                         pgy_error *err) PGY_MUST_CHECK;
/* Is it a file of results that a page can show, and neither a model nor a plan? */
pgy_status page_file_is_result(bool *out, const char *path, pgy_error *err) PGY_MUST_CHECK;
/* The graph that results belong to; VIEW_NONE: it is not there yet. */
uint32_t page_file_graph(const pgy_page *p, const view_file *f);
/* Reads the files of results that wait, and whose graph is there. */
pgy_status page_files_read(pgy_page *p, pgy_error *err) PGY_MUST_CHECK;
/* Fails if files still wait: for a graph that the page does not have. */
pgy_status page_files_check(const pgy_page *p, pgy_error *err) PGY_MUST_CHECK;

#endif
