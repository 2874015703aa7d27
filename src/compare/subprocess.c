/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one runner in a forked child. A runtime that crashes, hangs or exits ends only the child,
 * and the run returns an error that says how. The child sends the input data it loaded and every
 * result over a pipe. Its log goes to the same place as the parent's. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/child.h"
#include "base/file.h"
#include "base/log.h"
#include "base/system.h"
#include "compare/channel.h"
#include "compare/run.h"

static const char LOG_PATH[] = "compare/subprocess.c";

/* ---- In the child --------------------------------------------------------------------------- */

static pgy_status send_feed(void *user, pgy_tensor_map *feed, pgy_error *err)
{
    return channel_send(*(const int *)user, CHANNEL_FEED, (channel_numbers){0}, NULL, feed, err);
}

static pgy_status send_iteration(void *user, const pgy_tensor_map *outputs, infer_time time,
                                 pgy_error *err)
{
    const channel_numbers numbers = {time.whole_s, time.preparation_s};
    return channel_send(*(const int *)user, CHANNEL_ITERATION, numbers, NULL, outputs, err);
}

static _Noreturn void child_main(run_context *c, feed_cache *cache, pgy_runner *r, int fd)
{
    const run_sink sink = {send_feed, send_iteration, &fd};
    pgy_error why = {0};
    signal(SIGPIPE, SIG_IGN); /* so that write() fails when the parent is gone */
    file_install_signal_cleanup();
    pgy_set_progress(NULL, NULL); /* the parent's terminal line would be in the way */
    pgy_status st = in_process_one(c, cache, r, &sink, &why);
    pgy_status sent = channel_send(fd, st ? CHANNEL_ERROR : CHANNEL_DONE,
                                   (channel_numbers){(double)st, 0}, why.text, NULL, NULL);
    fflush(NULL);
    _exit(st || sent ? 1 : 0);
}

/* ---- In the parent -------------------------------------------------------------------------- */

/* How the parent stopped following a child. */
typedef enum ending {
    FINISHED,
    GONE,     /* the pipe closed: it crashed or exited */
    REPORTED, /* the error is the child's own */
    TIMED_OUT,
    GIVEN_UP /* by the parent: cancelled, or a message could not be kept */
} ending;

/* Waits until the child writes. It waits in slices, so that the user can stop a runtime that hangs.
 */
static ending wait_child(const run_context *c, int fd, int64_t deadline_ns, pgy_error *err)
{
    enum { SLICE_MS = 20 };
    struct pollfd p = {.fd = fd, .events = POLLIN};
    for (;;) {
        int n = poll(&p, 1, SLICE_MS);
        if (n > 0) return FINISHED;
        if (run_check_cancelled(c->options, err)) return GIVEN_UP;
        if (deadline_ns >= 0 && clock_ns() >= deadline_ns) return TIMED_OUT;
    }
}

static pgy_status take(channel_message *m, feed_cache *cache, const run_sink *sink, pgy_error *err)
{
    pgy_tensor_map *feed = m->map;
    switch (m->kind) {
    case CHANNEL_FEED: m->map = NULL; return feed_cache_adopt(cache, feed, err);
    case CHANNEL_ITERATION:
        return sink->iteration(sink->user, m->map,
                               (infer_time){m->numbers.first, m->numbers.second}, err);
    case CHANNEL_ERROR: return pgy_error_set(err, (pgy_status)(int)m->numbers.first, "%s", m->text);
    case CHANNEL_DONE: return PGY_OK;
    }
    return pgy_error_set(err, PGY_E_INTERNAL, "the child process sent a message of kind %d",
                         (int)m->kind);
}

