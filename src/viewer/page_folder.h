/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of results. */
#ifndef VIEWER_PAGE_FOLDER_H
#define VIEWER_PAGE_FOLDER_H

#include "viewer/page.h"

/* Is it a folder of `run --save-outputs`, with a file for each iteration? It is read as one file.
 */
pgy_status page_folder_is_run(bool *out, const char *path, pgy_error *err) PGY_MUST_CHECK;
/* Appends each file of results that lies in a folder, in the order of their names, not those in
 * folders in it. Others are left out, and a warning names them.
 * @return PGY_E_FORMAT: there is none */
pgy_status page_folder_add(pgy_page *p, const char *path, size_t owner,
                           pgy_error *err) PGY_MUST_CHECK;

#endif
