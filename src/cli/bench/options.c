/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the command bench, and their checks. */
#include "cli/bench/options.h"

#include <math.h>
#include <string.h>

#include "base/pytext.h"
#include "cli/groups/trace.h"

static const pgy_option OPTIONS[] = {
    PGY_OPT_POSITIONAL(
        "models", bench_args, models, .nargs = PGY_ZERO_OR_MORE,
        .help = "models and plans, each as PATH or PATH@RUNNER; the runner is the name of a runner "
                "option of 'run', such as onnxrt; without one the built-in engine (trt) runs it. "
                "Each is compared with the first"),
    PGY_OPT_TEXT("--duration", bench_args, duration, .meta = "SECONDS",
                 .help = "time of all slices of all sides together; default 10"),
    PGY_OPT_INT("--slices", bench_args, slices, .meta = "N",
                .help = "slices of each side, 8 to 1000; default 40"),
    PGY_OPT_INT("--seed", bench_args, seed, .meta = "N",
                .help = "seed of the order of slices, of the resampling and of generated inputs; "
                        "default 1"),
    PGY_OPT_TEXT("--warm-up", bench_args, warm_up, .meta = "MS",
                 .help = "time that each side runs before the first slice; default 200"),
    PGY_OPT_TEXT("--least-effect", bench_args, least_effect, .meta = "PERCENT",
                 .help = "never claim a smaller difference; default 1%%"),
    PGY_OPT_LIST("--input-shapes", bench_args, shape_words, .nargs = PGY_ONE_OR_MORE,
                 .meta = "NAME:SHAPE",
                 .help = "shapes of generated inputs, such as {shape}; a sweep gives the "
                         "dimensions of -1 their sizes"),
    PGY_OPT_LIST("--load-inputs", bench_args, load_inputs, .nargs = PGY_ONE_OR_MORE, .meta = "PATH",
                 .help = "files of inputs; the first iteration is used. Without this, inputs are "
                         "generated"),
    PGY_OPT_LIST("--sweep", bench_args, sweep_words, .nargs = PGY_ONE_OR_MORE, .meta = "NAME=SIZES",
                 .help = "measure at each combination of sizes of dynamic dimensions, each for the "
                         "whole duration; NAME is a dimension's name in the model, or INPUT:AXIS; "
                         "sizes are a list with commas, and ranges such as 64:1024:x2 (factor) or "
                         "1:9:2 (step)"),
    PGY_OPT_TEXT("--check-with", bench_args, check_with, .meta = "RUNNER|FILE",
                 .help = "compare the outputs of each side with those of a runner, such as onnxrt "
                         "or opref, for the first side's model; or of MODEL@RUNNER; or with saved "
                         "outputs of run --save-outputs"),
    PGY_OPT_LIST("--rtol --rel-tol", bench_args, rtol, .nargs = PGY_ONE_OR_MORE,
                 .meta = "[OUT:]TOL",
                 .help = "for --check-with: relative tolerance, for all outputs or by name; an "
                         "element passes if it meets either tolerance; default 1e-5"),
    PGY_OPT_LIST("--atol --abs-tol", bench_args, atol, .nargs = PGY_ONE_OR_MORE,
                 .meta = "[OUT:]TOL", .help = "for --check-with: absolute tolerance; default 1e-5"),
    PGY_OPT_LIST("--check-error-stat", bench_args, stat, .nargs = PGY_ONE_OR_MORE,
                 .meta = "[OUT:]STAT",
                 .help = "for --check-with: error statistic that must be within the tolerances: "
                         "elemwise (default), max, mean, median or quantile"),
    PGY_OPT_LIST("--error-quantile", bench_args, quantile, .nargs = PGY_ONE_OR_MORE,
                 .meta = "[OUT:]Q",
                 .help = "quantile for --check-error-stat quantile, from 0 to 1; default 0.99"),
    PGY_OPT_FLAG("--infinities-compare-equal", bench_args, infinities_equal,
                 .help = "for --check-with: infinities of the same sign are equal"),
    PGY_OPT_TEXT("--budget", bench_args, budget_text, .meta = "LIMITS",
                 .help = "limits with commas between them that every side must keep, such as "
                         "'p99<12ms,peak<300M,err<1e-3'. Figures: median, p50, p90, p99, p99.9, "
                         "first, load, peak, throughput, cpu_energy, gpu_energy, err, rel_err. "
                         "Exit status if one is broken, or was not measured: 3 accuracy, 4 "
                         "latency, 5 memory, 6 throughput, 7 energy, 8 not measured"),
    PGY_OPT_TEXT("-o --output", bench_args, output, .meta = "PATH",
                 .help = "write slices, figures and verdicts as JSON to this file"),
    PGY_OPT_TEXT("--csv", bench_args, csv, .meta = "PATH",
                 .help = "write one row for each slice, or each point of a sweep, to this file"),
    PGY_OPT_TEXT("--junit", bench_args, junit, .meta = "PATH",
                 .help = "write the verdicts on budgets, accuracy and regressions as JUnit's XML"),
    PGY_OPT_TEXT("--svg", bench_args, svg, .meta = "PATH",
                 .help = "draw the distributions and slices, or the sweep, as SVG"),
    PGY_OPT_TEXT("--load", bench_args, load, .meta = "PATH",
                 .help = "read such a JSON file instead of measuring"),
    PGY_OPT_TEXT("--compare", bench_args, compare, .meta = "PATH",
                 .help = "compare each side with the side of the same name in this older JSON "
                         "file"),
    PGY_OPT_TEXT("--fail-on-regression", bench_args, fail, .meta = "PERCENT",
                 .help = "exit with status 1 if a side is shown to be slower than in the file of "
                         "--compare, by at least this"),
    PGY_OPT_END,
};

