/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the reference once per sample and question. Each sample of data is dropped before the next. */
#include "cli/groups/where_noise.h"

#include <polygraphy/engine.h>

#include <stdint.h>

#include <polygraphy/record.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/groups/data.h"
#include "cli/groups/model.h"
#include "cli/groups/where_model.h"

static const char LOG_PATH[] = "cli/groups/where_noise.c";

static const pgy_option OPTIONS[] = {
    PGY_OPT_FLAG("--nan", where_noise_args, nan,
                 .help = "find the operations that make NaN or infinity out of finite numbers, in "
                         "float64 and then with each tensor rounded to its type; without --a and "
                         "--b"),
    PGY_OPT_FLAG("--headroom", where_noise_args, headroom,
                 .help = "show how far each tensor is from overflow and underflow in float16, "
                         "bfloat16 and float8, over all input data; without --a and --b"),
    PGY_OPT_FLAG("--floor", where_noise_args, floor,
                 .help = "show the error that rounding must cause in each tensor; without --a and "
                         "--b"),
    PGY_OPT_TEXT("--assume", where_noise_args, assume_text, .meta = "TYPE",
                 .help = "for --nan, --floor and --judge floor: type that replaces float32 and "
                         "float64 in the model: float16, bfloat16, float8e4m3fn, float8e5m2 or "
                         "float32. Default: the model's types; for --judge floor, float16 or "
                         "bfloat16 if --fp16 or --bf16 is given"),
    PGY_OPT_TEXT(
        "--sums", where_noise_args, sums_text, .meta = "TYPE",
        .help =
            "for --floor and --judge floor: type in which sums are computed. Default: float32, and "
            "float64 for tensors of float64"),
    PGY_OPT_INT("--draws", where_noise_args, draws, .meta = "N",
                .help = "for --floor and --judge floor: number of samples of the rounding errors. "
                        "Default 16"),
    PGY_OPT_INT("--max-steps", where_noise_args, max_steps, .meta = "N",
                .help = "number of nodes that one run of the reference may compute, nodes in loops "
                        "counted each time: a model with a loop that does not end is refused. "
                        "Default 1 million"),
    PGY_OPT_FLAG("--all-rows", where_noise_args, all,
                 .help = "for --nan, --headroom and --floor: show all rows instead of 20"),
    PGY_OPT_END,
};

static void defaults(void *settings)
{
    where_noise_args *s = settings;
    s->draws = 16;
    s->max_steps = 1000000;
}

static pgy_status read_type(pgy_dtype *out, const char *text, const char *option, pgy_error *err)
{
    if (!text) return PGY_OK;
    *out = pgy_dtype_from_name(text);
    if (*out && pgy_dtype_is_float(*out)) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "argument %s: '%s' is no float type; expected float16, bfloat16, "
                         "float8e4m3fn, float8e5m2, float32 or float64",
                         option, text);
}

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    where_noise_args *s = settings;
    (void)line;
    pgy_status st = read_type(&s->assume, s->assume_text, "--assume", err);
    if (!st) st = read_type(&s->sums, s->sums_text, "--sums", err);
    if (!st && s->max_steps < 1)
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "argument --max-steps: %lld is not allowed; expected at least 1",
                           (long long)s->max_steps);
    if (!st && (s->draws < 1 || s->draws > 4096))
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "argument --draws: %lld is not allowed; expected 1 to 4096",
                           (long long)s->draws);
    return st;
}

const option_group GROUP_WHERE_NOISE = {.title = "Rounding and range",
                                        .options = OPTIONS,
                                        ARGS_TYPE(where_noise_args),
                                        .defaults = defaults,
                                        .finish = finish};

bool where_noise_asked(const args *line)
{
    const where_noise_args *s = args_get(line, &GROUP_WHERE_NOISE);
    return s->nan || s->headroom || s->floor;
}

pgy_status where_noise_check(const args *line, bool asked, bool judge, pgy_error *err)
{
    const where_noise_args *s = args_get(line, &GROUP_WHERE_NOISE);
    const bool floor = s->floor || (judge && !asked);
    if (s->assume_text && !s->nan && !floor)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "argument --assume: it needs --nan, --floor or --judge floor, which "
                             "it is for");
    if (s->sums_text && !floor)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "argument --sums: it needs --floor or --judge floor, which it is for");
    return PGY_OK;
}

uint64_t where_noise_steps(const args *line)
{
    return (uint64_t)ARGS_OF(line, where_noise_args)->max_steps;
}

pgy_floor_options where_noise_floor(const args *line)
{
    const where_noise_args *s = args_get(line, &GROUP_WHERE_NOISE);
    return (pgy_floor_options){.size = sizeof(pgy_floor_options),
                               .assume = s->assume,
                               .sums = s->sums,
                               .draws = (uint32_t)s->draws,
                               .max_steps = (uint64_t)s->max_steps};
}

/* ---- The run -------------------------------------------------------------------------------- */

