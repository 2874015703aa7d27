/* SPDX-License-Identifier: Apache-2.0 */
/* The only state is the time of the last output, which decides when the next one is due. */
#include "cli/progress.h"

#include <stdio.h>

#include "base/log.h"
#include "base/progress.h"
#include "base/system.h"
#include "cli/interrupt.h"

static const char LOG_PATH[] = "cli/progress.c";

enum { SECOND_NS = 1000000000, EVERY_NS = 250000000, ESTIMATE_S = 2, MANY_S = 180 };
static const int64_t LINE_NS = 10ll * SECOND_NS;
static const double LEAST_DONE = 0.005; /* of the whole: below this an estimate is a guess */

static int64_t shown_ns; /* the last time; 0: the work has just begun */

static int append(char *out, size_t size, int at, const char *text)
{
    return (size_t)at < size ? at + snprintf(out + at, size - (size_t)at, "%s", text) : at;
}

static int append_level(char *out, size_t size, int at, const pgy_progress_level *l)
{
    char text[96] = "";
    if (l->total)
        snprintf(text, sizeof text, " %llu of %llu", (unsigned long long)l->done,
                 (unsigned long long)l->total);
    else if (l->done)
        snprintf(text, sizeof text, " %llu", (unsigned long long)l->done);
    at = append(out, size, at, at ? ", " : "");
    return append(out, size, append(out, size, at, l->what), text);
}

static int append_time(char *out, size_t size, int at, const char *before, double seconds,
                       const char *after)
{
    char text[64];
    const bool many = seconds >= MANY_S;
    snprintf(text, sizeof text, "%s%lld %s%s", before, (long long)(many ? seconds / 60 : seconds),
             many ? "min" : "s", after);
    return append(out, size, at, text);
}

/* Work is reported as nested levels, the outermost first. Returns the fraction done of the first
 * level with a known total, including progress inside it; *first is its index. 0: no total is
 * known. */
static double fraction_done(size_t *first, const pgy_progress *p)
{
    double done = 0, part = 1;
    *first = 0;
    while (*first < p->level_count && !p->levels[*first].total) ++*first;
    for (size_t i = *first; i < p->level_count && p->levels[i].total; i++) {
        part /= (double)p->levels[i].total;
        done += part * (double)p->levels[i].done;
    }
    return done < 1 ? done : 1;
}

/* Appends the percentage done if the outermost work has no total count. */
static int append_whole(char *out, size_t size, int at, const pgy_progress *p)
{
    char text[32];
    if (p->fraction < 0 || p->levels[0].total) return at;
    snprintf(text, sizeof text, " %d %%", (int)(100 * p->fraction));
    return append(out, size, at, text);
}

void progress_text(char *out, size_t size, const pgy_progress *p)
{
    size_t first = 0;
    int at = 0;
    if (size) *out = 0;
    if (!p->level_count) return;
    for (size_t i = 0; i < p->level_count; i++) {
        at = append_level(out, size, at, &p->levels[i]);
        if (i == 0) at = append_whole(out, size, at, p);
    }
    at = append_time(out, size, at, ", ", (double)p->levels[0].elapsed_ns / SECOND_NS, "");
    const double done = p->fraction < 0 ? fraction_done(&first, p) : p->fraction;
    if (done < LEAST_DONE) return;
    const double elapsed = (double)p->levels[first].elapsed_ns / SECOND_NS;
    if (elapsed >= ESTIMATE_S)
        append_time(out, size, at, ", about ", elapsed * (1 - done) / done, " left");
}

/* Shows a report. No levels mean that the work has ended: removes the status line. */
static void show(const pgy_progress *p, void *user)
{
    char text[256];
    (void)user;
    if (!LOG_IS_ON(INFO)) return;
    if (!p->level_count) {
        if (shown_ns) log_show_status("");
        shown_ns = 0;
        return;
    }
    const int64_t now = clock_ns();
    const bool passing = log_has_status();
    const int64_t since = shown_ns ? now - shown_ns : p->levels[0].elapsed_ns;
    if (since < (!passing ? LINE_NS : shown_ns ? EVERY_NS : SECOND_NS)) return;
    shown_ns = now;
    progress_text(text, sizeof text, p);
    if (passing)
        log_show_status(text);
    else
        LOG(VERBOSE, "%s", text);
}

void progress_install(void)
{
    pgy_set_progress(show, NULL);
}

bool run_progress_cancelled(void *user)
{
    run_progress *p = user;
    if (p->asks_per_iteration) progress_advance(p->asks / p->asks_per_iteration);
    p->asks++;
    return interrupt_requested();
}
