/* SPDX-License-Identifier: Apache-2.0 */
/* Options for the runners' outputs: saving, post-processing, comparing. */
#include "cli/groups/compare.h"

#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/args/values.h"

static const char LOG_PATH[] = "tools/args/comparator/comparator.py";

/* ---- Inference ------------------------------------------------------------------------------ */

static const pgy_option INFERENCE_OPTIONS[] = {
    PGY_OPT_INT("--warm-up", inference_args, warm_up, .meta = "NUM",
                .help = "number of untimed inferences before the first iteration; implies "
                        "--sequential-runners"),
    PGY_OPT_FLAG("--use-subprocess", inference_args, run.use_subprocess,
                 .help = "run each runner in its own process, so that a crash is reported as a "
                         "failure; implies --sequential-runners"),
    PGY_OPT_FLAG("--sequential-runners", inference_args, run.sequential,
                 .help = "finish each runner before the next one starts"),
    PGY_OPT_TEXT("--save-inputs --save-input-data", inference_args, run.save_inputs, .meta = "PATH",
                 .help = "save the inputs: to one JSON file if the path has an extension or is a "
                         "file, otherwise to a folder with one file per iteration"),
    PGY_OPT_TEXT("--save-input-blob", inference_args, run.save_input_blob, .nargs = PGY_OPTIONAL,
                 .constant = ".", .meta = "DIR",
                 .help = "also save the raw elements of each input as DIR/ITERATION/NAME.bin"),
    PGY_OPT_TEXT("--save-outputs --save-results", inference_args, run.save_outputs, .meta = "PATH",
                 .help =
                     "save the outputs of all runners, to a file or a folder like --save-inputs"),
    PGY_OPT_TEXT("--write-inputs", inference_args, old_inputs, .hidden = true,
                 .deprecated = "is an older spelling; use --save-inputs"),
    PGY_OPT_TEXT("--write-outputs", inference_args, old_outputs, .hidden = true,
                 .deprecated = "is an older spelling; use --save-outputs"),
    PGY_OPT_END,
};

/* A path without extension named a file until 0.49. It still does if that file exists. */
static void note_folder(const char *option, const char *path)
{
    if (path && !path_extension(path)[0] && (!file_exists(path) || file_is_dir(path)))
        LOG(INFO,
            "%s: '%s' has no extension, so it becomes a folder with one file per iteration; use "
            "the extension .json for a single file",
            option, path);
}

static void inference_defaults(void *settings)
{
    inference_args *s = settings;
    s->run = pgy_run_options_default();
    s->run.keep_verdicts = false;
}

static pgy_status finish_inference(void *settings, args *line, pgy_error *err)
{
    (void)line;
    inference_args *s = settings;
    if (!s->run.save_inputs) s->run.save_inputs = s->old_inputs;
    if (!s->run.save_outputs) s->run.save_outputs = s->old_outputs;
    note_folder("--save-inputs", s->run.save_inputs);
    note_folder("--save-outputs", s->run.save_outputs);
    if (s->warm_up < 0)
        return pgy_error_set(err, PGY_E_ARGUMENT, "--warm-up: %lld is negative",
                             (long long)s->warm_up);
    if (!s->run.sequential && (s->warm_up || s->run.use_subprocess)) {
        LOG(WARNING, "%s needs --sequential-runners and turns it on",
            s->warm_up ? "--warm-up" : "--use-subprocess");
        s->run.sequential = true;
    }
    s->run.warm_up = (size_t)s->warm_up;
    return PGY_OK;
}

const option_group GROUP_INFERENCE = {
    .title = "Comparator Inference",
    .description = "Options related to running inference",
    .options = INFERENCE_OPTIONS,
    ARGS_TYPE(inference_args),
    .defaults = inference_defaults,
    .finish = finish_inference,
};

/* ---- Post-processing ------------------------------------------------------------------------ */

static const pgy_option POSTPROCESS_OPTIONS[] = {
    PGY_OPT_LIST("--postprocess --postprocess-func", postprocess_args, words,
                 .nargs = PGY_ONE_OR_MORE, .meta = "[OUT:]top-K[,axis=A]",
                 .help = "replace outputs by the indices of their K largest values along an axis; "
                         "default: the last axis"),
    PGY_OPT_TEXT("--postprocess-func-script", postprocess_args, script, .meta = "SCRIPT[:FUNC]",
                 .help = "Python script with a function (default postprocess_outputs) that takes "
                         "an iteration result and returns the changed one"),
    PGY_OPT_LIST("--top-k", postprocess_args, old_top_k, .nargs = PGY_ONE_OR_MORE, .hidden = true,
                 .deprecated = "is an older spelling; use --postprocess top-K"),
    PGY_OPT_END,
};

