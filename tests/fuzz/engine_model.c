/* SPDX-License-Identifier: Apache-2.0 */
/* A model file is run by the engine: parsed, rewritten by the passes, built and run on inputs of
 * small made-up shapes. It must give outputs or an error, within a limit of memory that stands for
 * the machine's. A loop may be long as its model says: such a run is cancelled, as a user would. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "engine/context/context.h"

enum { MAX_INPUT_ELEMENTS = 4096, MAX_BYTES = 1 << 22 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Values 0, 1, 2, ...: valid as indices and shapes as often as not. */
static pgy_status fill(pgy_tensor *t)
{
    pgy_tensor *counted = NULL;
    const int64_t count = (int64_t)pgy_tensor_count(t);
    if (pgy_tensor_dtype(t) == PGY_STRING) return PGY_OK;
    pgy_status st = pgy_tensor_create(&counted, PGY_I64, 1, &count, NULL);
    if (st) return st;
    for (int64_t i = 0; i < count; i++) ((int64_t *)pgy_tensor_data(counted))[i] = i % 7;
    st = pgy_view_convert(pgy_view_of(pgy_tensor_data(t), pgy_tensor_dtype(t), 1, &count),
                          pgy_tensor_view(counted), true, NULL);
    pgy_tensor_release(counted);
    return st;
}

static pgy_status add_input(pgy_tensor_map *feed, const pgy_tensor_info *v, pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK];
    size_t count = 0;
    pgy_tensor *t = NULL;
    if (v->rank < 0 || v->rank > PGY_MAX_RANK || v->dtype == PGY_DTYPE_NONE ||
        v->form != PGY_FORM_TENSOR)
        return pgy_error_set(err, PGY_E_UNSUPPORTED, "input '%s' cannot be made", v->name);
    for (int32_t d = 0; d < v->rank; d++) shape[d] = v->shape[d] < 0 ? 2 : v->shape[d];
    pgy_status st = pgy_shape_count(&count, (size_t)v->rank, shape, err);
    if (!st && count > MAX_INPUT_ELEMENTS)
        st = pgy_error_set(err, PGY_E_UNSUPPORTED, "input '%s' is large", v->name);
    if (!st) st = pgy_tensor_create(&t, v->dtype, (size_t)v->rank, shape, err);
    if (!st) st = fill(t);
    if (!st) st = pgy_tensor_map_set(feed, v->name, t, err);
    pgy_tensor_release(t);
    return st;
}

/* ---- Runs that do not end ------------------------------------------------------------------- */

enum { PATIENCE_S = 2 };

/* One thread for all runs: one for each would cost more than most runs. It looks every two seconds
 * whether the same run still goes on. */
static struct {
    pthread_mutex_t lock;
    context *context; /* that runs; NULL: none */
    uint64_t runs;
} watched = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *watch(void *unused)
{
    (void)unused;
    for (uint64_t last = 0;;) {
        nanosleep(&(struct timespec){.tv_sec = PATIENCE_S}, NULL);
        pthread_mutex_lock(&watched.lock);
        if (watched.context && watched.runs == last) pgy_context_cancel(watched.context);
        last = watched.runs;
        pthread_mutex_unlock(&watched.lock);
    }
    return NULL;
}

static void set_watched(context *c)
{
    pthread_t thread;
    pthread_mutex_lock(&watched.lock);
    if (c && watched.runs++ == 0 && pthread_create(&thread, NULL, watch, NULL)) __builtin_trap();
    watched.context = c;
    pthread_mutex_unlock(&watched.lock);
}

static pgy_status run_watched(context *c, pgy_tensor_map *feed, pgy_tensor_map *out, pgy_error *err)
{
    set_watched(c);
    const pgy_status st = context_run(c, feed, out, NULL, err);
    set_watched(NULL);
    return st;
}

static pgy_status run(pgy_model *model, pgy_error *err)
{
    const pgy_build_config config = {
        .size = sizeof config, .threads = 1, .has_optimization_level = true};
    engine *e = NULL;
    context *c = NULL;
    pgy_tensor_map *feed = NULL, *out = NULL;
    pgy_status st = engine_build(&e, model, &config, err);
    if (!st) st = context_create(&c, e, 1, err);
    if (!st) st = pgy_tensor_map_create(&feed, err);
    if (!st) st = pgy_tensor_map_create(&out, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(engine_inputs(e)); i++)
        st = add_input(feed, pgy_metadata_at(engine_inputs(e), i), err);
    if (!st) st = run_watched(c, feed, out, err);
    pgy_tensor_map_destroy(feed);
    pgy_tensor_map_destroy(out);
    context_destroy(c);
    engine_release(e);
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_model *model = NULL;
    pgy_error err = {0};
    pgy_set_max_memory(MAX_BYTES);
    pgy_status st = pgy_model_parse(&model, data, size, true, NULL, &err);
    if (!st) st = run(model, &err);
    if (st && !err.text[0]) __builtin_trap();
    pgy_model_destroy(model);
    return 0;
}
