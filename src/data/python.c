/* SPDX-License-Identifier: Apache-2.0 */
/* The helper process gets one end of a socket, /dev/null as its input and our output as its output.
 * Requests and answers alternate, so neither side can block the other by writing. If the process
 * dies, the socket reports its end. If it still runs after we close the socket, we kill it, so that
 * stopping takes a bounded time and leaves no zombie. */
#include "data/python.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/child.h"
#include "base/child_start.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"

static const char LOG_PATH[] = "data/python.c";

enum {
    HELPER_FD = 3,
    TIE_FD = 4,
    ANSWER_MS = 20,
    POLL_MS = 2,
    KIND_POLLS = 250,
    MAX_TEXT_BYTES = 1 << 24
};

struct python_script {
    char *path, *symbol;
    pid_t pid;      /* process of the script; 0: it has ended and was reaped */
    int fd, status; /* our end of the socket; exit status as from waitpid */
    child_tie tie;
};

const char *python_script_symbol(const python_script *s)
{
    return s->symbol;
}

/* ---- Life ---- */

static const char *interpreter(void)
{
    const char *chosen = getenv("POLYGRAPHY_PYTHON");
    return chosen && *chosen ? chosen : "python3";
}

/* Finds the Python that quickstart.sh installs beside the program, in case the one on PATH lacks
 * NumPy. `out` is "" if it is missing or the user chose an interpreter. */
static void find_fallback(char *out, size_t size)
{
    static const char BESIDE[] = "/../python/bin/python3";
    const char *chosen = getenv("POLYGRAPHY_PYTHON");
    ssize_t n = chosen && *chosen ? -1 : readlink("/proc/self/exe", out, size - sizeof BESIDE);
    out[n > 0 ? n : 0] = 0;
    char *slash = strrchr(out, '/');
    if (!slash) return;
    memcpy(slash, BESIDE, sizeof BESIDE);
    if (!file_exists(out)) *out = 0;
}

/* Splits "file.py:symbol" at the last colon, unless the text after it is part of a path. */
static pgy_status split(python_script *s, const char *script, const char *default_symbol,
                        pgy_error *err)
{
    const char *colon = strrchr(script, ':');
    if (colon && (strchr(colon, '/') || str_ends_with(colon, ".py"))) colon = NULL;
    s->path = mem_strndup(script, colon ? (size_t)(colon - script) : strlen(script));
    s->symbol = mem_strdup(colon && colon[1] ? colon + 1 : default_symbol);
    if (!s->path || !s->symbol) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!str_ends_with(s->path, ".py"))
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "Could not import '%s' from '%s': the name of a Python script must end in .py",
            s->symbol, s->path);
    if (!file_exists(s->path))
        return pgy_error_set(err, PGY_E_NOT_FOUND,
                             "Could not import '%s' from '%s': the file does not exist", s->symbol,
                             s->path);
    return PGY_OK;
}

static int spawn(python_script *s, const char *role, int helper_end)
{
    char fallback[4096];
    find_fallback(fallback, sizeof fallback);
    char *const arguments[] = {(char *)interpreter(),
                               "-c",
                               (char *)PYTHON_PROGRAM,
                               "3",
                               s->path,
                               s->symbol,
                               (char *)role,
                               fallback,
                               NULL};
    posix_spawn_file_actions_t actions;
    int failure = posix_spawn_file_actions_init(&actions);
    if (failure) return failure;
    failure = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!failure) failure = posix_spawn_file_actions_adddup2(&actions, helper_end, HELPER_FD);
    child_tie_open(&s->tie);
    if (!failure && s->tie.far >= 0)
        failure = posix_spawn_file_actions_adddup2(&actions, s->tie.far, TIE_FD);
    if (!failure) failure = child_start(&s->pid, arguments, &actions);
    posix_spawn_file_actions_destroy(&actions);
    if (failure) {
        s->pid = 0;
        child_tie_close(&s->tie);
        return failure;
    }
    child_register(s->pid, SIGKILL);
    child_tie_to(&s->tie, s->pid, SIGKILL);
    return 0;
}

static pgy_status launch(python_script *s, const char *role, pgy_error *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return pgy_error_set(err, PGY_E_IO,
                             "cannot create a socket to the Python process of '%s': %s", s->path,
                             strerror(errno));
    int failure = spawn(s, role, ends[1]);
    close(ends[1]);
    s->fd = ends[0];
    if (!failure) return PGY_OK;
    return pgy_error_set(err, PGY_E_NOT_FOUND,
                         "cannot start the interpreter '%s' for '%s': %s (POLYGRAPHY_PYTHON "
                         "chooses another interpreter)",
                         interpreter(), s->path, strerror(failure));
}

pgy_status python_script_start(python_script **out, const char *script, const char *default_symbol,
                               const char *role, pgy_error *err)
{
    python_script *s = mem_calloc(1, sizeof *s);
    if (!s) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a script");
    s->fd = -1;
    s->tie = (child_tie){-1, -1};
    char ready;
    pgy_status st = split(s, script, default_symbol, err);
    if (!st) st = launch(s, role, err);
    if (!st) {
        st = python_answer(&ready, s, err);
        if (st && s->pid)
            pgy_error_prefix(err, st, "Could not import '%s' from '%s': ", s->symbol, s->path);
    }
    if (st) {
        python_script_stop(s);
        return st;
    }
    *out = s;
    return PGY_OK;
}