/* `nan` computes in float64; `rounded` in the model's or the assumed types. */
typedef struct questions {
    pgy_nan_search *nan, *rounded;
    pgy_headroom *headroom;
    pgy_floor *floor;
} questions;

static pgy_status ask(questions *q, pgy_model *model, const args *line, pgy_error *err)
{
    const where_noise_args *s = args_get(line, &GROUP_WHERE_NOISE);
    const uint64_t steps = (uint64_t)s->max_steps;
    const pgy_nan_options exact = {.size = sizeof exact, .max_steps = steps};
    const pgy_nan_options types = {
        .size = sizeof types, .model_precision = true, .assume = s->assume, .max_steps = steps};
    const pgy_floor_options o = where_noise_floor(line);
    pgy_status st = PGY_OK;
    if (s->nan) st = pgy_nan_create(&q->nan, model, &exact, err);
    if (!st && s->nan) st = pgy_nan_create(&q->rounded, model, &types, err);
    if (!st && s->headroom) st = pgy_headroom_create(&q->headroom, model, err);
    if (!st && s->headroom) pgy_headroom_set_max_steps(q->headroom, steps);
    if (!st && s->floor) st = pgy_floor_create(&q->floor, model, &o, err);
    return st;
}

static pgy_status add_sample(questions *q, const pgy_tensor_map *feed, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (q->nan) st = pgy_nan_add(q->nan, feed, err);
    if (!st && q->rounded) st = pgy_nan_add(q->rounded, feed, err);
    if (!st && q->headroom) st = pgy_headroom_add(q->headroom, feed, err);
    if (!st && q->floor) st = pgy_floor_add(q->floor, feed, err);
    return st;
}

static pgy_status add_samples(questions *q, pgy_model *model, const args *line, pgy_error *err)
{
    const model_args *given = ARGS_OF(line, model_args);
    pgy_data_loader *data = NULL;
    size_t count = 0;
    bool ends = false;
    pgy_status st = data_loader_create(&data, line, given->shapes, err);
    while (!st && !ends) {
        pgy_tensor_map *feed = NULL;
        /* After the last sample pgy_record_feed fails, so the loader's end is found first. */
        st = count ? pgy_data_loader_next(&feed, data, err)
                   : pgy_record_feed(&feed, model, data, err);
        ends = !feed;
        if (!st && feed) st = add_sample(q, feed, err);
        count += !ends;
        pgy_tensor_map_destroy(feed);
    }
    pgy_data_loader_destroy(data);
    if (!st) LOG(INFO, "Ran %zu sample%s of input data", count, count == 1 ? "" : "s");
    return st;
}

/* The search in float64 is reported if it found something: then types are not the cause. */
static pgy_status show(const questions *q, const where_noise_args *s, const char *path,
                       const char *json, pgy_error *err)
{
    const bool inherent = q->nan && pgy_nan_total(q->nan);
    const pgy_noise_reports reports = {.size = sizeof reports,
                                       .floor = q->floor,
                                       .nan = inherent ? q->nan : q->rounded,
                                       .headroom = q->headroom};
    const pgy_noise_report_options o = {.size = sizeof o,
                                        .model = path,
                                        .max_rows = s->all ? SIZE_MAX : 0,
                                        .more = ", see --all-rows"};
    char *text = NULL;
    pgy_status st = pgy_noise_text(&text, &reports, &o, err);
    if (!st) LOG(INFO, "%s", text);
    pgy_text_free(text);
    if (!st && inherent)
        LOG(INFO, "This happens in float64, too: wider types do not help");
    else if (!st && q->rounded && pgy_nan_total(q->rounded))
        LOG(INFO, "In float64 all values are finite: the types of the tensors cause it");
    if (!st && json) st = pgy_noise_save_json(json, &reports, &o, err);
    if (!st && json) LOG(INFO, "Saving the report to %s", json);
    return st;
}

pgy_status where_noise_run(args *line, const char *json, bool *passed, pgy_error *err)
{
    const where_noise_args *s = args_get(line, &GROUP_WHERE_NOISE);
    const model_args *given = ARGS_OF(line, model_args);
    questions q = {0};
    pgy_model *model = NULL;
    if (!given->path)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--nan, --headroom and --floor need a model: name it after 'where'");
    if (model_is_engine(given) || pgy_plan_is_plan(given->path))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--nan, --headroom and --floor need an ONNX model, but '%s' is a plan",
                             given->path);
    pgy_status st = where_model_load(&model, given->path, line, err);
    if (!st) st = ask(&q, model, line, err);
    if (!st) st = add_samples(&q, model, line, err);
    if (!st) st = show(&q, s, given->path, json, err);
    if (!st)
        *passed = !(q.nan && (pgy_nan_total(q.nan) || pgy_nan_total(q.rounded)));
    pgy_nan_destroy(q.nan);
    pgy_nan_destroy(q.rounded);
    pgy_headroom_destroy(q.headroom);
    pgy_floor_destroy(q.floor);
    pgy_model_destroy(model);
    return st;
}
