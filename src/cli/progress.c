/* SPDX-License-Identifier: Apache-2.0 */
/* Driven by the question that a run asks between inferences, so there is no thread and no timer:
 * during one long inference the line stands still. */
#include "cli/progress.h"

#include <stdio.h>

#include "base/log.h"
#include "base/system.h"
#include "cli/interrupt.h"

enum { FIRST_NS = 1000000000, EVERY_NS = 250000000 };

bool progress_text(char *out, size_t size, progress *p, int64_t now_ns)
{
    if (!p->start_ns) p->start_ns = now_ns;
    p->asks++;
    if (p->off || now_ns - p->start_ns < FIRST_NS || now_ns - p->shown_ns < EVERY_NS) return false;
    p->shown_ns = now_ns;
    long long seconds = (long long)((now_ns - p->start_ns) / 1000000000);
    size_t done = p->asks_per_iteration ? (p->asks - 1) / p->asks_per_iteration : 0;
    if (p->asks_per_iteration && p->iterations)
        snprintf(out, size, "    %zu of %zu iterations done, %lld s", done, p->iterations, seconds);
    else if (p->asks_per_iteration)
        snprintf(out, size, "    %zu iterations done, %lld s", done, seconds);
    else
        snprintf(out, size, "    running, %lld s", seconds);
    return true;
}

bool progress_cancelled(void *user)
{
    char text[96];
    progress *p = user;
    if (p && progress_text(text, sizeof text, p, clock_ns())) log_show_status(text);
    return interrupt_requested();
}

void progress_end(const progress *p)
{
    if (!p->off) log_show_status("");
}
