/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the options of the debug tools. Without --check, asks the user whether a trial passed. */
#include "cli/groups/debug.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/log.h"
#include "base/pytext.h"
#include "cli/args/values.h"
#include "cli/groups/data.h"
#include "cli/groups/debug_judge.h"

static const char LOG_PATH[] = "tools/debug/subtool/iterative_debug_args.py";

#define CHECK_OPTIONS                                                                              \
    PGY_OPT_LIST("--check --check-inference", debug_args, check, .nargs = PGY_REST,                \
                 .meta = "COMMAND",                                                                \
                 .help = "command that checks each iteration; it runs without a shell, and takes " \
                         "the rest of the line, so this option comes last. One quoted word with "  \
                         "blanks is run by sh -c, and options may follow it. Without a command, "  \
                         "you are asked whether an iteration passed"),                             \
        PGY_OPT_LIST("--fail-code --fail-returncode", debug_args, fail_codes,                      \
                     .nargs = PGY_ONE_OR_MORE, .meta = "CODE", .exclusive = "codes",               \
                     .help = "exit codes of the command that mean failure; all others pass"),      \
        PGY_OPT_LIST("--ignore-fail-code --ignore-fail-returncode", debug_args, ignored_codes,     \
                     .nargs = PGY_ONE_OR_MORE, .meta = "CODE", .exclusive = "codes",               \
                     .help = "exit codes that pass, whatever the output"),                         \
        PGY_OPT_LIST("--fail-regex", debug_args, fail_patterns, .nargs = PGY_ONE_OR_MORE,          \
                     .meta = "REGEX",                                                              \
                     .help = "regular expressions; an iteration fails if one matches the output "  \
                             "of the command"),                                                    \
        PGY_OPT_FLAG("--show-output", debug_args, show_output, .exclusive = "output",              \
                     .help = "show the output of the command for passing iterations, too"),        \
        PGY_OPT_FLAG("--hide-fail-output", debug_args, hide_output, .exclusive = "output",         \
                     .help = "do not show the output of the command"),                             \
        PGY_OPT_TEXT("--check-timeout", debug_args, timeout_text, .meta = "SECONDS",               \
                     .help = "end the session if the command runs longer; default: no limit")

#define ARTIFACT_OPTIONS                                                                           \
    PGY_OPT_LIST("--artifacts", debug_args, artifacts, .nargs = PGY_ONE_OR_MORE, .meta = "PATH",   \
                 .help = "files and folders that each iteration leaves behind; they are moved to " \
                         "the folders good and bad"),                                              \
        PGY_OPT_TEXT("--art-dir --artifacts-dir", debug_args, artifact_dir, .meta = "DIR",         \
                     .help = "folder for good and bad; default {program}_artifacts"),              \
        PGY_OPT_TEXT("--iter-info --iteration-info", debug_args, info, .meta = "PATH",             \
                     .help = "write a JSON file with the number of the iteration before each "     \
                             "check, and remove it afterwards")

#define CANDIDATE_OPTIONS(default_)                                                                \
    PGY_OPT_TEXT("--iter-artifact --intermediate-artifact", debug_args, candidate, .meta = "PATH", \
                 .help = "file that each iteration makes for the check; default " default_),       \
        PGY_OPT_FLAG("--no-remove-intermediate", debug_args, keep_candidate,                       \
                     .help = "keep that file after each iteration")

#define UNTIL_OPTION                                                                             \
    PGY_OPT_TEXT("--until", debug_args, until, .required = true, .meta = "UNTIL",                \
                 .help = "when to stop: good (the first iteration that passes), bad (the first " \
                         "that fails), or a number of iterations")

#define REPLAY_OPTIONS                                                                            \
    PGY_OPT_TEXT("--load-debug-replay", debug_args, load_replay, .meta = "PATH",                  \
                 .help = "verdicts of an earlier session; iterations in it are not run again"),   \
        PGY_OPT_TEXT("--save-debug-replay", debug_args, save_replay, .meta = "PATH",              \
                     .help = "where to save the verdicts after each iteration; default "          \
                             "{program}_debug_replay.json. A second file, _skip_current, counts " \
                             "the running iteration as failed: load it after a crash")

