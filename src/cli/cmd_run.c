/* SPDX-License-Identifier: Apache-2.0 */
/* run: runs inference with one or more runners and compares their outputs. pgy_run does all of the
 * work; this file turns options into runners, a data loader and run options. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/c_script/c_script.h"
#include "cli/groups/compare.h"
#include "cli/groups/data.h"
#include "cli/groups/decode.h"
#include "cli/groups/model.h"
#include "cli/groups/operators.h"
#include "cli/groups/runners.h"
#include "cli/groups/script.h"
#include "cli/groups/trace.h"
#include "cli/groups/trt.h"
#include "cli/groups/trtexec.h"
#include "cli/progress.h"
#include "cli/run_decode.h"
#include "cli/run_page.h"
#include "cli/run_ranks.h"
#include "cli/script/script.h"

static const char LOG_PATH[] = "tools/run/run.py";

enum { MAX_GROUPS = 64 };

static const option_group *const *groups(void)
{
    static const option_group *all[MAX_GROUPS];
    if (all[0]) return all;
    const option_group *const fixed[] = {
        &GROUP_SCRIPT,     &GROUP_LOGGING,     group_runners(),   &GROUP_RANKS,
        &GROUP_MODEL_RUN,  &GROUP_ONNX_LOAD,   &GROUP_ONNX_SHAPE, &GROUP_ONNX_SAVE,
        &GROUP_DECODE,     &GROUP_DATA,        &GROUP_INFERENCE,  &GROUP_POSTPROCESS,
        &GROUP_COMPARE,    &GROUP_FUNCTIONS,   &GROUP_TRACE,      &GROUP_OPERATORS,
        &GROUP_TRT_CONFIG, &GROUP_TRT_NETWORK, &GROUP_TRT_ENGINE, NULL,
    };
    size_t n = 0;
    while (fixed[n]) all[n] = fixed[n], n++;
    for (size_t i = 0; i < group_backend_count() && n + 1 < MAX_GROUPS; i++)
        all[n++] = group_backend_at(i);
    return all;
}

/* ---- Checks of options against each other --------------------------------------------------- */

/* Is `inner` the same path as `outer`, or inside it? */
static bool path_within(const char *inner, const char *outer)
{
    char *a = path_absolute(inner), *b = path_absolute(outer);
    size_t size = b ? strlen(b) : 0;
    bool within = a && b && strncmp(a, b, size) == 0 && (a[size] == 0 || a[size] == '/');
    mem_free(a);
    mem_free(b);
    return within;
}

typedef struct named_path {
    const char *option, *path;
} named_path;

static pgy_status check_reads(const named_path *writes, size_t count, const pgy_text_list *reads,
                              const char *option, pgy_error *err)
{
    for (size_t i = 0; i < reads->count; i++)
        for (size_t k = 0; k < count; k++)
            if (writes[k].path && path_within(reads->items[i], writes[k].path))
                return pgy_error_set(err, PGY_E_ARGUMENT,
                                     "%s reads '%s', which %s would overwrite; choose another path",
                                     option, reads->items[i], writes[k].option);
    return PGY_OK;
}

static pgy_status check_paths(const args *line, pgy_error *err)
{
    const inference_args *inference = ARGS_OF(line, inference_args);
    const compare_args *compare = ARGS_OF(line, compare_args);
    const data_args *data = ARGS_OF(line, data_args);
    const named_path writes[] = {{"--save-inputs", inference->run.save_inputs},
                                 {"--save-outputs", inference->run.save_outputs},
                                 {"--save-accuracy-results", compare->save_accuracy},
                                 {"--export-trace", ARGS_OF(line, trace_args)->path}};
    const size_t count = sizeof writes / sizeof *writes;
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++)
            if (writes[i].path && writes[k].path &&
                (path_within(writes[i].path, writes[k].path) ||
                 path_within(writes[k].path, writes[i].path)))
                return pgy_error_set(err, PGY_E_ARGUMENT,
                                     "%s and %s would write to the same place: '%s'",
                                     writes[i].option, writes[k].option, writes[i].path);
    const decode_args *decode = ARGS_OF(line, decode_args);
    const pgy_text_list prompt = {&decode->prompt_path, decode->prompt_path != NULL, true};
    pgy_status st = check_reads(writes, count, &data->load_inputs, "--load-inputs", err);
    if (!st) st = check_reads(writes, count, &prompt, "--prompt-ids", err);
    return st ? st : check_reads(writes, count, &compare->load_outputs, "--load-outputs", err);
}

/* "--trt, --trtexec" */
static void append_plan_runners(str *out)
{
    for (size_t i = 0; i < pgy_backend_count(); i++)
        if (pgy_backend_has(pgy_backend_at(i), PGY_BACKEND_RUNS_PLANS))
            str_printf(out, "%s--%s", out->size ? ", " : "", pgy_backend_at(i)->name);
}

