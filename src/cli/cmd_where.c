/* SPDX-License-Identifier: Apache-2.0 */
/* where: names the first tensor that differs between two runners, and the nodes that start errors.
 */
#include <polygraphy/engine.h>
#include <polygraphy/vote.h>
#include <polygraphy/where.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/args/values.h"
#include "cli/groups/data.h"
#include "cli/groups/model.h"
#include "cli/groups/operators.h"
#include "cli/groups/runners.h"
#include "cli/groups/trt.h"
#include "cli/groups/where_model.h"
#include "cli/groups/where_noise.h"
#include "cli/groups/where_rewrites.h"
#include "cli/groups/where_unused.h"

static const char LOG_PATH[] = "cli/cmd_where.c";

enum { MAX_GROUPS = 64, SIDES = 3, MAX_WORST = 64 };

typedef struct where_args {
    const char *runner[SIDES], *model[SIDES];
    const char *memory_text, *rtol_text, *atol_text, *times_text, *judge, *json;
    uint64_t memory;
    int64_t worst;
    double rtol, atol, times;
    bool own_errors, no_inside, vote;
} where_args;

static const char *const RULES[] = {"tolerance", "floor", NULL};

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("--a", where_args, runner[0], .meta = "RUNNER",
                 .help = "the reference: a runner (onnxrt, trt, opref), or a file of outputs that "
                         "'{program} run --save-outputs' wrote"),
    PGY_OPT_TEXT("--b", where_args, runner[1], .meta = "RUNNER",
                 .help = "the runner that is tested, or a file of outputs"),
    PGY_OPT_TEXT("--c", where_args, runner[2], .meta = "RUNNER",
                 .help = "a third runner, or a file of outputs: a vote names, for each tensor, the "
                         "side that differs from the other two, and its distance from the float64 "
                         "reference"),
    PGY_OPT_FLAG("--vote", where_args, vote,
                 .help = "vote with a third runner; without --c, this is opref"),
    PGY_OPT_TEXT("--a-model", where_args, model[0], .meta = "PATH",
                 .help = "model or plan of side A, if it has one of its own"),
    PGY_OPT_TEXT("--b-model", where_args, model[1], .meta = "PATH",
                 .help = "model or plan of side B, if it has one of its own; its tensors are "
                         "matched with those of side A by name, then by structure"),
    PGY_OPT_TEXT("--c-model", where_args, model[2], .meta = "PATH",
                 .help = "model or plan of side C, if it has one of its own"),
    PGY_OPT_TEXT("--max-memory", where_args, memory_text, .meta = "BYTES",
                 .help = "limit for the values of a segment of the model, with copies of its "
                         "weights, such as 500M or 2G. The model runs in segments that fit, tensors "
                         "that do not fit are compared in slices, and a node that cannot run is an "
                         "error. Input data and the model's file are not counted. Default: a "
                         "quarter of the memory that is free"),
    PGY_OPT_TEXT("--rtol", where_args, rtol_text, .meta = "NUMBER",
                 .help = "allowed error, relative to the largest magnitude in the tensor. Default: "
                         "1e-4 for float32 (1e-5 for the error of one node), 5e-3 for float16, "
                         "4e-2 for bfloat16, 1e-9 for float64"),
    PGY_OPT_TEXT("--atol", where_args, atol_text, .meta = "NUMBER",
                 .help = "allowed absolute error, in addition. Default 0"),
    PGY_OPT_FLAG("--own-errors", where_args, own_errors,
                 .help = "run every node alone on the reference's values. Default: only those that "
                         "can start an error, so the report lacks the own errors of others"),
    PGY_OPT_TEXT("--judge", where_args, judge, .choices = RULES,
                 .help = "what decides: tolerance (default), or floor: a tensor may differ by a "
                         "multiple of the error that rounding must cause there, see --floor-times, "
                         "--assume, --sums and --draws; tensors without a floor are judged by "
                         "tolerance"),
    PGY_OPT_TEXT("--floor-times", where_args, times_text, .meta = "NUMBER",
                 .help = "for --judge floor: the multiple of the noise floor that is allowed. "
                         "Default 3"),
    PGY_OPT_INT("--worst", where_args, worst, .meta = "N",
                .help = "number of worst elements to show for each tensor, 1 to 64. Default 3"),
    PGY_OPT_FLAG("--no-inside", where_args, no_inside,
                 .help = "do not compare the tensors inside the bodies of If, Loop, Scan and "
                         "SequenceMap, for which the reference runs the model once"),
    PGY_OPT_TEXT("--json", where_args, json, .meta = "PATH",
                 .help = "save the report with the errors of all tensors as JSON"),
    PGY_OPT_END,
};

