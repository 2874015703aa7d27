/* SPDX-License-Identifier: Apache-2.0 */
/* The runner of the original's extension for trtexec as Python. Its arguments have the names of the
 * options. */
#include <ctype.h>
#include <string.h>

#include "cli/args/values.h"
#include "cli/groups/model.h"
#include "cli/groups/operators.h"
#include "cli/groups/runners.h"
#include "cli/groups/trt.h"
#include "cli/script/runners.h"

static const char BACKEND[] = "trtexec";

/* ---- Options of the runner ------------------------------------------------------------------ */

static pgy_status no_counterpart(const char *option, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_UNSUPPORTED,
                         "%s has no counterpart in the Python package's runner for trtexec, so a "
                         "script cannot do what this command does; leave the option out",
                         option);
}

/* "--avg-runs" is the argument avg_runs. */
static const char *key_of(const py_script *s, const pgy_option *row)
{
    char *key = arena_strdup(s->memory, row->names + 2);
    for (char *c = key; c && *c; c++)
        if (*c == '-') *c = '_';
    return key ? key : "";
}

static pgy_status put_row(py_call *c, py_script *s, const pgy_option *row, const char *settings,
                          const char *defaults, pgy_error *err)
{
    const void *at = settings + row->offset;
    const int64_t *usual = (const int64_t *)(defaults + row->offset);
    const bool own =
        !strcmp(row->names, "--trtexec-option") || !strcmp(row->names, "--trtexec-timeout");
    const pgy_text_list *list = at;
    const char *const *text = at;
    if (own)
        return (row->kind == PGY_OPTION_APPEND ? list->given : *text != NULL)
                   ? no_counterpart(row->names, err)
                   : PGY_OK;
    if (row->kind == PGY_OPTION_FLAG) py_flag(c, key_of(s, row), *(const bool *)at);
    if (row->kind == PGY_OPTION_TEXT && *text) py_value(c, key_of(s, row), *text);
    if (row->kind == PGY_OPTION_INT && *(const int64_t *)at != *usual)
        str_printf(py_argument(c, key_of(s, row)), "%lld", (long long)*(const int64_t *)at);
    return PGY_OK;
}

static pgy_status put_own(py_call *c, py_script *s, pgy_error *err)
{
    const option_group *group = group_backend_options(BACKEND);
    const char *settings = args_find(s->line, BACKEND);
    void *defaults = arena_alloc(s->memory, group->settings_size);
    pgy_status st = defaults ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) memset(defaults, 0, group->settings_size);
    if (!st && group->defaults) group->defaults(defaults);
    for (const pgy_option *row = group->options; !st && row->kind != PGY_OPTION_END; row++)
        st = put_row(c, s, row, settings, defaults, err);
    return st;
}

/* ---- Shapes --------------------------------------------------------------------------------- */

static void put_dims(str *out, const int64_t *dims, size_t count)
{
    str_append_char(out, '[');
    for (size_t i = 0; i < count; i++)
        str_printf(out, "%s%lld", i ? ", " : "", (long long)(dims[i] < 0 ? 1 : dims[i]));
    str_append_char(out, ']');
}

/* [{'x': ([1, 3], [2, 3], [4, 3])}] */
static pgy_status put_profiles(py_call *c, py_script *s, pgy_error *err)
{
    const model_args *model = ARGS_OF(s->line, model_args);
    const pgy_profile *profiles = NULL;
    size_t count = 0;
    const pgy_status st = trt_profiles_resolve(&profiles, &count, ARGS_OF(s->line, trt_config_args),
                                               model->shapes, (args *)(uintptr_t)s->line, err);
    if (st || !count) return st;
    str *out = py_argument(c, "profile_dicts");
    str_append(out, "[{");
    for (size_t k = 0; k < profiles->range_count; k++) {
        const pgy_profile_range *r = &profiles->ranges[k];
        if (k) str_append(out, ", ");
        py_text(out, r->name);
        str_append(out, ": (");
        put_dims(out, r->min, r->count);
        str_append(out, ", ");
        put_dims(out, r->opt, r->count);
        str_append(out, ", ");
        put_dims(out, r->max, r->count);
        str_append_char(out, ')');
    }
    str_append(out, "}]");
    return PGY_OK;
}

static void put_input_shapes(py_call *c, py_script *s)
{
    const pgy_metadata *shapes = ARGS_OF(s->line, model_args)->shapes;
    if (!shapes) return;
    py_import(s, "common", "TensorMetadata");
    str *out = py_argument(c, "input_shapes");
    str_append(out, "TensorMetadata()");
    for (size_t i = 0; i < pgy_metadata_count(shapes); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(shapes, i);
        str_append(out, ".add(");
        py_text(out, info->name);
        str_append(out, ", None, ");
        put_dims(out, info->shape, (size_t)info->rank);
        str_append_char(out, ')');
    }
}

