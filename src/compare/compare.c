/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison functions as objects: the table of kinds, options that are checked once and copied,
 * and values per output name, where "" is the default for outputs without a name of their own.
 * simple.c, indices.c and metric.c do the comparing. */
#include "compare/compare.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/pytext.h"
#include "base/sized.h"
#include "compare/judge.h"

static const char LOG_PATH[] = "comparator/compare.py";

static const compare_kind_row KINDS[] = {
    {PGY_COMPARE_SIMPLE, "simple", "simple", 0, false, false, "", "", NULL},
    {PGY_COMPARE_INDICES, "indices", "indices", 0, false, false, "", "", NULL},
    {PGY_COMPARE_L2, "l2", "L2 Norm", 1e-5, true, false, "", "tolerance", "l2_threshold"},
    {PGY_COMPARE_COSINE_SIMILARITY, "cosine_similarity", "Cosine Similarity", 0.997, true, true, "",
     "min required", "cosine_similarity_threshold"},
    {PGY_COMPARE_PSNR, "psnr", "PSNR", 30, true, true, " dB", "min required", "psnr_threshold"},
    {PGY_COMPARE_SNR, "snr", "SNR", 20, true, true, " dB", "min required", "snr_threshold"},
    {PGY_COMPARE_LPIPS, "perceptual_metrics", "LPIPS", 0.1, true, false, "", "tolerance",
     "lpips_threshold"},
    {PGY_COMPARE_CALLBACK, NULL, "", 0, false, false, "", "", NULL},
};
#define KIND_COUNT (sizeof KINDS / sizeof KINDS[0])

static const char *const STAT_NAMES[] = {"elemwise", "max", "mean", "median", "quantile"};
#define STAT_COUNT (sizeof STAT_NAMES / sizeof STAT_NAMES[0])

const compare_kind_row *compare_kind_find(pgy_compare_kind kind)
{
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (KINDS[i].kind == kind) return &KINDS[i];
    return NULL;
}

bool pgy_compare_kind_from_name(pgy_compare_kind *out, const char *name)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (!KINDS[i].name || strcmp(KINDS[i].name, name)) continue;
        *out = KINDS[i].kind;
        return true;
    }
    return false;
}

const char *pgy_compare_kind_label(pgy_compare_kind kind)
{
    const compare_kind_row *row = compare_kind_find(kind);
    return row ? row->label : "";
}

pgy_status pgy_error_stat_from_name(pgy_error_stat *out, const char *name, pgy_error *err)
{
    for (size_t i = 0; i < STAT_COUNT; i++) {
        if (strcmp(STAT_NAMES[i], name)) continue;
        *out = (pgy_error_stat)i;
        return PGY_OK;
    }
    return pgy_error_set(
        err, PGY_E_ARGUMENT,
        "Invalid choice for check_error_stat: %s. Valid choices are: ['max', 'mean', 'median', "
        "'elemwise', 'quantile']",
        name);
}

const char *pgy_error_stat_name(pgy_error_stat stat)
{
    return (size_t)stat < STAT_COUNT ? STAT_NAMES[stat] : "";
}

pgy_compare_options pgy_compare_options_default(pgy_compare_kind kind)
{
    return (pgy_compare_options){.size = sizeof(pgy_compare_options), .kind = kind};
}

/* ---- Checking and copying
 * -------------------------------------------------------------------------- */

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY,
                         "out of memory while copying the options of a comparison");
}

static pgy_status copy_text(const char **text, pgy_error *err)
{
    if (!*text) return PGY_OK;
    *text = mem_strdup(*text);
    return *text ? PGY_OK : no_memory(err);
}

/* Replaces the map's borrowed entries by copies. After a failure the map holds only copies. */
static pgy_status copy_numbers(pgy_number_map *map, pgy_error *err)
{
    const pgy_number_entry *from = map->entries;
    size_t count = map->count;
    *map = (pgy_number_map){0};
    if (!count) return PGY_OK;
    pgy_number_entry *entries = mem_calloc(count, sizeof *entries);
    if (!entries) return no_memory(err);
    *map = (pgy_number_map){entries, count};
    for (size_t i = 0; i < count; i++) {
        entries[i].value = from[i].value;
        entries[i].name = mem_strdup(from[i].name ? from[i].name : "");
        if (!entries[i].name) return no_memory(err);
    }
    return PGY_OK;
}

