/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA device on a GPU: copies, code, graphs, shared memory, events, the cache, and last an
 * illegal address. Prints a line for each check; exit status 1: one failed. tests/gpu/run calls it
 * with --device-check. */
#include "device/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"

enum { COUNT = 1 << 20 };

static const char SOURCE[] =
    "extern \"C\" __global__ void twice(float *y, const float *x, int n, int *word)\n"
    "{\n"
    "    extern __shared__ float tile[];\n"
    "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    tile[threadIdx.x] = i < n ? x[i] : 0;\n"
    "    __syncthreads();\n"
    "    if (i < n) y[i] = FACTOR * tile[threadIdx.x];\n"
    "    if (i == 0 && word) *word = 7;\n"
    "}\n";

typedef struct rig {
    device *d;
    device_stream *s;
    cuda_code *code;
    cuda_function *twice;
    float *x, *y; /* on the device */
    int *word;    /* shared */
    float *host;
    pgy_error err;
} rig;

static int failures;

static void tell(const char *what, bool good, const char *why)
{
    printf("%s  %s%s%s\n", good ? "ok    " : "FAILED", what, good ? "" : ": ", good ? "" : why);
    failures += !good;
    fflush(stdout);
}

static pgy_status open_rig(rig *r)
{
    device_properties p;
    void *x = NULL, *y = NULL, *word = NULL;
    const int64_t start = clock_ns();
    pgy_status st = device_open(&r->d, "cuda", &r->err);
    if (!st) st = device_describe(&p, r->d, &r->err);
    if (!st) st = device_stream_create(&r->s, r->d, &r->err);
    if (!st) printf("%s; opened in %.3f s\n", p.fingerprint, (double)(clock_ns() - start) * 1e-9);
    if (!st) st = device_allocate(&x, r->s, COUNT * sizeof(float), &r->err);
    if (!st) st = device_allocate(&y, r->s, COUNT * sizeof(float), &r->err);
    if (!st) st = device_allocate_shared(&word, r->d, sizeof(int), &r->err);
    r->x = x;
    r->y = y;
    r->word = word;
    r->host = malloc(COUNT * sizeof *r->host);
    return r->host ? st : PGY_E_MEMORY;
}

static pgy_status load(rig *r)
{
    static const char *const OPTIONS[] = {"-DFACTOR=2", NULL};
    const int64_t start = clock_ns();
    pgy_status st = cuda_code_create(&r->code, r->d, "twice", SOURCE, OPTIONS, &r->err);
    if (!st) st = cuda_code_function(&r->twice, r->code, "twice", &r->err);
    printf("code loaded in %.3f s\n", (double)(clock_ns() - start) * 1e-9);
    return st;
}

static pgy_status launch(rig *r, float *x, uint32_t shared_bytes)
{
    int n = COUNT;
    void *arguments[] = {&r->y, &x, &n, &r->word};
    const cuda_grid g = {
        .grid = {COUNT / 256, 1, 1}, .block = {256, 1, 1}, .shared_bytes = shared_bytes};
    return cuda_launch(r->s, r->twice, &g, arguments, &r->err);
}

/* Copies numbers there, does `work`, and expects `factor` times the numbers back. */
static bool is_right(rig *r, pgy_status (*work)(rig *r), float factor)
{
    const size_t size = COUNT * sizeof(float);
    for (int i = 0; i < COUNT; i++) r->host[i] = (float)i;
    *r->word = 0;
    pgy_status st = device_copy(r->s, r->x, r->host, size, DEVICE_FROM_HOST, &r->err);
    if (!st) st = device_fill(r->s, r->y, 0xff, size, &r->err);
    if (!st) st = work(r);
    if (!st) st = device_copy(r->s, r->host, r->y, size, DEVICE_TO_HOST, &r->err);
    if (!st) st = device_stream_synchronize(r->s, &r->err);
    for (int i = 0; !st && i < COUNT; i++)
        if (r->host[i] != factor * (float)i)
            st = pgy_error_set(&r->err, PGY_E_FORMAT, "element %d is %g", i, (double)r->host[i]);
    return st == PGY_OK;
}

