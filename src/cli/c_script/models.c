/* SPDX-License-Identifier: Apache-2.0 */
/* The model: its path, and the changes that are made before runners get it. */
#include "cli/c_script/c_script.h"
#include "cli/groups/model.h"
#include "cli/groups/trt.h"

static bool has_options(const pgy_model_load_options *o)
{
    return o->external_data_dir || o->ignore_external_data || o->allow_outside;
}

static void put_load(str *out, const pgy_model_load_options *o)
{
    const c_struct members = {out, "        .", ",\n"};
    str_append(out, "    const pgy_model_load_options load = {\n        .size = sizeof load,\n");
    c_text_member(&members, "external_data_dir", o->external_data_dir);
    c_flag(&members, "ignore_external_data", o->ignore_external_data);
    c_flag(&members, "allow_outside", o->allow_outside);
    str_append(out, "    };\n");
}

static void put_outputs(str *out, const pgy_output_selection *o)
{
    const c_struct members = {out, "        .", ",\n"};
    str_append(out,
               "    const pgy_output_selection outputs = {\n        .size = sizeof outputs,\n");
    c_texts_member(&members, "names", "name_count", o->names, o->name_count);
    c_flag(&members, "mark_all", o->mark_all);
    c_texts_member(&members, "op_types", "op_type_count", o->op_types, o->op_type_count);
    c_texts_member(&members, "exclude", "exclude_count", o->exclude, o->exclude_count);
    str_append(out, "    };\n");
}

static void put_half(str *out, const pgy_half_options *o)
{
    const c_struct members = {out, "    half.", ";\n"};
    str_append(out, "    pgy_half_options half = pgy_half_options_default();\n");
    if (o->dtype != pgy_half_options_default().dtype)
        c_member(&members, "dtype", "%s", c_dtype(o->dtype));
    c_texts_member(&members, "keep", "keep_count", o->keep, o->keep_count);
}

static void put_save(str *out, const pgy_model_save_options *o)
{
    const c_struct members = {out, "    save.", ";\n"};
    str_append(out, "    pgy_model_save_options save = pgy_model_save_options_default();\n");
    c_flag(&members, "external_data", o->external_data);
    c_text_member(&members, "external_data_path", o->external_data_path);
    if (o->size_threshold != pgy_model_save_options_default().size_threshold)
        c_member(&members, "size_threshold", "%llu", (unsigned long long)o->size_threshold);
    c_flag(&members, "one_file_per_tensor", o->one_file_per_tensor);
    c_flag(&members, "embed", o->embed);
}

/* The function `name` that gives the changed model. */
static void put_edit(c_script *s, const char *name, const pgy_output_selection *outputs, bool save)
{
    const onnx_load_args *load = ARGS_OF(s->line, onnx_load_args);
    const char *save_path = save ? ARGS_OF(s->line, onnx_save_args)->path : NULL;
    const pgy_model_load_options from = model_load_options(load);
    const pgy_model_save_options to = model_save_options(s->line);
    pgy_half_options half;
    const bool converts = model_half_options(&half, load);
    str *out = &s->functions;
    str_printf(out, "static pgy_status %s(pgy_model **out, pgy_error *err)\n{\n", name);
    if (has_options(&from)) put_load(out, &from);
    if (outputs) put_outputs(out, outputs);
    if (converts) put_half(out, &half);
    if (save_path) put_save(out, &to);
    str_printf(out,
               "    pgy_loader *loader = NULL;\n"
               "    pgy_status st = pgy_loader_from_path(&loader, MODEL, %s, err);\n",
               has_options(&from) ? "&load" : "NULL");
    if (ARGS_OF(s->line, onnx_shape_args)->infer)
        str_append(out, "    if (!st) st = pgy_loader_infer_shapes(&loader, NULL, err);\n");
    if (outputs)
        str_append(out, "    if (!st) st = pgy_loader_select_outputs(&loader, &outputs, err);\n");
    if (converts)
        str_append(out, "    if (!st) st = pgy_loader_convert_half(&loader, &half, err);\n");
    if (save_path) {
        str_append(out, "    if (!st) st = pgy_loader_save(&loader, ");
        c_text(out, save_path);
        str_append(out, ", &save, err);\n");
    }
    str_append(out, "    if (!st) st = pgy_loader_call(out, loader, err);\n"
                    "    pgy_loader_destroy(loader);\n    return st;\n}\n\n");
}

static void put_step(c_script *s, const char *variable, const char *function)
{
    str_printf(&s->variables, "    pgy_model *%s = NULL;\n", variable);
    str_printf(&s->steps, "    if (!st) st = %s(&%s, err);\n", function, variable);
    c_release(s, "pgy_model_destroy(%s);", variable);
}

static pgy_status put_trt_edit(c_script *s, pgy_error *err)
{
    strvec operators = {0};
    pgy_output_selection outputs;
    const bool selects = trt_selects_outputs(ARGS_OF(s->line, trt_network_args));
    const pgy_status st = selects ? trt_outputs(&outputs, &operators, s->line, err) : PGY_OK;
    if (!st) put_edit(s, "edit_model_for_engine", selects ? &outputs : NULL, s->plan->trt_saves);
    strvec_deinit(&operators);
    if (!st) put_step(s, "engine_model", "edit_model_for_engine");
    return st;
}

pgy_status c_models(c_script *s, pgy_error *err)
{
    const onnx_load_args *load = ARGS_OF(s->line, onnx_load_args);
    if (!model_path(s->line)) return PGY_OK;
    str_append(&s->functions, "static const char MODEL[] = ");
    c_text(&s->functions, model_path(s->line));
    str_append(&s->functions, ";\n\n");
    if (s->plan->edits_onnx) {
        const pgy_output_selection outputs = model_outputs(load);
        put_edit(s, "edit_model", model_selects_outputs(load) ? &outputs : NULL, true);
        put_step(s, "model", "edit_model");
    }
    return s->plan->edits_trt ? put_trt_edit(s, err) : PGY_OK;
}