static pgy_status read_tolerance(double *out, const char *text, const char *option, pgy_error *err)
{
    char *end = NULL;
    *out = NAN;
    if (!text) return PGY_OK;
    *out = strtod(text, &end);
    if (end != text && !*end && *out >= 0 && isfinite(*out)) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT, "argument %s: '%s' is not a number of at least 0",
                         option, text);
}

static const option_group OWN;

/* Only the comparison of all tensors reads these. */
static pgy_status check_use(const args *line, bool noise, pgy_error *err)
{
    const bool rewrites = where_rewrites_asked(line);
    const pgy_option *row = NULL;
    span name;
    if (noise) row = where_given(line, &GROUP_WHERE_REWRITES, NULL);
    if (!row && noise)
        row = where_given(line, &OWN,
                          "--c --vote --a-model --b-model --c-model --max-memory --rtol --atol "
                          "--own-errors --judge "
                          "--floor-times --worst --no-inside");
    if (!row && rewrites && !noise)
        row = where_given(line, &OWN,
                          "--c --vote --c-model --max-memory --own-errors --worst --no-inside");
    if (!row || !option_spelling(&name, row, 0)) return PGY_OK;
    return pgy_error_set(
        err, PGY_E_ARGUMENT, "argument %.*s: it has no effect with %s; leave it out",
        (int)name.size, name.data,
        noise ? "--nan, --headroom and --floor" : "--bisect-passes and --bisect-ort");
}

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    where_args *s = settings;
    const bool asked = where_noise_asked(line);
    if (!asked && (!s->runner[0] || !s->runner[1]))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "argument --%c is required, unless --nan, --headroom or --floor is "
                             "given",
                             s->runner[0] ? 'b' : 'a');
    if (asked && (s->runner[0] || s->runner[1]))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "argument --%c: --nan, --headroom and --floor compare no runners",
                             s->runner[0] ? 'a' : 'b');
    pgy_status st = check_use(line, asked, err);
    if (!st && s->vote && !s->runner[2]) s->runner[2] = "opref";
    if (!st && s->model[2] && !s->runner[2])
        st = pgy_error_set(err, PGY_E_ARGUMENT, "argument --c-model: it needs --c or --vote");
    if (!st) st = where_check_unused(line, s->runner, SIDES, err);
    if (!st && s->memory_text)
        st = value_bytes(&s->memory, s->memory_text, "argument --max-memory", err);
    if (!st && s->memory_text && !s->memory)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "argument --max-memory: expected at least 1 byte");
    const bool floor = s->judge && !strcmp(s->judge, "floor");
    if (!st && s->times_text && !floor)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "argument --floor-times: it needs --judge floor");
    if (!st && (s->worst < 1 || s->worst > MAX_WORST))
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "argument --worst: %lld is not allowed; expected 1 to %d",
                           (long long)s->worst, MAX_WORST);
    if (!st) st = where_noise_check(line, asked, floor, err);
    if (!st) st = read_tolerance(&s->times, s->times_text, "--floor-times", err);
    if (!st) st = read_tolerance(&s->rtol, s->rtol_text, "--rtol", err);
    return st ? st : read_tolerance(&s->atol, s->atol_text, "--atol", err);
}

static void defaults(void *settings)
{
    where_args *s = settings;
    s->worst = 3;
}

static const option_group OWN = {
    .options = OPTIONS, ARGS_TYPE(where_args), .defaults = defaults, .finish = finish};

