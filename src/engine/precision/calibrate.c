/* SPDX-License-Identifier: Apache-2.0 */
/* Calibration runs the float32 model on the samples, with the requested tensors as outputs. The
 * model runs once for each group of tensors and batch; groups are small enough that the outputs of
 * a run fit in bounded memory. Only histograms are kept. */
#include "engine/precision/calibrate.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "engine/build/profile.h"
#include "engine/build/progress.h"
#include "engine/build/shapes.h"
#include "evaluate/interface.h"

static const char LOG_PATH[] = "engine/precision/calibrate.c";

/* Limit for the bytes of all outputs that one run calibrates, at the usual shapes. */
static const uint64_t GROUP_BYTES = 256 << 20;
static const uint64_t UNKNOWN_BYTES = 16 << 20;

typedef struct group {
    void *run;           /* handle from runner->open */
    size_t first, count; /* range of indices into calibration.values */
} group;

typedef struct calibration {
    const pgy_build_config *config;
    const calibration_runner *runner;
    pgy_build_config plain; /* configuration of the float32 engines */
    pgy_metadata *inputs;   /* inputs of the model, with their declared shapes */
    pgy_metadata *usual;    /* the same with the usual shapes, for generated data */
    pgy_value *const *values;
    histogram **histograms; /* one per element of `values` */
    size_t count;
    group *groups;
    size_t group_count;
    size_t batches;
    pgy_profile profile; /* profile of the float32 engines; ranges in `memory` */
    arena memory;
} calibration;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static void deinit(calibration *c)
{
    for (size_t i = 0; i < c->group_count; i++) c->runner->close(c->groups[i].run);
    for (size_t i = 0; c->histograms && i < c->count; i++) mem_free(c->histograms[i]);
    mem_free(c->groups);
    mem_free(c->histograms);
    pgy_metadata_destroy(c->inputs);
    pgy_metadata_destroy(c->usual);
    arena_deinit(&c->memory);
}

static pgy_status create_histograms(calibration *c, pgy_error *err)
{
    c->histograms = mem_calloc(c->count, sizeof *c->histograms);
    if (!c->histograms) return no_memory(err);
    for (size_t i = 0; i < c->count; i++)
        if (!(c->histograms[i] = mem_calloc(1, sizeof *c->histograms[i]))) return no_memory(err);
    return PGY_OK;
}

/* ---- Inputs --------------------------------------------------------------------------------- */

/* Shapes that are not fixed become the usual shapes of the last profile. */
static pgy_status fix_shapes(pgy_metadata *inputs, const pgy_build_config *config, pgy_error *err)
{
    profile_set *profiles = NULL;
    pgy_metadata *usual = NULL;
    pgy_status st = profiles_create(&profiles, config, inputs, err);
    if (!st)
        st = profiles_shapes(&usual, profiles, profiles_count(profiles) - 1, PROFILE_USUAL, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(inputs); i++) {
        pgy_tensor_info info = *pgy_metadata_at(inputs, i);
        const pgy_tensor_info *given = pgy_metadata_find(usual, info.name);
        if (!given || given->rank < 0) continue;
        info.rank = given->rank;
        info.shape = given->shape;
        info.dim_names = NULL;
        st = pgy_metadata_set(inputs, &info, err);
    }
    pgy_metadata_destroy(usual);
    profiles_destroy(profiles);
    return st;
}

/* Makes a profile that allows all input shapes of the model, since calibration data may have any of
 * them. */
static pgy_status allow_shapes(calibration *c, pgy_error *err)
{
    const size_t count = pgy_metadata_count(c->usual);
    pgy_profile_range *ranges = arena_alloc_array(&c->memory, count + 1, sizeof *ranges);
    if (!ranges) return no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const pgy_tensor_info *usual = pgy_metadata_at(c->usual, i);
        const pgy_tensor_info *declared = pgy_metadata_at(c->inputs, i);
        const size_t rank = usual->rank < 0 ? 0 : (size_t)usual->rank;
        int64_t *bounds = arena_alloc_array(&c->memory, 2 * rank + 1, sizeof *bounds);
        if (!bounds) return no_memory(err);
        if (declared->form != PGY_FORM_TENSOR || declared->rank != usual->rank) continue;
        bool dynamic = false;
        for (size_t d = 0; d < rank; d++) {
            const bool fixed = declared->shape[d] >= 0;
            dynamic = dynamic || !fixed;
            bounds[d] = fixed ? usual->shape[d] : 0;
            bounds[rank + d] = fixed ? usual->shape[d] : INT32_MAX;
        }
        if (!dynamic) continue;
        ranges[c->profile.range_count++] = (pgy_profile_range){.name = usual->name,
                                                               .count = rank,
                                                               .min = bounds,
                                                               .opt = usual->shape,
                                                               .max = bounds + rank};
    }
    c->profile.ranges = ranges;
    c->plain.profiles = &c->profile;
    c->plain.profile_count = 1;
    return PGY_OK;
}

