/* SPDX-License-Identifier: Apache-2.0 */
/* The output is read while the command runs, so that a full pipe never stops it. */
#include "base/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/child.h"
#include "base/child_start.h"
#include "base/system.h"

enum { SLICE_MS = 20, READ_BYTES = 65536, TIE_FD = 3 };

void command_result_deinit(command_result *r)
{
    str_deinit(&r->out);
    str_deinit(&r->err);
    *r = (command_result){0};
}

/* A running command and the reading ends of its output. */
typedef struct running {
    const command_options *options;
    pid_t child;
    bool is_group; /* the child leads a process group of its own */
    child_tie tie; /* only of commands that run apart */
    int ends[2];   /* stdout, stderr; -1: closed */
    int64_t deadline_ns;
} running;

static void close_end(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

/* ---- Start ---------------------------------------------------------------------------------- */

/* Takes stdin away from a command that runs apart, and ties it to this process. */
static int set_apart(running *r, posix_spawn_file_actions_t *actions)
{
    int failure = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    child_tie_open(&r->tie);
    if (!failure && r->tie.far >= 0)
        failure = posix_spawn_file_actions_adddup2(actions, r->tie.far, TIE_FD);
    return failure;
}

/* A group of its own lets us end the command with everything that it started. But on a terminal it
 * could not read, Ctrl-Z would not stop it, and Ctrl-C, which goes to our group, would not reach
 * it.
 */
static int start_with(running *r, char *const *words, int out, int err)
{
    r->is_group = r->options->apart || !isatty(STDIN_FILENO);
    posix_spawn_file_actions_t actions;
    int failure = posix_spawn_file_actions_init(&actions);
    if (failure) return failure;
    failure = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (!failure) failure = posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
    if (!failure && r->options->apart) failure = set_apart(r, &actions);
    if (!failure && r->is_group) failure = child_start_group(&r->child, words, &actions);
    if (!failure && !r->is_group) failure = child_start(&r->child, words, &actions);
    posix_spawn_file_actions_destroy(&actions);
    return failure;
}

static pgy_status start(running *r, const char *const *words, size_t count, pgy_error *err)
{
    int out[2] = {-1, -1}, errors[2] = {-1, -1};
    char **copy = mem_calloc(count + 1, sizeof *copy);
    if (!copy) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a command");
    for (size_t i = 0; i < count; i++) copy[i] = (char *)words[i];
    int failure = pipe2(out, O_CLOEXEC) || pipe2(errors, O_CLOEXEC) ? errno : 0;
    if (!failure) failure = start_with(r, copy, out[1], errors[1]);
    mem_free(copy);
    close_end(&out[1]);
    close_end(&errors[1]);
    r->ends[0] = out[0];
    r->ends[1] = errors[0];
    if (!failure) {
        r->is_group ? child_register_group(r->child, SIGKILL) : child_register(r->child, SIGKILL);
        if (r->options->apart) child_tie_to(&r->tie, -r->child, SIGKILL);
        return PGY_OK;
    }
    close_end(&r->ends[0]);
    close_end(&r->ends[1]);
    return pgy_error_set(err, failure == ENOENT ? PGY_E_NOT_FOUND : PGY_E_IO,
                         "the command '%s' cannot be started: %s", words[0], strerror(failure));
}

/* ---- Output --------------------------------------------------------------------------------- */

/* Drops the beginning of output that has twice the size that is kept. */
static void shorten(str *text, size_t keep)
{
    if (!keep || text->failed || text->size < 2 * keep) return;
    memmove(text->data, text->data + text->size - keep, keep + 1);
    text->size = keep;
}

static pgy_status read_end(str *to, int *fd, size_t keep, pgy_error *err)
{
    char bytes[READ_BYTES];
    const ssize_t n = read(*fd, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) return PGY_OK;
    if (n <= 0) {
        close_end(fd);
        return PGY_OK;
    }
    str_append_n(to, bytes, (size_t)n);
    shorten(to, keep);
    return to->failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory for a command's output")
                      : PGY_OK;
}

static pgy_status check_limits(const running *r, pgy_error *err)
{
    const pgy_status st = cancel_check(err);
    if (st || r->deadline_ns < 0 || clock_ns() < r->deadline_ns) return st;
    return pgy_error_set(err, PGY_E_BACKEND, "the command did not end within %g s; it was killed",
                         r->options->timeout_s);
}

/* A command may leave processes behind that hold its output open, so the end of the command itself
 * ends the reading, after what is in the pipes. */
static pgy_status collect(command_result *out, running *r, int *status, pgy_error *err)
{
    str *const to[2] = {&out->out, &out->err};
    bool ended = false;
    pgy_status st = PGY_OK;
    while (!st) {
        struct pollfd p[2] = {{.fd = r->ends[0], .events = POLLIN},
                              {.fd = r->ends[1], .events = POLLIN}};
        const bool closed = r->ends[0] < 0 && r->ends[1] < 0;
        const int n = poll(p, 2, ended ? 0 : closed ? 1 : SLICE_MS);
        for (size_t i = 0; !st && n > 0 && i < 2; i++)
            if (p[i].revents) st = read_end(to[i], &r->ends[i], r->options->keep_bytes, err);
        if (ended && n <= 0) break;
        if (!st && !ended) ended = child_reap(r->child, false, status);
        if (!st && !ended) st = check_limits(r, err);
    }
    if (ended) r->child = 0;
    return st;
}

/* ---- End ------------------------------------------------------------------------------------ */

enum { MAX_DESCENDANTS = 256 };

/* Adds the processes that `parent` started, and those that they started. */
static void add_descendants(pid_t *found, size_t *count, pid_t parent)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", (long)parent, (long)parent);
    FILE *file = fopen(path, "re");
    if (!file) return;
    const size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = '\0';
    const size_t first = *count;
    char *at = text, *end = NULL;
    for (long pid; *count < MAX_DESCENDANTS && (pid = strtol(at, &end, 10)) > 0; at = end)
        found[(*count)++] = (pid_t)pid;
    for (size_t i = first, last = *count; i < last; i++) add_descendants(found, count, found[i]);
}