/* Handles one message from the child. */
static ending follow_once(bool *done, pgy_status *st, run_context *c, feed_cache *cache,
                          const run_sink *sink, int fd, int64_t deadline_ns, pgy_error *err)
{
    channel_message m = {0};
    ending how = wait_child(c, fd, deadline_ns, err);
    *st = how == GIVEN_UP ? PGY_E_CANCELLED : PGY_E_BACKEND;
    if (how != FINISHED) return how;
    *st = channel_receive(&m, fd, deadline_ns, err);
    if (*st && cancel_requested()) { /* the child may have been interrupted, too */
        *st = cancel_check(err);
        return GIVEN_UP;
    }
    if (*st) return *st == PGY_E_CANCELLED ? TIMED_OUT : *st == PGY_E_IO ? GONE : GIVEN_UP;
    *done = m.kind == CHANNEL_DONE;
    how = m.kind == CHANNEL_ERROR ? REPORTED : GIVEN_UP;
    *st = take(&m, cache, sink, err);
    channel_message_deinit(&m);
    return *st ? how : FINISHED;
}

/* Handles messages from the child until it reports that it is done. */
static ending follow(pgy_status *st, run_context *c, feed_cache *cache, const run_sink *sink,
                     int fd, pgy_error *err)
{
    double timeout = c->options->subprocess_timeout_s;
    int64_t deadline_ns = timeout > 0 ? clock_ns() + (int64_t)(timeout * 1e9) : -1;
    ending how = FINISHED;
    for (bool done = false; how == FINISHED && !done;)
        how = follow_once(&done, st, c, cache, sink, fd, deadline_ns, err);
    return how;
}

/* The error for a child that did not finish; says how it ended. */
static pgy_status premature(const pgy_runner *r, pgy_status st, ending how, int status,
                            double timeout, pgy_error *err)
{
    const char *name = pgy_runner_name(r);
    char why[sizeof err->text];
    if (how == GIVEN_UP || (how == REPORTED && st == PGY_E_CANCELLED)) return st;
    if (how == REPORTED) {
        snprintf(why, sizeof why, "%s", err->text);
        LOG(ERROR, "%-35s | The child process reported: %s", name, why);
        return pgy_error_set(err, st, "%s | Terminated prematurely: %s", name, why);
    }
    if (how == TIMED_OUT)
        return pgy_error_set(err, PGY_E_BACKEND,
                             "%s | Terminated prematurely (no result within %g s; it was killed)",
                             name, timeout);
    if (WIFSIGNALED(status))
        return pgy_error_set(err, PGY_E_BACKEND, "%s | Terminated prematurely (signal %d: %s)",
                             name, WTERMSIG(status), strsignal(WTERMSIG(status)));
    return pgy_error_set(err, PGY_E_BACKEND, "%s | Terminated prematurely (exit code %d)", name,
                         WEXITSTATUS(status));
}

pgy_status subprocess_one(run_context *c, feed_cache *cache, pgy_runner *r, const run_sink *sink,
                          pgy_error *err)
{
    int ends[2], status = 0;
    child_tie tie;
    pgy_status st = PGY_OK;
    pgy_error local = {0};
    if (!err) err = &local;
    if (pipe2(ends, O_CLOEXEC)) return pgy_error_set(err, PGY_E_IO, "pipe: %s", strerror(errno));
    fflush(NULL); /* else buffered text would be written twice */
    child_tie_open(&tie);
    pid_t child = fork();
    if (child < 0) {
        child_tie_close(&tie);
        close(ends[0]);
        close(ends[1]);
        return pgy_error_set(err, PGY_E_IO, "%s: no child process: %s", pgy_runner_name(r),
                             strerror(errno));
    }
    if (child == 0) {
        close(ends[0]);
        if (tie.near >= 0) close(tie.near);
        child_main(c, cache, r, ends[1]);
    }
    child_register(child, SIGTERM);
    child_tie_to(&tie, child, SIGTERM);
    close(ends[1]);
    ending how = follow(&st, c, cache, sink, ends[0], err);
    close(ends[0]);
    if (how == TIMED_OUT || how == GIVEN_UP) child_end(child);
    child_reap(child, true, &status);
    child_tie_close(&tie);
    if (how == FINISHED) {
        cache->loaded = true;
        return PGY_OK;
    }
    return premature(r, st, how, status, c->options->subprocess_timeout_s, err);
}
