/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Communicators: the ranks that run a model with DistCollective nodes together. Each rank is a
 * thread of this process, with a runner or context of its own.
 *
 *     pgy_communicator *c = NULL;
 *     if (pgy_communicator_create(&c, 2, &err)) ...
 *     // in the thread of rank i, for each run:
 *     if (pgy_communicator_enter(c, i, &err)) ...
 *     st = pgy_context_run(...);
 *     if (st) pgy_communicator_fail(c, err.text);
 *     pgy_communicator_leave();
 *     // when no thread is inside any more:
 *     pgy_communicator_destroy(c);
 *
 * A collective waits until all ranks that it joins have come to it. It fails in all of them, with
 * the same text, if they come to different collectives, if a rank ends its run without it, or after
 * pgy_communicator_fail. pgy_runner_create_ranks does all of this for runners.
 */
#ifndef POLYGRAPHY_COMMUNICATOR_H
#define POLYGRAPHY_COMMUNICATOR_H

#include <polygraphy/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PGY_MAX_RANKS = 64 };

typedef struct pgy_communicator pgy_communicator;

/** @param ranks  1 to PGY_MAX_RANKS */
PGY_API PGY_MUST_CHECK pgy_status pgy_communicator_create(pgy_communicator **out, int64_t ranks,
                                                          pgy_error *err);
/** No thread may be inside. NULL is fine. */
PGY_API void pgy_communicator_destroy(pgy_communicator *c);
PGY_API int64_t pgy_communicator_ranks(const pgy_communicator *c);
/** Makes the calling thread the rank of one run. Every rank enters once for each run. A run that a
 * pgy_stream does is not in the calling thread, so it is no rank's. Contexts of two ranks must not
 * share a team: one would wait for it, and the other for the rank.
 * @return PGY_E_ARGUMENT if there is no such rank, or if it or the thread is inside already */
PGY_API PGY_MUST_CHECK pgy_status pgy_communicator_enter(pgy_communicator *c, int64_t rank,
                                                         pgy_error *err);
/** Ends the run of the calling thread; does nothing if the thread is no rank. */
PGY_API void pgy_communicator_leave(void);
/** Ends all collectives with an error of this text. The first failure counts; later collectives
 * fail with it, too, so the communicator is of no further use. */
PGY_API void pgy_communicator_fail(pgy_communicator *c, const char *text);
/** The text of the first failure; NULL: none. */
PGY_API const char *pgy_communicator_failure(pgy_communicator *c);

#ifdef __cplusplus
}
#endif
#endif
