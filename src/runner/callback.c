/* SPDX-License-Identifier: Apache-2.0 */
/* A runner made of one function. It is a normal backend whose "model" is the function with its user
 * data. A source owns them, so the runner itself needs no code for callbacks. */
#include <polygraphy/runner.h>

#include "base/alloc.h"

typedef struct callback {
    pgy_infer_callback infer;
    void *user;
    pgy_metadata *inputs; /* types and shapes of the inputs; NULL: not known */
} callback;

static pgy_status create(void **out, const pgy_backend_model *model, const void *options,
                         pgy_error *err)
{
    (void)options;
    if (!model || !model->user)
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "this backend runs functions, not models: use pgy_runner_create_callback");
    *out = model->user;
    return PGY_OK;
}

static pgy_status activate(void *runner, pgy_error *err)
{
    (void)runner, (void)err;
    return PGY_OK;
}

static pgy_status inputs(void *runner, pgy_metadata *out, pgy_error *err)
{
    const callback *c = runner;
    pgy_status st = PGY_OK;
    if (!c->inputs) return PGY_E_UNSUPPORTED;
    for (size_t i = 0; !st && i < pgy_metadata_count(c->inputs); i++)
        st = pgy_metadata_set(out, pgy_metadata_at(c->inputs, i), err);
    return st;
}

static pgy_status outputs(void *runner, pgy_metadata *out, pgy_error *err)
{
    (void)runner, (void)out, (void)err;
    return PGY_E_UNSUPPORTED;
}

static pgy_status infer(void *runner, const pgy_tensor_map *feed, pgy_tensor_map *out,
                        int64_t *time_ns, pgy_error *err)
{
    const callback *c = runner;
    (void)time_ns; /* the runner measures the time */
    return c->infer(feed, out, c->user, err);
}

static void nothing(void *runner)
{
    (void)runner;
}

static const pgy_backend CALLBACK = {
    .size = sizeof(pgy_backend),
    .abi = PGY_BACKEND_ABI,
    .name = "callback",
    .runner_prefix = "Runner",
    .title = "Callback",
    .create = create,
    .activate = activate,
    .inputs = inputs,
    .outputs = outputs,
    .infer = infer,
    .deactivate = nothing,
    .destroy = nothing,
};

static pgy_status source_open(pgy_backend_model *out, void *user, pgy_error *err)
{
    (void)err;
    out->user = user;
    return PGY_OK;
}

static void source_destroy(void *user)
{
    callback *c = user;
    pgy_metadata_destroy(c->inputs);
    mem_free(c);
}

pgy_status pgy_runner_create_callback(pgy_runner **out, const char *name, const pgy_metadata *known,
                                      pgy_infer_callback function, void *user, pgy_error *err)
{
    if (!function) return pgy_error_set(err, PGY_E_ARGUMENT, "'function' must not be NULL");
    pgy_status st = PGY_OK;
    callback *c = mem_calloc(1, sizeof *c);
    if (!c) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    c->infer = function;
    c->user = user;
    if (known) st = pgy_metadata_create(&c->inputs, err);
    for (size_t i = 0; !st && known && i < pgy_metadata_count(known); i++)
        st = pgy_metadata_set(c->inputs, pgy_metadata_at(known, i), err);
    if (st) {
        source_destroy(c);
        return st;
    }
    pgy_model_source source = {.open = source_open, .destroy = source_destroy, .user = c};
    return pgy_runner_create(out, &CALLBACK, &source, NULL, name, err);
}
