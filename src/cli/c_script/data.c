/* SPDX-License-Identifier: Apache-2.0 */
/* The data loader, and the one that calibration reads. */
#include <inttypes.h>

#include "cli/c_script/c_script.h"
#include "cli/groups/data.h"
#include "cli/groups/model.h"

static bool has_names(const pgy_tensor_info *info)
{
    for (int32_t i = 0; info->dim_names && i < info->rank; i++)
        if (info->dim_names[i]) return true;
    return false;
}

static void put_shape(str *out, const pgy_tensor_info *info)
{
    str_append(out, "        {.name = ");
    c_text(out, info->name);
    if (info->dtype) str_printf(out, ", .dtype = %s", c_dtype(info->dtype));
    str_printf(out, ", .rank = %d", (int)info->rank);
    if (info->rank > 0) {
        str_append(out, ", .shape = ");
        c_integers(out, info->shape, (size_t)info->rank);
    }
    if (has_names(info)) {
        str_append(out, ", .dim_names = ");
        c_texts(out, info->dim_names, (size_t)info->rank);
    }
    str_append(out, "},\n");
}

static void put_shapes(str *out, const pgy_metadata *shapes)
{
    str_append(out, "static pgy_status make_shapes(pgy_metadata **out, pgy_error *err)\n{\n"
                    "    const pgy_tensor_info SHAPES[] = {\n");
    for (size_t i = 0; i < pgy_metadata_count(shapes); i++)
        put_shape(out, pgy_metadata_at(shapes, i));
    str_append(out, "    };\n    pgy_status st = pgy_metadata_create(out, err);\n"
                    "    for (size_t i = 0; !st && i < sizeof SHAPES / sizeof *SHAPES; i++)\n"
                    "        st = pgy_metadata_set(*out, &SHAPES[i], err);\n    return st;\n}\n\n");
}

static void put_range(str *out, const pgy_value_range *r)
{
    static const char *const KINDS[] = {[PGY_RANGE_ALL] = "PGY_RANGE_ALL",
                                        [PGY_RANGE_INTEGERS] = "PGY_RANGE_INTEGERS",
                                        [PGY_RANGE_FLOATS] = "PGY_RANGE_FLOATS"};
    const c_struct members = {out, ", .", ""};
    str_append(out, "        {.name = ");
    c_text(out, r->name);
    c_enum_member(&members, "kind", KINDS, (int)r->kind);
    c_real_member(&members, "low", r->low);
    c_real_member(&members, "high", r->high);
    c_flag(&members, "is_integer", r->is_integer);
    if (r->is_integer && r->low_int) {
        str_append(out, ", .low_int = ");
        c_integer(out, r->low_int);
    }
    if (r->is_integer && r->high_int) {
        str_append(out, ", .high_int = ");
        c_integer(out, r->high_int);
    }
    str_append(out, "},\n");
}

static void put_random(str *out, const char *name, const pgy_random_options *o, bool shapes)
{
    const pgy_random_options usual = pgy_random_options_default();
    const c_struct members = {out, "    o.", ";\n"};
    str_printf(out, "static pgy_status %s(pgy_data_loader **out, pgy_error *err)\n{\n", name);
    if (o->range_count) {
        str_append(out, "    static const pgy_value_range RANGES[] = {\n");
        for (size_t i = 0; i < o->range_count; i++) put_range(out, &o->ranges[i]);
        str_append(out, "    };\n");
    }
    str_append(out, "    pgy_random_options o = pgy_random_options_default();\n");
    if (shapes) str_append(out, "    pgy_metadata *shapes = NULL;\n");
    if (o->seed != usual.seed) c_member(&members, "seed", "%" PRIu32, o->seed);
    if (o->iterations != usual.iterations) c_member(&members, "iterations", "%zu", o->iterations);
    if (o->range_count) c_member(&members, "ranges", "RANGES");
    if (o->range_count) c_member(&members, "range_count", "sizeof RANGES / sizeof *RANGES");
    c_flag(&members, "torch_floats", o->torch_floats);
    if (!shapes) {
        str_append(out, "    return pgy_random_loader_create(out, &o, err);\n}\n\n");
        return;
    }
    str_append(out, "    pgy_status st = make_shapes(&shapes, err);\n    o.inputs = shapes;\n"
                    "    if (!st) st = pgy_random_loader_create(out, &o, err);\n"
                    "    pgy_metadata_destroy(shapes);\n    return st;\n}\n\n");
}

