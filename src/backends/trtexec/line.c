/* SPDX-License-Identifier: Apache-2.0 */
/* Each word is an argument of its own, and no shell reads them, so values need no quotes. But
 * trtexec separates the items of its lists by commas, and the parts of an item by colons; names
 * with a comma are put in single quotes, as its newer releases accept them. */
#include "backends/trtexec/line.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/log.h"

static const char LOG_PATH[] = "backends/trtexec/line.c";

/* ---- Words ---------------------------------------------------------------------------------- */

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a command line");
}

/* Appends --key or --key=value, unless an extra option has the key. */
static pgy_status put(strvec *out, const trtexec_line *l, const char *key, const char *value,
                      pgy_error *err)
{
    str word = {0};
    if (trtexec_extra(l->options, key)) return PGY_OK;
    str_printf(&word, "--%s", key);
    if (*value) str_printf(&word, "=%s", value);
    const bool ok = !word.failed && strvec_push(out, str_text(&word));
    str_deinit(&word);
    return ok ? PGY_OK : no_memory(err);
}

static pgy_status put_text(strvec *out, const trtexec_line *l, const char *key, str *value,
                           pgy_error *err)
{
    pgy_status st = value->failed ? no_memory(err) : PGY_OK;
    if (!st && value->size) st = put(out, l, key, str_text(value), err);
    str_deinit(value);
    return st;
}

/* A leading tilde would become the home folder. */
static pgy_status put_path(strvec *out, const trtexec_line *l, const char *key, const char *path,
                           pgy_error *err)
{
    str value = {0};
    str_printf(&value, "%s%s", *path == '~' ? "./" : "", path);
    return put_text(out, l, key, &value, err);
}

pgy_status line_name(str *out, const char *name, pgy_error *err)
{
    const char *quote = strchr(name, ',') ? "'" : "";
    if (strchr(name, '\''))
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "the name '%s' has a single quote, which trtexec's options cannot "
                             "express; rename it in the model",
                             name);
    str_printf(out, "%s%s%s%s:", out->size ? "," : "", quote, name, quote);
    return PGY_OK;
}

static void put_dims(str *out, const int64_t *dims, size_t count)
{
    if (!count) str_append(out, "scalar");
    for (size_t i = 0; i < count; i++) str_printf(out, "%s%" PRId64, i ? "x" : "", dims[i]);
}

/* ---- Shapes --------------------------------------------------------------------------------- */

static bool is_dynamic(const pgy_tensor_info *info)
{
    bool dynamic = info->rank < 0;
    for (int32_t i = 0; i < info->rank; i++) dynamic |= info->shape[i] < 0;
    return dynamic;
}

pgy_status line_shapes(str *out, const pgy_metadata *inputs, const pgy_tensor_map *feed,
                       pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_tensor_map_count(feed); i++) {
        const char *name = pgy_tensor_map_name(feed, i);
        const pgy_tensor *t = pgy_tensor_map_at(feed, i);
        const pgy_tensor_info *info = inputs ? pgy_metadata_find(inputs, name) : NULL;
        if (info && !is_dynamic(info)) continue;
        st = line_name(out, name, err);
        if (!st) put_dims(out, pgy_tensor_shape(t), pgy_tensor_rank(t));
    }
    return st;
}

/* ---- The profile ---------------------------------------------------------------------------- */

typedef struct range_text {
    str min, opt, max;
} range_text;

static const pgy_profile_range *find_range(const pgy_profile *p, const char *name)
{
    for (size_t i = 0; i < p->range_count; i++)
        if (str_match_wildcard(p->ranges[i].name, name)) return &p->ranges[i];
    return NULL;
}

/* Does the range repeat the model's shape? trtexec refuses shapes of inputs that have a fixed one.
 * A range with other entries gives the elements of an input that is a shape. */
