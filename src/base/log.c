/* SPDX-License-Identifier: Apache-2.0 */
/* The logger: thresholds per module path, the line format, and the outputs (console or sink, and a
 * file). One lock guards all of it; a disabled message costs one comparison with the lowest
 * threshold in force. */
#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/str.h"

enum { INDENT_WIDTH = 4, STACK_TEXT = 1024 };

typedef struct severity_info {
    int value;
    const char *name;
    char letter;
    int color; /* number in the 256-colour palette; -1: no colour */
} severity_info;

static const severity_info SEVERITIES[] = {
    {PGY_LOG_ULTRA_VERBOSE, "ULTRA_VERBOSE", 'U', 8},
    {PGY_LOG_SUPER_VERBOSE, "SUPER_VERBOSE", 'S', 126},
    {PGY_LOG_EXTRA_VERBOSE, "EXTRA_VERBOSE", 'X', 104},
    {PGY_LOG_VERBOSE, "VERBOSE", 'V', 13},
    {PGY_LOG_INFO, "INFO", 'I', -1},
    {PGY_LOG_START, "START", 'I', 14},
    {PGY_LOG_FINISH, "FINISH", 'I', 10},
    {PGY_LOG_WARNING, "WARNING", 'W', 11},
    {PGY_LOG_ERROR, "ERROR", 'E', 9},
    {PGY_LOG_CRITICAL, "CRITICAL", '!', 9},
};
enum { SEVERITY_COUNT = sizeof SEVERITIES / sizeof SEVERITIES[0] };

typedef struct path_threshold {
    char *path;
    int severity;
} path_threshold;

typedef enum output_kind { OUTPUT_NONE, OUTPUT_CONSOLE, OUTPUT_SINK } output_kind;

static struct {
    pthread_mutex_t lock;
    output_kind output;
    bool colors; /* the console shows colours */
    bool status; /* the terminal shows a status line, which the next message must erase */
    pgy_log_sink sink;
    void *sink_user;
    log_listener listener;
    void *listener_user;
    log_rewriter rewriter;
    pgy_log_format format;
    FILE *file;
    int failure; /* errno of the first message that could not be written */
    int threshold;
    path_threshold *paths;
    size_t path_count, path_capacity;
    strmap once;
} logger = {.lock = PTHREAD_MUTEX_INITIALIZER, .threshold = PGY_LOG_INFO};

/* The lowest threshold in force, or INT_MAX without any output. Every message is compared with it
 * first. */
static atomic_int lowest = INT_MAX;
/* True if any module path has its own threshold; only then a message's path is looked up. */
static atomic_bool by_path;
/* True if a listener is set. */
static atomic_bool heard;
static _Thread_local int indentation;

/* ---- lock ----------------------------------------------------------------------------------- */

static void lock(void)
{
    pthread_mutex_lock(&logger.lock);
}

static void unlock(void)
{
    pthread_mutex_unlock(&logger.lock);
}

/* A forked child must not inherit a lock that another thread holds. */
__attribute__((constructor)) static void watch_fork(void)
{
    pthread_atfork(lock, unlock, unlock);
}

static void update_lowest(void)
{
    int low = logger.threshold;
    for (size_t i = 0; i < logger.path_count; i++)
        if (logger.paths[i].severity < low) low = logger.paths[i].severity;
    const bool silent = logger.output == OUTPUT_NONE && !logger.file;
    atomic_store(&by_path, logger.path_count != 0);
    atomic_store(&lowest, silent ? INT_MAX : low);
}

/* ---- thresholds ----------------------------------------------------------------------------- */

/* Length of a path without its trailing slashes. */
static size_t path_length(const char *path)
{
    size_t n = strlen(path);
    while (n && path[n - 1] == '/') n--;
    return n;
}

/* True if `path` equals the entry or lies under it. Only whole components match: "backend/tr" does
 * not cover "backend/trt". */