static pgy_status copy_stats(pgy_compare_options *o, pgy_error *err)
{
    const pgy_stat_entry *from = o->stats;
    size_t count = o->stat_count;
    o->stats = NULL;
    o->stat_count = 0;
    if (!count) return PGY_OK;
    pgy_stat_entry *stats = mem_calloc(count, sizeof *stats);
    if (!stats) return no_memory(err);
    o->stats = stats;
    o->stat_count = count;
    for (size_t i = 0; i < count; i++) {
        stats[i].value = from[i].value;
        stats[i].name = mem_strdup(from[i].name ? from[i].name : "");
        if (!stats[i].name) return no_memory(err);
    }
    return PGY_OK;
}

static void free_numbers(pgy_number_map *map)
{
    for (size_t i = 0; i < map->count; i++) mem_free((char *)map->entries[i].name);
    mem_free((pgy_number_entry *)map->entries);
}

static pgy_status check(const pgy_compare_options *o, pgy_error *err)
{
    if (!compare_kind_find(o->kind))
        return pgy_error_set(err, PGY_E_ARGUMENT, "compare.kind: %d is not a comparison function",
                             (int)o->kind);
    if (o->kind == PGY_COMPARE_CALLBACK && !o->callback)
        return pgy_error_set(err, PGY_E_ARGUMENT, "compare.callback must not be NULL");
    for (size_t i = 0; i < o->stat_count; i++)
        if ((size_t)o->stats[i].value >= STAT_COUNT)
            return pgy_error_set(err, PGY_E_ARGUMENT, "compare.stats: %d is not an error statistic",
                                 (int)o->stats[i].value);
    for (size_t i = 0; i < o->quantile.count; i++) {
        double q = o->quantile.entries[i].value.real;
        if (!(q >= 0 && q <= 1))
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "the error quantile %g of output '%s' is not in [0, 1]", q,
                                 o->quantile.entries[i].name ? o->quantile.entries[i].name : "");
    }
    for (size_t i = 0; o->kind == PGY_COMPARE_INDICES && i < o->threshold.count; i++)
        if (!o->threshold.entries[i].value.is_integer)
            return pgy_error_set(err, PGY_E_ARGUMENT, "the index tolerance %g is not an integer",
                                 o->threshold.entries[i].value.real);
    return PGY_OK;
}

/* Replaces every borrowed pointer of the options by a copy. Pointers are set to NULL first, so that
 * destroy is safe after a failure. */
static pgy_status own(pgy_compare_options *o, pgy_error *err)
{
    pgy_compare_options from = *o;
    o->threshold = o->rtol = o->atol = o->quantile = (pgy_number_map){0};
    o->stats = NULL;
    o->stat_count = 0;
    o->heatmap_dir = o->error_plot_dir = o->label = NULL;

    pgy_number_map *maps[] = {&o->threshold, &o->rtol, &o->atol, &o->quantile};
    const pgy_number_map given[] = {from.threshold, from.rtol, from.atol, from.quantile};
    for (size_t i = 0; i < 4; i++) {
        *maps[i] = given[i];
        pgy_status st = copy_numbers(maps[i], err);
        if (st) return st;
    }
    o->stats = from.stats;
    o->stat_count = from.stat_count;
    pgy_status st = copy_stats(o, err);
    if (st) return st;
    const char **texts[] = {&o->heatmap_dir, &o->error_plot_dir, &o->label};
    const char *given_texts[] = {from.heatmap_dir, from.error_plot_dir, from.label};
    for (size_t i = 0; i < 3; i++) {
        *texts[i] = given_texts[i];
        st = copy_text(texts[i], err);
        if (st) return st;
    }
    return PGY_OK;
}

