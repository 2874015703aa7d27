/* SPDX-License-Identifier: Apache-2.0 */
/* The page of `run --report page.html`: the model with the verdicts and statistics of the run. The
 * run writes both to temporary files, which the page reads. */
#ifndef CLI_RUN_PAGE_H
#define CLI_RUN_PAGE_H

#include <polygraphy/compare.h>

#include "cli/page.h"

typedef struct run_page {
    const char *path; /* NULL: no page is asked for */
    char *folder, *verdicts, *outputs;
    bool keeps_outputs; /* the user wants `outputs`, too; false: it is temporary */
} run_page;

/* True if the list of --report has a page. */
bool run_page_asked(const char *const *reports, size_t count);
/* Takes the page off the list of reports, and asks for what it needs instead. */
pgy_status run_page_begin(run_page *r, pgy_run_options *o, args *line,
                          pgy_error *err) PGY_MUST_CHECK;
/* Writes the page. @param edited  the model that ran; NULL: the file `path` */
pgy_status run_page_write(const run_page *r, pgy_model *edited, const char *path, args *line,
                          pgy_error *err) PGY_MUST_CHECK;
void run_page_end(run_page *r); /* removes the temporary files */

#endif