/* ---- Groups --------------------------------------------------------------------------------- */

static uint64_t bytes_of(const pgy_value *v)
{
    uint64_t bytes = 4;
    if (v->rank < 0) return UNKNOWN_BYTES;
    for (int32_t d = 0; d < v->rank; d++) {
        if (v->dims[d].value < 0) return UNKNOWN_BYTES;
        if (v->dims[d].value && bytes > GROUP_BYTES / (uint64_t)v->dims[d].value)
            return GROUP_BYTES;
        bytes *= (uint64_t)v->dims[d].value;
    }
    return bytes;
}

/* Escapes the wildcards in a name. */
static char *literal(arena *a, const char *name)
{
    str text = {0};
    for (; *name; name++)
        if (strchr("*?[", *name))
            str_printf(&text, "[%c]", *name);
        else
            str_append_char(&text, *name);
    char *copy = text.failed ? NULL : arena_strdup(a, str_text(&text));
    str_deinit(&text);
    return copy;
}

static bool is_produced(const pgy_value *v)
{
    return v->producer != NULL;
}

static pgy_status select_outputs(pgy_graph *copy, const calibration *c, const group *part,
                                 pgy_error *err)
{
    arena memory = {0};
    size_t count = 0;
    const char **names = arena_alloc_array(&memory, part->count, sizeof *names);
    pgy_status st = names ? PGY_OK : no_memory(err);
    for (size_t i = 0; !st && i < part->count; i++) {
        const pgy_value *v = c->values[part->first + i];
        if (!is_produced(v)) continue;
        if (!(names[count++] = literal(&memory, v->name))) st = no_memory(err);
    }
    const pgy_output_selection wanted = {
        .size = sizeof wanted, .names = names, .name_count = count};
    if (!st && count) st = pgy_graph_select_outputs(copy, &wanted, err);
    arena_deinit(&memory);
    return st;
}

/* Makes a model whose outputs are the group's tensors. */
static pgy_status open_group(group *part, const calibration *c, const pgy_graph *g, pgy_error *err)
{
    pgy_graph *copy = NULL;
    pgy_model *edited = NULL;
    pgy_status st = graph_clone(&copy, g, err);
    if (!st) st = select_outputs(copy, c, part, err);
    if (!st) st = pgy_graph_export(&edited, copy, err);
    if (!st) st = c->runner->open(&part->run, edited, &c->plain, err);
    pgy_model_destroy(edited);
    pgy_graph_destroy(copy);
    return st;
}

/* Splits the list of tensors into groups, by sizes inferred for the usual shapes. */
static pgy_status cut(calibration *c, pgy_graph *g, pgy_error *err)
{
    const pgy_infer_options usual = {.size = sizeof usual, .inputs = c->usual};
    uint64_t bytes = 0;
    c->groups = mem_calloc(c->count, sizeof *c->groups);
    pgy_status st = c->groups ? pgy_graph_infer_shapes(g, &usual, err) : no_memory(err);
    for (size_t i = 0; !st && i < c->count; i++) {
        const uint64_t more = bytes_of(c->values[i]);
        if (!c->group_count || bytes + more > GROUP_BYTES) {
            c->groups[c->group_count++] = (group){.first = i};
            bytes = 0;
        }
        bytes += more;
        c->groups[c->group_count - 1].count++;
    }
    return st ? st : pgy_graph_infer_shapes(g, NULL, err);
}

static pgy_status create_groups(calibration *c, pgy_graph *g, pgy_error *err)
{
    pgy_status st = cut(c, g, err);
    LOG(VERBOSE, "Calibrating %zu tensors in %zu float32 engines", c->count, c->group_count);
    for (size_t i = 0; !st && i < c->group_count; i++) st = open_group(&c->groups[i], c, g, err);
    return st;
}