static const option_group *const *groups(void)
{
    static const option_group *all[MAX_GROUPS];
    if (all[0]) return all;
    const option_group *const fixed[] = {&OWN,
                                         &GROUP_WHERE_NOISE,
                                         &GROUP_LOGGING,
                                         &GROUP_MODEL_RUN,
                                         &GROUP_DATA,
                                         &GROUP_ONNX_READ,
                                         &GROUP_OPERATOR_LIBRARIES,
                                         &GROUP_WHERE_REWRITES,
                                         &GROUP_TRT_CONFIG_CONVERT,
                                         &GROUP_TRT_ENGINE_CONVERT,
                                         NULL};
    size_t n = 0;
    while (fixed[n]) all[n] = fixed[n], n++;
    for (size_t i = 0; i < group_backend_count() && n + 1 < MAX_GROUPS; i++)
        all[n++] = group_backend_at(i);
    return all;
}

/* ---- Sides ----------------------------------------------------------------------------------- */

typedef struct side {
    pgy_where_side side;
    const char *path; /* of the model */
    pgy_model *model;
    pgy_backend_options *options;
} side;

static pgy_status load_model(side *s, const args *line, pgy_error *err)
{
    const model_args *given = ARGS_OF(line, model_args);
    const bool typed = given->type && s->path == given->path;
    if (typed ? model_is_engine(given) : pgy_plan_is_plan(s->path)) {
        s->side.plan = s->path;
        return PGY_OK;
    }
    const pgy_status st = where_model_load(&s->model, s->path, line, err);
    s->side.model = s->model;
    return st;
}

static bool has_runner(const where_args *s)
{
    bool found = false;
    for (size_t i = 0; i < SIDES; i++) found |= s->runner[i] && pgy_backend_find(s->runner[i]);
    return found;
}

static pgy_status make_side(side *s, const args *line, size_t i, const side *before, pgy_error *err)
{
    const where_args *own = args_get(line, &OWN);
    const model_args *model = ARGS_OF(line, model_args);
    const char *runner = own->runner[i];
    s->side.size = sizeof s->side;
    s->side.backend = pgy_backend_find(runner);
    s->path = own->model[i] ? own->model[i] : model->path;
    if (!s->side.backend && !str_ends_with(runner, ".json"))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "argument --%c: there is no runner '%s'; expected onnxrt, trt, "
                             "opref, or a .json file of outputs",
                             'a' + (int)i, runner);
    if (!s->side.backend) {
        /* the model tells the order of the tensors; with a runner, that side's model does */
        const bool needed = own->model[i] || !has_runner(own);
        s->side.results = runner;
        if (!needed || !s->path) return PGY_OK;
    }
    if (!s->path)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "side %c has no model: name a model after 'where', or give --%c-model",
                             'A' + (int)i, 'a' + (int)i);
    /* the walk runs equal parts of both sides in one session if the options are one object */
    const bool same = s->side.backend == before->side.backend && !where_rewrites_asked(line) &&
                      !pgy_backend_has(s->side.backend, PGY_BACKEND_BUILDS_PLANS);
    pgy_status st = same || !s->side.backend
                        ? PGY_OK
                        : runners_options(&s->options, line, s->side.backend, err);
    s->side.options = same ? before->side.options : s->options;
    if (!st && before->model && !strcmp(s->path, before->path))
        s->side.model = s->model = pgy_model_retain(before->model);
    else if (!st)
        st = load_model(s, line, err);
    return st;
}

/* The options of --trt apply to each side that builds an engine. */
static pgy_status configure(side *sides, args *line, pgy_error *err)
{
    const pgy_build_config *config = NULL;
    for (size_t i = 0; i < SIDES; i++) {
        side *s = &sides[i];
        if (!pgy_backend_has(s->side.backend, PGY_BACKEND_BUILDS_PLANS)) continue;
        pgy_status st = config ? PGY_OK : trt_config_make(&config, line, err);
        if (!st && !s->side.plan) st = pgy_engine_runner_configure(s->options, config, err);
        if (st) return st;
        s->side.config = config;
    }
    return PGY_OK;
}

