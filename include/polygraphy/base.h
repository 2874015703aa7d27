/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Statuses, errors, version and the logger: what every other header builds on.
 *
 * A function that can fail returns pgy_status (0: success) and writes the cause, as one line, into
 * the caller's pgy_error. That is always the last parameter; it may be NULL:
 *
 *     pgy_error err = {0};
 *     if (pgy_model_load(&model, "net.onnx", NULL, &err)) fprintf(stderr, "%s\n", err.text);
 *
 * Outputs come first and are written only on success. Nothing here exits or prints; the logger
 * writes to the console only after pgy_log_open_console(), or to a sink of the caller's.
 */
#ifndef POLYGRAPHY_BASE_H
#define POLYGRAPHY_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PGY_API __attribute__((visibility("default")))
#define PGY_MUST_CHECK __attribute__((warn_unused_result))
#define PGY_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#else
#define PGY_API
#define PGY_MUST_CHECK
#define PGY_PRINTF(fmt, first)
#endif

/** Version of this library, and the release of the original whose behaviour it follows. */
#define PGY_VERSION "0.1.0"
#define PGY_PARITY_VERSION "0.53.6"
/** Name of this library for pkg-config. */
#define PGY_PACKAGE "polygraphy"

/** @return "major.minor.patch" of the library that is linked. */
PGY_API const char *pgy_version(void);

/** Limits the bytes of all tensors of the process together and, separately, of all blocks of 1 MiB
 * and more (arenas, packed weights). An allocation beyond a limit fails with PGY_E_MEMORY. Views of
 * mapped files do not count. 0, the default: 15/16 of the memory that is free when the limit is
 * first needed, in the machine and in each control group around the process. */
PGY_API void pgy_set_max_memory(uint64_t size_bytes);

/** Asks all running calls of the library, in every thread, to return PGY_E_CANCELLED soon. Calls
 * that begin later return it, too, until pgy_cancel_reset. Nothing is saved after the request: a
 * file is either complete from before or does not exist. A signal handler may call this. */
PGY_API void pgy_cancel(void);
/** Withdraws the request. Call it when no other thread is inside the library. */
PGY_API void pgy_cancel_reset(void);
/** True between pgy_cancel and pgy_cancel_reset; long callbacks should ask. A signal handler may
 * call this. */
PGY_API bool pgy_is_cancelled(void);

/** One task and its progress. */
typedef struct pgy_progress_level {
    const char *what; /**< "Measuring kernels" */
    /** Finished units of work, and units in the whole task; total 0: unknown. */
    uint64_t done, total;
    int64_t elapsed_ns; /**< since the task began */
} pgy_progress_level;

/** The progress of a long call: each level is a subtask of the level before it. */
typedef struct pgy_progress {
    size_t size; /**< sizeof(pgy_progress) */
    const pgy_progress_level *levels;
    size_t level_count;
    double fraction; /**< finished share of the first level, 0 to 1, never falls; < 0: unknown */
} pgy_progress;

/** Receives progress at most ten times a second, on the thread whose call it reports, and once more
 * with level_count 0 when that call has ended. While several threads are in calls, only the call
 * that began first reports. The function may call pgy_cancel. */
typedef void (*pgy_progress_function)(const pgy_progress *progress, void *user);
/** Sets the progress function for all calls of the process; NULL: none. Set it while no call is
 * running. */
PGY_API void pgy_set_progress(pgy_progress_function function, void *user);

typedef enum pgy_status {
    PGY_OK = 0,
    PGY_E_ARGUMENT,    /**< the caller's argument or an option is wrong */
    PGY_E_TYPE,        /**< element type is wrong or cannot be converted */
    PGY_E_SHAPE,       /**< shape, rank or index is wrong */
    PGY_E_NOT_FOUND,   /**< a name, file or runtime does not exist */
    PGY_E_UNSUPPORTED, /**< understood, but cannot be done */
    PGY_E_FORMAT,      /**< a file or text is malformed */
    PGY_E_IO,          /**< the operating system refused to read or write */
    PGY_E_MEMORY,      /**< an allocation failed or would exceed a limit */
    PGY_E_DEVICE,      /**< a device failed */
    PGY_E_BACKEND,     /**< a runtime failed; the text is the runtime's */
    PGY_E_CANCELLED,   /**< the caller asked to stop */
    PGY_E_INTERNAL     /**< a defect of this library */
} pgy_status;

