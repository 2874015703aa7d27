/* SPDX-License-Identifier: Apache-2.0 */
/* bench: times models in runners side by side, and judges which is faster. */
#include <polygraphy/bench.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/pytext.h"
#include "cli/groups/runners.h"

static const char LOG_PATH[] = "cli/cmd_bench.c";
static const char RUNTIME[] = "onnxrt", DEFAULT_RUNNER[] = "trt";

typedef struct bench_args {
    pgy_text_list models, shape_words, load_inputs;
    const char *duration, *warm_up, *least_effect, *output, *csv, *load, *compare, *fail;
    int64_t slices, seed;
    pgy_metadata *shapes;
    pgy_bench_options options;
    double limit; /* of a regression; negative: none */
} bench_args;

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
                 .meta = "NAME:SHAPE", .help = "shapes of generated inputs, such as {shape}"),
    PGY_OPT_LIST("--load-inputs", bench_args, load_inputs, .nargs = PGY_ONE_OR_MORE, .meta = "PATH",
                 .help = "files of inputs; the first iteration is used. Without this, inputs are "
                         "generated"),
    PGY_OPT_TEXT("-o --output", bench_args, output, .meta = "PATH",
                 .help = "write slices, figures and verdicts as JSON to this file"),
    PGY_OPT_TEXT("--csv", bench_args, csv, .meta = "PATH",
                 .help = "write one row for each slice to this file"),
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

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    bench_args *s = settings;
    pgy_status st = check_sources(s, err);
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
}

static const option_group OWN = {.options = OPTIONS,
                                 ARGS_TYPE(bench_args),
                                 .defaults = defaults,
                                 .finish = finish,
                                 .release = release};

/* ONNX Runtime's own options (threads, providers) belong to this command, too. */
static const option_group *const *groups(void)
{
    static const option_group *all[4];
    if (all[0]) return all;
    size_t n = 0;
    all[n++] = &OWN;
    all[n++] = &GROUP_LOGGING;
    const option_group *runtime = group_backend_options(RUNTIME);
    if (runtime) all[n++] = runtime;
    return all;
}

/* ---- Sides ---------------------------------------------------------------------------------- */

typedef struct side_list {
    pgy_bench_side *sides;
    char **names;
    size_t count;
} side_list;

static void append_backends(str *out)
{
    bool first = true;
    for (size_t i = 0; i < pgy_backend_count(); i++) {
        if (!pgy_backend_at(i)->description) continue;
        str_printf(out, "%s%s", first ? "" : ", ", pgy_backend_at(i)->name);
        first = false;
    }
}

/* Splits PATH@RUNNER. A file whose name contains an @ needs no runner. */
static pgy_status split_word(str *path, const pgy_backend **backend, const char *word,
                             pgy_error *err)
{
    const char *at = strrchr(word, '@');
    const char *name = at ? at + 1 : DEFAULT_RUNNER;
    *backend = pgy_backend_find(name);
    if (at && (*backend || !file_exists(word))) {
        str_append_n(path, word, (size_t)(at - word));
    } else {
        str_append(path, word);
        *backend = pgy_backend_find(DEFAULT_RUNNER);
    }
    str names = {0};
    append_backends(&names);
    pgy_status st = PGY_OK;
    if (!*backend)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "'%s': there is no runner '%s'; there are: %s",
                           word, name, str_text(&names));
    else if (!path->size && !pgy_backend_has(*backend, PGY_BACKEND_WITHOUT_MODEL))
        st = pgy_error_set(err, PGY_E_ARGUMENT, "'%s' has no path; expected PATH@RUNNER", word);
    else if (path->failed || names.failed)
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    str_deinit(&names);
    return st;
}

static pgy_status create_runner(pgy_runner **out, const args *line, const char *word,
                                pgy_error *err)
{
    str path = {0};
    const pgy_backend *b = NULL;
    pgy_backend_options *options = NULL;
    pgy_model_source source = {0};
    pgy_status st = split_word(&path, &b, word, err);
    if (!st && !file_exists(str_text(&path)) && !pgy_backend_has(b, PGY_BACKEND_WITHOUT_MODEL))
        st = pgy_error_set(err, PGY_E_NOT_FOUND, "'%s': the file '%s' does not exist", word,
                           str_text(&path));
    if (!st) st = runners_options(&options, line, b, err);
    if (!st) st = pgy_source_from_path(&source, str_text(&path), err);
    if (!st) st = pgy_runner_create(out, b, &source, options, word, err);
    pgy_backend_options_destroy(options);
    str_deinit(&path);
    return st;
}

static pgy_status create_data(pgy_data_loader **out, const bench_args *s, pgy_error *err)
{
    pgy_random_options o = pgy_random_options_default();
    if (s->load_inputs.count)
        return pgy_file_loader_create(out, s->load_inputs.items, s->load_inputs.count, err);
    o.seed = (uint32_t)s->options.seed;
    o.inputs = s->shapes;
    return pgy_random_loader_create(out, &o, err);
}

/* The word, with a number if the line has it before. */
static pgy_status name_side(char **out, const pgy_text_list *words, size_t i, pgy_error *err)
{
    size_t earlier = 1;
    str name = {0};
    for (size_t k = 0; k < i; k++) earlier += strcmp(words->items[k], words->items[i]) == 0;
    str_append(&name, words->items[i]);
    if (earlier > 1) str_printf(&name, " #%zu", earlier);
    return str_give(out, &name, err);
}

