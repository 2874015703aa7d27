/* SPDX-License-Identifier: Apache-2.0 */
/* Short forms for files that log. Such a file defines its own path as the module path of its
 * messages:
 *
 *     static const char LOG_PATH[] = "engine/passes/passes.c";
 *     LOG(INFO, "Pass %s is switched off", name);
 *
 * Lines that repeat the original's carry the original's path, so that `--verbosity
 * comparator:VERBOSE` keeps its meaning in old scripts. A file with such lines only gives that path
 * to LOG_PATH; a file that has both defines ORIGINAL_PATH, too, and writes LOG_ORIGINAL. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <polygraphy/base.h>

#include "base/str.h"

#define LOG(severity, ...) pgy_log_write(PGY_LOG_##severity, LOG_PATH, __LINE__, __VA_ARGS__)
#define LOG_ONCE(severity, ...) \
    pgy_log_write_once(PGY_LOG_##severity, LOG_PATH, __LINE__, __VA_ARGS__)
#define LOG_ORIGINAL(severity, ...) \
    pgy_log_write(PGY_LOG_##severity, ORIGINAL_PATH, __LINE__, __VA_ARGS__)
#define LOG_ORIGINAL_ONCE(severity, ...) \
    pgy_log_write_once(PGY_LOG_##severity, ORIGINAL_PATH, __LINE__, __VA_ARGS__)
#define LOG_IS_ON(severity) pgy_log_is_on(PGY_LOG_##severity, LOG_PATH)

/* Shows a status line on the console if that is a terminal. The next status line replaces it, the
 * next message erases it, and "" erases it at once. */
void log_show_status(const char *text);
/* True if the console can show a status line. A dumb terminal cannot, because it could not erase
 * the line. */
bool log_has_status(void);

/* Receives every message of the process before it is written, whatever the thresholds. If it
 * returns true, the message is not written. It is called from any thread under the logger's lock,
 * so it must not log. */
typedef bool (*log_listener)(pgy_severity severity, const char *text, void *user);
/* Sets the only listener; NULL removes it. */
void log_set_listener(log_listener listener, void *user);

/* Replaces the text of a message; false keeps it. Set it before the first message; it is called
 * from any thread. The command line uses it to name options where the library names fields. */
typedef bool (*log_rewriter)(str *out, const char *text);
void log_set_rewriter(log_rewriter rewriter);

/* The errno of the first message that could not be written to the console or the log file; 0 if all
 * were written. A closed pipe (EPIPE) does not count. */
int log_write_failure(void);

#endif
