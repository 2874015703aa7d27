/* SPDX-License-Identifier: Apache-2.0 */
/* Sources: the kinds of files that a view can show. Each is one file here and a line in
 * sources.def. A view reads files in this order: models and plans first, so that names in the
 * others can be looked up; otherwise in the order given. */
#ifndef VIEWER_SOURCE_H
#define VIEWER_SOURCE_H

#include "viewer/page.h"

struct view_source {
    const char *name, *label; /* "accuracy", "verdicts of run --accuracy" */
    /* True if a file with this name that starts with these bytes is of the kind. `json` is the
     * whole document if it is a JSON file under 64 MiB, else NULL. */
    bool (*accept)(const char *path, span start, const json_value *json);
    pgy_status (*add)(pgy_page *p, const char *path, pgy_error *err);
};

extern const view_source *const VIEW_SOURCES[]; /* ends in NULL */

#endif