static void side_list_deinit(side_list *l)
{
    for (size_t i = 0; i < l->count && l->sides && l->names; i++) {
        pgy_runner_destroy(l->sides[i].runner);
        pgy_data_loader_destroy(l->sides[i].data);
        mem_free(l->names[i]);
    }
    mem_free(l->sides);
    mem_free(l->names);
}

static pgy_status side_list_init(side_list *l, const args *line, const bench_args *s,
                                 pgy_error *err)
{
    pgy_status st = PGY_OK;
    l->count = s->models.count;
    l->sides = mem_calloc(l->count, sizeof *l->sides);
    l->names = mem_calloc(l->count, sizeof *l->names);
    if (!l->sides || !l->names) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; !st && i < l->count; i++) {
        pgy_bench_side *side = &l->sides[i];
        st = name_side(&l->names[i], &s->models, i, err);
        side->name = l->names[i];
        if (!st) st = create_runner(&side->runner, line, s->models.items[i], err);
        if (!st) st = create_data(&side->data, s, err);
    }
    return st;
}

static pgy_status measure(pgy_bench **out, const args *line, const bench_args *s, pgy_error *err)
{
    side_list l = {0};
    if (s->load) return pgy_bench_load(out, s->load, err);
    pgy_status st = side_list_init(&l, line, s, err);
    if (!st) st = pgy_bench_measure(out, l.sides, l.count, &s->options, err);
    side_list_deinit(&l);
    return st;
}

/* ---- Comparing with an older file ----------------------------------------------------------- */

/* Logs whether the limit is kept, and returns that. */
static bool keeps_limit(const pgy_bench_verdict *v, const char *name, double limit)
{
    if (limit < 0) return true;
    if (v->low > 0 && v->effect >= limit) {
        LOG(ERROR, "'%s' is slower by %.2f %%; at most %.2f %% is allowed", name, v->effect * 100,
            limit * 100);
        return false;
    }
    if (v->high > limit)
        LOG(WARNING,
            "'%s': a regression of %.2f %% is not shown, and not ruled out either; measure longer",
            name, limit * 100);
    return true;
}

static pgy_status compare_side(bool *passed, const bench_args *s, const pgy_bench *now, size_t i,
                               const pgy_bench *old, pgy_error *err)
{
    const char *name = pgy_bench_name(now, i);
    pgy_bench_verdict v;
    char *text = NULL;
    size_t at = 0;
    if (!pgy_bench_find(&at, old, name))
        return pgy_error_set(err, PGY_E_NOT_FOUND,
                             "%s: there is no side '%s'; the first of its %zu sides is '%s'",
                             s->compare, name, pgy_bench_count(old), pgy_bench_name(old, 0));
    pgy_status st = pgy_bench_compare(&v, now, i, old, at, err);
    if (!st) st = pgy_bench_verdict_text(&text, &v, name, s->compare, err);
    if (!st) LOG(INFO, "%s", text);
    if (!st && !keeps_limit(&v, name, s->limit)) *passed = false;
    pgy_text_free(text);
    return st;
}

static pgy_status compare_all(bool *passed, const bench_args *s, const pgy_bench *now,
                              const pgy_bench *old, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (strcmp(pgy_bench_processor(old), pgy_bench_processor(now)) != 0)
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "%s was measured on the processor '%s', and the new times on '%s'; "
                           "measure both on one machine",
                           s->compare, pgy_bench_processor(old), pgy_bench_processor(now));
    for (size_t i = 0; !st && i < pgy_bench_count(now); i++)
        st = compare_side(passed, s, now, i, old, err);
    return st;
}

/* A path that cannot be written must not cost a measurement. */
static pgy_status try_path(const char *path, pgy_error *err)
{
    file_writer *w = NULL;
    const pgy_status st = path ? file_writer_create(&w, path, err) : PGY_OK;
    file_writer_destroy(w);
    return st;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const bench_args *s = args_get(line, &OWN);
    pgy_bench *b = NULL, *old = NULL;
    char *text = NULL;
    pgy_status st = s->compare ? pgy_bench_load(&old, s->compare, err) : PGY_OK;
    if (!st) st = try_path(s->output, err);
    if (!st) st = try_path(s->csv, err);
    if (!st) st = measure(&b, line, s, err);
    if (!st) st = pgy_bench_text(&text, b, err);
    if (!st) LOG(INFO, "==== Times ====\n%s", text);
    if (!st && s->output) st = pgy_bench_save(s->output, b, err);
    if (!st && s->csv) st = pgy_bench_save_csv(s->csv, b, err);
    if (!st && s->compare) st = compare_all(passed, s, b, old, err);
    pgy_text_free(text);
    pgy_bench_destroy(old);
    pgy_bench_destroy(b);
    return st;
}

const command COMMAND_bench = {
    .tool = "bench",
    .summary = "Measure models in runners side by side, and tell which is faster.",
    .description = "Measure the time of models and plans in slices of random order, so that a slow "
                   "drift of the machine counts for no side, and tell for each whether it is "
                   "faster or slower than the first, with an interval.",
    .examples = "  Is the built-in engine faster than ONNX Runtime?\n      {program} bench "
                "model.onnx@onnxrt model.onnx\n\n  Did it get slower since the last release?\n"
                "      {program} bench model.plan --compare old.json --fail-on-regression 5%",
    .make_groups = groups,
    .run = run,
};