static pgy_status not_for_plans(const char *path, const char *runner, pgy_error *err)
{
    str names = {0};
    append_plan_runners(&names);
    const pgy_status st =
        pgy_error_set(err, PGY_E_ARGUMENT, "'%s' is a plan, which --%s cannot run; use one of %s",
                      path, runner, str_text(&names));
    str_deinit(&names);
    return st;
}

/* Refuses plans for other runners than the engine, and options that would change a plan. */
static pgy_status check_engine(const args *line, pgy_error *err)
{
    const model_args *model = ARGS_OF(line, model_args);
    const runner_args *runners = ARGS_OF(line, runner_args);
    for (size_t i = 0; i < runners->names.count; i++)
        if (!runner_has(runners->names.items[i], PGY_BACKEND_RUNS_PLANS))
            return not_for_plans(model->path, runners->names.items[i], err);
    if (model_is_edited(line) || trt_model_is_edited(line))
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "'%s' is a plan: options that change a model or save it as ONNX do not apply",
            model->path);
    return PGY_OK;
}

static pgy_status check_model(const args *line, pgy_error *err)
{
    const model_args *model = ARGS_OF(line, model_args);
    const runner_args *runners = ARGS_OF(line, runner_args);
    const compare_args *compare = ARGS_OF(line, compare_args);
    const data_args *data = ARGS_OF(line, data_args);
    if (!model->path && runners_with(line, PGY_BACKEND_WITHOUT_MODEL) < runners->names.count)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "the runners need a model file, but none was found; an option with "
                             "several values may have taken it: put the model right after 'run'");
    if (model_is_engine(model)) return check_engine(line, err);
    if (!runners->names.count && compare->load_outputs.given &&
        (data->load_inputs.given || data->script))
        LOG(WARNING, "The data loader options are ignored since no runner was given");
    return PGY_OK;
}

/* ---- Runners -------------------------------------------------------------------------------- */

/* Where runners get their model: from the file, or from one edited model that all share. The engine
 * has its own options for outputs, so it may need another edited model. */
typedef struct run_models {
    const args *line;
    const pgy_build_config *config; /* of --trt and --trtexec; NULL: neither is used */
    /* models for the other runners and for --trt; NULL: the unchanged file */
    pgy_model *edited, *edited_trt;
    run_ranks ranks;
    size_t rank; /* whose runner is being made */
} run_models;

static pgy_status make_source(pgy_model_source *out, const char *backend, void *user,
                              pgy_error *err)
{
    const run_models *m = user;
    const model_args *model = ARGS_OF(m->line, model_args);
    pgy_model *edited = m->ranks.count                                  ? m->ranks.models[m->rank]
                        : runner_has(backend, PGY_BACKEND_BUILDS_PLANS) ? m->edited_trt
                                                                        : m->edited;
    if (!model->path) {
        *out = (pgy_model_source){0};
        return PGY_OK;
    }
    if (!edited) return pgy_source_from_path(out, model->path, err);
    pgy_loader *loader = NULL;
    pgy_status st = pgy_loader_from_model(&loader, edited, err);
    return st ? st : pgy_loader_source(out, loader, err);
}

/* Which models have to be edited before runners get them. */
static void plan_edits(c_plan *out, const args *line)
{
    const runner_args *runners = ARGS_OF(line, runner_args);
    const onnx_save_args *save = ARGS_OF(line, onnx_save_args);
    const size_t trt = runners_with(line, PGY_BACKEND_BUILDS_PLANS);
    const size_t others = runners->names.count - trt;
    if (!model_path(line)) return;
    out->edits_onnx = (others || !trt) && model_is_edited(line);
    out->edits_trt = trt && (trt_model_is_edited(line) || (!others && save->path));
    out->trt_saves = !others;
}

static pgy_status edit_models(run_models *m, pgy_error *err)
{
    c_plan plan = {0};
    pgy_loader *loader = NULL, *trt_loader = NULL;
    pgy_status st = PGY_OK;
    plan_edits(&plan, m->line);
    if (plan.edits_onnx) st = model_loader(&loader, m->line, err);
    if (!st && loader) st = pgy_loader_call(&m->edited, loader, err);
    if (!st && plan.edits_trt) st = trt_model_loader(&trt_loader, m->line, plan.trt_saves, err);
    if (!st && trt_loader) st = pgy_loader_call(&m->edited_trt, trt_loader, err);
    pgy_loader_destroy(loader);
    pgy_loader_destroy(trt_loader);
    return st;
}

