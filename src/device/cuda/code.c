/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded code of a GPU. Equal code is loaded once for each GPU and lives until its last owner
 * destroys it. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/system.h"
#include "device/cuda/cache.h"
#include "device/cuda/gpu.h"

static const char LOG_PATH[] = "device/cuda/code.c";

struct cuda_function {
    cu_function handle;
    cuda_code *code;
    cuda_function *next;
    char entry[]; /* name of the kernel in the source */
};

struct cuda_code {
    cuda_gpu *gpu;
    cuda_code *next;
    size_t users;
    cuda_key key;
    cu_module module;
    cuda_function *functions;
    char name[];
};

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while kernels are loaded");
}

/* ---- Loading -------------------------------------------------------------------------------- */

static pgy_status load_module(cuda_code *c, const void *cubin, pgy_error *err)
{
    cuda_gpu *g = c->gpu;
    char doing[96];
    pgy_status st = gpu_enter(g, err);
    if (st) return st;
    snprintf(doing, sizeof doing, "loading kernels of '%.60s.cu'", c->name);
    st = gpu_check(g, g->driver->module_load(&c->module, cubin), doing, err);
    gpu_leave(g);
    return st;
}

/* Loads machine code from the cache. False: not cached, or the driver refuses it, as for another
 * kind of GPU; then the source is compiled. */
static bool load_cached(cuda_code *c, const cuda_cache *cache)
{
    void *cubin = NULL;
    size_t size = 0;
    if (!cuda_cache_read(&cubin, &size, cache, &c->key)) return false;
    const bool loaded = load_module(c, cubin, NULL) == PGY_OK;
    mem_free(cubin);
    if (!loaded) cuda_cache_remove(cache, &c->key);
    return loaded;
}

static pgy_status load_compiled(cuda_code *c, const cuda_cache *cache, const cuda_nvrtc *n,
                                const cuda_source *s, pgy_error *err)
{
    const int64_t start = clock_ns();
    void *cubin = NULL;
    size_t size = 0;
    pgy_status st = cuda_compile(&cubin, &size, n, s, err);
    if (st) return st;
    LOG(EXTRA_VERBOSE, "Compiled '%s.cu' for %s in %.3f seconds", s->name, s->architecture,
        (double)(clock_ns() - start) * 1e-9);
    st = load_module(c, cubin, err);
    if (!st) cuda_cache_write(cache, &c->key, cubin, size);
    mem_free(cubin);
    return st;
}

static pgy_status load(cuda_code *c, const cuda_nvrtc *n, const cuda_source *s, pgy_error *err)
{
    char *folder = cuda_cache_folder();
    const cuda_cache cache = {.folder = folder, .limit_bytes = CUDA_CACHE_LIMIT};
    const pgy_status st = load_cached(c, &cache) ? PGY_OK : load_compiled(c, &cache, n, s, err);
    mem_free(folder);
    return st;
}

static void release(cuda_code *c)
{
    cuda_gpu *g = c->gpu;
    if (c->module && !gpu_enter(g, NULL)) {
        (void)g->driver->module_unload(c->module);
        gpu_leave(g);
    }
    while (c->functions) {
        cuda_function *next = c->functions->next;
        mem_free(c->functions);
        c->functions = next;
    }
    mem_free(c);
}

/* ---- Sharing -------------------------------------------------------------------------------- */

static cuda_code *find_code(const cuda_gpu *g, const cuda_key *k)
{
    for (cuda_code *c = g->codes; c; c = c->next)
        if (cuda_key_equal(&c->key, k)) return c;
    return NULL;
}

static pgy_status create(cuda_code **out, cuda_gpu *g, const cuda_key *k, const cuda_nvrtc *n,
                         const cuda_source *s, pgy_error *err)
{
    cuda_code *c = mem_calloc(1, sizeof *c + strlen(s->name) + 1);
    if (!c) return no_memory(err);
    c->gpu = g;
    c->key = *k;
    c->users = 1;
    memcpy(c->name, s->name, strlen(s->name) + 1);
    const pgy_status st = load(c, n, s, err);
    if (st) {
        release(c);
        return st;
    }
    c->next = g->codes;
    g->codes = c;
    *out = c;
    return PGY_OK;
}

bool cuda_has_clusters(device *d)
{
    return gpu_of(d)->major >= 9;
}

bool cuda_is_hopper(device *d)
{
    return gpu_of(d)->major == 9;
}

uint32_t cuda_multiprocessors(device *d)
{
    return (uint32_t)gpu_of(d)->multiprocessors;
}

/* From Hopper on, some instructions exist for the exact architecture only, whose name ends in a. */
static void name_architecture(cuda_source *s, const cuda_gpu *g)
{
    snprintf(s->architecture, sizeof s->architecture, "sm_%d%d%s", g->major, g->minor,
             g->major >= 9 ? "a" : "");
}

