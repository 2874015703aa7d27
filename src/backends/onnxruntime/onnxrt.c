/* SPDX-License-Identifier: Apache-2.0 */
/* The ONNX Runtime backend: one session per runner. Names of inputs and outputs are read once. An
 * inference makes values over the fed tensors, runs, and returns tensors over the results. A model
 * with a file is passed to ONNX Runtime by path, so that this library does not load it. */
#include <string.h>

#include "backends/onnxruntime/sequence.h"
#include "backends/onnxruntime/settings.h"
#include "backends/onnxruntime/stop.h"
#include "base/alloc.h"
#include "base/cancel.h"
#include "base/str.h"
#include "base/system.h"

#include <polygraphy/backend.h>

extern const pgy_backend BACKEND_onnxrt;

typedef struct session {
    const pgy_backend_model *model;
    ort_settings settings;
    const ort_api *api;
    ort_session *handle;
    strvec inputs, outputs;
    ort_form *forms; /* tensor, sequence or optional: one for each input, then for each output */
    int64_t last_ns; /* time of the last run; -1: none yet */
} session;

static pgy_status probe(char *why, size_t why_size)
{
    const ort_api *api;
    pgy_error err = {0};
    pgy_status st = ort_open(&api, &err);
    if (st && why_size) {
        size_t n = strlen(err.text);
        if (n >= why_size) n = why_size - 1;
        memcpy(why, err.text, n);
        why[n] = '\0';
    }
    return st;
}

static pgy_status create(void **out, const pgy_backend_model *model, const void *options,
                         pgy_error *err)
{
    if (!model || (!model->path && !model->data))
        return pgy_error_set(err, PGY_E_ARGUMENT, "ONNX Runtime needs a model, and none was given");
    session *s = mem_calloc(1, sizeof *s);
    if (!s) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    s->model = model;
    s->last_ns = -1;
    if (options) s->settings = *(const ort_settings *)options;
    *out = s;
    return PGY_OK;
}

/* ---- Activation ----------------------------------------------------------------------------- */

typedef ort_status *(*name_call)(const ort_session *, size_t, ort_allocator *, char **);

static pgy_status read_names(strvec *out, session *s, size_t count, name_call call, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i++) {
        char *name = NULL;
        st = ort_check(s->api, call(s->handle, i, s->api->allocator, &name), "reading a name", err);
        if (st) break;
        if (!strvec_push(out, name)) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        pgy_status freed = ort_check(s->api, s->api->allocator_free(s->api->allocator, name),
                                     "freeing a name", st ? NULL : err);
        if (!st) st = freed;
    }
    return st;
}

typedef ort_status *(*type_call)(const ort_session *, size_t, ort_type_info **);

static pgy_status read_forms(ort_form *out, session *s, const strvec *names, type_call call,
                             pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < names->count; i++) {
        ort_type_info *type = NULL;
        st = ort_check(s->api, call(s->handle, i, &type), names->items[i], err);
        if (!st) st = ort_form_read(&out[i], s->api, type, names->items[i], err);
        if (type) s->api->release_type_info(type);
    }
    return st;
}

static pgy_status read_interface(session *s, pgy_error *err)
{
    size_t inputs = 0, outputs = 0;
    pgy_status st =
        ort_check(s->api, s->api->input_count(s->handle, &inputs), "counting inputs", err);
    if (!st)
        st = ort_check(s->api, s->api->output_count(s->handle, &outputs), "counting outputs", err);
    if (!st) st = read_names(&s->inputs, s, inputs, s->api->input_name, err);
    if (!st) st = read_names(&s->outputs, s, outputs, s->api->output_name, err);
    if (st) return st;
    s->forms = mem_calloc(inputs + outputs + 1, sizeof *s->forms);
    if (!s->forms) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    st = read_forms(s->forms, s, &s->inputs, s->api->input_type, err);
    if (!st) st = read_forms(s->forms + inputs, s, &s->outputs, s->api->output_type, err);
    return st;
}

