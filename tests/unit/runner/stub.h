/* SPDX-License-Identifier: Apache-2.0 */
/* A backend that counts what is done with it; inputs x [N, 4] float32 and n, a float32 scalar. */
#ifndef TEST_STUB_H
#define TEST_STUB_H

#include <polygraphy/runner.h>

typedef struct stub_counts {
    int created, activated, deactivated, destroyed, opened, closed, source_destroyed;
    bool fail_activate, fail_infer;
} stub_counts;
static stub_counts stub;

static pgy_status stub_create(void **out, const pgy_backend_model *model, const void *options,
                              pgy_error *err)
{
    (void)model, (void)options, (void)err;
    stub.created++;
    *out = &stub;
    return PGY_OK;
}

static pgy_status stub_activate(void *r, pgy_error *err)
{
    (void)r;
    stub.activated++;
    return stub.fail_activate ? pgy_error_set(err, PGY_E_BACKEND, "it does not start") : PGY_OK;
}

static pgy_status stub_inputs(void *r, pgy_metadata *out, pgy_error *err)
{
    static const int64_t SHAPE[] = {-1, 4};
    static const char *const NAMES[] = {"N", NULL};
    const pgy_tensor_info x = {
        .name = "x", .dtype = PGY_F32, .rank = 2, .shape = SHAPE, .dim_names = NAMES};
    const pgy_tensor_info n = {.name = "n", .dtype = PGY_F32, .rank = 0, .shape = SHAPE};
    (void)r;
    pgy_status st = pgy_metadata_set(out, &x, err);
    return st ? st : pgy_metadata_set(out, &n, err);
}

static pgy_status stub_outputs(void *r, pgy_metadata *out, pgy_error *err)
{
    (void)r, (void)out, (void)err;
    return PGY_E_UNSUPPORTED;
}

static pgy_status stub_infer(void *r, const pgy_tensor_map *feed, pgy_tensor_map *out,
                             int64_t *time_ns, pgy_error *err)
{
    (void)r;
    *time_ns = 1234;
    if (stub.fail_infer) return pgy_error_set(err, PGY_E_BACKEND, "it does not run");
    return pgy_tensor_map_set(out, "y", pgy_tensor_map_find(feed, "x"), err);
}

static void stub_deactivate(void *r)
{
    (void)r;
    stub.deactivated++;
}

static void stub_destroy(void *r)
{
    (void)r;
    stub.destroyed++;
}

static const pgy_backend STUB = {
    .size = sizeof(pgy_backend),
    .abi = PGY_BACKEND_ABI,
    .name = "stub",
    .runner_prefix = "stub-runner",
    .title = "Stub",
    .create = stub_create,
    .activate = stub_activate,
    .inputs = stub_inputs,
    .outputs = stub_outputs,
    .infer = stub_infer,
    .deactivate = stub_deactivate,
    .destroy = stub_destroy,
};

static pgy_status stub_open(pgy_backend_model *out, void *user, pgy_error *err)
{
    (void)user, (void)err;
    stub.opened++;
    out->data = "bytes";
    out->data_size = 5;
    return PGY_OK;
}

static void stub_close(pgy_backend_model *model, void *user)
{
    (void)model, (void)user;
    stub.closed++;
}

static void stub_source_destroy(void *user)
{
    (void)user;
    stub.source_destroyed++;
}

static inline pgy_model_source stub_source(void)
{
    return (pgy_model_source){
        .open = stub_open, .close = stub_close, .destroy = stub_source_destroy};
}

#endif
