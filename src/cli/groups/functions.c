/* SPDX-License-Identifier: Apache-2.0 */
/* The comparison functions' own options, and the list of functions made from them. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/args/values.h"
#include "cli/groups/compare.h"

static const char LOG_PATH[] = "tools/args/comparator/compare.py";

static const pgy_option OPTIONS[] = {
    PGY_OPT_LIST("--rtol --rel-tol", function_args, rtol, .nargs = PGY_ONE_OR_MORE,
                 .meta = "[OUT:]TOL",
                 .help = "simple: relative tolerance, for all outputs or by name; an element "
                         "passes if it meets either tolerance; default 1e-5"),
    PGY_OPT_LIST("--atol --abs-tol", function_args, atol, .nargs = PGY_ONE_OR_MORE,
                 .meta = "[OUT:]TOL", .help = "simple: absolute tolerance; default 1e-5"),
    PGY_OPT_LIST("--check-error-stat", function_args, stat, .nargs = PGY_ONE_OR_MORE,
                 .meta = "[OUT:]STAT",
                 .help = "simple: error statistic that must be within the tolerances: elemwise, "
                         "max, mean, median or quantile; default elemwise"),
    PGY_OPT_LIST(
        "--error-quantile", function_args, quantile, .nargs = PGY_ONE_OR_MORE, .meta = "[OUT:]Q",
        .help = "simple: quantile for --check-error-stat quantile, from 0 to 1; default 0.99"),
    PGY_OPT_FLAG("--infinities-compare-equal", function_args, infinities_equal,
                 .help = "simple: treat infinities of the same sign as equal"),
    PGY_OPT_TEXT("--save-heatmaps", function_args, heatmap_dir, .meta = "DIR",
                 .help = "simple: save heatmaps of the errors as SVG in this folder"),
    PGY_OPT_FLAG("--show-heatmaps", function_args, show_heatmaps,
                 .help = "simple: show the heatmaps in the desktop's image viewer"),
    PGY_OPT_TEXT("--save-error-metrics-plot", function_args, error_plot_dir, .meta = "DIR",
                 .help = "simple: save plots of error against output value as PNG in this folder"),
    PGY_OPT_FLAG("--show-error-metrics-plot", function_args, show_error_plots,
                 .help = "simple: show the plots in the desktop's image viewer"),
    PGY_OPT_LIST("--index-tolerance", function_args, index_tolerance, .nargs = PGY_ONE_OR_MORE,
                 .meta = "[OUT:]N",
                 .help = "indices: largest allowed distance between the positions of an index in "
                         "two outputs; default 0"),
    PGY_OPT_LIST("--l2-threshold --l2-tolerance", function_args, l2, .nargs = PGY_ONE_OR_MORE,
                 .meta = "[OUT:]T", .help = "l2: largest allowed value; default 1e-5"),
    PGY_OPT_LIST("--cosine-similarity-threshold", function_args, cosine_similarity,
                 .nargs = PGY_ONE_OR_MORE, .meta = "[OUT:]T",
                 .help = "cosine_similarity: smallest allowed value; default 0.997"),
    PGY_OPT_LIST("--psnr-threshold --psnr-tolerance", function_args, psnr, .nargs = PGY_ONE_OR_MORE,
                 .meta = "[OUT:]T", .help = "psnr: smallest allowed value in dB; default 30"),
    PGY_OPT_LIST("--snr-threshold --snr-tolerance", function_args, snr, .nargs = PGY_ONE_OR_MORE,
                 .meta = "[OUT:]T", .help = "snr: smallest allowed value in dB; default 20"),
    PGY_OPT_LIST("--lpips-threshold --lpips-tolerance", function_args, lpips,
                 .nargs = PGY_ONE_OR_MORE, .meta = "[OUT:]T",
                 .help = "perceptual_metrics: largest allowed value; default 0.1. LPIPS needs "
                         "torch and the lpips package, which this program does not use, so this "
                         "comparison always fails as not verified"),
    PGY_OPT_END,
};

const option_group GROUP_FUNCTIONS = {
    .title = "Comparison Functions",
    .description = "Options related to individual comparison functions",
    .options = OPTIONS,
    ARGS_TYPE(function_args),
};

/* A value of --compare and the comparison functions that it selects. */
typedef struct function_word {
    const char *word;
    pgy_compare_kind kinds[2];
    size_t count;
} function_word;
static const function_word WORDS[] = {
    {"simple", {PGY_COMPARE_SIMPLE}, 1},
    {"indices", {PGY_COMPARE_INDICES}, 1},
    {"l2", {PGY_COMPARE_L2}, 1},
    {"cosine_similarity", {PGY_COMPARE_COSINE_SIMILARITY}, 1},
    {"distance_metrics", {PGY_COMPARE_L2, PGY_COMPARE_COSINE_SIMILARITY}, 2},
    {"psnr", {PGY_COMPARE_PSNR}, 1},
    {"snr", {PGY_COMPARE_SNR}, 1},
    {"quality_metrics", {PGY_COMPARE_PSNR, PGY_COMPARE_SNR}, 2},
    {"perceptual_metrics", {PGY_COMPARE_LPIPS}, 1},
};