/* ---- Running -------------------------------------------------------------------------------- */

static pgy_status run_group(calibration *c, const group *part, const pgy_tensor_map *feed,
                            pgy_error *err)
{
    pgy_tensor_map *out = NULL;
    pgy_status st = pgy_tensor_map_create(&out, err);
    if (!st) st = c->runner->run(part->run, feed, out, err);
    for (size_t i = 0; !st && i < part->count; i++) {
        const pgy_value *v = c->values[part->first + i];
        const pgy_tensor *t = pgy_tensor_map_find(is_produced(v) ? out : feed, v->name);
        if (t && pgy_tensor_dtype(t) == PGY_F32)
            histogram_add(c->histograms[part->first + i], pgy_tensor_data(t), pgy_tensor_count(t));
    }
    pgy_tensor_map_destroy(out);
    return st;
}

static pgy_status run_batch(calibration *c, const pgy_tensor_map *given, pgy_error *err)
{
    pgy_tensor_map *feed = NULL;
    pgy_status st = pgy_feed_match(&feed, given, c->inputs, err);
    for (size_t i = 0; !st && i < c->group_count; i++) st = run_group(c, &c->groups[i], feed, err);
    pgy_tensor_map_destroy(feed);
    if (st) return pgy_error_prefix(err, st, "sample %zu of the calibration data: ", c->batches);
    LOG(VERBOSE, "Calibration: ran sample %zu", c->batches);
    c->batches++;
    return PGY_OK;
}

static pgy_status run_all(calibration *c, pgy_error *err)
{
    pgy_data_loader *data = c->config->calibration->data;
    pgy_status st = pgy_data_loader_set_metadata(data, c->usual, err);
    progress_start(c->config, PROGRESS_CALIBRATION, PROGRESS_PASSES, 0);
    while (!st) {
        pgy_tensor_map *given = NULL;
        st = pgy_data_loader_next(&given, data, err);
        if (st || !given) break;
        st = run_batch(c, given, err);
        if (!st) st = progress_step(c->config, PROGRESS_CALIBRATION, c->batches - 1, err);
        pgy_tensor_map_destroy(given);
    }
    progress_finish(c->config, PROGRESS_CALIBRATION);
    if (!st && !c->batches)
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "calibration.data has no samples; int8 needs at least one");
    return st;
}

/* Range, scale and error of int8 for tensor i, for the log and for the caller's callback. */
static pgy_calibrated_tensor describe_tensor(const calibration *c, size_t i, const grid *g)
{
    const bool asymmetric = c->config->calibration->asymmetric;
    const histogram *h = c->histograms[i];
    const pgy_node *from = c->values[i]->producer;
    return (pgy_calibrated_tensor){.size = sizeof(pgy_calibrated_tensor),
                                   .name = c->values[i]->name,
                                   .layer = from ? node_label(from) : "",
                                   .lowest = h->low,
                                   .highest = h->high,
                                   .held_lowest = grid_low(g, asymmetric),
                                   .held_highest = grid_high(g),
                                   .scale = (float)g->scale,
                                   .zero_point = g->zero,
                                   .snr_db = calibrator_snr_db(h, g, asymmetric)};
}

static void tell_tensor(const calibration *c, const pgy_calibrated_tensor *t)
{
    const pgy_calibration *how = c->config->calibration;
    LOG(VERBOSE,
        "Calibration: %s '%s', tensor '%s': values from %g to %g, int8 range %g to %g, SNR %.1f dB",
        *t->layer ? "layer" : "input", *t->layer ? t->layer : t->name, t->name, t->lowest,
        t->highest, t->held_lowest, t->held_highest, t->snr_db);
    if (how->report) how->report(t, how->report_user);
}