/* True if the process ends within KIND_POLLS polls. */
static bool wait_kindly(python_script *s)
{
    for (int i = 0; i < KIND_POLLS && !cancel_requested(); i++) {
        if (child_reap(s->pid, false, &s->status)) return true;
        cancel_sleep_ms(POLL_MS);
    }
    return false;
}

static void end_process(python_script *s)
{
    if (s->fd >= 0) close(s->fd);
    s->fd = -1;
    if (!s->pid) return;
    bool ended = wait_kindly(s);
    if (!ended && !kill(s->pid, SIGTERM)) ended = wait_kindly(s);
    if (!ended) {
        kill(s->pid, SIGKILL);
        child_reap(s->pid, true, &s->status);
    }
    child_tie_close(&s->tie);
    s->pid = 0;
}

void python_script_abandon(python_script *s)
{
    end_process(s);
}

void python_script_stop(python_script *s)
{
    if (!s) return;
    end_process(s);
    mem_free(s->path);
    mem_free(s->symbol);
    mem_free(s);
}

/* ---- Bytes ---- */

/* Makes the error for a socket that closed although an answer is due. */
static pgy_status report_death(python_script *s, pgy_error *err)
{
    end_process(s);
    const pgy_status st = cancel_check(err); /* Ctrl-C goes to both processes */
    if (st) return st;
    if (WIFSIGNALED(s->status))
        return pgy_error_set(err, PGY_E_BACKEND,
                             "the Python process of '%s' was killed by signal %d", s->path,
                             WTERMSIG(s->status));
    return pgy_error_set(err, PGY_E_BACKEND, "the Python process of '%s' ended with exit status %d",
                         s->path, WEXITSTATUS(s->status));
}

/* Waits until the socket is ready for `events` or has ended. */
static pgy_status wait_socket(python_script *s, short events, pgy_error *err)
{
    struct pollfd p = {.fd = s->fd, .events = events};
    while (s->fd >= 0) {
        const pgy_status st = cancel_check(err);
        if (st) {
            end_process(s);
            return st;
        }
        if (poll(&p, 1, ANSWER_MS) > 0) break;
    }
    return PGY_OK;
}

pgy_status python_put(python_script *s, const void *data, size_t size_bytes, pgy_error *err)
{
    const char *p = data;
    while (size_bytes) {
        const pgy_status st = wait_socket(s, POLLOUT, err);
        if (st) return st;
        ssize_t sent = s->fd < 0 ? 0 : send(s->fd, p, size_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (sent <= 0) return report_death(s, err);
        p += sent;
        size_bytes -= (size_t)sent;
    }
    return PGY_OK;
}

pgy_status python_put_text(python_script *s, const char *text, pgy_error *err)
{
    const size_t size = strlen(text);
    if (size > MAX_TEXT_BYTES)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'%s': a string of %zu bytes is too long to pass to the script",
                             s->path, size);
    const uint8_t head[4] = {(uint8_t)size, (uint8_t)(size >> 8), (uint8_t)(size >> 16),
                             (uint8_t)(size >> 24)};
    pgy_status st = python_put(s, head, sizeof head, err);
    return st ? st : python_put(s, text, size, err);
}

pgy_status python_take(python_script *s, void *out, size_t size_bytes, pgy_error *err)
{
    char *p = out;
    while (size_bytes) {
        const pgy_status st = wait_socket(s, POLLIN, err);
        if (st) return st;
        ssize_t got = s->fd < 0 ? 0 : recv(s->fd, p, size_bytes, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return report_death(s, err);
        p += got;
        size_bytes -= (size_t)got;
    }
    return PGY_OK;
}

pgy_status python_take_byte(uint8_t *out, python_script *s, pgy_error *err)
{
    return python_take(s, out, 1, err);
}

pgy_status python_take_u32(uint32_t *out, python_script *s, pgy_error *err)
{
    uint8_t b[4];
    pgy_status st = python_take(s, b, sizeof b, err);
    if (!st) *out = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    return st;
}

pgy_status python_take_text(char **out, size_t *size, python_script *s, pgy_error *err)
{
    uint32_t count;
    pgy_status st = python_take_u32(&count, s, err);
    if (st) return st;
    char *text = count <= MAX_TEXT_BYTES ? mem_alloc((size_t)count + 1) : NULL;
    if (!text) {
        end_process(s); /* the rest of the answer was not read, so the protocol is out of step */
        return pgy_error_set(err, PGY_E_MEMORY, "'%s': out of memory for a string of %u bytes",
                             s->path, count);
    }
    st = python_take(s, text, count, err);
    if (st) {
        mem_free(text);
        return st;
    }
    text[count] = 0;
    *out = text;
    if (size) *size = count;
    return PGY_OK;
}

/* ---- Requests and answers ---- */

pgy_status python_ask(python_script *s, char request, pgy_error *err)
{
    return python_put(s, &request, 1, err);
}

static pgy_status take_failure(python_script *s, pgy_error *err)
{
    char *line = NULL, *traceback = NULL;
    pgy_status st = python_take_text(&line, NULL, s, err);
    if (!st) st = python_take_text(&traceback, NULL, s, err);
    if (!st) {
        if (*traceback) LOG(ERROR, "%s", traceback);
        st = pgy_error_set(err, PGY_E_BACKEND, "%s", line);
    }
    mem_free(line);
    mem_free(traceback);
    return st;
}

pgy_status python_answer(char *kind, python_script *s, pgy_error *err)
{
    uint8_t letter;
    pgy_status st = python_take_byte(&letter, s, err);
    if (st) return st;
    if (letter == 'E') return take_failure(s, err);
    *kind = (char)letter;
    return PGY_OK;
}