static bool says_nothing(const pgy_profile_range *r, const pgy_tensor_info *info)
{
    if (is_dynamic(info) || (int64_t)r->count != info->rank) return false;
    for (size_t i = 0; i < r->count; i++)
        if ((r->min[i] >= 0 && r->min[i] != info->shape[i]) ||
            (r->max[i] >= 0 && r->max[i] != info->shape[i]))
            return false;
    return true;
}

static pgy_status put_range(str *out, const pgy_tensor_info *info, const int64_t *dims,
                            size_t count, pgy_error *err)
{
    int64_t known[PGY_MAX_RANK];
    const bool is_shape = info->rank == (int32_t)count;
    if (count > PGY_MAX_RANK)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "the profile has %zu entries for input '%s'; at most %d are supported",
                             count, info->name, PGY_MAX_RANK);
    for (size_t i = 0; i < count; i++) {
        const int64_t declared = is_shape && info->shape[i] >= 0 ? info->shape[i] : 1;
        known[i] = dims[i] < 0 ? declared : dims[i];
    }
    const pgy_status st = line_name(out, info->name, err);
    if (!st) put_dims(out, known, count);
    return st;
}

/* An input without a range has the feed's shape. */
static pgy_status put_input(range_text *t, const pgy_profile *p, const pgy_tensor_info *info,
                            const pgy_tensor_map *feed, pgy_error *err)
{
    const pgy_profile_range *r = find_range(p, info->name);
    const pgy_tensor *tensor = pgy_tensor_map_find(feed, info->name);
    pgy_profile_range own = {.name = info->name};
    if (r ? says_nothing(r, info) : !is_dynamic(info) || !tensor) return PGY_OK;
    if (!r) {
        own.count = pgy_tensor_rank(tensor);
        own.min = own.opt = own.max = pgy_tensor_shape(tensor);
        r = &own;
    }
    pgy_status st = put_range(&t->min, info, r->min, r->count, err);
    if (!st) st = put_range(&t->opt, info, r->opt, r->count, err);
    return st ? st : put_range(&t->max, info, r->max, r->count, err);
}

static pgy_status check_names(const pgy_profile *p, const pgy_metadata *inputs, pgy_error *err)
{
    for (size_t i = 0; i < p->range_count; i++) {
        bool known = false;
        for (size_t k = 0; !known && k < pgy_metadata_count(inputs); k++)
            known = str_match_wildcard(p->ranges[i].name, pgy_metadata_at(inputs, k)->name);
        if (!known)
            return pgy_error_set(err, PGY_E_NOT_FOUND, "profile: the model has no input '%s'",
                                 p->ranges[i].name);
    }
    return PGY_OK;
}

static pgy_status put_profile(strvec *out, const trtexec_line *l, pgy_error *err)
{
    const pgy_build_config *c = l->options->config;
    const pgy_profile *p = c && c->profile_count ? &c->profiles[0] : NULL;
    range_text t = {{0}};
    if (!p) return PGY_OK;
    pgy_status st = check_names(p, l->inputs, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(l->inputs); i++)
        st = put_input(&t, p, pgy_metadata_at(l->inputs, i), l->feed, err);
    if (!st) st = put_text(out, l, "minShapes", &t.min, err);
    if (!st) st = put_text(out, l, "optShapes", &t.opt, err);
    if (!st) st = put_text(out, l, "maxShapes", &t.max, err);
    str_deinit(&t.min);
    str_deinit(&t.opt);
    str_deinit(&t.max);
    return st;
}

/* ---- The configuration ---------------------------------------------------------------------- */

#define FIELD(member, key_, value_)                    \
    {                                                  \
        .name = #member, .key = key_, .value = value_, \
        .offset = offsetof(pgy_build_config, member)   \
    }