/* ---- The line ------------------------------------------------------------------------------- */

static void defaults(void *settings)
{
    bench_args *s = settings;
    s->options = pgy_bench_options_default();
    s->slices = (int64_t)s->options.slices;
    s->seed = (int64_t)s->options.seed;
    s->limit = -1;
}

bool bench_has_tolerances(const bench_args *s)
{
    return s->rtol.given || s->atol.given || s->stat.given || s->quantile.given ||
           s->infinities_equal;
}

static pgy_status read_number(double *out, const char *text, const char *option, pgy_error *err)
{
    char *end = NULL;
    if (!text) return PGY_OK;
    const double v = text_to_double(text, &end);
    if (end == text || *end || !isfinite(v))
        return pgy_error_set(err, PGY_E_ARGUMENT, "%s: '%s' is not a number", option, text);
    *out = v;
    return PGY_OK;
}

/* Reads "5%", or "5", as 0.05. */
static pgy_status read_percent(double *out, const char *text, const char *option, pgy_error *err)
{
    char *end = NULL;
    if (!text) return PGY_OK;
    const double v = text_to_double(text, &end);
    if (end == text || strcmp(*end == '%' ? end + 1 : end, "") != 0 || !(v >= 0 && v < 100))
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "%s: '%s' is not a percentage of at least 0 and below 100, such as 5%%", option, text);
    *out = v / 100;
    return PGY_OK;
}

static pgy_status check_sources(const bench_args *s, pgy_error *err)
{
    if (s->load && s->models.count)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--load reads a measurement, so '%s' would not be measured; give one "
                             "of them",
                             s->models.items[0]);
    if (!s->load && !s->models.count)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "there is nothing to measure; give a model, or --load a measurement");
    if (s->fail && !s->compare)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--fail-on-regression needs an older measurement; give --compare");
    return PGY_OK;
}

