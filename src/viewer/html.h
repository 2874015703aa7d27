/* SPDX-License-Identifier: Apache-2.0 */
/* A page as HTML: the template page/index.html with style, script, data and policy filled in. */
#ifndef VIEWER_HTML_H
#define VIEWER_HTML_H

#include "viewer/page.h"

/* Appends the file. @param served  for the server: pieces are fetched from the own origin, so they
 * are left out @param policy  if not NULL, gets the Content-Security-Policy, for a header */
pgy_status html_write(str *out, pgy_page *p, bool served, str *policy,
                      pgy_error *err) PGY_MUST_CHECK;

#endif
