/* SPDX-License-Identifier: Apache-2.0 */
/* An atomic flag, because signal handlers may set it and a check must cost only a load. */
#include "base/cancel.h"

#include <time.h>

atomic_bool cancel_flag;
static atomic_int holders;
static atomic_bool heard;

void pgy_cancel(void)
{
    atomic_store(&heard, false);
    atomic_store(&cancel_flag, true);
}

void pgy_cancel_reset(void)
{
    atomic_store(&cancel_flag, false);
}

bool pgy_is_cancelled(void)
{
    return cancel_requested();
}

void cancel_hold(void)
{
    atomic_fetch_add(&holders, 1);
}

void cancel_release(void)
{
    if (cancel_requested()) atomic_store(&heard, true);
    atomic_fetch_sub(&holders, 1);
}

bool cancel_is_held(void)
{
    return atomic_load(&holders) > 0;
}

bool cancel_was_heard(void)
{
    return atomic_load(&heard);
}

pgy_status cancel_check(pgy_error *err)
{
    return cancel_requested() ? pgy_error_set(err, PGY_E_CANCELLED, "cancelled") : PGY_OK;
}

pgy_status cancel_check_after(pgy_status st, pgy_error *err)
{
    return cancel_requested() ? pgy_error_set(err, PGY_E_CANCELLED, "cancelled") : st;
}

void cancel_sleep_ms(int64_t ms)
{
    enum { SLICE_MS = 10 };
    for (int64_t left = ms; left > 0 && !cancel_requested(); left -= SLICE_MS) {
        const int64_t slice = left < SLICE_MS ? left : SLICE_MS;
        nanosleep(&(struct timespec){.tv_nsec = (long)slice * 1000000}, NULL);
    }
}
