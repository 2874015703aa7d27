/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of a page's data, which the HTML file contains and the server hands out. */
#ifndef VIEWER_PAGE_BLOCKS_H
#define VIEWER_PAGE_BLOCKS_H

#include "viewer/page.h"

/* Lists the blocks; the page is complete but for them. */
pgy_status page_blocks_make(pgy_page *p, pgy_error *err) PGY_MUST_CHECK;
const page_block *page_block_find(const pgy_page *p, span name); /* NULL: none */
/* True for a block that a served page fetches when it needs it. */
bool page_block_is_piece(const page_block *b);
/* Appends the block as one JSON document that may stand in a <script>.
 * @param served  pieces can be fetched */
pgy_status page_block_write(str *out, const pgy_page *p, const page_block *b, bool served,
                            pgy_error *err) PGY_MUST_CHECK;
/* Appends all blocks as one JSON object, for scripts. */
pgy_status page_blocks_write(str *out, const pgy_page *p, pgy_error *err) PGY_MUST_CHECK;

#endif
