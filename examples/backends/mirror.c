/* SPDX-License-Identifier: Apache-2.0 */
/* A backend outside the library, as a template for your own: its output x is its input x, float32
 * [1, 4]. It needs only the headers:
 *
 *     cc -std=c11 -shared -fPIC mirror.c $(pkg-config --cflags polygraphy) -o mirror.so
 *
 * docs/api.md loads it with pgy_backend_load. */
#include <string.h>
#include <polygraphy/backend.h>

static const pgy_backend_host *host;
static const int64_t SHAPE[] = {1, 4};

/* Is this runtime available? */
static pgy_status probe(char *why, size_t why_size)
{
    (void)why; /* "libmirror.so.3 was not found; install libmirror" */
    (void)why_size;
    return PGY_OK;
}

static pgy_status create(void **out, const pgy_backend_model *model, const void *options, pgy_error *err)
{
    (void)model;
    (void)options;
    *out = host->allocate(1);
    return *out ? PGY_OK : host->set_error(err, PGY_E_MEMORY, "out of memory");
}

/* A real backend would load its model here. */
static pgy_status activate(void *runner, pgy_error *err)
{
    (void)runner;
    (void)err;
    return PGY_OK;
}

static pgy_status describe(void *runner, pgy_metadata *out, pgy_error *err)
{
    const pgy_tensor_info info = {.name = "x", .dtype = PGY_F32, .rank = 2, .shape = SHAPE};
    (void)runner;
    return host->metadata_set(out, &info, err);
}

static pgy_status infer(void *runner, const pgy_tensor_map *feed, pgy_tensor_map *out, int64_t *time_ns, pgy_error *err)
{
    pgy_tensor *y = NULL;
    (void)runner;
    (void)time_ns; /* left alone: the host measures */
    pgy_status st = host->tensor_create(&y, PGY_F32, 2, SHAPE, err);
    if (st) return st;
    memcpy(host->tensor_view(y).data, host->tensor_view(host->map_find(feed, "x")).data, 4 * sizeof(float));
    return host->map_adopt(out, "x", y, err);
}

static void deactivate(void *runner)
{
    (void)runner;
}

static void destroy(void *runner)
{
    host->free(runner);
}

static const pgy_backend MIRROR = {
    .size = sizeof(pgy_backend), .abi = PGY_BACKEND_ABI, .name = "mirror", .runner_prefix = "mirror-runner", .title = "Mirror",
    .probe = probe, .create = create, .activate = activate, .inputs = describe, .outputs = describe, .infer = infer,
    .deactivate = deactivate, .destroy = destroy,
};

__attribute__((visibility("default"))) const pgy_backend *pgy_backend_v1(const pgy_backend_host *h);
const pgy_backend *pgy_backend_v1(const pgy_backend_host *h)
{
    if (h->abi != PGY_BACKEND_ABI) return NULL;
    host = h;
    return &MIRROR;
}