static void deactivate(void *runner)
{
    session *s = runner;
    if (s->handle) s->api->release_session(s->handle);
    s->handle = NULL;
    strvec_deinit(&s->inputs);
    strvec_deinit(&s->outputs);
    mem_free(s->forms);
    s->forms = NULL;
}

static pgy_status activate(void *runner, pgy_error *err)
{
    session *s = runner;
    ort_options *options = NULL;
    pgy_status st = ort_open(&s->api, err);
    if (st) return st;
    st = ort_settings_apply(&options, s->api, &s->settings, err);
    if (st) return st;
    const pgy_backend_model *m = s->model;
    ort_status *made =
        m->path
            ? s->api->session_from_path(s->api->env, m->path, options, &s->handle)
            : s->api->session_from_array(s->api->env, m->data, m->data_size, options, &s->handle);
    st = ort_check(s->api, made, "loading the model", err);
    s->api->release_options(options);
    if (!st) st = read_interface(s, err);
    if (st) deactivate(s);
    return st;
}

static void destroy(void *runner)
{
    session *s = runner;
    if (s) deactivate(s);
    mem_free(s);
}

/* ---- Metadata ------------------------------------------------------------------------------- */

static pgy_status add_tensor_info(pgy_metadata *out, const ort_api *api, const char *name,
                                  const ort_shape_info *info, pgy_error *err)
{
    int type = 0;
    size_t rank = 0;
    int64_t dims[PGY_MAX_RANK];
    const char *names[PGY_MAX_RANK] = {NULL};
    pgy_status st = ort_check(api, api->element_type(info, &type), name, err);
    if (!st) st = ort_check(api, api->rank(info, &rank), name, err);
    if (!st && rank > PGY_MAX_RANK)
        st = pgy_error_set(err, PGY_E_UNSUPPORTED,
                           "'%s' has %zu dimensions; at most %d are supported", name, rank,
                           PGY_MAX_RANK);
    if (!st) st = ort_check(api, api->dims(info, dims, rank), name, err);
    if (!st) st = ort_check(api, api->dim_names(info, names, rank), name, err);
    if (st) return st;
    for (size_t i = 0; i < rank; i++)
        if (dims[i] >= 0 || !names[i] || !names[i][0]) names[i] = NULL;
    pgy_tensor_info t = {.name = name,
                         .dtype = ort_dtype_from_type(type),
                         .rank = (int32_t)rank,
                         .shape = dims,
                         .dim_names = names};
    return pgy_metadata_set(out, &t, err);
}

static pgy_status add_info(pgy_metadata *out, session *s, const char *name, size_t i,
                           type_call call, const ort_form *form, pgy_error *err)
{
    ort_type_info *type = NULL;
    const ort_shape_info *info = NULL;
    int kind = ORT_UNKNOWN;
    pgy_status st = ort_check(s->api, call(s->handle, i, &type), name, err);
    if (!st) st = ort_check(s->api, s->api->kind_of(type, &kind), name, err);
    if (!st && kind == ORT_TENSOR)
        st = ort_check(s->api, s->api->tensor_info_of(type, &info), name, err);
    if (!st && info) {
        st = add_tensor_info(out, s->api, name, info, err);
    } else if (!st) {
        pgy_tensor_info t = {.name = name, .rank = -1, .dtype = form->element, .form = form->form};
        st = pgy_metadata_set(out, &t, err);
    }
    if (type) s->api->release_type_info(type);
    return st;
}

static pgy_status inputs(void *runner, pgy_metadata *out, pgy_error *err)
{
    session *s = runner;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < s->inputs.count; i++)
        st = add_info(out, s, s->inputs.items[i], i, s->api->input_type, &s->forms[i], err);
    return st;
}

