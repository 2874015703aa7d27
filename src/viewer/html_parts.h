/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a page's HTML. */
#ifndef VIEWER_HTML_PARTS_H
#define VIEWER_HTML_PARTS_H

#include "viewer/page.h"

/* Appends text for an element or a quoted attribute; characters that a browser would obey become
 * visible escapes. */
void html_text(str *out, const char *text);

/* The modules of page/ in the order of page/modules.def, joined into one script. */
void html_script(str *out);
void html_style(str *out);

/* The policy of a page with this script and style: nothing else may run, and nothing may be
 * loaded but, if `served`, from the page's own origin. */
void html_policy(str *out, const str *script, const str *style, bool served);

/* For browsers without script: the summary, and a table of the worst places or of the nodes. */
void html_noscript(str *out, const pgy_page *p);

/* The blocks of the page's data, each in an element of its own; the page is complete. */
pgy_status html_data(str *out, const pgy_page *p, bool served, pgy_error *err) PGY_MUST_CHECK;

#endif