/** One line of text, plain data, no ownership. Zero it before use. */
typedef struct pgy_error {
    char text[2048];
} pgy_error;

/** @return the lower-case name of a status, e.g. "not found". */
PGY_API const char *pgy_status_name(pgy_status status);

/** Writes the text (truncated if need be) and returns `status`, so that a failing function can
 *  `return pgy_error_set(err, PGY_E_SHAPE, "axis %d is not in [%d, %d)", ...)`. err may be NULL. */
PGY_API pgy_status pgy_error_set(pgy_error *err, pgy_status status, const char *format, ...)
    PGY_PRINTF(3, 4);

/** Puts a prefix in front of the error's text, unless it begins with it already, and returns `status`
 *  unchanged. err may be NULL. */
PGY_API pgy_status pgy_error_prefix(pgy_error *err, pgy_status status, const char *format, ...)
    PGY_PRINTF(3, 4);

/* ---- Logger --------------------------------------------------------------------------------- */

typedef enum pgy_severity {
    PGY_LOG_ULTRA_VERBOSE = -20,
    PGY_LOG_SUPER_VERBOSE = -10,
    PGY_LOG_EXTRA_VERBOSE = 0,
    PGY_LOG_VERBOSE = 10,
    PGY_LOG_INFO = 20,
    PGY_LOG_START = 22,
    PGY_LOG_FINISH = 28,
    PGY_LOG_WARNING = 30,
    PGY_LOG_ERROR = 40,
    PGY_LOG_CRITICAL = 50
} pgy_severity;

/** Receives each formatted line block (prefix, indentation and newline included, no colour codes).
 */
typedef void (*pgy_log_sink)(pgy_severity severity, const char *text, size_t size_bytes,
                             void *user);

/** Sends messages to stdout, CRITICAL to stderr. Off until called, so that a library stays silent.
 */
PGY_API void pgy_log_open_console(void);

/** Sends messages to `sink` instead; NULL drops them. */
PGY_API void pgy_log_set_sink(pgy_log_sink sink, void *user);

/** Threshold for a module path such as "comparator" or "backend/onnxrt/runner.py"; NULL or "" is
 * the default threshold. The longest matching path, component by component, wins.
 *  @return PGY_E_MEMORY when the entry cannot be kept */
PGY_API PGY_MUST_CHECK pgy_status pgy_log_set_severity(const char *path, int severity,
                                                       pgy_error *err);

/** Threshold that applies to `path` (NULL: the default). */
PGY_API int pgy_log_severity(const char *path);

/** @param name  e.g. "VERBOSE", any case; @return PGY_E_ARGUMENT naming the valid words */
PGY_API PGY_MUST_CHECK pgy_status pgy_severity_from_name(int *out, const char *name,
                                                         pgy_error *err);

typedef struct pgy_log_format {
    bool timestamp; /**< "(HH:MM:SS) " after the letter */
    bool line_info; /**< "[path:line] " after the timestamp */
    bool no_colors; /**< never colour; else colours on terminals, NO_COLOR and FORCE_COLOR honoured
                     */
} pgy_log_format;

PGY_API void pgy_log_set_format(pgy_log_format format);

/** Copies every emitted line to a file as well: truncated on opening, parent folders made, flushed
 * per line. NULL closes it. @return PGY_E_IO */
PGY_API PGY_MUST_CHECK pgy_status pgy_log_set_file(const char *path, pgy_error *err);

/** Would a message of this severity from this module path be shown? */
PGY_API bool pgy_log_is_on(pgy_severity severity, const char *path);

/** Indents this thread's later messages by `delta` more levels of 4 blanks; negative: fewer. */
PGY_API void pgy_log_indent(int delta);

/** Logs one message, possibly of several lines. `path` (a module path) and `line` name its origin.
 */
PGY_API void pgy_log_write(pgy_severity severity, const char *path, int line, const char *format,
                           ...) PGY_PRINTF(4, 5);

/** Like pgy_log_write, but logs each text only once per process. */
PGY_API void pgy_log_write_once(pgy_severity severity, const char *path, int line,
                                const char *format, ...) PGY_PRINTF(4, 5);

#ifdef __cplusplus
}
#endif
#endif