static pgy_status take_scales(scale_table *out, const calibration *c, pgy_error *err)
{
    const pgy_calibration *how = c->config->calibration;
    pgy_calibrated_tensor worst = {.snr_db = INFINITY};
    for (size_t i = 0; i < c->count; i++) {
        const histogram *h = c->histograms[i];
        const char *name = c->values[i]->name;
        const pgy_status st = cancel_check(err);
        if (st) return st;
        const grid g = calibrator_grid(how, h);
        const pgy_calibrated_tensor t = describe_tensor(c, i, &g);
        if (h->strange)
            LOG(WARNING, "Calibration: tensor '%s' has %llu infinities or NaNs, which do not count",
                name, (unsigned long long)h->strange);
        if (!scales_set(out, name, t.scale) ||
            (how->asymmetric && !scales_set_zero(out, name, g.zero)))
            return no_memory(err);
        tell_tensor(c, &t);
        if (t.snr_db < worst.snr_db) worst = t;
    }
    if (worst.name)
        LOG(INFO, "Calibration: tensor '%s' loses the most precision in int8: its SNR is %.1f dB",
            worst.name, worst.snr_db);
    return PGY_OK;
}

static pgy_status measure(scale_table *out, pgy_graph *g, pgy_value *const *values, size_t count,
                          const pgy_build_config *config, const calibration_runner *runner,
                          pgy_error *err)
{
    calibration c = {.config = config,
                     .runner = runner,
                     .plain = {.size = sizeof c.plain,
                               .threads = config->threads,
                               .has_optimization_level = true},
                     .values = values,
                     .count = count};
    pgy_status st = pgy_metadata_create(&c.inputs, err);
    if (!st) st = interface_describe_all(c.inputs, g->inputs, g->input_count, err);
    if (!st) st = shapes_copy(&c.usual, c.inputs, err);
    if (!st) st = fix_shapes(c.usual, config, err);
    if (!st) st = allow_shapes(&c, err);
    if (!st) st = create_histograms(&c, err);
    if (!st) st = create_groups(&c, g, err);
    if (!st) st = run_all(&c, err);
    if (!st) st = take_scales(out, &c, err);
    if (!st)
        LOG(INFO, "Calibrated %zu tensors with %zu samples by %s", count, c.batches,
            calibrator_name(config->calibration->kind));
    deinit(&c);
    return st;
}

/* ---- The cache or the data ------------------------------------------------------------------ */

/* Writes a cache without scales if no tensor needs one, because TensorRT always writes the
 * requested cache. A later build that needs scales fills it. */
static pgy_status save_empty(const pgy_calibration *c, const scale_table *none, pgy_error *err)
{
    LOG(WARNING,
        "Calibration cache '%s' is written without scales, since no tensor of the model needs one; "
        "the next calibration fills it",
        c->cache);
    return calibration_cache_save(c->cache, none, c, err);
}

pgy_status calibrate(scale_table *out, pgy_graph *g, pgy_value *const *values, size_t count,
                     const pgy_build_config *config, const calibration_runner *runner,
                     pgy_error *err)
{
    const pgy_calibration *c = config->calibration;
    pgy_calibrator kind = c ? c->kind : PGY_CALIBRATOR_ENTROPY_2;
    bool found = false;
    pgy_status st =
        c && c->cache ? calibration_cache_load(out, &kind, &found, c->cache, err) : PGY_OK;
    if (st) return st;
    if (found) {
        /* Without a named calibrator, caches are written as entropy 2. */
        if (kind != c->kind &&
            !(c->kind == PGY_CALIBRATOR_LEAST_ERROR && kind == PGY_CALIBRATOR_ENTROPY_2))
            LOG(WARNING,
                "The calibration cache was written by calibrator %s, but %s is configured; the "
                "engine uses its scales anyway",
                calibrator_name(kind), calibrator_name(c->kind));
        if (c->asymmetric && !scales_have_zeros(out))
            LOG(WARNING, "The calibration cache has no zero points, so quantization is symmetric; "
                         "delete the cache to calibrate again");
        return PGY_OK;
    }
    if (!count) return c && c->cache ? save_empty(c, out, err) : PGY_OK;
    if (!c || !c->data || !runner)
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "int8 needs the ranges of %zu tensors, and the model has no Q/DQ: give calibration "
            "data (calibration.data) or a calibration cache (calibration.cache)",
            count);
    if (c->data_is_random)
        LOG(WARNING, "Calibration uses random data, so the int8 ranges fit random data and not "
                     "real data; give real data by calibration.data");
    st = measure(out, g, values, count, config, runner, err);
    return st || !c->cache ? st : calibration_cache_save(c->cache, out, c, err);
}