#define OLDER_PRECISION_OPTIONS                                                            \
    PGY_OPT_TEXT("--golden", debug_args, golden, .hidden = true,                           \
                 .deprecated = "is an older spelling; use --check with 'run PLAN --trt "   \
                               "--load-outputs FILE'"),                                    \
        PGY_OPT_FLAG("-s", debug_args, show_output, .hidden = true, .exclusive = "output", \
                     .deprecated = "is an older spelling; use --show-output")

static const pgy_option REPEAT_OPTIONS[] = {CHECK_OPTIONS, ARTIFACT_OPTIONS, UNTIL_OPTION,
                                            REPLAY_OPTIONS, PGY_OPT_END};

static const pgy_option BUILD_OPTIONS[] = {CHECK_OPTIONS, ARTIFACT_OPTIONS,
                                           CANDIDATE_OPTIONS("{program}_debug.engine"),
                                           UNTIL_OPTION, PGY_OPT_END};
static const pgy_option PRECISION_OPTIONS[] = {
    CHECK_OPTIONS,  ARTIFACT_OPTIONS,        CANDIDATE_OPTIONS("{program}_debug.engine"),
    REPLAY_OPTIONS, OLDER_PRECISION_OPTIONS, PGY_OPT_END};
static const pgy_option REDUCE_OPTIONS[] = {CHECK_OPTIONS, ARTIFACT_OPTIONS,
                                            CANDIDATE_OPTIONS("{program}_debug.onnx"),
                                            REPLAY_OPTIONS, PGY_OPT_END};

/* ---- Asking --------------------------------------------------------------------------------- */

/* Reads a line from stdin without missing an interrupt. */
static pgy_status read_answer(char *first, pgy_error *err)
{
    enum { SLICE_MS = 20 };
    char c = '\n';
    *first = '\0';
    for (bool begun = false;;) {
        struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
        const pgy_status st = cancel_check(err);
        if (st) return st;
        if (poll(&p, 1, SLICE_MS) <= 0) continue;
        const ssize_t n = read(STDIN_FILENO, &c, 1);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0 && !begun)
            return pgy_error_set(err, PGY_E_IO,
                                 "stdin ended without an answer; --check takes a command that "
                                 "answers");
        if (n <= 0 || c == '\n') return PGY_OK;
        if (!begun) *first = c;
        begun = true;
    }
}

static pgy_status ask(bool *passed, const char *candidate, void *user, pgy_error *err)
{
    char answer;
    (void)user;
    printf(">>> Did '%s' [p]ass or [f]ail? ", candidate ? candidate : "this iteration");
    for (;;) {
        fflush(stdout);
        const pgy_status st = read_answer(&answer, err);
        if (st) return st;
        *passed = answer == 'p' || answer == 'P';
        if (*passed || answer == 'f' || answer == 'F') return PGY_OK;
        printf(">>> Please choose either: 'p' or 'f': ");
    }
}

/* ---- Settings ------------------------------------------------------------------------------- */

static pgy_status read_codes(const int64_t **out, const pgy_text_list *words, const char *option,
                             args *line, pgy_error *err)
{
    int64_t *codes = arena_alloc_array(&line->memory, words->count + 1, sizeof *codes);
    if (!codes) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for %s", option);
    for (size_t i = 0; i < words->count; i++) {
        cast_value v;
        const pgy_status st = value_cast(&v, words->items[i], &line->memory, err);
        if (st) return st;
        if (v.kind != CAST_INT)
            return pgy_error_set(err, PGY_E_ARGUMENT, "%s: '%s' is not an exit code", option,
                                 words->items[i]);
        codes[i] = (int64_t)v.number.real;
    }
    *out = codes;
    return PGY_OK;
}

static pgy_status read_until(debug_args *s, args *line, pgy_error *err)
{
    cast_value v = {0};
    s->end = PGY_DEBUG_UNTIL_GOOD;
    if (!s->until || strcmp(s->until, "good") == 0) return PGY_OK;
    s->end = PGY_DEBUG_UNTIL_BAD;
    if (strcmp(s->until, "bad") == 0) return PGY_OK;
    s->end = PGY_DEBUG_UNTIL_COUNT;
    const pgy_status st = value_cast(&v, s->until, &line->memory, err);
    if (st == PGY_E_MEMORY) return st;
    if (st || v.kind != CAST_INT)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--until value must be an integer, 'good', or 'bad', but was: %s",
                             s->until);
    s->count = (int64_t)v.number.real;
    return PGY_OK;
}