static bool covers(const char *entry, const char *path)
{
    const size_t n = strlen(entry);
    return strncmp(entry, path, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

static int threshold_of(const char *path)
{
    const path_threshold *best = NULL;
    if (!path || !*path) return logger.threshold;
    for (size_t i = 0; i < logger.path_count; i++) {
        const path_threshold *t = &logger.paths[i];
        if (covers(t->path, path) && (!best || strlen(t->path) > strlen(best->path))) best = t;
    }
    return best ? best->severity : logger.threshold;
}

static pgy_status set_path(const char *path, size_t size, int severity, pgy_error *err)
{
    for (size_t i = 0; i < logger.path_count; i++) {
        path_threshold *t = &logger.paths[i];
        if (strlen(t->path) != size || memcmp(t->path, path, size) != 0) continue;
        t->severity = severity;
        return PGY_OK;
    }
    char *copy = mem_strndup(path, size);
    if (!copy || !mem_grow((void **)&logger.paths, &logger.path_capacity, logger.path_count + 1,
                           sizeof *logger.paths)) {
        mem_free(copy);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for the log severity of '%s'", path);
    }
    logger.paths[logger.path_count++] = (path_threshold){copy, severity};
    return PGY_OK;
}

pgy_status pgy_log_set_severity(const char *path, int severity, pgy_error *err)
{
    pgy_status st = PGY_OK;
    while (path && path[0] == '.' && path[1] == '/') path += 2;
    const size_t size = path ? path_length(path) : 0;
    lock();
    if (size)
        st = set_path(path, size, severity, err);
    else
        logger.threshold = severity;
    update_lowest();
    unlock();
    return st;
}

int pgy_log_severity(const char *path)
{
    lock();
    const int severity = threshold_of(path);
    unlock();
    return severity;
}

pgy_status pgy_severity_from_name(int *out, const char *name, pgy_error *err)
{
    for (size_t i = 0; i < SEVERITY_COUNT; i++) {
        if (!str_equal_nocase(SEVERITIES[i].name, name)) continue;
        *out = SEVERITIES[i].value;
        return PGY_OK;
    }
    str valid = {0};
    for (size_t i = 0; i < SEVERITY_COUNT; i++)
        str_printf(&valid, "%s%s", i ? ", " : "", SEVERITIES[i].name);
    const pgy_status st =
        pgy_error_set(err, PGY_E_ARGUMENT, "'%s' is not a log severity; choose one of: %s", name,
                      str_text(&valid));
    str_deinit(&valid);
    return st;
}

bool pgy_log_is_on(pgy_severity severity, const char *path)
{
    if ((int)severity < atomic_load_explicit(&lowest, memory_order_relaxed)) return false;
    if (!atomic_load_explicit(&by_path, memory_order_relaxed)) return true;
    return (int)severity >= pgy_log_severity(path);
}

/* ---- outputs -------------------------------------------------------------------------------- */

/* True if the file is a terminal that understands escape sequences: TERM is set and not "dumb". */
static bool is_capable_terminal(int fd)
{
    const char *term = getenv("TERM");
    return term && *term && strcmp(term, "dumb") != 0 && isatty(fd);
}

/* FORCE_COLOR (0 off, other integers on) wins over NO_COLOR (its presence), which wins over the
 * terminals. */
static bool console_has_colors(void)
{
    const char *force = getenv("FORCE_COLOR");
    if (force && *force) {
        char *end;
        const long value = strtol(force, &end, 10);
        if (!*end) return value != 0;
    }
    if (getenv("NO_COLOR")) return false;
    return is_capable_terminal(STDOUT_FILENO) && is_capable_terminal(STDERR_FILENO);
}

void pgy_log_open_console(void)
{
    lock();
    logger.output = OUTPUT_CONSOLE;
    logger.colors = console_has_colors();
    update_lowest();
    unlock();
}

void pgy_log_set_sink(pgy_log_sink sink, void *user)
{
    lock();
    logger.output = sink ? OUTPUT_SINK : OUTPUT_NONE;
    logger.sink = sink;
    logger.sink_user = user;
    update_lowest();
    unlock();
}

void log_set_listener(log_listener listener, void *user)
{
    lock();
    logger.listener = listener;
    logger.listener_user = user;
    unlock();
    atomic_store(&heard, listener != NULL);
}

/* True if the listener took the message. */
static bool is_taken(pgy_severity severity, const char *text)
{
    if (!atomic_load_explicit(&heard, memory_order_relaxed)) return false;
    lock();
    const bool taken = logger.listener && logger.listener(severity, text, logger.listener_user);
    unlock();
    return taken;
}

void pgy_log_set_format(pgy_log_format format)
{
    lock();
    logger.format = format;
    unlock();
}

static pgy_status open_file(FILE **out, const char *path, pgy_error *err)
{
    char *folder = path_dirname(path);
    pgy_status st = folder ? file_make_dirs(folder, err)
                           : pgy_error_set(err, PGY_E_MEMORY,
                                           "out of memory while opening log file '%s'", path);
    mem_free(folder);
    if (st) return st;
    *out = fopen(path, "we");
    if (*out) return PGY_OK;
    return pgy_error_set(err, PGY_E_IO, "cannot write log file '%s': %s", path, strerror(errno));
}

pgy_status pgy_log_set_file(const char *path, pgy_error *err)
{
    FILE *file = NULL;
    const pgy_status st = path ? open_file(&file, path, err) : PGY_OK;
    if (st) return st;
    lock();
    if (logger.file) fclose(logger.file);
    logger.file = file;
    update_lowest();
    unlock();
    return PGY_OK;
}

/* ---- messages ------------------------------------------------------------------------------- */

static const severity_info *info_of(int severity)
{
    size_t i = SEVERITY_COUNT - 1;
    while (i > 0 && SEVERITIES[i].value > severity) i--;
    return &SEVERITIES[i];
}

static void append_prefix(str *out, const severity_info *info, const char *path, int line)
{
    str_printf(out, "[%c] ", info->letter);
    if (logger.format.timestamp) {
        char text[16] = "";
        struct tm tm;
        const time_t now = time(NULL);
        if (localtime_r(&now, &tm)) strftime(text, sizeof text, "%H:%M:%S", &tm);
        str_printf(out, "(%s) ", text);
    }
    if (logger.format.line_info) str_printf(out, "[%s:%d] ", path ? path : "", line);
}

/* A lone carriage return does not end a line; a terminal would overwrite the text before it. */
static size_t line_size(const char *text)
{
    size_t n = strcspn(text, "\r\n");
    while (text[n] == '\r' && text[n + 1] != '\n') n += 1 + strcspn(text + n + 1, "\r\n");
    return n;
}

/* Appends the text, made printable, and a newline. Later lines are indented to stand under the
 * first one, so that a name with a newline in it cannot look like a message. */
static void append_lines(str *out, const char *text, size_t first_indent)
{
    const size_t blanks = (size_t)(indentation > 0 ? indentation : 0) * INDENT_WIDTH;
    str_append_fill(out, ' ', blanks);
    for (;;) {
        const size_t n = line_size(text);
        str_append_printable(out, text, n, "\t");
        text += n;
        if (*text) text += *text == '\r' ? 2 : 1;
        str_append_char(out, '\n');
        if (!*text) return;
        str_append_fill(out, ' ', first_indent + blanks);
    }
}

static void write_stream(FILE *stream, const str *block, int color)
{
    const size_t size = color < 0 ? block->size : block->size - 1;
    if (color >= 0) fprintf(stream, "\033[38;5;%dm", color);
    bool whole = fwrite(block->data, 1, size, stream) == size;
    if (color >= 0) fputs("\033[0m\n", stream);
    /* a closed pipe is no failure: the message is lost */
    if ((!whole || fflush(stream)) && errno != EPIPE && !logger.failure) logger.failure = errno;
}

void log_set_rewriter(log_rewriter rewriter)
{
    lock();
    logger.rewriter = rewriter;
    unlock();
}

int log_write_failure(void)
{
    lock();
    const int failure = logger.failure;
    unlock();
    return failure;
}

static void erase_status(void)
{
    if (!logger.status) return;
    fputs("\r\033[K", stdout);
    fflush(stdout);
    logger.status = false;
}

static bool can_show_status(void)
{
    return logger.output == OUTPUT_CONSOLE && is_capable_terminal(STDOUT_FILENO);
}

bool log_has_status(void)
{
    lock();
    const bool can = can_show_status();
    unlock();
    return can;
}

void log_show_status(const char *text)
{
    lock();
    if (can_show_status()) {
        erase_status();
        fputs(text, stdout);
        fflush(stdout);
        logger.status = text[0] != 0;
    }
    unlock();
}

static void emit(int severity, const severity_info *info, const str *block)
{
    erase_status();
    const bool console = logger.output == OUTPUT_CONSOLE;
    const int color = console && logger.colors && !logger.format.no_colors ? info->color : -1;
    if (console) write_stream(severity >= PGY_LOG_CRITICAL ? stderr : stdout, block, color);
    if (logger.output == OUTPUT_SINK)
        logger.sink((pgy_severity)severity, block->data, block->size, logger.sink_user);
    if (logger.file) write_stream(logger.file, block, color);
}

static void write_text(int severity, const char *path, int line, const char *text)
{
    const severity_info *info = info_of(severity);
    str block = {0};
    lock();
    append_prefix(&block, info, path, line);
    append_lines(&block, text, block.size);
    if (!block.failed) {
        emit(severity, info, &block);
    } else {
        static char LOST[] = "[!] out of memory for a log message\n";
        emit(severity, info, &(str){LOST, sizeof LOST - 1, sizeof LOST, false});
    }
    unlock();
    str_deinit(&block);
}

/* True the first time it sees this text. */
static bool is_first(const char *text)
{
    lock();
    const bool known = strmap_has(&logger.once, text);
    if (!known) {
        const bool kept = strmap_put(&logger.once, text, NULL);
        (void)kept; /* if memory is short, the message will be logged again */
    }
    unlock();
    return !known;
}

static bool is_wanted(pgy_severity severity, const char *path)
{
    return atomic_load_explicit(&heard, memory_order_relaxed) || pgy_log_is_on(severity, path);
}

PGY_PRINTF(5, 0)
static void write_formatted(int severity, const char *path, int line, bool once, const char *format,
                            va_list args)
{
    char local[STACK_TEXT];
    char *heap = NULL;
    va_list again;
    va_copy(again, args);
    const int wanted = vsnprintf(local, sizeof local, format, args);
    if (wanted < 0) local[0] = '\0';
    if (wanted >= STACK_TEXT) heap = mem_alloc((size_t)wanted + 1);
    if (heap) vsnprintf(heap, (size_t)wanted + 1, format, again);
    va_end(again);
    const char *text = heap ? heap : local;
    str rewritten = {0};
    if (logger.rewriter && logger.rewriter(&rewritten, text) && !rewritten.failed)
        text = str_text(&rewritten);
    if (!is_taken((pgy_severity)severity, text) && pgy_log_is_on((pgy_severity)severity, path) &&
        (!once || is_first(text)))
        write_text(severity, path, line, text);
    str_deinit(&rewritten);
    mem_free(heap);
}

void pgy_log_indent(int delta)
{
    indentation += delta;
}

void pgy_log_write(pgy_severity severity, const char *path, int line, const char *format, ...)
{
    if (!is_wanted(severity, path)) return;
    va_list args;
    va_start(args, format);
    write_formatted(severity, path, line, false, format, args);
    va_end(args);
}

void pgy_log_write_once(pgy_severity severity, const char *path, int line, const char *format, ...)
{
    if (!is_wanted(severity, path)) return;
    va_list args;
    va_start(args, format);
    write_formatted(severity, path, line, true, format, args);
    va_end(args);
}
