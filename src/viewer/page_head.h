/* SPDX-License-Identifier: Apache-2.0 */
/* The block "head" of a page: what the page is and what it has. */
#ifndef VIEWER_PAGE_HEAD_H
#define VIEWER_PAGE_HEAD_H

#include "viewer/page.h"

const char *page_title(const pgy_page *p);
void page_head_write(json_writer *w, const pgy_page *p, bool served);

#endif