static pgy_status read_timeout(debug_args *s, pgy_error *err)
{
    char *end;
    if (!s->timeout_text) return PGY_OK;
    s->criterion.timeout_s = text_to_double(s->timeout_text, &end);
    if (end != s->timeout_text && !*end && s->criterion.timeout_s > 0 &&
        s->criterion.timeout_s < 1e9)
        return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "--check-timeout: '%s' is not a number of seconds above 0",
                         s->timeout_text);
}

/* One word with blanks in it is a quoted line: no program has such a name, unless there is a file.
 */
static bool is_line(const pgy_text_list *check)
{
    return check->count == 1 && strpbrk(check->items[0], " \t\n") &&
           access(check->items[0], X_OK) != 0;
}

static pgy_status run_by_shell(pgy_debug_check *c, const char *text, args *line, pgy_error *err)
{
    const char **words = arena_alloc_array(&line->memory, 3, sizeof *words);
    str note = {0};
    str_append(&note, "--check: ");
    str_append_word(&note, text);
    str_printf(&note, " is a quoted line, so sh -c runs it; options behind it belong to '%s'",
               line->name);
    const bool good = words && strvec_push(&line->deprecations, str_text(&note));
    str_deinit(&note);
    if (!good) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for --check");
    words[0] = "sh";
    words[1] = "-c";
    words[2] = text;
    c->command = words;
    c->command_count = 3;
    return PGY_OK;
}

static bool add_list(strvec *out, const char *option, const pgy_text_list *words)
{
    bool good = !words->given || strvec_push(out, option);
    for (size_t i = 0; i < words->count; i++) good &= strvec_push(out, words->items[i]);
    return good;
}

/* The inputs of --golden come from the options of the line. */
static bool add_data(strvec *out, const data_args *d, arena *memory)
{
    bool good = add_list(out, "--load-inputs", &d->load_inputs) &&
                add_list(out, "--val-range", &d->val_range);
    if (d->seed >= 0) {
        const char *seed = arena_printf(memory, "%lld", (long long)d->seed);
        good = good && seed && strvec_push(out, "--seed") && strvec_push(out, seed);
    }
    if (d->script)
        good = good && strvec_push(out, "--data-loader-script") && strvec_push(out, d->script);
    return good;
}

/* Without --check, --golden compares the plan's outputs with those of a file. */
static pgy_status compare_with_golden(debug_args *s, args *line, pgy_error *err)
{
    char self[4096];
    const ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    const char *const WORDS[] = {self, "run", s->candidate, "--trt", "--load-outputs", s->golden};
    strvec words = {0};
    bool good = true;
    if (s->check.given)
        return pgy_error_set(err, PGY_E_ARGUMENT, "--golden: not allowed with argument --check");
    if (size < 0)
        return pgy_error_set(err, PGY_E_IO, "--golden: the path of this program is unknown");
    self[size] = '\0';
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) good &= strvec_push(&words, WORDS[i]);
    data_args *data = ARGS_OF(line, data_args);
    data->needed = true;
    good = good && add_data(&words, data, &line->memory);
    const char **kept = arena_alloc_array(&line->memory, words.count + 1, sizeof *kept);
    for (size_t i = 0; good && kept && i < words.count; i++)
        good = (kept[i] = arena_strdup(&line->memory, words.items[i])) != NULL;
    s->check = (pgy_text_list){.items = kept, .count = words.count, .given = true};
    strvec_deinit(&words);
    return good && kept ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory for --golden");
}

