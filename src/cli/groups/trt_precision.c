/* SPDX-License-Identifier: Apache-2.0 */
/* Types and calibration for the configuration of a build. Data for calibration come from the
 * command's data options. They are opened on first use, because a calibration cache may make them
 * unnecessary. */
#include <stdlib.h>
#include <string.h>

#include "cli/args/values.h"
#include "cli/groups/data.h"
#include "cli/groups/runners.h"
#include "cli/groups/trt.h"

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* ---- Types and formats ---------------------------------------------------------------------- */

/* The type for one of TensorRT's names or aliases, which was checked before. */
static pgy_dtype type_named(const char *name)
{
    static const struct {
        const char *name;
        pgy_dtype dtype;
    } TYPES[] = {{"float32", PGY_F32},  {"float", PGY_F32}, {"float16", PGY_F16},
                 {"half", PGY_F16},     {"bf16", PGY_BF16}, {"bfloat16", PGY_BF16},
                 {"int8", PGY_I8},      {"int32", PGY_I32}, {"int64", PGY_I64},
                 {"uint8", PGY_U8},     {"bool", PGY_BOOL}, {"int4", PGY_I4},
                 {"fp8", PGY_F8E4M3FN}, {"fp4", PGY_F4E2M1}};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (strcmp(TYPES[i].name, name) == 0) return TYPES[i].dtype;
    return PGY_DTYPE_NONE;
}

static pgy_status read_types(const pgy_type_choice **out, size_t *count, const pgy_text_list *list,
                             arena *a, pgy_error *err)
{
    const key_value *pairs = NULL;
    const pgy_status st = values_split(&pairs, count, list, a, err);
    if (st) return st;
    pgy_type_choice *choices = arena_alloc_array(a, *count + 1, sizeof *choices);
    if (!choices) return no_memory(err);
    for (size_t i = 0; i < *count; i++)
        choices[i] = (pgy_type_choice){pairs[i].key, type_named(pairs[i].value)};
    *out = choices;
    return PGY_OK;
}

static pgy_status read_formats(pgy_build_config *c, const pgy_text_list *list, arena *a,
                               pgy_error *err)
{
    const key_value *pairs = NULL;
    size_t count = 0;
    const pgy_status st = values_split(&pairs, &count, list, a, err);
    if (st) return st;
    pgy_format_choice *choices = arena_alloc_array(a, count + 1, sizeof *choices);
    if (!choices) return no_memory(err);
    for (size_t i = 0; i < count; i++) {
        cast_value v;
        pgy_status bad = value_cast(&v, pairs[i].value, a, err);
        if (bad) return bad;
        const size_t n = v.kind == CAST_LIST ? v.count : 1;
        const char **names = arena_alloc_array(a, n + 1, sizeof *names);
        if (!names) return no_memory(err);
        for (size_t k = 0; k < n; k++)
            names[k] = v.kind == CAST_LIST ? v.items[k].text : pairs[i].value;
        choices[i] = (pgy_format_choice){pairs[i].key, {.items = names, .count = n, .given = true}};
    }
    c->tensor_formats = choices;
    c->tensor_format_count = count;
    return PGY_OK;
}

static pgy_status fill_tensors(pgy_build_config *c, const trt_network_args *n, arena *a,
                               pgy_error *err)
{
    pgy_status st = read_types(&c->layer_types, &c->layer_type_count, &n->layer_precisions, a, err);
    if (!st) st = read_types(&c->tensor_types, &c->tensor_type_count, &n->tensor_dtypes, a, err);
    if (!st) st = read_formats(c, &n->tensor_formats, a, err);
    if (st) return st;
    if (n->all_dtypes) {
        pgy_type_choice *all = arena_alloc(a, sizeof *all);
        if (!all) return no_memory(err);
        *all = (pgy_type_choice){"*", type_named(n->all_dtypes)};
        c->tensor_types = all;
        c->tensor_type_count = 1;
    }
    if (n->all_formats.given) {
        pgy_format_choice *all = arena_alloc(a, sizeof *all);
        if (!all) return no_memory(err);
        *all = (pgy_format_choice){
            "*", {.items = n->all_formats.items, .count = n->all_formats.count, .given = true}};
        c->tensor_formats = all;
        c->tensor_format_count = 1;
    }
    return PGY_OK;
}

