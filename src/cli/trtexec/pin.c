/* SPDX-License-Identifier: Apache-2.0 */
/* --pin: the processors that the program may use. */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "base/printable.h"
#include "cli/trtexec/trtexec.h"

static pgy_status wrong(const char *text, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "--pin: '%s' is no list of processors such as 0-3,6 below %d",
                         printable_name(text), CPU_SETSIZE);
}

/* Steps over a number. */
static bool take_number(int *out, const char **at)
{
    int n = 0;
    if (**at < '0' || **at > '9') return false;
    for (; **at >= '0' && **at <= '9'; ++*at) {
        n = n * 10 + (**at - '0');
        if (n >= CPU_SETSIZE) return false;
    }
    *out = n;
    return true;
}

static pgy_status read_list(cpu_set_t *set, const char *text, pgy_error *err)
{
    const char *at = text;
    CPU_ZERO(set);
    for (;;) {
        int first = 0, last = 0;
        if (!take_number(&first, &at)) return wrong(text, err);
        last = first;
        if (*at == '-') {
            at++;
            if (!take_number(&last, &at) || last < first) return wrong(text, err);
        }
        for (int i = first; i <= last; i++) CPU_SET(i, set);
        if (!*at) return PGY_OK;
        if (*at++ != ',') return wrong(text, err);
    }
}

pgy_status pin_apply(const trtexec_args *a, pgy_error *err)
{
    cpu_set_t set;
    if (!a->pin) return PGY_OK;
    const pgy_status st = read_list(&set, a->pin, err);
    if (st) return st;
    if (!sched_setaffinity(0, sizeof set, &set)) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "--pin=%s: %s; this process may not use any of these processors", a->pin,
                         strerror(errno));
}
