/* SPDX-License-Identifier: Apache-2.0 */
/* Short forms for files that log. Such a file defines, once, the path it logs under: its own, or,
 * where it repeats lines of the original, the original's, so that `--verbosity comparator:VERBOSE`
 * in old scripts means the same:
 *
 *     static const char LOG_PATH[] = "comparator/comparator.py";
 *     LOG(INFO, "Loading model: %s", path);
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <polygraphy/base.h>

#include "base/str.h"

#define LOG(severity, ...) pgy_log_write(PGY_LOG_##severity, LOG_PATH, __LINE__, __VA_ARGS__)
#define LOG_ONCE(severity, ...) \
    pgy_log_write_once(PGY_LOG_##severity, LOG_PATH, __LINE__, __VA_ARGS__)
#define LOG_IS_ON(severity) pgy_log_is_on(PGY_LOG_##severity, LOG_PATH)

/* A passing line on the console, if that is a terminal: replaced by the next one, erased before the
 * next message; "" erases it. */
void log_show_status(const char *text);
/* Is there such a line? Not where TERM is dumb: it could not be erased. */
bool log_has_status(void);

/* Hears every message of the process before it is written, whatever the thresholds; true: it is not
 * written. Called under the logger's lock, from any thread: it must not log. */
typedef bool (*log_listener)(pgy_severity severity, const char *text, void *user);
/* One at a time; NULL ends it. */
void log_set_listener(log_listener listener, void *user);

/* Puts another text in place of a message; false: it stays. Set before the first message, and
 * called from any thread. A program puts its options where the library names fields. */
typedef bool (*log_rewriter)(str *out, const char *text);
void log_set_rewriter(log_rewriter rewriter);

/* Why the console or the log file could not take a message: the first such errno, 0 if all was
 * written. A reader that is gone does not count. */
int log_write_failure(void);

#endif
