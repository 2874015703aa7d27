/* SPDX-License-Identifier: Apache-2.0 */
/* debug precision: searches how many layers must compute in a higher precision for a check to pass.
 */
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/groups/data.h"
#include "cli/groups/debug.h"
#include "cli/groups/debug_trial.h"
#include "cli/groups/model.h"
#include "cli/groups/operators.h"
#include "cli/groups/trt.h"
#include "cli/groups/trt_plan.h"

static const char LOG_PATH[] = "tools/debug/subtool/precision.py";

typedef struct precision_args {
    const char *mode, *direction, *precision;
    int64_t top;     /* 0: not given */
    pgy_dtype dtype; /* made from `precision` */
} precision_args;

static const char *const MODES[] = {"bisect", "linear", "worst-first", NULL};
static const char *const DIRECTIONS[] = {"forward", "reverse", NULL};
/* The last two are older spellings of the first two, in the same order. */
static const char *const PRECISIONS[] = {"float32", "float16", "fp32", "fp16", NULL};

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("--mode", precision_args, mode, .choices = MODES,
                 .help = "bisect: halve the number of layers in each iteration, assuming that more "
                         "layers are never worse; linear: try 0, 1, 2 ... layers until an "
                         "iteration passes; worst-first: like linear, but in the order of the "
                         "errors of the layers' outputs, largest first. Default bisect"),
    PGY_OPT_INT("--top", precision_args, top, .meta = "N",
                .help = "with --mode worst-first: try no more than N layers"),
    PGY_OPT_TEXT("--dir --direction", precision_args, direction, .choices = DIRECTIONS,
                 .help = "forward: the first layers get the higher precision; reverse: the last "
                         "ones. Default forward"),
    PGY_OPT_TEXT("-p --precision", precision_args, precision, .choices = PRECISIONS,
                 .meta = "{float32,float16}",
                 .help = "the higher precision: float32 (default) or float16, which needs --fp16"),
    PGY_OPT_END,
};

static bool is_worst_first(const precision_args *s)
{
    return s->mode && strcmp(s->mode, MODES[2]) == 0;
}

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    precision_args *s = settings;
    str note = {0};
    bool good = true;
    if (s->top && !is_worst_first(s))
        return pgy_error_set(err, PGY_E_ARGUMENT, "--top needs --mode worst-first");
    if (s->top < 0)
        return pgy_error_set(err, PGY_E_ARGUMENT, "--top: %lld is not a number of layers",
                             (long long)s->top);
    if (s->direction && is_worst_first(s))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--dir does not apply to --mode worst-first, which has no direction");
    if (is_worst_first(s)) ARGS_OF(line, data_args)->needed = true;
    s->dtype = s->precision && strstr(s->precision, "16") ? PGY_F16 : PGY_F32;
    for (size_t i = 2; s->precision && PRECISIONS[i]; i++) {
        if (strcmp(s->precision, PRECISIONS[i]) != 0) continue;
        str_printf(&note, "--precision: %s is an older spelling; use %s", PRECISIONS[i],
                   PRECISIONS[i - 2]);
        good = strvec_push(&line->deprecations, str_text(&note));
    }
    str_deinit(&note);
    return good ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(precision_args), .finish = finish};
static const option_group *const GROUPS[] = {&OWN,
                                             &GROUP_DEBUG_PRECISION,
                                             &GROUP_LOGGING,
                                             &GROUP_MODEL_TYPE,
                                             &GROUP_ONNX_SHAPE,
                                             &GROUP_ONNX_READ,
                                             &GROUP_DATA,
                                             &GROUP_TRT_CONFIG_OBEY,
                                             &GROUP_TRT_NETWORK,
                                             &GROUP_TRT_ENGINE_CONVERT,
                                             &GROUP_OPERATORS,
                                             &GROUP_DEBUG_JUDGE_PLAN,
                                             &GROUP_COMPARE_SAVED,
                                             &GROUP_FUNCTIONS,
                                             NULL};

static pgy_status build(const char *path, pgy_model *model, const pgy_build_config *config,
                        void *user, pgy_error *err)
{
    pgy_loader *loader = NULL;
    (void)user;
    const pgy_status st = pgy_loader_from_model(&loader, model, err);
    return st ? st : trt_save_plan_of(loader, config, path, err);
}

static void print_names(const pgy_debug_precision *found, pgy_dtype dtype)
{
    str words = {0};
    for (size_t i = 0; i < found->name_count; i++) {
        str item = {0};
        str_printf(&item, "%s:%s", found->names[i], pgy_dtype_name(dtype));
        str_append_char(&words, ' ');
        str_append_word(&words, str_text(&item));
        str_deinit(&item);
    }
    if (found->name_count)
        LOG(INFO, "Options for these layers: --precision-constraints obey --layer-precisions%s",
            str_text(&words));
    str_deinit(&words);
}