/* Ends a command that still runs, by the signal that a terminal would send if the user stops us. A
 * command without a group leaves the programs that it waits for, so they are ended, too. */
static void end_command(const running *r)
{
    pid_t found[MAX_DESCENDANTS];
    size_t count = 0;
    int status;
    add_descendants(found, &count, r->child);
    if (r->is_group)
        child_end_group(r->child, cancel_requested() ? SIGINT : SIGTERM);
    else
        child_end(r->child);
    child_reap(r->child, true, &status);
    for (size_t i = 0; i < count; i++) kill(found[i], SIGKILL);
}

pgy_status command_run_with(command_result *out, const char *const *words, size_t count,
                            const command_options *o, pgy_error *err)
{
    running r = {.options = o, .tie = {-1, -1}, .ends = {-1, -1}, .deadline_ns = -1};
    command_result made = {0};
    int status = 0;
    if (!count || !*words[0]) return pgy_error_set(err, PGY_E_ARGUMENT, "the command is empty");
    if (r.options->timeout_s > 0)
        r.deadline_ns = clock_ns() + (int64_t)(r.options->timeout_s * 1e9);
    pgy_status st = start(&r, words, count, err);
    if (!st) st = collect(&made, &r, &status, err);
    if (r.child > 0) end_command(&r);
    child_tie_close(&r.tie);
    close_end(&r.ends[0]);
    close_end(&r.ends[1]);
    if (st) {
        command_result_deinit(&made);
        return st;
    }
    made.code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    *out = made;
    return PGY_OK;
}

pgy_status command_run(command_result *out, const char *const *words, size_t count,
                       double timeout_s, pgy_error *err)
{
    const command_options o = {.timeout_s = timeout_s};
    return command_run_with(out, words, count, &o, err);
}