/* ---- The engine's options ------------------------------------------------------------------- */

/* The runner has no arguments for these. */
static pgy_status check_engine(const py_script *s, pgy_error *err)
{
    const trt_config_args *t = ARGS_OF(s->line, trt_config_args);
    const trt_network_args *n = ARGS_OF(s->line, trt_network_args);
    const struct {
        bool given;
        const char *option;
    } NONE[] = {
        {t->config.bf16, "--bf16"},
        {t->config.fp8, "--fp8"},
        {t->config.strip_plan, "--strip-plan"},
        {t->other_pools, "--pool-limit with other pools than workspace"},
        {t->optimization_level >= 0, "--builder-optimization-level"},
        {n->strongly_typed, "--strongly-typed"},
        {t->device && !isdigit((unsigned char)*t->device), "--device with a name"},
    };
    for (size_t i = 0; i < sizeof NONE / sizeof *NONE; i++)
        if (NONE[i].given) return no_counterpart(NONE[i].option, err);
    if (model_is_edited(s->line))
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "the Python package's runner for trtexec reads only files as they "
                             "are; change the model first, with 'convert', and give that file");
    return PGY_OK;
}

/* {'layer': 'trt.float16'} */
static pgy_status put_layers(py_call *c, py_script *s, pgy_error *err)
{
    const trt_network_args *n = ARGS_OF(s->line, trt_network_args);
    const key_value *pairs = NULL;
    size_t count = 0;
    const pgy_status st = values_split(&pairs, &count, &n->layer_precisions, s->memory, err);
    if (st || !count) return st;
    str *out = py_argument(c, "layer_precisions");
    for (size_t i = 0; i < count; i++) {
        str type = {0};
        str_printf(&type, "trt.%s", pairs[i].value);
        str_append(out, i ? ", " : "{");
        py_text(out, pairs[i].key);
        str_append(out, ": ");
        py_text(out, str_text(&type));
        str_deinit(&type);
    }
    str_append_char(out, '}');
    return PGY_OK;
}

static void put_plugins(py_call *c, py_script *s)
{
    const operator_args *o = ARGS_OF(s->line, operator_args);
    bool any = false;
    for (size_t i = 0; i < o->libraries.count; i++) {
        if (!o->libraries.items[i]) continue;
        str *out = any ? &c->text : py_argument(c, "plugins");
        str_append(out, any ? ", " : "[");
        py_text(out, o->libraries.items[i]);
        any = true;
    }
    if (any) str_append_char(&c->text, ']');
}

static pgy_status put_engine(py_call *c, py_script *s, pgy_error *err)
{
    const trt_config_args *t = ARGS_OF(s->line, trt_config_args);
    const char *const *save = runner_option(s->line, "trt", "--save-engine");
    put_input_shapes(c, s);
    pgy_status st = put_profiles(c, s, err);
    py_flag(c, "tf32", t->config.tf32);
    py_flag(c, "fp16", t->config.fp16);
    py_flag(c, "int8", t->config.int8);
    py_flag(c, "allow_gpu_fallback", t->config.gpu_fallback);
    if (t->precision_constraints && strcmp(t->precision_constraints, "none") != 0)
        py_value(c, "precision_constraints", t->precision_constraints);
    if (t->config.has_workspace_limit)
        str_printf(py_argument(c, "workspace"), "%llu",
                   (unsigned long long)t->config.workspace_bytes);
    py_flag(c, "use_dla", t->use_dla);
    py_flag(c, "refit", t->config.refittable);
    if (t->device) str_append(py_argument(c, "device"), t->device);
    if (!st) st = put_layers(c, s, err);
    put_plugins(c, s);
    if (save && *save && !runners_with(s->line, PGY_BACKEND_BUILDS_PLANS))
        py_value(c, "save_engine", *save);
    return st;
}

pgy_status script_trtexec(str *out, py_script *s, pgy_error *err)
{
    py_call c = py_call_of("TrtexecRunner");
    py_value(&c, "model_path", model_path(s->line));
    py_value(&c, "model_type", model_is_engine(ARGS_OF(s->line, model_args)) ? "engine" : "onnx");
    pgy_status st = check_engine(s, err);
    if (!st) st = put_own(&c, s, err);
    if (!st) st = put_engine(&c, s, err);
    const char *text = py_call_end(s, &c);
    if (st) return st;
    py_import(s, "_trtexec.backend", "TrtexecRunner");
    str_append(out, text);
    return PGY_OK;
}
