/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime for tests of the comparison, the driver and the program: it returns set values or NaN,
 * delays, fails or crashes on demand. Help does not show it. Inputs and outputs are the model's
 * (dynamic dimensions are 1), or one of each without a model. The outputs depend only on the bytes
 * of all inputs. */
#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/str.h"

#include <polygraphy/backend.h>
#include <polygraphy/onnx.h>

extern const pgy_backend BACKEND_fake;

typedef struct settings {
    const char *mode;
    int64_t delay_ms;
} settings;

static const char *const MODES[] = {"ok",    "nan",   "inf",     "delay", "crash", "abort",
                                    "shape", "error", "missing", "extra", "start", NULL};

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("--fake-mode", settings, mode, .choices = MODES, .hidden = true,
                 .help = "behaviour of the fake runtime"),
    PGY_OPT_INT("--fake-delay", settings, delay_ms, .meta = "MS", .hidden = true,
                .help = "time that each inference takes with --fake-mode delay"),
    PGY_OPT_END,
};

typedef struct fake {
    const char *mode;
    int64_t delay_ms;
    const pgy_backend_model *source; /* NULL: no model */
    pgy_metadata *inputs, *outputs;
} fake;

static bool mode_is(const fake *f, const char *mode)
{
    return !strcmp(f->mode, mode);
}

static pgy_status create(void **out, const pgy_backend_model *model, const void *options,
                         pgy_error *err)
{
    const settings *s = options;
    const char *mode = s && s->mode ? s->mode : "ok";
    size_t i = 0;
    while (MODES[i] && strcmp(MODES[i], mode)) i++;
    if (!MODES[i])
        return pgy_error_set(err, PGY_E_ARGUMENT, "fake.fake_mode: '%s' is not a mode", mode);
    fake *f = mem_calloc(1, sizeof *f);
    if (!f) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    f->mode = MODES[i];
    f->delay_ms = s && s->delay_ms > 0 ? s->delay_ms : 100;
    f->source = model;
    *out = f;
    return PGY_OK;
}

/* ---- Inputs and outputs --------------------------------------------------------------------- */

static pgy_status add_default(pgy_metadata *m, const char *name, pgy_error *err)
{
    static const int64_t SHAPE[] = {1, 4};
    pgy_tensor_info info = {.name = name, .dtype = PGY_F32, .rank = 2, .shape = SHAPE};
    return pgy_metadata_set(m, &info, err);
}

static bool is_initializer(const pgy_onnx_graph *g, const char *name)
{
    for (size_t i = 0; i < g->initializer_count; i++)
        if (!strcmp(g->initializers[i]->name, name)) return true;
    return false;
}

static pgy_status describe_values(pgy_metadata *out, pgy_model *model,
                                  pgy_onnx_value_info *const *values, size_t count, pgy_error *err)
{
    const pgy_onnx_graph *g = pgy_model_proto(model)->graph;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i++) {
        pgy_tensor_info info = {0};
        if (is_initializer(g, values[i]->name)) continue;
        st = pgy_onnx_value_info_describe(&info, model, values[i], err);
        if (!st) st = pgy_metadata_set(out, &info, err);
    }
    return st;
}

static pgy_status describe_model(fake *f, pgy_error *err)
{
    const pgy_backend_model *source = f->source;
    pgy_model *model = source->model ? pgy_model_retain(source->model) : NULL;
    pgy_status st = PGY_OK;
    if (!model && source->path) st = pgy_model_load(&model, source->path, NULL, err);
    if (!model && !source->path)
        st = pgy_model_parse(&model, source->data, source->data_size, true, NULL, err);
    if (st) return st;
    const pgy_onnx_graph *g = pgy_model_proto(model)->graph;
    if (!g) {
        st = pgy_error_set(err, PGY_E_FORMAT, "the model has no graph");
    } else {
        st = describe_values(f->inputs, model, g->inputs, g->input_count, err);
        if (!st) st = describe_values(f->outputs, model, g->outputs, g->output_count, err);
    }
    pgy_model_destroy(model);
    return st;
}

static void deactivate(void *runner)
{
    fake *f = runner;
    pgy_metadata_destroy(f->inputs);
    pgy_metadata_destroy(f->outputs);
    f->inputs = f->outputs = NULL;
}

static pgy_status activate(void *runner, pgy_error *err)
{
    fake *f = runner;
    if (mode_is(f, "start"))
        return pgy_error_set(err, PGY_E_BACKEND,
                             "the fake runtime does not start, as fake.fake_mode start demands");
    pgy_status st = pgy_metadata_create(&f->inputs, err);
    if (!st) st = pgy_metadata_create(&f->outputs, err);
    if (!st && f->source) {
        st = describe_model(f, err);
    } else if (!st) {
        st = add_default(f->inputs, "input", err);
        if (!st) st = add_default(f->outputs, "output", err);
    }
    if (st) deactivate(f);
    return st;
}

static void destroy(void *runner)
{
    if (runner) deactivate(runner);
    mem_free(runner);
}