pgy_status pgy_compare_create(pgy_compare **out, const pgy_compare_options *options, pgy_error *err)
{
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    pgy_status st = SIZED_TAKE(pgy_compare_options, &o, options, err);
    if (!st) st = check(&o, err);
    if (st) return st;
    pgy_compare *c = mem_calloc(1, sizeof *c);
    if (!c) return no_memory(err);
    c->options = o;
    st = own(&c->options, err);
    if (st) {
        pgy_compare_destroy(c);
        return st;
    }
    *out = c;
    return PGY_OK;
}

void pgy_compare_destroy(pgy_compare *c)
{
    if (!c) return;
    pgy_compare_options *o = &c->options;
    free_numbers(&o->threshold);
    free_numbers(&o->rtol);
    free_numbers(&o->atol);
    free_numbers(&o->quantile);
    for (size_t i = 0; i < o->stat_count; i++) mem_free((char *)o->stats[i].name);
    mem_free((pgy_stat_entry *)o->stats);
    mem_free((char *)o->heatmap_dir);
    mem_free((char *)o->error_plot_dir);
    mem_free((char *)o->label);
    if (c->free_user) c->free_user(o->user);
    mem_free(c);
}

void compare_own_user(pgy_compare *c, void (*free_user)(void *user))
{
    c->free_user = free_user;
}

pgy_compare_kind compare_kind(const pgy_compare *c)
{
    return c->options.kind;
}

bool compare_can_average(const pgy_compare *c, const char **why)
{
    const pgy_compare_options *o = &c->options;
    if (o->kind == PGY_COMPARE_CALLBACK) {
        *why = "The provided compare_func does not support average comparison. Use a comparison "
               "function with metrics "
               "together with check_average.";
        return false;
    }
    if (o->kind == PGY_COMPARE_INDICES) {
        *why = "The selected compare_func does not produce averageable metrics and cannot be used "
               "with "
               "check_average=True.";
        return false;
    }
    /* Only the default is checked here. An output's own elemwise is refused when that output
     * appears. */
    bool elemwise = o->kind == PGY_COMPARE_SIMPLE && compare_stat(c, "", NULL) == PGY_STAT_ELEMWISE;
    if (elemwise)
        *why = "check_average is not supported with check_error_stat='elemwise': it is a "
               "per-element check with no "
               "scalar statistic to average. Specify max, mean, median, or quantile.";
    return !elemwise;
}

/* ---- Values per output
 * ----------------------------------------------------------------------------- */

pgy_number compare_real(double v)
{
    return (pgy_number){.real = v};
}

/* Number of names to look up in turn: the output's, its partner's, and "". Trying both names makes
 * the result independent of the order of the two runners. */
enum { PASSES = 3 };

static const char *name_of_pass(int pass, const char *output, const char *partner)
{
    return pass == 0 ? output : pass == 1 ? partner : "";
}

pgy_number compare_number(const pgy_number_map *map, const char *output, const char *partner,
                          pgy_number fallback)
{
    for (int pass = 0; pass < PASSES; pass++) {
        const char *name = name_of_pass(pass, output, partner);
        for (size_t i = map->count; name && i-- > 0;)
            if (!strcmp(map->entries[i].name, name)) return map->entries[i].value;
    }
    return fallback;
}

pgy_error_stat compare_stat(const pgy_compare *c, const char *output, const char *partner)
{
    const pgy_compare_options *o = &c->options;
    for (int pass = 0; pass < PASSES; pass++) {
        const char *name = name_of_pass(pass, output, partner);
        for (size_t i = o->stat_count; name && i-- > 0;)
            if (!strcmp(o->stats[i].name, name)) return o->stats[i].value;
    }
    return PGY_STAT_ELEMWISE;
}

const char *job_partner(const compare_job *job)
{
    return job->compat ? NULL : job->b.output;
}

static bool has_output(const pgy_iteration *it, const char *name)
{
    return pgy_tensor_map_find(it->outputs, name) != NULL;
}

static void append_set_item(str *s, bool *first, const char *name)
{
    str_append(s, *first ? "" : ", ");
    *first = false;
    str_append_py_repr(s, name);
}