static void release_side(side *s)
{
    pgy_model_destroy(s->model);
    pgy_backend_options_destroy(s->options);
}

/* ---- The report ------------------------------------------------------------------------------ */

/* Repeats the options that decide the input data. */
static void put_data(str *out, const args *line)
{
    const model_args *model = ARGS_OF(line, model_args);
    const data_args *data = ARGS_OF(line, data_args);
    if (model->shape_words.given) str_append(out, " --input-shapes");
    for (size_t i = 0; i < model->shape_words.count; i++) {
        if (!model->shape_words.items[i]) continue;
        str_append_char(out, ' ');
        str_append_word(out, model->shape_words.items[i]);
    }
    if (data->load_inputs.given) str_append(out, " --load-inputs");
    for (size_t i = 0; i < data->load_inputs.count; i++) {
        if (!data->load_inputs.items[i]) continue;
        str_append_char(out, ' ');
        str_append_word(out, data->load_inputs.items[i]);
    }
    if (data->script) {
        str_append(out, " --data-loader-script ");
        str_append_word(out, data->script);
    }
}

/* The command that cuts out a node with its inputs. */
static void put_cut(str *out, const args *line, const char *path, const char *node,
                    const int64_t *iterations, size_t iteration_count)
{
    str_printf(out, "%s surgeon cut ", line->dialect->program);
    str_append_word(out, path);
    str_append(out, " --nodes ");
    str_append_word(out, node);
    str_append(out, " -o culprit.onnx");
    for (size_t i = 0; i < iteration_count; i++)
        str_printf(out, "%s %lld", i ? "" : " --iteration", (long long)iterations[i]);
    put_data(out, line);
}

/* The largest starter, else the first wrong tensor. */
static void put_next(str *out, const args *line, const pgy_where_report *r, const side *sides)
{
    const pgy_where_tensor *best = NULL;
    for (size_t i = 0; i < pgy_where_report_count(r); i++) {
        const pgy_where_tensor *t = pgy_where_report_at(r, i);
        if (t->starts && (!best || t->made > best->made)) best = t;
    }
    if (!best) best = pgy_where_report_first(r);
    const char *path = sides[1].model ? sides[1].path : sides[0].path;
    if (!best || !best->node[0]) return;
    put_cut(out, line, path, best->node, best->iterations, best->iteration_count);
}

/* The node of the first tensor without agreement. */
static void put_vote_next(str *out, const args *line, const pgy_vote *v, const side *sides)
{
    const pgy_vote_tensor *first = pgy_vote_first(v);
    if (!first || !first->node[0]) return;
    const side *with = &sides[first->odd == 2 ? 2 : 1];
    put_cut(out, line, with->model ? with->path : sides[0].path, first->node, first->iterations,
            first->iteration_count);
}

static pgy_status show(args *line, const pgy_where_report *r, const side *sides, pgy_error *err)
{
    const where_args *s = args_get(line, &OWN);
    str next = {0};
    char *text = NULL;
    put_next(&next, line, r, sides);
    const char *what = next.size ? str_text(&next) : NULL;
    pgy_status st = pgy_where_report_text(&text, r, what, err);
    if (!st) LOG(INFO, "%s", text);
    if (!st && s->json) {
        st = pgy_where_report_save(r, s->json, what, err);
        if (!st) LOG(INFO, "Saving the report to %s", s->json);
    }
    pgy_text_free(text);
    str_deinit(&next);
    return st;
}

static pgy_status show_vote(const args *line, const pgy_vote *v, const side *sides, pgy_error *err)
{
    const where_args *s = args_get(line, &OWN);
    str next = {0};
    char *text = NULL;
    put_vote_next(&next, line, v, sides);
    const char *what = next.size ? str_text(&next) : NULL;
    pgy_status st = pgy_vote_text(&text, v, what, err);
    if (!st) LOG(INFO, "%s", text);
    if (!st && s->json) {
        st = pgy_vote_save(v, s->json, what, err);
        if (!st) LOG(INFO, "Saving the report to %s", s->json);
    }
    pgy_text_free(text);
    str_deinit(&next);
    return st;
}