pgy_status cuda_code_create(cuda_code **out, device *d, const char *name, const char *source,
                            const char *const *options, pgy_error *err)
{
    cuda_gpu *g = gpu_of(d);
    const cuda_nvrtc *n = NULL;
    cuda_source s = {.name = name, .text = source, .options = options};
    pgy_status st = cuda_nvrtc_open(&n, err);
    if (st) return st;
    name_architecture(&s, g);
    const cuda_key key = cuda_key_of(&s, n);
    pthread_mutex_lock(&g->code_lock);
    cuda_code *c = find_code(g, &key);
    if (c)
        c->users++;
    else
        st = create(&c, g, &key, n, &s, err);
    pthread_mutex_unlock(&g->code_lock);
    if (!st) *out = c;
    return st;
}

void cuda_code_destroy(cuda_code *c)
{
    if (!c) return;
    cuda_gpu *g = c->gpu;
    pthread_mutex_lock(&g->code_lock);
    const bool last = --c->users == 0;
    cuda_code **link = &g->codes;
    while (last && *link != c) link = &(*link)->next;
    if (last) *link = c->next;
    pthread_mutex_unlock(&g->code_lock);
    if (last) release(c);
}

/* ---- Functions ------------------------------------------------------------------------------ */

/* Permits launches with all the shared memory that a block can have. All kernels divide the
 * first-level cache in the same way, because a multiprocessor must be idle to divide it anew. */
static int permit_shared_memory(const cuda_gpu *g, cu_function f)
{
    int own = 0;
    int code = g->driver->function_set(f, CU_FUNCTION_SHARED_PART, 100);
    if (!code) code = g->driver->function_get(&own, CU_FUNCTION_SHARED_BYTES, f);
    if (code || own >= g->shared_optin) return code;
    return g->driver->function_set(f, CU_FUNCTION_DYNAMIC_SHARED_BYTES, g->shared_optin - own);
}

static pgy_status find_entry(cuda_function *f, pgy_error *err)
{
    cuda_gpu *g = f->code->gpu;
    char doing[160];
    pgy_status st = gpu_enter(g, err);
    if (st) return st;
    int code = g->driver->module_function(&f->handle, f->code->module, f->entry);
    if (!code) code = permit_shared_memory(g, f->handle);
    snprintf(doing, sizeof doing, "looking for '%.60s' in '%.60s.cu'", f->entry, f->code->name);
    st = gpu_check(g, code, doing, err);
    gpu_leave(g);
    return st;
}

static pgy_status add_function(cuda_function **out, cuda_code *c, const char *entry, pgy_error *err)
{
    cuda_function *f = mem_calloc(1, sizeof *f + strlen(entry) + 1);
    if (!f) return no_memory(err);
    f->code = c;
    memcpy(f->entry, entry, strlen(entry) + 1);
    const pgy_status st = find_entry(f, err);
    if (st) {
        mem_free(f);
        return st;
    }
    f->next = c->functions;
    c->functions = f;
    *out = f;
    return PGY_OK;
}

pgy_status cuda_code_function(cuda_function **out, cuda_code *c, const char *entry, pgy_error *err)
{
    pgy_status st = PGY_OK;
    pthread_mutex_lock(&c->gpu->code_lock);
    cuda_function *f = c->functions;
    while (f && strcmp(f->entry, entry) != 0) f = f->next;
    if (!f) st = add_function(&f, c, entry, err);
    pthread_mutex_unlock(&c->gpu->code_lock);
    if (!st) *out = f;
    return st;
}

/* From Hopper on, a kernel may be launched while the one before it still runs; kernels then wait
 * for that one themselves (prelude.cu), so that only the time of the launch is saved. */
static int launch(const cuda_gpu *g, cu_stream stream, cu_function f, const cuda_grid *grid,
                  void **args)
{
    const uint32_t *n = grid->grid, *b = grid->block;
    cu_launch_attribute early = {.id = CU_LAUNCH_EARLY, .value = {.number = 1}};
    const cu_launch l = {.grid = {n[0], n[1], n[2]},
                         .block = {b[0], b[1], b[2]},
                         .shared_bytes = grid->shared_bytes,
                         .stream = stream,
                         .attributes = &early,
                         .attribute_count = 1};
    if (g->major >= 9) return g->driver->launch_with(&l, f, args, NULL);
    return g->driver->launch(f, n[0], n[1], n[2], b[0], b[1], b[2], grid->shared_bytes, stream,
                             args, NULL);
}

pgy_status cuda_launch(device_stream *s, const cuda_function *f, const cuda_grid *grid, void **args,
                       pgy_error *err)
{
    cuda_gpu *g = f->code->gpu;
    pgy_status st = gpu_enter(g, err);
    if (st) return st;
    const int code = launch(g, ((cuda_stream *)s)->handle, f->handle, grid, args);
    char doing[96] = "";
    if (code) snprintf(doing, sizeof doing, "launching kernel '%.60s'", f->entry);
    st = gpu_check(g, code, doing, err);
    gpu_leave(g);
    return st;
}