static void put_given(str *out, const data_args *s)
{
    str_append(out, "static pgy_status make_data(pgy_data_loader **out, pgy_error *err)\n{\n");
    if (s->load_inputs.given) {
        str_append(out, "    static const char *const FILES[] = {");
        for (size_t i = 0; i < s->load_inputs.count; i++) {
            if (i) str_append(out, ", ");
            c_text(out, s->load_inputs.items[i]);
        }
        str_append(out, "};\n    return pgy_file_loader_create(out, FILES, sizeof FILES / sizeof "
                        "*FILES, err);\n}\n\n");
        return;
    }
    str_append(out, "    return pgy_script_loader_create(out, ");
    c_text(out, s->script);
    str_append(out, ", err);\n}\n\n");
}

void c_data(c_script *s)
{
    const pgy_metadata *shapes = ARGS_OF(s->line, model_args)->shapes;
    if (data_is_given(s->line)) {
        put_given(&s->functions, ARGS_OF(s->line, data_args));
    } else {
        const pgy_random_options o = data_random_options(s->line);
        if (shapes) put_shapes(&s->functions, shapes);
        put_random(&s->functions, "make_data", &o, shapes != NULL);
    }
}

/* ---- Calibration ---------------------------------------------------------------------------- */

static const char SAMPLES[] =
    "/* The samples for calibration are opened when a builder asks for them: a cache may make "
    "them\n"
    " * unnecessary. Each model reads them from the start. */\n"
    "static struct {\n"
    "    pgy_data_loader *source;\n"
    "    const pgy_metadata *inputs;\n"
    "} samples;\n\n"
    "static pgy_status next_sample(pgy_tensor_map **out, void *user, pgy_error *err)\n"
    "{\n"
    "    (void)user;\n"
    "    pgy_status st = PGY_OK;\n"
    "    if (!samples.source) {\n"
    "        st = make_%s(&samples.source, err);\n"
    "        if (!st && samples.inputs)\n"
    "            st = pgy_data_loader_set_metadata(samples.source, samples.inputs, err);\n"
    "    }\n"
    "    return st ? st : pgy_data_loader_next(out, samples.source, err);\n"
    "}\n\n"
    "static pgy_status begin_samples(void *user, const pgy_metadata *inputs, pgy_error *err)\n"
    "{\n"
    "    (void)user, (void)err;\n"
    "    samples.inputs = inputs;\n"
    "    pgy_data_loader_destroy(samples.source);\n"
    "    samples.source = NULL;\n"
    "    return PGY_OK;\n"
    "}\n\n"
    "static const pgy_data_loader_functions SAMPLES = {\n"
    "    .size = sizeof SAMPLES, .next = next_sample, .set_metadata = begin_samples};\n\n";

static void put_settings(str *out, const pgy_calibration *c)
{
    static const char *const KINDS[] = {[PGY_CALIBRATOR_ENTROPY_2] = "PGY_CALIBRATOR_ENTROPY_2",
                                        [PGY_CALIBRATOR_ENTROPY] = "PGY_CALIBRATOR_ENTROPY",
                                        [PGY_CALIBRATOR_MIN_MAX] = "PGY_CALIBRATOR_MIN_MAX",
                                        [PGY_CALIBRATOR_LEGACY] = "PGY_CALIBRATOR_LEGACY",
                                        [PGY_CALIBRATOR_LEAST_ERROR] =
                                            "PGY_CALIBRATOR_LEAST_ERROR"};
    const c_struct members = {out, "    .", ",\n"};
    str_append(out,
               "static pgy_calibration calibration = {\n    .size = sizeof(pgy_calibration),\n");
    c_enum_member(&members, "kind", KINDS, (int)c->kind);
    c_text_member(&members, "cache", c->cache);
    c_real_member(&members, "quantile", c->quantile);
    c_real_member(&members, "regression_cutoff", c->regression_cutoff);
    c_flag(&members, "data_is_random", c->data_is_random);
    c_flag(&members, "asymmetric", c->asymmetric);
    str_append(out, "};\n\n");
}

void c_calibration(c_script *s)
{
    const pgy_calibration *c = s->plan->config ? s->plan->config->calibration : NULL;
    if (!c) return;
    /* --input-shapes do not apply to samples */
    const bool other = ARGS_OF(s->line, model_args)->shapes && !data_is_given(s->line);
    if (other) {
        const pgy_random_options o = data_random_options(s->line);
        put_random(&s->functions, "make_samples", &o, false);
    }
    str_printf(&s->functions, SAMPLES, other ? "samples" : "data");
    put_settings(&s->functions, c);
    str_append(&s->steps, "    if (!st) st = pgy_data_loader_create(&calibration.data, &SAMPLES, "
                          "NULL, err);\n");
    c_release(s, "pgy_data_loader_destroy(samples.source);");
    c_release(s, "pgy_data_loader_destroy(calibration.data);");
}