/* The errors of all tensors when every layer may compute in the lower precision. */
static pgy_status measure(pgy_debug_errors *out, pgy_model *model, const pgy_build_config *config,
                          const trial_judge *judge, args *line, pgy_error *err)
{
    pgy_debug_errors_options o = {.size = sizeof o, .reference = judge->reference};
    pgy_backend_options *options = NULL;
    pgy_data_loader *data = NULL;
    pgy_status st =
        pgy_backend_options_create(&options, pgy_backend_find_trait(PGY_BACKEND_BUILDS_PLANS), err);
    if (!st) st = pgy_engine_runner_configure(options, config, err);
    if (!st) st = data_loader_create(&data, line, NULL, err);
    o.runner_options = options;
    o.data = data;
    LOG(INFO, "Measuring the errors of all tensors against %s",
        o.reference ? o.reference : "opref");
    if (!st) st = pgy_debug_errors_measure(out, model, &o, err);
    if (!st && !out->count)
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "--mode worst-first: the model has no tensors of floats to order "
                           "layers by");
    pgy_data_loader_destroy(data);
    pgy_backend_options_destroy(options);
    return st;
}

static pgy_status find(pgy_debug_session *session, pgy_model *model, const trial_judge *judge,
                       args *line, pgy_error *err)
{
    const precision_args *s = args_get(line, &OWN);
    const pgy_build_config *config = NULL;
    pgy_debug_precision found = {0};
    pgy_debug_errors errors = {0};
    pgy_status st = trt_config_make(&config, line, err);
    if (!st && is_worst_first(s)) st = measure(&errors, model, config, judge, line, err);
    const pgy_debug_precision_options o = {.size = sizeof o,
                                           .linear = s->mode && strcmp(s->mode, MODES[0]) != 0,
                                           .errors = errors.items,
                                           .error_count = errors.count,
                                           .limit = (size_t)s->top,
                                           .reverse = s->direction &&
                                                      strcmp(s->direction, DIRECTIONS[1]) == 0,
                                           .dtype = s->dtype,
                                           .config = config,
                                           .build = build};
    if (!st) st = pgy_debug_precision_find(&found, session, model, &o, err);
    if (!st) print_names(&found, s->dtype);
    pgy_debug_precision_free(&found);
    pgy_debug_errors_free(&errors);
    trt_config_release(line);
    return st;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const debug_args *debug = args_get(line, &GROUP_DEBUG_PRECISION);
    trial_judge judge = {0};
    pgy_debug_session *session = NULL;
    pgy_loader *loader = NULL;
    pgy_model *model = NULL;
    (void)passed;
    if (model_is_engine(ARGS_OF(line, model_args)))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'%s' is a plan, whose precisions are fixed; expected the ONNX model",
                             model_path(line));
    pgy_status st =
        trial_judge_is_given(line) ? trial_judge_init(&judge, line, false, err) : PGY_OK;
    if (!st) st = pgy_debug_session_create(&session, &debug->options, err);
    if (!st) st = trt_model_loader(&loader, line, false, err);
    if (!st) st = pgy_loader_call(&model, loader, err);
    judge.model = model;
    if (!st) st = find(session, model, &judge, line, err);
    pgy_model_destroy(model);
    pgy_loader_destroy(loader);
    pgy_debug_session_destroy(session);
    trial_judge_deinit(&judge);
    return st;
}

/* Their direction was reverse by default. */
static const command_alias ALIASES[] = {{"precision bisect", "--mode bisect --dir reverse"},
                                        {"precision linear", "--mode linear --dir reverse"},
                                        {"precision worst-first", "--mode worst-first"},
                                        {NULL, NULL}};

const command COMMAND_debug_precision = {
    .tool = "debug",
    .subtool = "precision",
    .summary = "Find how many layers must run in a higher precision for a check to pass.",
    .description = "Build a plan for --trt with the first or last layers in a higher precision, "
                   "check it, and search the smallest number of layers with which the check "
                   "passes.",
    .common = "--fp16 --int8 --mode --dir -p --check --check-with",
    .examples = "  Find the layers that float16 ruins:\n      {program} debug precision model.onnx "
                "--fp16 --check {program} run {program}_debug.engine --trt "
                "--load-inputs inputs.json --load-outputs golden.json\n"
                "  Check each plan without a command:\n      {program} debug precision "
                "model.onnx --fp16 --check-with onnxrt --atol 0.001",
    .groups = GROUPS,
    .frames = true,
    .no_abbreviation = true,
    .aliases = ALIASES,
    .run = run,
};
