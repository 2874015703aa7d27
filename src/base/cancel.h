/* SPDX-License-Identifier: Apache-2.0 */
/* The process-wide request to stop. Long loops check it about once per millisecond of work. */
#ifndef BASE_CANCEL_H
#define BASE_CANCEL_H

#include <polygraphy/base.h>

#include <stdatomic.h>

extern atomic_bool cancel_flag; /* read it with cancel_requested */

static inline bool cancel_requested(void)
{
    return atomic_load_explicit(&cancel_flag, memory_order_relaxed);
}

/* Returns PGY_E_CANCELLED between pgy_cancel and pgy_cancel_reset, else PGY_OK. */
pgy_status cancel_check(pgy_error *err) PGY_MUST_CHECK;
/* Like cancel_check, but otherwise returns `st`. Call it after work that a request may have left
 * incomplete. */
pgy_status cancel_check_after(pgy_status st, pgy_error *err) PGY_MUST_CHECK;
/* True if the failure must stop the caller. After any other failure the caller may skip the one
 * item that failed. */
static inline bool status_ends_all(pgy_status st)
{
    return st == PGY_E_MEMORY || st == PGY_E_CANCELLED;
}

/* A program that handles signals ends soon after a request, even if a loop does not hear it. Between
 * these two calls it waits longer: the caller hears the request by itself, and then hands out what
 * it has. If a request came in between, the program goes on waiting after cancel_release. */
void cancel_hold(void);
void cancel_release(void);
bool cancel_is_held(void);   /* by any thread */
bool cancel_was_heard(void); /* a request came between the calls, and cancel_release followed */

/* Sleeps for `ms` milliseconds; a request to stop ends the sleep early. */
void cancel_sleep_ms(int64_t ms);

#endif
