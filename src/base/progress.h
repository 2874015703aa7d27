/* SPDX-License-Identifier: Apache-2.0 */
/* Progress reports of long calls. The first thread that begins a piece of work owns the report
 * until that piece has ended; work begun by other threads meanwhile is not reported. Without a
 * progress function these calls cost one load. */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <polygraphy/base.h>

/* Begins a piece of work of `total` parts (0: unknown) inside the piece that was begun before.
 * `what` is a static text that reads well before "3 of 10". */
void progress_begin(const char *what, uint64_t total);
/* Estimates the share (0 to 1) of the current piece's remaining work that the next progress_begin
 * starts. Use it for pieces of unequal cost; without it each piece counts as one part. */
void progress_expect(double share_of_rest);
/* Reports that `done` parts of the current piece are done. */
void progress_advance(uint64_t done);
/* Ends the current piece. Each progress_begin needs one, also after an error. */
void progress_end(void);

#endif