static pgy_status copy_metadata(pgy_metadata *out, const pgy_metadata *from, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_metadata_count(from); i++)
        st = pgy_metadata_set(out, pgy_metadata_at(from, i), err);
    return st;
}

static pgy_status inputs(void *runner, pgy_metadata *out, pgy_error *err)
{
    return copy_metadata(out, ((const fake *)runner)->inputs, err);
}

static pgy_status outputs(void *runner, pgy_metadata *out, pgy_error *err)
{
    return copy_metadata(out, ((const fake *)runner)->outputs, err);
}

/* ---- Inference ------------------------------------------------------------------------------ */

static uint64_t hash_feed(const pgy_tensor_map *feed)
{
    uint64_t h = 0;
    for (size_t i = 0; i < pgy_tensor_map_count(feed); i++) {
        const pgy_tensor *t = pgy_tensor_map_at(feed, i);
        span bytes = {pgy_tensor_data(t), pgy_tensor_size_bytes(t)};
        if (pgy_tensor_dtype(t) != PGY_STRING) h = h * 31 + span_hash(bytes);
    }
    return h;
}

/* Fills floats with values in [0, 1), integers with values in [0, 100). Values are made in double
 * and converted. */
static pgy_status fill(pgy_tensor *t, uint64_t seed, const char *mode, pgy_error *err)
{
    pgy_dtype dtype = pgy_tensor_dtype(t);
    size_t count = pgy_tensor_count(t);
    if (dtype == PGY_STRING || !count) return PGY_OK;
    pgy_tensor *numbers = NULL;
    pgy_status st =
        pgy_tensor_create(&numbers, PGY_F64, pgy_tensor_rank(t), pgy_tensor_shape(t), err);
    if (st) return st;
    double *v = pgy_tensor_data(numbers), scale = pgy_dtype_is_float(dtype) ? 1.0 : 100.0;
    for (size_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        v[i] = (double)(seed >> 40) * scale / (double)(1u << 24);
    }
    if (!strcmp(mode, "nan")) v[count / 2] = (double)NAN;
    if (!strcmp(mode, "inf")) v[count / 2] = (double)INFINITY;
    st = pgy_view_convert(pgy_tensor_view(t), pgy_tensor_view(numbers), false, err);
    pgy_tensor_release(numbers);
    return st;
}

static pgy_status add_output(pgy_tensor_map *out, const pgy_tensor_info *info, uint64_t seed,
                             const char *mode, pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK];
    size_t rank = info->rank > 0 ? (size_t)info->rank : 0;
    pgy_tensor *t = NULL;
    for (size_t i = 0; i < rank; i++) shape[i] = info->shape[i] < 0 ? 1 : info->shape[i];
    if (!strcmp(mode, "shape")) shape[rank ? rank - 1 : rank++] = 7;
    pgy_status st = pgy_tensor_create(&t, info->dtype != PGY_DTYPE_NONE ? info->dtype : PGY_F32,
                                      rank, shape, err);
    if (st) return st;
    st = fill(t, seed, mode, err);
    if (!st) return pgy_tensor_map_adopt(out, info->name, t, err);
    pgy_tensor_release(t);
    return st;
}

static pgy_status infer(void *runner, const pgy_tensor_map *feed, pgy_tensor_map *out,
                        int64_t *time_ns, pgy_error *err)
{
    const fake *f = runner;
    (void)time_ns; /* the runner measures the time */
    if (mode_is(f, "error"))
        return pgy_error_set(err, PGY_E_BACKEND,
                             "the fake runtime fails, as fake.fake_mode error demands");
    if (mode_is(f, "crash")) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer would report it and exit instead */
        raise(SIGSEGV);
    }
    if (mode_is(f, "abort")) abort();
    if (mode_is(f, "delay")) cancel_sleep_ms(f->delay_ms);

    static const int64_t ONE[] = {1};
    const pgy_tensor_info extra = {.name = "extra", .dtype = PGY_F32, .rank = 1, .shape = ONE};
    size_t count = pgy_metadata_count(f->outputs);
    uint64_t seed = hash_feed(feed);
    pgy_status st = PGY_OK;
    if (mode_is(f, "missing") && count) count--;
    for (size_t i = 0; !st && i < count; i++)
        st = add_output(out, pgy_metadata_at(f->outputs, i), seed + i, f->mode, err);
    if (!st && mode_is(f, "extra")) st = add_output(out, &extra, seed, f->mode, err);
    return st;
}

const pgy_backend BACKEND_fake = {
    .size = sizeof(pgy_backend),
    .abi = PGY_BACKEND_ABI,
    .name = "fake",
    .runner_prefix = "fake-runner",
    .title = "Fake",
    .options = OPTIONS,
    .options_size = sizeof(settings),
    .create = create,
    .activate = activate,
    .inputs = inputs,
    .outputs = outputs,
    .infer = infer,
    .deactivate = deactivate,
    .destroy = destroy,
    .traits = PGY_BACKEND_WITHOUT_MODEL,
};
