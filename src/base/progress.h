/* SPDX-License-Identifier: Apache-2.0 */
/* What long calls report of themselves. The first thread that begins owns the report until it has
 * ended; what other threads begin meanwhile is left out. Costs a load while nobody listens. */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <polygraphy/base.h>

/* A piece of work of `total` parts (0: not known) within what was begun before. `what` is a static
 * text that reads well before "3 of 10". */
void progress_begin(const char *what, uint64_t total);
/* What is begun next is so much of what has to be done yet of what was begun last, 0 to 1, as far
 * as one can tell. Pieces of work that are not alike add up in this way; others are one part each.
 */
void progress_expect(double share_of_rest);
/* `done` parts of what was begun last are done. */
void progress_advance(uint64_t done);
/* Ends what was begun last; each progress_begin has one, also after an error. */
void progress_end(void);

#endif
