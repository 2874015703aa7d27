/* SPDX-License-Identifier: Apache-2.0 */
/* The definition of the trtexec program, which measures models on the built-in engine with the
 * options and the report of NVIDIA's trtexec. Its exit statuses and log lines are those of the
 * original, so it runs its command itself; help, manual page and completion are shared. */
#include "cli/program_trtexec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"
#include "cli/complete.h"
#include "cli/interrupt.h"
#include "cli/manual.h"
#include "cli/trtexec/accuracy.h"
#include "cli/trtexec/debug.h"
#include "cli/trtexec/report.h"
#include "cli/trtexec/route.h"
#include "cli/trtexec/trtexec.h"

static const char LOG_PATH[] = "cli/program_trtexec.c";

/* The release whose report the banners name; scripts look for its form. */
#define REPORT_RELEASE "8600"

/* ---- The phases ----------------------------------------------------------------------------- */

static pgy_status print_plan_version(const trtexec_session *s, pgy_error *err)
{
    pgy_plan *plan = NULL;
    const pgy_status st = pgy_plan_open(&plan, s->a->load_engine, err);
    if (!st) LOG(INFO, "Plan was created by libpolygraphy %s", pgy_plan_describe(plan)->library);
    pgy_plan_close(plan);
    return st;
}

static void print_memory(void)
{
    struct rusage usage;
    if (!getrusage(RUSAGE_SELF, &usage))
        LOG(INFO, "Peak memory: %g MiB", (double)usage.ru_maxrss / 1024);
}

static pgy_status run_phases(trtexec_session *s, pgy_error *err)
{
    pgy_status st = session_check(s, err);
    if (!st) st = pin_apply(s->a, err);
    if (!st) st = accuracy_options(s, err);
    if (!st) st = debug_options(s, err);
    if (!st) st = report_options(s, err);
    if (!st && route_is_search(s->a)) return route_search(s, err);
    if (st) return st;
    if (s->a->plan_version_only) return print_plan_version(s, err);
    settings_print(s);
    st = session_engine(s, err);
    if (!st && s->a->time_refit) st = session_time_refit(s, err);
    if (!st) st = session_layers(s, err);
    if (!st && s->a->time_deserialize) {
        st = session_time_loading(s, err);
    } else if (!st && s->a->skip_inference) {
        LOG(INFO, "Skipped inference phase since --skipInference is added.");
    } else if (!st) {
        st = session_infer(s, err);
    }
    if (!st && s->a->monitor_memory) print_memory();
    pgy_engine_release(s->engine);
    pgy_route_destroy(s->route);
    return st;
}

/* Records the phases if a timeline is wanted. */
static pgy_status run_recorded(trtexec_session *s, pgy_error *err)
{
    pgy_trace_options o = pgy_trace_options_default();
    const char *path = NULL;
    pgy_status st = trace_runs_read(&o.runs, s->a->trace_runs, "--traceRuns", err);
    if (!st && s->a->export_trace)
        st = trtexec_path(&path, s->a->export_trace, &s->line->memory, err);
    if (!st) st = trace_begin(&s->trace, path, &o, err);
    if (st) return st;
    st = run_phases(s, err);
    return trace_end(&s->trace, st, "trtexec", s->line->command,
                     s->a->onnx ? s->a->onnx : s->a->load_engine, err);
}

/* ---- The command line ----------------------------------------------------------------------- */

static void banner(const char *word, const char *words)
{
    fprintf(console_stream(), "&&&& %s TensorRT.trtexec [TensorRT v" REPORT_RELEASE "] # %s\n",
            word, words);
    fflush(console_stream());
}

/* The command line, quoted for a shell; memory of the line. */
static const char *command_text(args *line, int argc, const char *const *argv)
{
    str text = {0};
    str_append(&text, "trtexec");
    for (int i = 0; i < argc; i++) {
        str_append_char(&text, ' ');
        str_append_word(&text, argv[i]);
    }
    const char *kept = arena_strdup(&line->memory, str_text(&text));
    str_deinit(&text);
    return kept ? kept : "trtexec";
}

static void print_help(const args *line)
{
    str text = {0};
    args_print_help(&text, line, args_help_width());
    fputs(str_text(&text), stdout);
    fflush(stdout);
    str_deinit(&text);
}