static pgy_status read_check(debug_args *s, args *line, pgy_error *err)
{
    pgy_debug_check *c = &s->criterion;
    pgy_status st = read_codes(&c->fail_codes, &s->fail_codes, "--fail-code", line, err);
    if (!st) st = read_codes(&c->pass_codes, &s->ignored_codes, "--ignore-fail-code", line, err);
    if (!st) st = read_timeout(s, err);
    if (st) return st;
    c->size = sizeof *c;
    s->options.check = c;
    c->fail_code_count = s->fail_codes.count;
    c->pass_code_count = s->ignored_codes.count;
    c->fail_patterns = s->fail_patterns.items;
    c->fail_pattern_count = s->fail_patterns.count;
    c->show = s->show_output   ? PGY_DEBUG_SHOW_ALL
              : s->hide_output ? PGY_DEBUG_SHOW_NONE
                               : PGY_DEBUG_SHOW_FAILED;
    if (!s->check.given) {
        const judge_args *built_in = ARGS_OF(line, judge_args);
        c->judge = ask;
        if (built_in && (built_in->on || built_in->with)) return PGY_OK;
        LOG(INFO, "Starting interactive debugging session since no `--check` command was provided");
        return PGY_OK;
    }
    if (!s->check.count || !*s->check.items[0])
        return pgy_error_set(err, PGY_E_ARGUMENT, "--check: a command is expected behind it");
    c->command = s->check.items;
    c->command_count = s->check.count;
    return is_line(&s->check) ? run_by_shell(c, s->check.items[0], line, err) : PGY_OK;
}

/* Files that the line does not name begin with the program's name. */
static pgy_status name_files(debug_args *s, args *line, pgy_error *err)
{
    const char *name = line->dialect->program;
    bool good = true;
    if (!s->artifact_dir)
        good &= (s->artifact_dir = arena_printf(&line->memory, "%s_artifacts", name)) != NULL;
    if (!s->candidate && s->candidate_end)
        good &=
            (s->candidate = arena_printf(&line->memory, "%s%s", name, s->candidate_end)) != NULL;
    if (!s->save_replay && s->replays)
        good &=
            (s->save_replay = arena_printf(&line->memory, "%s_debug_replay.json", name)) != NULL;
    return good ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory for names of files");
}

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    debug_args *s = settings;
    pgy_debug_options *o = &s->options;
    pgy_status st = name_files(s, line, err);
    if (!st && s->golden) st = compare_with_golden(s, line, err);
    if (!st) st = read_check(s, line, err);
    if (!st) st = read_until(s, line, err);
    if (st) return st;
    o->artifacts = s->artifacts.items;
    o->artifact_count = s->artifacts.count;
    o->artifact_dir = s->artifact_dir;
    o->candidate = s->candidate;
    o->keep_candidate = s->keep_candidate;
    o->info = s->info;
    o->load_replay = s->load_replay;
    o->save_replay = s->save_replay;
    if (s->until && !s->artifacts.given)
        LOG(WARNING, "`--artifacts` was not specified; No artifacts will be stored during this "
                     "run! Is this what you intended?");
    return PGY_OK;
}

static void set_build_defaults(void *settings)
{
    *(debug_args *)settings =
        (debug_args){.options = pgy_debug_options_default(), .candidate_end = "_debug.engine"};
}

static void set_precision_defaults(void *settings)
{
    set_build_defaults(settings);
    ((debug_args *)settings)->replays = true;
}

static void set_reduce_defaults(void *settings)
{
    *(debug_args *)settings = (debug_args){
        .options = pgy_debug_options_default(), .candidate_end = "_debug.onnx", .replays = true};
}

static void set_repeat_defaults(void *settings)
{
    *(debug_args *)settings = (debug_args){.options = pgy_debug_options_default(), .replays = true};
}

#define DEBUG_GROUP(table, set)                                                              \
    {                                                                                        \
        .title = "Iterative Debugging",                                                      \
        .description = "Options of the iterations: their check, and what they leave behind", \
        .options = table, ARGS_TYPE(debug_args), .defaults = set, .finish = finish           \
    }
const option_group GROUP_DEBUG_REPEAT = DEBUG_GROUP(REPEAT_OPTIONS, set_repeat_defaults);
const option_group GROUP_DEBUG_BUILD = DEBUG_GROUP(BUILD_OPTIONS, set_build_defaults);
const option_group GROUP_DEBUG_PRECISION = DEBUG_GROUP(PRECISION_OPTIONS, set_precision_defaults);
const option_group GROUP_DEBUG_REDUCE = DEBUG_GROUP(REDUCE_OPTIONS, set_reduce_defaults);
