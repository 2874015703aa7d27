/* SPDX-License-Identifier: Apache-2.0 */
/* The source of input data as Python. */
#include "cli/groups/data.h"
#include "cli/groups/model.h"
#include "cli/script/script.h"

static void put_dims(str *out, const pgy_tensor_info *info)
{
    str_append_char(out, '[');
    for (int32_t k = 0; k < info->rank; k++) {
        if (k) str_append(out, ", ");
        if (info->dim_names && info->dim_names[k])
            py_text(out, info->dim_names[k]);
        else
            str_printf(out, "%lld", (long long)info->shape[k]);
    }
    str_append_char(out, ']');
}

static pgy_status put_shapes(py_script *s, py_call *c, const char *key, pgy_error *err)
{
    const model_args *model = ARGS_OF(s->line, model_args);
    const pgy_metadata *shapes = model ? model->shapes : NULL;
    (void)err;
    if (!shapes) return PGY_OK;
    py_import(s, "common", "TensorMetadata");
    str *out = py_argument(c, key);
    str_append(out, "TensorMetadata()");
    for (size_t i = 0; i < pgy_metadata_count(shapes); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(shapes, i);
        str_append(out, ".add(");
        py_text(out, info->name);
        str_append(out, ", None, ");
        put_dims(out, info);
        str_append_char(out, ')');
    }
    return PGY_OK;
}

#define ROW(key_, kind_, member_)                                          \
    {                                                                      \
        .key = key_, .kind = kind_, .offset = offsetof(data_args, member_) \
    }
static const py_row ROWS[] = {
    ROW("seed", PY_INT, seed),
    ROW("iterations", PY_INT, iterations),
    {.key = "input_metadata", .kind = PY_OTHER, .write = put_shapes},
    ROW("val_range", PY_MAP, val_range),
    ROW("data_loader_backend_module", PY_TEXT, backend_module),
};

static void load_files(py_script *s, const data_args *d)
{
    py_call c = py_call_of("StreamingDataLoader");
    py_import(s, "comparator", "StreamingDataLoader");
    py_texts(py_argument(&c, NULL), d->load_inputs.items, d->load_inputs.count);
    py_raw(&c, "allow_dirs", "True");
    s->loader = py_variable(s, &s->data, "data_loader", py_call_end(s, &c));
}

static pgy_status call_script(py_script *s, const data_args *d, pgy_error *err)
{
    const char *path = NULL, *function = NULL;
    const pgy_status st = value_script(&path, &function, d->script, s->memory, err);
    if (st) return st;
    py_call c = py_call_of("mod.import_from_script");
    py_import(s, "", "mod");
    py_value(&c, NULL, path);
    py_value(&c, "name", function ? function : "load_data");
    py_variable(s, &s->data, "data_loader", py_call_end(s, &c));
    s->loader = "data_loader()";
    return PGY_OK;
}

pgy_status script_data(py_script *s, pgy_error *err)
{
    const data_args *d = ARGS_OF(s->line, data_args);
    if (d->int_min || d->int_max || d->float_min || d->float_max)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "a script cannot have --int-min, --int-max, --float-min and "
                             "--float-max; use --val-range");
    if (d->load_inputs.given) {
        load_files(s, d);
        return PGY_OK;
    }
    if (d->script) return call_script(s, d, err);
    py_call c = py_call_of("DataLoader");
    const pgy_status st = py_rows(s, &c, ROWS, sizeof ROWS / sizeof *ROWS, d, err);
    const bool any = c.any;
    const char *text = py_call_end(s, &c);
    if (st || !any) return st;
    py_import(s, "comparator", "DataLoader");
    s->loader = py_variable(s, &s->data, "data_loader", text);
    return PGY_OK;
}