/* Options of measuring have no effect on a file. */
static pgy_status check_measuring(const bench_args *s, const args *line, pgy_error *err)
{
    const struct {
        const char *option;
        bool given;
    } given[] = {{"--sweep", s->sweep_words.count > 0},
                 {"--check-with", s->check_with != NULL},
                 {"--load-inputs", s->load_inputs.count > 0},
                 {"--input-shapes", s->shape_words.count > 0},
                 {"--export-trace", ARGS_OF(line, trace_args)->path != NULL}};
    for (size_t i = 0; s->load && i < sizeof given / sizeof *given; i++)
        if (given[i].given)
            return pgy_error_set(
                err, PGY_E_ARGUMENT,
                "--load reads a measurement, so %s has no effect; give one of them",
                given[i].option);
    if (s->sweep_words.count && s->load_inputs.count)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--sweep needs inputs of several shapes, which are generated; leave "
                             "out --load-inputs");
    if (bench_has_tolerances(s) && !s->check_with)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "tolerances need outputs to compare with; give --check-with");
    return PGY_OK;
}

/* Two writers of one file would leave only the second. */
static pgy_status check_outputs(const bench_args *s, const args *line, pgy_error *err)
{
    const struct {
        const char *option, *path;
    } writes[] = {{"--output", s->output},
                  {"--csv", s->csv},
                  {"--junit", s->junit},
                  {"--svg", s->svg},
                  {"--export-trace", ARGS_OF(line, trace_args)->path}};
    const size_t count = sizeof writes / sizeof *writes;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (writes[i].path && writes[k].path && strcmp(writes[i].path, writes[k].path) == 0)
                return pgy_error_set(err, PGY_E_ARGUMENT,
                                     "%s and %s would write to the same file: '%s'",
                                     writes[k].option, writes[i].option, writes[i].path);
    return PGY_OK;
}

static pgy_status read_tolerances(bench_args *s, args *line, pgy_error *err)
{
    pgy_compare_options *o = &s->tolerances;
    *o = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    o->infinities_compare_equal = s->infinities_equal;
    pgy_status st = values_numbers(&o->rtol, &s->rtol, "--rtol", &line->memory, err);
    if (!st) st = values_numbers(&o->atol, &s->atol, "--atol", &line->memory, err);
    if (!st)
        st = values_numbers(&o->quantile, &s->quantile, "--error-quantile", &line->memory, err);
    if (!st) st = values_stats(&o->stats, &o->stat_count, &s->stat, &line->memory, err);
    return st;
}

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    bench_args *s = settings;
    pgy_status st = check_sources(s, err);
    if (!st) st = check_measuring(s, line, err);
    if (!st) st = check_outputs(s, line, err);
    if (!st) st = read_tolerances(s, line, err);
    if (!st && s->sweep_words.count)
        st = pgy_bench_axes_parse(&s->axes, s->sweep_words.items, s->sweep_words.count, err);
    if (!st && s->budget_text) st = pgy_bench_budget_parse(&s->budget, s->budget_text, err);
    if (!st) st = read_number(&s->options.duration_s, s->duration, "--duration", err);
    if (!st) st = read_number(&s->options.warm_up_ms, s->warm_up, "--warm-up", err);
    if (!st) st = read_percent(&s->options.least_effect, s->least_effect, "--least-effect", err);
    if (!st) st = read_percent(&s->limit, s->fail, "--fail-on-regression", err);
    if (!st && s->slices < 0)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "--slices: %lld is below 0", (long long)s->slices);
    if (!st && s->seed < 0)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "--seed: %lld is below 0", (long long)s->seed);
    s->options.slices = (size_t)s->slices;
    s->options.seed = (uint64_t)s->seed;
    if (!st && s->shape_words.count)
        st = values_shapes(&s->shapes, &s->shape_words, "--input-shapes", line, err);
    return st;
}

static void release(void *settings)
{
    bench_args *s = settings;
    pgy_metadata_destroy(s->shapes);
    pgy_bench_axes_destroy(s->axes);
    pgy_bench_budget_destroy(s->budget);
}

const option_group GROUP_BENCH = {.options = OPTIONS,
                                  ARGS_TYPE(bench_args),
                                  .defaults = defaults,
                                  .finish = finish,
                                  .release = release};