/* Its JSON stands alone, so no banner comes before it. */
static int print_knobs(trtexec_session *s, int argc, const char *const *argv)
{
    bool help = false, unknown = false;
    pgy_error err = {0};
    pgy_status st = trtexec_read(s->a, &help, &unknown, s->line, argc, argv, &err);
    if (!st) st = route_help(s->a->help_route, &err);
    if (st) LOG(ERROR, "%s", err.text);
    return st ? EXIT_BAD : EXIT_GOOD;
}

static int run_line(args *line, int argc, const char *const *argv)
{
    trtexec_session s = {
        .a = ARGS_OF(line, trtexec_args), .line = line, .argc = argc, .argv = argv};
    pgy_error err = {0};
    bool help = !argc, unknown = false, about_routes = false;
    for (int i = 0; i < argc; i++) {
        if (!strcmp(argv[i], "--verbose")) console_set_verbose(true);
        if (!strcmp(argv[i], "--json")) console_use_stderr();
        about_routes = about_routes || str_starts_with(argv[i], "--helpBuildRoute");
        help = help || !strcmp(argv[i], "--help") || !strcmp(argv[i], "-h");
    }
    if (help) {
        print_help(line);
        return EXIT_GOOD;
    }
    if (about_routes) return print_knobs(&s, argc, argv);
    line->command = command_text(line, argc, argv);
    banner("RUNNING", line->command);
    pgy_status st = trtexec_read(s.a, &help, &unknown, line, argc, argv, &err);
    if (unknown) print_help(line);
    if (!st && s.a->resume) st = route_resume(&s, &err);
    if (!st) st = run_recorded(&s, &err);
    if (st) LOG(ERROR, "%s", err.text);
    const bool cut = interrupt_requested() && s.loop.duration_s >= 0;
    banner(st || cut ? "FAILED" : "PASSED", line->command);
    return st || cut ? EXIT_BAD : EXIT_GOOD;
}

static int run_words(int argc, const char *const *argv)
{
    args line = {0};
    pgy_error err = {0};
    const char *word = argc ? argv[0] : "";
    if (!strcmp(word, "--completion"))
        return manual_print(&PROGRAM_TRTEXEC, argc > 1 ? argv[1] : "bash");
    if (!strcmp(word, "--complete")) return complete_words(&PROGRAM_TRTEXEC, argc - 1, argv + 1);
    const pgy_status st =
        command_open(&line, &PROGRAM_TRTEXEC, command_find(&PROGRAM_TRTEXEC, NULL, NULL), &err);
    int code = EXIT_BAD;
    if (st)
        LOG(ERROR, "%s", err.text);
    else
        code = run_line(&line, argc, argv);
    if (line.groups) args_deinit(&line);
    return code;
}

int trtexec_main(int argc, const char *const *argv)
{
    interrupt_install();
    console_install();
    int code = run_words(argc, argv);
    if ((fflush(stdout) || ferror(stdout)) && errno != EPIPE) {
        fprintf(stderr, "[E] part of the output could not be written: %s\n", strerror(errno));
        code = EXIT_BAD;
    }
    interrupt_finish();
    return code;
}

/* ---- The program ---------------------------------------------------------------------------- */

/* The shared machinery knows commands by their `run`; this one's line is read by trtexec_main. */
static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    trtexec_session s = {.a = ARGS_OF(line, trtexec_args), .line = line};
    const pgy_status st = run_recorded(&s, err);
    *passed = !st;
    return st;
}

static void print_version(str *out, const char *folder)
{
    str_printf(out, "trtexec of libpolygraphy %s in %s\n", pgy_version(), folder);
}

static const command COMMAND = {
    .summary = "Build, load and time models.",
    .description =
        "Builds a model or loads a plan for the built-in engine, runs it on generated or "
        "given data, and prints trtexec's report.",
    .examples = "  {program} --onnx=model.onnx --saveEngine=model.plan\n"
                "  {program} --loadEngine=model.plan --shapes=image:4x3x224x224\n",
    .groups = TRTEXEC_GROUPS,
    .no_abbreviation = true,
    .run = run,
};
static const command *const COMMANDS[] = {&COMMAND, NULL};

const program PROGRAM_TRTEXEC = {
    .dialect = {.program = "trtexec", .values = &VALUES_CROSSES},
    .title = "trtexec",
    .summary = "build, load and time models on the built-in engine",
    .about =
        "Builds a model or loads a plan, runs it, and prints the report of NVIDIA's trtexec. It "
        "is an independent program with the same options, over another engine: plans of "
        "TensorRT are not read, and times are those of this machine's processors.",
    .library = "libpolygraphy",
    .environment = "POLYGRAPHY_",
    .print_version = print_version,
    .commands = COMMANDS,
};
