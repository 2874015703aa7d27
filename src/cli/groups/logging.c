/* SPDX-License-Identifier: Apache-2.0 */
/* Logging options, present in every command. */
#include "cli/groups/logging.h"

#include <string.h>

#include "cli/args/values.h"

static const char *const FORMATS[] = {"timestamp", "line-info", "no-colors", NULL};

static const pgy_option OPTIONS[] = {
    PGY_OPT_COUNT("-v --verbose", logging_args, verbose,
                  .help = "show more messages; may be repeated"),
    PGY_OPT_COUNT("-q --quiet", logging_args, quiet,
                  .help = "show fewer messages; may be repeated"),
    PGY_OPT_LIST(
        "--verbosity", logging_args, verbosity, .nargs = PGY_ONE_OR_MORE, .meta = "[PATH:]SEVERITY",
        .help =
            "lowest severity shown: ULTRA_VERBOSE, SUPER_VERBOSE, EXTRA_VERBOSE, VERBOSE, INFO, "
            "START, FINISH, WARNING, ERROR or CRITICAL; with a path, as in comparator:VERBOSE, for "
            "messages from that path. -v and -q override a severity without a path"),
    PGY_OPT_FLAG("--silent", logging_args, silent,
                 .help = "show critical errors only; overrides the options above"),
    PGY_OPT_LIST("--log-format", logging_args, format, .nargs = PGY_ONE_OR_MORE, .choices = FORMATS,
                 .help = "add a timestamp or the source line (line-info) to each message, or turn "
                         "colours off (no-colors)"),
    PGY_OPT_FLAG("--timestamp", logging_args, old_timestamp, .hidden = true,
                 .deprecated = "is an older spelling; use --log-format timestamp"),
    PGY_OPT_FLAG("--line-info", logging_args, old_line_info, .hidden = true,
                 .deprecated = "is an older spelling; use --log-format line-info"),
    PGY_OPT_FLAG("--no-color --no-colors", logging_args, old_no_color, .hidden = true,
                 .deprecated = "is an older spelling; use --log-format no-colors"),
    PGY_OPT_FLAG("--no-letter", logging_args, old_no_letter, .hidden = true,
                 .deprecated = "has no effect any more: lines keep the letter of their severity"),
    PGY_OPT_TEXT("--log-file", logging_args, file, .meta = "PATH",
                 .help = "also write all shown messages to this file"),
    PGY_OPT_END,
};

/* The severity for -v given (steps > 0) or -q (steps < 0) times. */
static int severity_of_steps(int steps)
{
    static const int UP[] = {PGY_LOG_INFO, PGY_LOG_VERBOSE, PGY_LOG_EXTRA_VERBOSE,
                             PGY_LOG_SUPER_VERBOSE, PGY_LOG_ULTRA_VERBOSE};
    static const int DOWN[] = {PGY_LOG_INFO,    PGY_LOG_START, PGY_LOG_FINISH,
                               PGY_LOG_WARNING, PGY_LOG_ERROR, PGY_LOG_CRITICAL};
    return steps >= 0 ? UP[steps > 4 ? 4 : steps] : DOWN[steps < -5 ? 5 : -steps];
}

pgy_log_format logging_format(const logging_args *s)
{
    pgy_log_format format = {s->old_timestamp, s->old_line_info, s->old_no_color};
    for (size_t i = 0; i < s->format.count; i++) {
        format.timestamp |= strcmp(s->format.items[i], FORMATS[0]) == 0;
        format.line_info |= strcmp(s->format.items[i], FORMATS[1]) == 0;
        format.no_colors |= strcmp(s->format.items[i], FORMATS[2]) == 0;
    }
    return format;
}

pgy_status logging_visit(args *line, logging_visitor visit, void *user, pgy_error *err)
{
    const logging_args *s = ARGS_OF(line, logging_args);
    const key_value *pairs;
    size_t count;
    pgy_status st = values_split(&pairs, &count, &s->verbosity, &line->memory, err);
    for (size_t i = 0; !st && i < count; i++) {
        int severity;
        st = pgy_severity_from_name(&severity, pairs[i].value, err);
        if (st) return pgy_error_prefix(err, st, "--verbosity: ");
        st = visit(pairs[i].key, severity, user, err);
    }
    if (!st && (s->verbose || s->quiet))
        st = visit(NULL, severity_of_steps(s->verbose - s->quiet), user, err);
    return !st && s->silent ? visit(NULL, PGY_LOG_CRITICAL, user, err) : st;
}

static pgy_status set_severity(const char *path, int severity, void *user, pgy_error *err)
{
    (void)user;
    return pgy_log_set_severity(path, severity, err);
}

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    const logging_args *s = settings;
    pgy_log_set_format(logging_format(s));
    const pgy_status st = logging_visit(line, set_severity, NULL, err);
    return !st && s->file ? pgy_log_set_file(s->file, err) : st;
}

const option_group GROUP_LOGGING = {
    .title = "Logging",
    .description = "Options related to logging and debug output",
    .options = OPTIONS,
    ARGS_TYPE(logging_args),
    .finish = finish,
};