/* ---- Calibration ---------------------------------------------------------------------------- */

struct trt_calibration {
    pgy_calibration config;
    const args *line;
    pgy_data_loader *loader; /* loader that the build configuration gets; it reads from `source` */
    pgy_data_loader *source; /* the command's data, opened on first use */
    const pgy_metadata *inputs;
};

static pgy_status open_source(struct trt_calibration *c, pgy_error *err)
{
    if (c->source) return PGY_OK;
    const pgy_status st = data_loader_create(&c->source, c->line, NULL, err);
    return st || !c->inputs ? st : pgy_data_loader_set_metadata(c->source, c->inputs, err);
}

static pgy_status next(pgy_tensor_map **out, void *user, pgy_error *err)
{
    struct trt_calibration *c = user;
    const pgy_status st = open_source(c, err);
    return st ? st : pgy_data_loader_next(out, c->source, err);
}

static pgy_status set_metadata(void *user, const pgy_metadata *inputs, pgy_error *err)
{
    (void)err;
    struct trt_calibration *c = user;
    c->inputs = inputs;
    pgy_data_loader_destroy(c->source); /* a new model reads the data from the start */
    c->source = NULL;
    return PGY_OK;
}

static pgy_calibrator kind_of(const char *name)
{
    static const struct {
        const char *name;
        pgy_calibrator kind;
    } KINDS[] = {{"IInt8EntropyCalibrator2", PGY_CALIBRATOR_ENTROPY_2},
                 {"IInt8EntropyCalibrator", PGY_CALIBRATOR_ENTROPY},
                 {"IInt8MinMaxCalibrator", PGY_CALIBRATOR_MIN_MAX},
                 {"IInt8LegacyCalibrator", PGY_CALIBRATOR_LEGACY}};
    for (size_t i = 0; name && i < sizeof KINDS / sizeof *KINDS; i++)
        if (strcmp(KINDS[i].name, name) == 0) return KINDS[i].kind;
    return PGY_CALIBRATOR_LEAST_ERROR;
}

static bool needs_calibration(const pgy_build_config *c)
{
    for (size_t i = 0; i < c->layer_type_count; i++)
        if (c->layer_types[i].dtype == PGY_I8) return true;
    return c->int8;
}

static pgy_status fill_calibration(trt_config_args *s, args *line, pgy_error *err)
{
    static const pgy_data_loader_functions FUNCTIONS = {
        .size = sizeof FUNCTIONS, .next = next, .set_metadata = set_metadata};
    const data_args *data = ARGS_OF(line, data_args);
    struct trt_calibration *c = arena_alloc(&line->memory, sizeof *c);
    if (!c) return no_memory(err);
    c->line = line;
    c->config = (pgy_calibration){
        .size = sizeof c->config,
        .kind = kind_of(s->calibration_class),
        .cache = s->calibration_cache,
        .asymmetric = s->quantization && !strcmp(s->quantization, "asymmetric"),
        .quantile = s->quantile ? strtod(s->quantile, NULL) : 0,
        .regression_cutoff = s->regression_cutoff ? strtod(s->regression_cutoff, NULL) : 0,
        /* With `run` the same data are compared, so a warning about random data is not needed. */
        .data_is_random =
            data && !data->load_inputs.given && !data->script && !ARGS_OF(line, runner_args)};
    if (data) {
        const pgy_status st = pgy_data_loader_create(&c->loader, &FUNCTIONS, c, err);
        if (st) return st;
    }
    c->config.data = c->loader;
    s->calibration = c;
    s->config.calibration = &c->config;
    return PGY_OK;
}

pgy_status trt_precision_fill(trt_config_args *s, args *line, pgy_error *err)
{
    pgy_build_config *c = &s->config;
    const trt_network_args *network = ARGS_OF(line, trt_network_args);
    c->save_quantized = s->save_quantized;
    const pgy_status st = network ? fill_tensors(c, network, &line->memory, err) : PGY_OK;
    return st || !needs_calibration(c) ? st : fill_calibration(s, line, err);
}

void trt_config_release(args *line)
{
    trt_config_args *s = ARGS_OF(line, trt_config_args);
    if (!s || !s->calibration) return;
    pgy_data_loader_destroy(s->calibration->source);
    pgy_data_loader_destroy(s->calibration->loader);
    s->calibration = NULL;
    s->config.calibration = NULL;
}