/* "out:5" of --top-k is "out:top-5" of --postprocess. */
static pgy_status translate_top_k(postprocess_args *s, arena *a, pgy_error *err)
{
    const char **words = arena_alloc_array(a, s->old_top_k.count + 1, sizeof *words);
    const key_value *pairs;
    size_t count;
    if (!words) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_status st = values_split(&pairs, &count, &s->old_top_k, a, err);
    for (size_t i = 0; !st && i < count; i++) {
        words[i] =
            arena_printf(a, "%s%stop-%s", pairs[i].key, pairs[i].key[0] ? ":" : "", pairs[i].value);
        if (!words[i]) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    if (!st) s->words = (pgy_text_list){words, count, true};
    return st;
}

static pgy_status finish_postprocess(void *settings, args *line, pgy_error *err)
{
    postprocess_args *s = settings;
    pgy_status st = PGY_OK;
    if (s->old_top_k.given && !s->words.given) st = translate_top_k(s, &line->memory, err);
    if (!st) st = values_top_k(&s->top_k, &s->top_k_count, &s->words, &line->memory, err);
    if (s->script && s->words.given)
        LOG(WARNING, "--postprocess is ignored since --postprocess-func-script was given");
    return st;
}

const option_group GROUP_POSTPROCESS = {
    .title = "Comparator Postprocessing",
    .description = "Options related to changing outputs before they are compared",
    .options = POSTPROCESS_OPTIONS,
    ARGS_TYPE(postprocess_args),
    .finish = finish_postprocess,
};

/* ---- Comparison ----------------------------------------------------------------------------- */

static const char *const FUNCTIONS[] = {"simple",
                                        "indices",
                                        "l2",
                                        "cosine_similarity",
                                        "distance_metrics",
                                        "psnr",
                                        "snr",
                                        "quality_metrics",
                                        "perceptual_metrics",
                                        NULL};

#define SHARED_ROWS                                                                                \
    PGY_OPT_FLAG("--no-shape-check", compare_args, no_shape_check,                                 \
                 .help = "try to permute and reshape outputs whose shapes differ"),                \
        PGY_OPT_FLAG("--fail-fast", compare_args, judge.fail_fast,                                 \
                     .help = "stop at the first mismatch"),                                        \
        PGY_OPT_FLAG(                                                                              \
            "--check-average", compare_args, judge.check_average,                                  \
            .help =                                                                                \
                "judge the mean of each metric over all iterations, instead of each iteration"),   \
        PGY_OPT_LIST(                                                                              \
            "--compare --compare-func", compare_args, functions, .nargs = PGY_ONE_OR_MORE,         \
            .choices = FUNCTIONS, .meta = "FUNCTION",                                              \
            .help = "comparison functions; all of them must pass: simple, indices, l2, "           \
                    "cosine_similarity, psnr, snr, perceptual_metrics, distance_metrics (l2 and "  \
                    "cosine_similarity), quality_metrics (psnr and snr); default simple"),         \
        PGY_OPT_TEXT("--compare-func-script", compare_args, script, .meta = "SCRIPT[:FUNC]",       \
                     .help = "Python script with a function (default compare_outputs) that "       \
                             "judges two iteration results; it replaces --compare"),               \
        PGY_OPT_TEXT("--compare-func-name", compare_args, script_function, .hidden = true,         \
                     .deprecated = "is an older spelling; use --compare-func-script SCRIPT:FUNC"), \
        PGY_OPT_TEXT("--save-accuracy-results", compare_args, save_accuracy, .meta = "PATH",       \
                     .help = "save metrics, thresholds and verdicts as JSON"),                     \
        PGY_OPT_FLAG("--compat", compare_args, judge.compat,                                       \
                     .help = "give the original's verdict where it passes outputs that were not "  \
                             "compared, and log a warning")

static const pgy_option COMPARE_OPTIONS[] = {
    SHARED_ROWS,
    PGY_OPT_FLAG("--validate", compare_args, judge.validate,
                 .help = "fail if any output contains NaN or infinity"),
    PGY_OPT_LIST("--load-outputs --load-results", compare_args, load_outputs,
                 .nargs = PGY_ONE_OR_MORE, .meta = "PATH",
                 .help = "saved outputs to compare, in this order, after those of the runners"),
    PGY_OPT_LIST("--read-outputs", compare_args, old_load_outputs, .nargs = PGY_ONE_OR_MORE,
                 .hidden = true, .deprecated = "is an older spelling; use --load-outputs"),
    PGY_OPT_FLAG("--accuracy", compare_args, old_accuracy, .hidden = true,
                 .deprecated = "has no effect any more: outputs are always compared"),
    PGY_OPT_LIST(
        "--report", compare_args, reports, .nargs = PGY_ONE_OR_MORE, .meta = "PATH",
        .help =
            "write a report of the verdict: .json, .xml (JUnit) or .sarif for programs, .html as a "
            "page that shows the model with its errors"),
    PGY_OPT_END,
};
static const pgy_option SAVED_OPTIONS[] = {SHARED_ROWS, PGY_OPT_END};

static void compare_defaults(void *settings)
{
    ((compare_args *)settings)->judge = pgy_judge_options_default();
}

static pgy_status finish_compare(void *settings, args *line, pgy_error *err)
{
    compare_args *s = settings;
    if (!s->load_outputs.given) s->load_outputs = s->old_load_outputs;
    if (!s->script || !s->script_function) return PGY_OK;
    s->script = arena_printf(&line->memory, "%s:%s", s->script, s->script_function);
    return s->script ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

#define COMPARE_GROUP(table)                                                                      \
    {                                                                                             \
        .title = "Comparator Comparisons", .description = "Options related to comparing outputs", \
        .options = table, ARGS_TYPE(compare_args), .defaults = compare_defaults,                  \
        .finish = finish_compare                                                                  \
    }
const option_group GROUP_COMPARE = COMPARE_GROUP(COMPARE_OPTIONS);
const option_group GROUP_COMPARE_SAVED = COMPARE_GROUP(SAVED_OPTIONS);