/* The threshold option of each function except simple. */
static const pgy_text_list *threshold_words(const function_args *f, pgy_compare_kind kind,
                                            const char **option)
{
    static const char *const NAMES[] = {
        [PGY_COMPARE_INDICES] = "--index-tolerance",
        [PGY_COMPARE_L2] = "--l2-threshold",
        [PGY_COMPARE_COSINE_SIMILARITY] = "--cosine-similarity-threshold",
        [PGY_COMPARE_PSNR] = "--psnr-threshold",
        [PGY_COMPARE_SNR] = "--snr-threshold",
        [PGY_COMPARE_LPIPS] = "--lpips-threshold",
    };
    const pgy_text_list *const lists[] = {
        [PGY_COMPARE_INDICES] = &f->index_tolerance,
        [PGY_COMPARE_L2] = &f->l2,
        [PGY_COMPARE_COSINE_SIMILARITY] = &f->cosine_similarity,
        [PGY_COMPARE_PSNR] = &f->psnr,
        [PGY_COMPARE_SNR] = &f->snr,
        [PGY_COMPARE_LPIPS] = &f->lpips,
    };
    *option = NAMES[kind];
    return lists[kind];
}

static pgy_status simple_options(pgy_compare_options *o, const function_args *f, arena *a,
                                 pgy_error *err)
{
    pgy_status st = values_numbers(&o->rtol, &f->rtol, "--rtol", a, err);
    if (!st) st = values_numbers(&o->atol, &f->atol, "--atol", a, err);
    if (!st) st = values_numbers(&o->quantile, &f->quantile, "--error-quantile", a, err);
    if (!st) st = values_stats(&o->stats, &o->stat_count, &f->stat, a, err);
    o->infinities_compare_equal = f->infinities_equal;
    o->heatmap_dir = f->heatmap_dir;
    o->error_plot_dir = f->error_plot_dir;
    o->show_heatmaps = f->show_heatmaps;
    o->show_error_plots = f->show_error_plots;
    return st;
}

static pgy_status function_options(pgy_compare_options *out, pgy_compare_kind kind,
                                   const compare_args *c, const function_args *f, arena *a,
                                   pgy_error *err)
{
    *out = pgy_compare_options_default(kind);
    out->no_shape_check = c->no_shape_check;
    out->fail_fast = c->judge.fail_fast;
    if (kind == PGY_COMPARE_SIMPLE) return simple_options(out, f, a, err);
    const char *option;
    const pgy_text_list *words = threshold_words(f, kind, &option);
    return values_numbers(&out->threshold, words, option, a, err);
}

static bool simple_given(const function_args *f)
{
    return f->rtol.given || f->atol.given || f->stat.given || f->quantile.given ||
           f->infinities_equal || f->heatmap_dir || f->error_plot_dir || f->show_heatmaps ||
           f->show_error_plots;
}

static void warn_unused(const bool *selected, const function_args *f)
{
    if (!selected[PGY_COMPARE_SIMPLE] && simple_given(f))
        LOG(WARNING, "The options of the comparison function 'simple' are ignored since --compare "
                     "does not select it");
    for (int kind = PGY_COMPARE_INDICES; kind <= PGY_COMPARE_LPIPS; kind++) {
        const char *option;
        const pgy_text_list *words = threshold_words(f, (pgy_compare_kind)kind, &option);
        if (words->given && !selected[kind])
            LOG(WARNING, "%s is ignored since --compare does not select its function", option);
    }
}

static pgy_status add_word(compare_choice *choice, bool *selected, const char *word, args *line,
                           pgy_error *err)
{
    const compare_args *c = ARGS_OF(line, compare_args);
    const function_args *f = ARGS_OF(line, function_args);
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        if (strcmp(WORDS[i].word, word)) continue;
        for (size_t k = 0; !st && k < WORDS[i].count; k++) {
            pgy_compare_kind kind = WORDS[i].kinds[k];
            if (selected[kind]) continue;
            selected[kind] = true;
            st =
                function_options(&choice->options[choice->count++], kind, c, f, &line->memory, err);
        }
    }
    return st;
}

pgy_status compare_choose(compare_choice *out, args *line, pgy_error *err)
{
    const compare_args *c = ARGS_OF(line, compare_args);
    bool selected[PGY_COMPARE_CALLBACK + 1] = {false};
    *out = (compare_choice){.script = c->script};
    if (c->script) {
        if (c->functions.given)
            LOG(WARNING, "--compare is ignored since --compare-func-script was given");
        return PGY_OK;
    }
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < c->functions.count; i++)
        st = add_word(out, selected, c->functions.items[i], line, err);
    if (!st && !c->functions.count) st = add_word(out, selected, "simple", line, err);
    if (!st) warn_unused(selected, ARGS_OF(line, function_args));
    return st;
}

pgy_status compare_list_create(compare_list *out, args *line, pgy_error *err)
{
    const compare_args *c = ARGS_OF(line, compare_args);
    const function_args *f = ARGS_OF(line, function_args);
    compare_list list = {.explicit_request = c->functions.given || c->script || simple_given(f)};
    compare_choice choice;
    list.items = mem_calloc(PGY_COMPARE_CALLBACK + 1, sizeof *list.items);
    if (!list.items) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_status st = compare_choose(&choice, line, err);
    if (!st && choice.script) {
        st = pgy_compare_script_create(&list.items[0], choice.script, err);
        if (!st) list.count = 1;
    }
    for (size_t i = 0; !st && i < choice.count; i++) {
        st = pgy_compare_create(&list.items[i], &choice.options[i], err);
        if (!st) list.count++;
    }
    if (!st) {
        *out = list;
        list = (compare_list){0};
    }
    compare_list_destroy(&list);
    return st;
}

void compare_list_destroy(compare_list *list)
{
    for (size_t i = 0; i < list->count; i++) pgy_compare_destroy(list->items[i]);
    mem_free(list->items);
    *list = (compare_list){0};
}
