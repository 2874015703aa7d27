/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of results. */
#ifndef VIEWER_PAGE_FOLDER_H
#define VIEWER_PAGE_FOLDER_H

#include "viewer/page.h"

/* Appends a file as page_file_add does. Of a folder, appends each file of results that lies in it,
 * in the order of their names, not those in folders in it; others are left out, and a warning names
 * them. A folder of `run --save-outputs`, with a file for each iteration, is read as one file.
 * @return PGY_E_FORMAT: there is none */
pgy_status page_path_add(pgy_page *p, const char *path, const char *name, size_t owner,
                         pgy_error *err) PGY_MUST_CHECK;

#endif