static pgy_status run_vote(const args *line, const side *sides, const pgy_where_options *o,
                           bool *passed, pgy_error *err)
{
    const pgy_where_side *const given[SIDES] = {&sides[0].side, &sides[1].side, &sides[2].side};
    pgy_vote *vote = NULL;
    pgy_status st = pgy_vote_run(&vote, given, o, err);
    if (!vote) return st;
    /* after Ctrl-C, the best so far; a file is not written then */
    const pgy_status shown = show_vote(line, vote, sides, st ? NULL : err);
    *passed = pgy_vote_passed(vote);
    pgy_vote_destroy(vote);
    return st ? st : shown;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const where_args *s = args_get(line, &OWN);
    const model_args *model = ARGS_OF(line, model_args);
    pgy_where_options o = pgy_where_options_default();
    pgy_where_report *report = NULL;
    side sides[SIDES] = {0};
    if (where_noise_asked(line)) return where_noise_run(line, s->json, passed, err);
    pgy_status st = make_side(&sides[0], line, 0, &sides[1], err);
    if (!st) st = make_side(&sides[1], line, 1, &sides[0], err);
    if (!st && s->runner[2]) st = make_side(&sides[2], line, 2, &sides[0], err);
    if (!st) st = configure(sides, line, err);
    if (!st) st = data_loader_create(&o.data, line, model->shapes, err);
    o.max_memory = s->memory;
    o.rtol = s->rtol;
    o.atol = s->atol;
    o.own_errors = s->own_errors;
    o.judge = s->judge;
    o.floor_times = s->times;
    o.worst_count = (size_t)s->worst;
    o.skip_inside = s->no_inside;
    o.max_steps = where_noise_steps(line);
    const pgy_floor_options floor = where_noise_floor(line);
    o.floor = &floor;
    const bool rewrites = where_rewrites_asked(line);
    if (!st && rewrites)
        st = where_rewrites_run(line, &sides[0].side, &sides[1].side, sides[1].options, &o, s->json,
                                passed, err);
    const bool vote = s->runner[2] != NULL;
    if (!st && !rewrites && vote) st = run_vote(line, sides, &o, passed, err);
    if (!st && !rewrites && !vote) st = pgy_where(&report, &sides[0].side, &sides[1].side, &o, err);
    if (report) {
        /* after Ctrl-C, the best so far; a file is not written then */
        const pgy_status shown = show(line, report, sides, st ? NULL : err);
        *passed = pgy_where_report_passed(report);
        if (!st) st = shown;
    }
    pgy_where_report_destroy(report);
    pgy_data_loader_destroy(o.data);
    trt_config_release(line);
    for (size_t i = 0; i < SIDES; i++) release_side(&sides[i]);
    return st;
}

const command COMMAND_where = {
    .tool = "where",
    .summary = "Find the first tensor that differs between two runners.",
    .description =
        "Run a model with two runners, compare their tensors in topological order, and name the "
        "first tensor that differs, with its node. Each node of side B also runs on the values of "
        "side A, so that the nodes that start an error are told from those that pass it on. The "
        "exit status is 0 if nothing differs, and 1 if a tensor differs or cannot be compared.",
    .common = "--a --b --a-model --b-model --max-memory --json --input-shapes --load-inputs",
    .examples =
        "  Compare two runtimes:\n      {program} where model.onnx --a onnxrt --b trt\n  "
        "Compare two models:\n      {program} where --a onnxrt --a-model good.onnx --b "
        "onnxrt --b-model bad.onnx\n  Which pass of the engine makes the outputs wrong?\n      "
        "{program} where model.onnx --a opref --b trt --bisect-passes\n  Which of three "
        "runners is the odd one out?\n      {program} where model.onnx --a onnxrt --b trt --vote\n",
    .make_groups = groups,
    .frames = true,
    .run = run,
};
