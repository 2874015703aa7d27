/* SPDX-License-Identifier: Apache-2.0 */
/* Netron's attachments: a JSON file with figures of nodes, values and tensors, which Netron shows
 * in its sidebar beside the model. sources/attachment.c reads them. */
#ifndef VIEWER_ATTACHMENT_H
#define VIEWER_ATTACHMENT_H

#include "viewer/page.h"

#define ATTACHMENT_SIGNATURE "netron:attachment"

/* Names in the file, ends with NULL: indices are those of view_scale, view_fold, view_better and
 * view_mark_kind. */
extern const char *const ATTACHMENT_SCALES[],
    *const ATTACHMENT_FOLDS[], *const ATTACHMENT_BETTER[], *const ATTACHMENT_MARKS[];

/* All quantities and marks of graph A. Netron ignores the member `quantities`, which says what this
 * program needs to read the file again. */
pgy_status view_attachment_save(pgy_page *p, const char *path, pgy_error *err) PGY_MUST_CHECK;
void view_attachment_write(json_writer *w, const view_graph *g, const view_results *r);

#endif