static pgy_status copy(rig *r)
{
    return device_copy(r->s, r->y, r->x, COUNT * sizeof(float), DEVICE_WITHIN, &r->err);
}

static pgy_status launch_small(rig *r)
{
    return launch(r, r->x, 1024);
}

static pgy_status launch_large(rig *r)
{
    return launch(r, r->x, 160 << 10);
}

static pgy_status run_graph(rig *r)
{
    device_graph *g = NULL;
    pgy_status st = device_graph_begin(r->s, &r->err);
    if (!st) st = launch_small(r);
    if (!st) st = launch_small(r);
    if (!st) st = device_graph_end(&g, r->s, &r->err);
    for (int i = 0; !st && i < 3; i++) st = device_graph_launch(g, r->s, &r->err);
    if (!st) st = device_stream_synchronize(r->s, &r->err);
    device_graph_destroy(g);
    return st;
}

static bool tells_time(rig *r)
{
    device_event *a = NULL, *b = NULL;
    double ns = -1;
    pgy_status st = device_event_create(&a, r->d, &r->err);
    if (!st) st = device_event_create(&b, r->d, &r->err);
    if (!st) st = device_event_record(a, r->s, &r->err);
    for (int i = 0; !st && i < 100; i++) st = launch_small(r);
    if (!st) st = device_event_record(b, r->s, &r->err);
    if (!st) st = device_event_wait(r->s, b, &r->err);
    if (!st) st = device_event_synchronize(b, &r->err);
    if (!st) st = device_event_elapsed(&ns, a, b, &r->err);
    printf("a launch takes %.0f ns\n", ns / 100);
    device_event_destroy(a);
    device_event_destroy(b);
    return !st && ns > 0;
}

static bool refuses_code(rig *r)
{
    cuda_code *c = NULL;
    const pgy_status st =
        cuda_code_create(&c, r->d, "wrong", "int x = y;\n", (const char *[]){NULL}, &r->err);
    printf("%s\n", r->err.text);
    cuda_code_destroy(c);
    return st == PGY_E_BACKEND;
}

static bool tells_memory(rig *r)
{
    void *much = NULL;
    const pgy_status st = device_allocate(&much, r->s, (size_t)1 << 50, &r->err);
    printf("%s\n", r->err.text);
    return st == PGY_E_MEMORY;
}

static bool loses_device(rig *r)
{
    pgy_status st = launch(r, (float *)(uintptr_t)0x1000, 1024);
    if (!st) st = device_stream_synchronize(r->s, &r->err);
    printf("%s\n", r->err.text);
    return st == PGY_E_DEVICE && strstr(r->err.text, "was lost") &&
           device_fill(r->s, r->y, 0, 4, &r->err) == PGY_E_DEVICE;
}

int main(void)
{
    rig r = {0};
    if (open_rig(&r) || load(&r)) {
        printf("%s\n", r.err.text);
        return 1;
    }
    tell("copies", is_right(&r, copy, 1), r.err.text);
    tell("a kernel", is_right(&r, launch_small, 2), r.err.text);
    tell("a kernel writes shared memory", *r.word == 7, "the word was not written");
    tell("a kernel with 160 KiB of shared memory", is_right(&r, launch_large, 2), r.err.text);
    tell("a graph", is_right(&r, run_graph, 2), r.err.text);
    tell("events", tells_time(&r), r.err.text);
    tell("code that does not compile", refuses_code(&r), "it was taken");
    tell("too much memory", tells_memory(&r), "it was given");
    tell("an illegal address loses the device", loses_device(&r), r.err.text);
    cuda_code_destroy(r.code);
    device_release(r.s, r.x);
    device_release(r.s, r.y);
    device_release_shared(r.d, r.word);
    device_stream_destroy(r.s);
    free(r.host);
    return failures > 0;
}