static pgy_status outputs(void *runner, pgy_metadata *out, pgy_error *err)
{
    session *s = runner;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < s->outputs.count; i++)
        st = add_info(out, s, s->outputs.items[i], i, s->api->output_type,
                      &s->forms[s->inputs.count + i], err);
    return st;
}

/* ---- Inference ------------------------------------------------------------------------------ */

static pgy_status take_outputs(pgy_tensor_map *out, session *s, ort_value **values, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < s->outputs.count; i++) {
        ort_value *value = values[i];
        values[i] = NULL;
        st = ort_take(out, s->api, s->outputs.items[i], value,
                      s->forms[s->inputs.count + i].element, err);
    }
    return st;
}

static bool shares_memory(const pgy_tensor *t, const pgy_tensor_map *feed)
{
    const char *data = pgy_tensor_data((pgy_tensor *)t);
    for (size_t i = 0; i < pgy_tensor_map_count(feed); i++) {
        pgy_tensor *input = pgy_tensor_map_at(feed, i);
        const char *begin = pgy_tensor_data(input);
        if (begin && data >= begin && data < begin + pgy_tensor_size_bytes(input)) return true;
    }
    return false;
}

/* The runtime gives an output that is an input of the model, or a reshaped one, in the memory of
 * the caller's tensor, which may be released before the output. */
static pgy_status copy_shared(pgy_tensor_map *out, const pgy_tensor_map *feed, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_tensor_map_count(out); i++) {
        pgy_tensor *t = pgy_tensor_map_at(out, i), *copy = NULL;
        if (pgy_tensor_dtype(t) == PGY_STRING || !shares_memory(t, feed)) continue;
        st = pgy_tensor_copy(&copy, pgy_tensor_view(t), err);
        if (!st) st = pgy_tensor_map_adopt(out, pgy_tensor_map_name(out, i), copy, err);
    }
    return st;
}

static pgy_status infer(void *runner, const pgy_tensor_map *feed, pgy_tensor_map *out,
                        int64_t *time_ns, pgy_error *err)
{
    session *s = runner;
    size_t in_count = s->inputs.count, out_count = s->outputs.count;
    pgy_status st = PGY_OK;
    ort_stop stop;
    ort_value **values = mem_calloc(in_count + out_count, sizeof *values),
              **results = values + in_count;
    if (!values) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; !st && i < in_count; i++)
        st = ort_feed(&values[i], s->api, s->inputs.items[i], &s->forms[i], feed, err);
    if (st) goto done;

    ort_stop_begin(&stop, s->api, s->last_ns);
    int64_t begin = clock_ns();
    st = ort_check(s->api,
                   s->api->run(s->handle, stop.options, (const char *const *)s->inputs.items,
                               (const ort_value *const *)values, in_count,
                               (const char *const *)s->outputs.items, out_count, results),
                   "inference", err);
    *time_ns = s->last_ns = clock_ns() - begin;
    ort_stop_end(&stop);
    if (st) st = cancel_check_after(st, err);
    if (!st) st = take_outputs(out, s, results, err);
    if (!st) st = copy_shared(out, feed, err);
done:
    for (size_t i = 0; i < in_count + out_count; i++)
        if (values[i]) s->api->release_value(values[i]);
    mem_free(values);
    return st;
}

static const char *version(void)
{
    const ort_api *api;
    return ort_open(&api, NULL) ? "" : api->version;
}

const pgy_backend BACKEND_onnxrt = {
    .size = sizeof(pgy_backend),
    .abi = PGY_BACKEND_ABI,
    .name = "onnxrt",
    .runner_prefix = "onnxrt-runner",
    .title = "ONNX Runtime",
    .description = "run inference with ONNX Runtime",
    .options = ORT_OPTIONS,
    .options_size = sizeof(ort_settings),
    .probe = probe,
    .create = create,
    .activate = activate,
    .inputs = inputs,
    .outputs = outputs,
    .infer = infer,
    .deactivate = deactivate,
    .destroy = destroy,
    .version = version,
};