static pgy_status configure(pgy_backend_options *o, const char *backend, void *user, pgy_error *err)
{
    run_models *m = user;
    const pgy_build_config *config = m->config;
    pgy_status st = PGY_OK;
    if (!runner_has(backend, PGY_BACKEND_TAKES_CONFIG)) return PGY_OK;
    if (m->ranks.count) st = run_ranks_config(&config, &m->ranks, m->rank, m->config, err);
    return st ? st : pgy_engine_runner_configure(o, config, err);
}

/* The configuration of the runners that build engines. Functions of shared objects change that of
 * the built-in engine only. */
static pgy_status make_config(const pgy_build_config **out, args *line, pgy_error *err)
{
    const size_t engines = runners_with(line, PGY_BACKEND_BUILDS_PLANS);
    const size_t all = runners_with(line, PGY_BACKEND_TAKES_CONFIG);
    if (all > engines) trtexec_notes(line);
    if (engines) return trt_config_make(out, line, err);
    return all ? trt_config_fill(out, line, err) : PGY_OK;
}

/* ---- The run -------------------------------------------------------------------------------- */

/* Structs that the pgy_run_options of a run point to. */
typedef struct run_parts {
    pgy_judge_options judge;
    pgy_postprocess postprocess;
} run_parts;

static void fill_options(pgy_run_options *o, run_parts *parts, const args *line,
                         const compare_list *functions, const pgy_postprocess_script *script)
{
    const inference_args *inference = ARGS_OF(line, inference_args);
    const postprocess_args *post = ARGS_OF(line, postprocess_args);
    const compare_args *compare = ARGS_OF(line, compare_args);
    const model_args *model = ARGS_OF(line, model_args);
    *o = inference->run;
    o->save_accuracy = compare->save_accuracy;
    o->load_outputs = compare->load_outputs.items;
    o->load_output_count = compare->load_outputs.count;
    o->reports = compare->reports.items;
    o->report_count = compare->reports.count;
    o->model_path = model->path;
    parts->postprocess = (pgy_postprocess){
        .size = sizeof parts->postprocess, .top_k = post->top_k, .top_k_count = post->top_k_count};
    o->postprocess = script ? pgy_postprocess_script_use(script) : &parts->postprocess;
    parts->judge = compare->judge;
    parts->judge.comparisons = (const pgy_compare *const *)functions->items;
    parts->judge.comparison_count = functions->count;
    o->judge = &parts->judge;
}

/* Streaming calls `cancelled` once for each input and once for each runner. */
static size_t asks_per_iteration(const args *line, size_t runner_count)
{
    const inference_args *inference = ARGS_OF(line, inference_args);
    return inference->run.sequential ? 0 : runner_count + 1;
}

/* Number of iterations; 0: unknown. */
static uint64_t iteration_count(const args *line)
{
    const data_args *data = ARGS_OF(line, data_args);
    const bool generated = !data->load_inputs.given && !data->script;
    return generated && data->iterations > 0 ? (uint64_t)data->iterations : 0;
}

/* Decoding takes its data, its judge and its reports from other options than a run. */
static pgy_status decode_all(args *line, bool *passed, pgy_error *err)
{
    run_models models = {.line = line};
    const runner_maker maker = {.source = make_source, .configure = configure, .user = &models};
    pgy_runner **runners = NULL;
    size_t runner_count = 0;
    pgy_status st = run_decode_check(line, err);
    ARGS_OF(line, trt_config_args)->inputs_vary = true;
    if (!st) st = make_config(&models.config, line, err);
    if (!st) st = edit_models(&models, err);
    if (!st) st = runners_create(&runners, &runner_count, line, &maker, err);
    if (!st)
        st = run_decode(line, runners, runner_count, models.edited, models.config, passed, err);
    runners_destroy(runners, runner_count);
    trt_config_release(line);
    pgy_model_destroy(models.edited);
    pgy_model_destroy(models.edited_trt);
    return st;
}