static const struct {
    const char *name, *key, *value;
    size_t offset;
} FLAGS[] = {
    FIELD(fp16, "fp16", ""),
    FIELD(bf16, "bf16", ""),
    FIELD(int8, "int8", ""),
    FIELD(fp8, "fp8", ""),
    FIELD(gpu_fallback, "allowGPUFallback", ""),
    FIELD(refittable, "refit", ""),
    FIELD(strip_plan, "stripWeights", ""),
    FIELD(sparse_weights, "sparsity", "enable"),
    FIELD(direct_io, "directIO", ""),
    FIELD(version_compatible, "versionCompatible", ""),
    FIELD(exclude_lean_runtime, "excludeLeanRuntime", ""),
    FIELD(error_on_timing_cache_miss, "errorOnTimingCacheMiss", ""),
    FIELD(disable_compilation_cache, "noCompilationCache", ""),
    FIELD(weight_streaming, "allowWeightStreaming", ""),
    FIELD(safety_restricted, "restricted", ""),
};

/* Fields that are passed on in another way, or that mean nothing without those. */
static const char *const OTHERS[] = {
    "tf32",    "constraints",     "layer_types",         "profiles", "has_optimization_level",
    "monitor", "workspace_bytes", "has_workspace_limit", "devices",  "optimization_level",
    "threads", "devices_first",   "rewrite_watch",
};

static bool is_passed(const char *field)
{
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++)
        if (!strcmp(FLAGS[i].name, field)) return true;
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (!strcmp(OTHERS[i], field)) return true;
    return false;
}

/* The JSON of a configuration has the fields that differ from their defaults. */
pgy_status line_warn(const pgy_build_config *config, pgy_error *err)
{
    char *text = NULL;
    json_value *root = NULL;
    arena memory = {0};
    if (!config) return PGY_OK;
    if (config->profile_count > 1)
        LOG(WARNING, "trtexec gets the first of %zu profiles only", config->profile_count);
    pgy_status st = pgy_build_config_json(&text, config, err);
    if (!st) st = json_parse(&root, text, strlen(text), &memory, err);
    for (const json_value *v = st ? NULL : root->first; v; v = v->next) {
        const char *name = arena_strndup(&memory, v->key.data, v->key.size);
        if (name && !is_passed(name)) LOG(WARNING, "config.%s has no effect on trtexec", name);
    }
    arena_deinit(&memory);
    pgy_text_free(text);
    return st;
}

static const char *type_word(pgy_dtype dtype)
{
    static const struct {
        pgy_dtype dtype;
        const char *word;
    } TYPES[] = {{PGY_F32, "fp32"},
                 {PGY_F16, "fp16"},
                 {PGY_BF16, "bf16"},
                 {PGY_I32, "int32"},
                 {PGY_I8, "int8"}};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (TYPES[i].dtype == dtype) return TYPES[i].word;
    return NULL;
}

static pgy_status put_layer_types(strvec *out, const trtexec_line *l, const pgy_build_config *c,
                                  pgy_error *err)
{
    str text = {0};
    for (size_t i = 0; i < c->layer_type_count; i++) {
        const pgy_type_choice *t = &c->layer_types[i];
        const char *word = type_word(t->dtype);
        pgy_status st = PGY_OK;
        if (!word)
            st = pgy_error_set(err, PGY_E_UNSUPPORTED,
                               "layer '%s': trtexec has no layers of type %s; expected float32, "
                               "float16, bfloat16, int32 or int8",
                               t->name, pgy_dtype_name(t->dtype));
        if (!st) st = line_name(&text, t->name, err);
        if (st) {
            str_deinit(&text);
            return st;
        }
        str_append(&text, word);
    }
    return put_text(out, l, "layerPrecisions", &text, err);
}

static pgy_status put_limits(strvec *out, const trtexec_line *l, const pgy_build_config *c,
                             pgy_error *err)
{
    static const char *const CONSTRAINTS[] = {
        [PGY_CONSTRAINTS_PREFER] = "prefer", [PGY_CONSTRAINTS_OBEY] = "obey"};
    str pool = {0}, level = {0};
    pgy_status st = PGY_OK;
    if (c->constraints) st = put(out, l, "precisionConstraints", CONSTRAINTS[c->constraints], err);
    if (c->has_workspace_limit)
        str_printf(&pool, "workspace:%.15g", (double)c->workspace_bytes / 1048576);
    if (c->has_optimization_level) str_printf(&level, "%" PRId64, c->optimization_level);
    if (!st) st = put_text(out, l, "memPoolSize", &pool, err);
    if (!st) st = put_text(out, l, "builderOptimizationLevel", &level, err);
    str_deinit(&pool);
    str_deinit(&level);
    return st;
}

