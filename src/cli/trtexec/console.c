/* SPDX-License-Identifier: Apache-2.0 */
/* trtexec's form of log lines: V and I go to stdout, W and E to stderr. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "cli/trtexec/trtexec.h"

static const char LOG_PATH[] = "cli/trtexec/console.c";
static bool verbose, only_stderr;

static char letter_of(pgy_severity severity)
{
    if (severity >= PGY_LOG_ERROR) return 'E';
    if (severity >= PGY_LOG_WARNING) return 'W';
    return severity >= PGY_LOG_INFO ? 'I' : 'V';
}

static bool print_line(pgy_severity severity, const char *text, void *user)
{
    const char letter = letter_of(severity);
    char stamp[32];
    struct tm parts;
    const time_t now = time(NULL);
    (void)user;
    if (letter == 'V' && !verbose) return true;
    if (severity < PGY_LOG_VERBOSE) return true; /* details of the library's own */
    str known = {0};
    trtexec_fields(&known, text);
    FILE *to = severity >= PGY_LOG_WARNING ? stderr : console_stream();
    if (to == stderr) fflush(stdout); /* keeps the lines of both in order */
    localtime_r(&now, &parts);
    strftime(stamp, sizeof stamp, "%m/%d/%Y-%H:%M:%S", &parts);
    for (const char *at = known.failed ? text : str_text(&known);;) {
        const size_t size = strcspn(at, "\n");
        fprintf(to, "[%s] [%c] %.*s\n", stamp, letter, (int)size, at);
        if (!at[size] || !at[size + 1]) break;
        at += size + 1;
    }
    str_deinit(&known);
    fflush(to); /* a reader of a pipe sees how far a run is that only Ctrl-C ends */
    return true;
}

void console_install(void)
{
    pgy_error ignored = {0};
    log_set_listener(print_line, NULL);
    if (pgy_log_set_severity(NULL, PGY_LOG_VERBOSE, &ignored)) return;
}

void console_set_verbose(bool on)
{
    verbose = on;
}

void console_use_stderr(void)
{
    only_stderr = true;
}

FILE *console_stream(void)
{
    return only_stderr ? stderr : stdout;
}

void console_text(const char *text)
{
    LOG(INFO, "%s", text);
}