static pgy_status run_all(args *line, bool *passed, pgy_error *err)
{
    const model_args *model = ARGS_OF(line, model_args);
    const postprocess_args *post = ARGS_OF(line, postprocess_args);
    run_models models = {.line = line};
    const runner_maker maker = {.source = make_source, .configure = configure, .user = &models};
    compare_list functions = {0};
    pgy_postprocess_script *script = NULL;
    pgy_data_loader *loader = NULL;
    pgy_runner **runners = NULL;
    size_t runner_count = 0;
    pgy_run_report *report = NULL;
    pgy_run_options options;
    run_parts parts;
    run_page page = {0};

    pgy_status st = compare_list_create(&functions, line, err);
    if (!st && post->script) st = pgy_postprocess_script_create(&script, post->script, err);
    if (!st) st = make_config(&models.config, line, err);
    if (!st) st = edit_models(&models, err);
    if (!st) st = run_ranks_load(&models.ranks, line, err);
    if (!st)
        st = run_ranks_create(&runners, &runner_count, line, &maker, &models.ranks, &models.rank,
                              err);
    if (!st && runner_count) st = data_loader_create(&loader, line, model->shapes, err);
    if (st) goto done;
    fill_options(&options, &parts, line, &functions, script);
    options.loader = loader;
    st = run_page_begin(&page, &options, line, err);
    if (st) goto done;
    run_progress counted = {.asks_per_iteration = asks_per_iteration(line, runner_count)};
    options.cancelled = run_progress_cancelled;
    options.user = &counted;
    progress_begin("Running iterations", counted.asks_per_iteration ? iteration_count(line) : 0);
    st = pgy_run(&report, runners, runner_count, &options, err);
    progress_end();
    if (st) goto done;
    *passed = pgy_run_report_passed(report);
    if (page.path) st = run_page_write(&page, models.edited, model->path, line, err);
done:
    run_page_end(&page);
    pgy_run_report_destroy(report);
    runners_destroy(runners, runner_count);
    run_ranks_release(&models.ranks);
    trt_config_release(line);
    pgy_data_loader_destroy(loader);
    pgy_model_destroy(models.edited);
    pgy_model_destroy(models.edited_trt);
    pgy_postprocess_script_destroy(script);
    compare_list_destroy(&functions);
    return st;
}

static pgy_status write_c(str *out, args *line, const char *path, pgy_error *err)
{
    const compare_list functions = {0};
    pgy_run_options options;
    run_parts parts;
    c_plan plan = {.options = &options,
                   .postprocess_script = ARGS_OF(line, postprocess_args)->script};
    pgy_status st = compare_choose(&plan.functions, line, err);
    if (!st && runners_with(line, PGY_BACKEND_TAKES_CONFIG))
        st = trt_config_fill(&plan.config, line, err);
    plan_edits(&plan, line);
    fill_options(&options, &parts, line, &functions, NULL);
    if (!st) st = c_script_run(out, line, &plan, path, err);
    trt_config_release(line);
    return st;
}

static pgy_status write_script(args *line, pgy_error *err)
{
    const pgy_text_list *reports = &ARGS_OF(line, compare_args)->reports;
    if (run_page_asked(reports->items, reports->count))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "argument --report: a script cannot write a page; let it save its "
                             "results, and give these to 'view'");
    const char *path = ARGS_OF(line, script_args)->path;
    str text = {0};
    pgy_status st =
        script_is_c(path) ? write_c(&text, line, path, err) : script_run(&text, line, err);
    if (!st && text.failed) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) st = script_write(path, str_text(&text), err);
    str_deinit(&text);
    return st;
}

/* A verdict of failure is no reason to drop the timeline; it may show why. */
static pgy_status run_traced(args *line, bool *passed, pgy_error *err)
{
    const trace_args *trace = ARGS_OF(line, trace_args);
    const inference_args *inference = ARGS_OF(line, inference_args);
    trace_session session = {0};
    if (trace->path && inference->run.use_subprocess)
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "--export-trace records this process only: leave out --use-subprocess");
    pgy_status st = trace_begin(&session, trace->path, &trace->options, err);
    if (st) return st;
    st = (decode_is_asked(line) ? decode_all : run_all)(line, passed, err);
    return trace_end(&session, st, line->name, line->command, ARGS_OF(line, model_args)->path, err);
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    pgy_status st = check_model(line, err);
    if (!st) st = check_paths(line, err);
    if (!st) st = run_ranks_check(line, err);
    if (!st && script_is_asked_for(line)) return write_script(line, err);
    return st ? st : run_traced(line, passed, err);
}

const command COMMAND_run = {
    .tool = "run",
    .summary = "Run inference and compare results across runtimes.",
    .description = "Run inference with one or more runners on the same data, compare the outputs "
                   "of each runner with those of the next, and report the verdict. The exit status "
                   "is 0 if all outputs agree, and 1 if some do not or cannot be compared.",
    .common = "--onnxrt --trt --opref --input-shapes --load-inputs --save-outputs --load-outputs "
              "--onnx-outputs --atol --rtol",
    .examples =
        "  Compare two runtimes on an input of a given shape:\n      {program} run model.onnx "
        "--trt --onnxrt --input-shapes 'image:{shape}'\n  Find the first wrong tensor:\n      "
        "{program} run model.onnx --onnxrt --opref --onnx-outputs '*'\n  Save the outputs of one "
        "model, and compare another model with them:\n      {program} run good.onnx --opref "
        "--save-inputs in.json --save-outputs good.json\n      {program} run bad.onnx --opref "
        "--load-inputs in.json --load-outputs good.json --atol 1e-3\n",
    .make_groups = groups,
    .frames = true,
    .run = run,
};