/* Warns if names[0..count), the keys of one per-output option, include names of no output. */
static void warn_extra(const char *dictionary, const char *const *names, size_t count,
                       const pgy_iteration *a, const pgy_iteration *b)
{
    str extra = {0}, requested = {0}, present = {0};
    bool no_extra = true, no_request = true, no_present = true;
    for (size_t i = 0; i < count; i++) {
        append_set_item(&requested, &no_request, names[i]);
        if (names[i][0] && !has_output(a, names[i]) && !has_output(b, names[i]))
            append_set_item(&extra, &no_extra, names[i]);
    }
    append_set_item(&present, &no_present, "");
    for (size_t i = 0; i < pgy_tensor_map_count(a->outputs); i++)
        append_set_item(&present, &no_present, pgy_tensor_map_name(a->outputs, i));
    for (size_t i = 0; i < pgy_tensor_map_count(b->outputs); i++)
        if (!has_output(a, pgy_tensor_map_name(b->outputs, i)))
            append_set_item(&present, &no_present, pgy_tensor_map_name(b->outputs, i));
    if (!no_extra)
        LOG(WARNING,
            "Extra items in the %s dictionary: {%s}.\nNote: items requested were: {%s}, but all "
            "items are: {%s}",
            dictionary, str_text(&extra), str_text(&present), str_text(&requested));
    str_deinit(&extra);
    str_deinit(&requested);
    str_deinit(&present);
}

static void warn_extra_numbers(const char *dictionary, const pgy_number_map *map,
                               const pgy_iteration *a, const pgy_iteration *b)
{
    if (!map->count) return;
    const char **names = mem_calloc(map->count, sizeof *names);
    if (!names) return;
    for (size_t i = 0; i < map->count; i++) names[i] = map->entries[i].name;
    warn_extra(dictionary, names, map->count, a, b);
    mem_free(names);
}

static void warn_extra_stats(const pgy_compare_options *o, const pgy_iteration *a,
                             const pgy_iteration *b)
{
    if (!o->stat_count) return;
    const char **names = mem_calloc(o->stat_count, sizeof *names);
    if (!names) return;
    for (size_t i = 0; i < o->stat_count; i++) names[i] = o->stats[i].name;
    warn_extra("check_error_stat", names, o->stat_count, a, b);
    mem_free(names);
}

void compare_warn_extra_names(const pgy_compare *c, const pgy_iteration *a, const pgy_iteration *b)
{
    const pgy_compare_options *o = &c->options;
    const char *dictionary = compare_kind_find(o->kind)->dictionary;
    if (dictionary) warn_extra_numbers(dictionary, &o->threshold, a, b);
    if (o->kind != PGY_COMPARE_SIMPLE) return;
    warn_extra_numbers("rtol", &o->rtol, a, b);
    warn_extra_numbers("atol", &o->atol, a, b);
    warn_extra_stats(o, a, b);
    warn_extra_numbers("quantile", &o->quantile, a, b);
}

/* ---- Text
 * ------------------------------------------------------------------------------------------ */

void compare_describe(str *out, const pgy_tensor *t)
{
    str_printf(out, "(dtype=%s, shape=", pgy_dtype_name(pgy_tensor_dtype(t)));
    str_append_py_tuple(out, pgy_tensor_shape(t), pgy_tensor_rank(t));
    str_append_char(out, ')');
}

void compare_number_text(str *out, pgy_number n)
{
    char text[32];
    if (n.is_integer) {
        str_printf(out, "%lld", (long long)n.integer);
        return;
    }
    py_double_repr(text, n.real);
    str_append(out, text);
}

pgy_status compare_array_text(str *out, size_t indent, pgy_view v, pgy_error *err)
{
    char *text = NULL;
    pgy_status st = pgy_view_text(&text, v, NULL, err);
    if (st) return st;
    str_append_fill(out, ' ', indent);
    for (const char *c = text; *c; c++) {
        str_append_char(out, *c);
        if (*c == '\n') str_append_fill(out, ' ', indent);
    }
    pgy_text_free(text);
    return PGY_OK;
}