static pgy_status put_build(strvec *out, const trtexec_line *l, pgy_error *err)
{
    static const pgy_build_config NONE = {.size = sizeof NONE};
    const pgy_build_config *c = l->options->config ? l->options->config : &NONE;
    pgy_status st = put_profile(out, l, err);
    if (!st && !c->tf32) st = put(out, l, "noTF32", "", err);
    for (size_t i = 0; !st && i < sizeof FLAGS / sizeof *FLAGS; i++)
        if (*(const bool *)((const char *)c + FLAGS[i].offset))
            st = put(out, l, FLAGS[i].key, FLAGS[i].value, err);
    if (!st) st = put_limits(out, l, c, err);
    if (!st) st = put_layer_types(out, l, c, err);
    if (!st && l->save) st = put_path(out, l, "saveEngine", l->save, err);
    return st;
}

/* "cuda" is GPU 0, "cuda:1" GPU 1. */
static pgy_status put_device(strvec *out, const trtexec_line *l, pgy_error *err)
{
    const pgy_build_config *c = l->options->config;
    const char *name = c && c->devices.count ? c->devices.items[0] : NULL;
    if (!name) return PGY_OK;
    const char *number = !strcmp(name, "cuda") ? "0" : !strncmp(name, "cuda:", 5) ? name + 5 : "";
    if (c->devices.count > 1 || !isdigit((unsigned char)*number))
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "config.devices: trtexec runs on one GPU, given as cuda:N; '%s' is "
                             "not it, or not alone",
                             name);
    return put(out, l, "device", number, err);
}

/* ---- The line ------------------------------------------------------------------------------- */

static pgy_status put_passed(strvec *out, const trtexec_line *l, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < trtexec_passed_count(); i++) {
        const trtexec_passed *p = trtexec_passed_at(i);
        const char *value = NULL;
        char buffer[32];
        if (trtexec_passed_value(&value, buffer, p, l->options))
            st = put(out, l, p->key, value, err);
    }
    return st;
}

/* A plan cannot be loaded and saved by one call. */
static pgy_status put_extra(strvec *out, const trtexec_line *l, pgy_error *err)
{
    const pgy_text_list *extra = &l->options->extra;
    for (size_t i = 0; i < extra->count; i++) {
        const char *text = extra->items[i];
        str word = {0};
        if (!text || (l->is_plan && str_starts_with(text, "saveEngine="))) continue;
        str_printf(&word, "--%s", text);
        const bool ok = !word.failed && strvec_push(out, str_text(&word));
        str_deinit(&word);
        if (!ok) return no_memory(err);
    }
    return PGY_OK;
}

pgy_status line_make(strvec *out, const trtexec_line *l, pgy_error *err)
{
    str shapes = {0};
    pgy_status st = strvec_push(out, l->program) ? PGY_OK : no_memory(err);
    if (!st) st = put_path(out, l, l->is_plan ? "loadEngine" : "onnx", l->model, err);
    if (!st) st = put_path(out, l, "exportOutput", l->output, err);
    if (!st && *l->load_inputs) st = put(out, l, "loadInputs", l->load_inputs, err);
    if (!st) st = line_shapes(&shapes, l->inputs, l->feed, err);
    if (!st) st = put_text(out, l, "shapes", &shapes, err);
    if (!st) st = put_passed(out, l, err);
    if (!st) st = put_device(out, l, err);
    if (!st && !l->is_plan) st = put_build(out, l, err);
    if (!st && LOG_IS_ON(EXTRA_VERBOSE)) st = put(out, l, "verbose", "", err);
    if (!st) st = put_extra(out, l, err);
    str_deinit(&shapes);
    return st;
}
