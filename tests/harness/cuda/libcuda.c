/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for NVIDIA's driver, libcuda.so.1, over memory of the host. It does all work when it
 * is enqueued. The host cannot access device addresses, a call without a context fails, only
 * allocated memory can be copied or filled, and after an error that loses the device every call
 * returns that error. Kernels are functions that tests register by entry name; launches of other
 * kernels have no effect. Its settings:
 *
 *     FAKE_CUDA_GPUS=2 FAKE_CUDA_NAME="Other GPU" FAKE_CUDA_VERSION=12080
 *     FAKE_CUDA_MEMORY=1048576      bytes of each GPU; default 1 GiB
 *     FAKE_CUDA_FAIL                fault.h
 *     FAKE_CUDA_IDLE=1              launches have no effect in the library that runs kernels, too
 *
 * A call that is wrong on any driver prints a sentence and aborts. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "device/cuda/driver.h"
#include "fault.h"

#define EXPORT __attribute__((visibility("default")))
#ifdef FAKE_CUDA_RUNS
#include "run.h"
/* kernels run in this process, so device addresses must be valid on the host */
#define TAG UINT64_C(0)
#else
/* device addresses are host addresses with this bit, so that the host cannot use them */
#define TAG (UINT64_C(1) << 62)
#endif

enum { MAX_DEPTH = 16, MAX_KERNELS = 32 };

struct CUctx_st {
    int device;
    size_t used;
};
struct CUstream_st {
    cu_context context;
    cu_graph captured; /* NULL: work is done when it is enqueued */
};
struct CUevent_st {
    cu_context context;
    uint64_t at; /* time of the recording in ms; 0: not recorded */
};
struct CUmod_st {
    char *text;
    void *object; /* shared object compiled from `text` for the host; NULL if kernels do not run */
};
struct CUfunc_st {
    cu_module module;
    char name[128];
    struct CUfunc_st *next;
};
struct CUmemPoolHandle_st {
    int device;
};

typedef struct block {
    struct block *next;
    char *memory;
    size_t size;
    cu_context owner;
} block;

/* A launch keeps copies of its arguments, so that a captured graph can repeat it. */
enum { MAX_ARGUMENTS = 16 };
typedef struct fake_launch {
    int kernel; /* index in `kernels`; -1: the launch has no effect */
    unsigned grid[3], block[3];
    uint64_t arguments[MAX_ARGUMENTS];
#ifdef FAKE_CUDA_RUNS
    run_call call;
#endif
} fake_launch;
struct CUgraph_st {
    fake_launch *items;
    size_t count;
};
struct CUgraphExec_st {
    struct CUgraph_st graph;
};

typedef void (*fake_kernel)(void **arguments, const unsigned grid[3], const unsigned block[3]);

static struct CUctx_st contexts[32];
static __thread cu_context stack[MAX_DEPTH];
static __thread int depth;
static block *blocks;
static struct CUfunc_st *functions;
static uint64_t now;
static int lost;
static struct {
    const char *entry;
    fake_kernel run;
    const int *sizes; /* size in bytes (at most 8) of each kernel argument, then 0 */
} kernels[MAX_KERNELS];

__attribute__((noreturn)) static void give_up(const char *text)
{
    fprintf(stderr, "fake libcuda: %s\n", text);
    abort();
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

/* Counts a call. The error that it must return at once: a planted fault, or that of a lost device;
 * 0: none. */
static int begin(const char *name)
{
    const int code = fault_of(name);
    if (!lost && (code == 214 || code == 999 || (code >= 700 && code <= 719))) lost = code;
    return lost ? lost : code;
}

static int begin_in_context(const char *name)
{
    const int code = begin(name);
    return code ? code : depth ? 0 : 201;
}

/* One thread at a time is inside. */
static pthread_mutex_t inside = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int come_in(void)
{
    return pthread_mutex_lock(&inside);
}

static void go_out(const int *unused)
{
    (void)unused;
    pthread_mutex_unlock(&inside);
}

#define ALONE __attribute__((cleanup(go_out), unused)) const int alone = come_in()
#define BEGIN(name)                 \
    ALONE;                          \
    const int begun_ = begin(name); \
    if (begun_) return begun_
#define BEGIN_IN_CONTEXT(name)                 \
    ALONE;                                     \
    const int begun_ = begin_in_context(name); \
    if (begun_) return begun_

/* ---- For tests ------------------------------------------------------------------------------ */

EXPORT unsigned long fake_cuda_count(const char *name)
{
    return fault_counter_of(name)->count;
}

EXPORT void fake_cuda_kernel(const char *entry, fake_kernel run, const int *sizes)
{
    for (int i = 0; i < MAX_KERNELS; i++) {
        if (kernels[i].entry && strcmp(kernels[i].entry, entry) != 0) continue;
        kernels[i].entry = entry;
        kernels[i].run = run;
        kernels[i].sizes = sizes;
        return;
    }
    give_up("too many kernels");
}

/* The host memory behind a device address or an address of shared memory. */
EXPORT void *fake_cuda_reach(const void *address)
{
    return (void *)((uintptr_t)address & ~TAG);
}

EXPORT size_t fake_cuda_live_bytes(void)
{
    size_t sum = 0;
    for (const block *b = blocks; b; b = b->next) sum += b->size;
    return sum;
}

/* ---- The driver, devices, contexts ----------------------------------------------------------- */

EXPORT int cuInit(unsigned flags)
{
    BEGIN("cuInit");
    return flags ? 1 : 0;
}

EXPORT int cuDriverGetVersion(int *version)
{
    BEGIN("cuDriverGetVersion");
    *version = (int)setting("FAKE_CUDA_VERSION", 13000);
    return 0;
}

static const struct {
    int code;
    const char *name, *text;
} ERRORS[] = {
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"}};

static int find_error(int code)
{
    for (int i = 0; i < (int)(sizeof ERRORS / sizeof *ERRORS); i++)
        if (ERRORS[i].code == code) return i;
    return -1;
}

EXPORT int cuGetErrorName(int code, const char **name)
{
    const int i = find_error(code);
    *name = i < 0 ? NULL : ERRORS[i].name;
    return i < 0;
}

EXPORT int cuGetErrorString(int code, const char **text)
{
    const int i = find_error(code);
    *text = i < 0 ? NULL : ERRORS[i].text;
    return i < 0;
}

EXPORT int cuDeviceGetCount(int *count)
{
    BEGIN("cuDeviceGetCount");
    *count = (int)setting("FAKE_CUDA_GPUS", 1);
    return 0;
}

EXPORT int cuDeviceGet(int *device, int ordinal)
{
    BEGIN("cuDeviceGet");
    *device = ordinal;
    return 0;
}

EXPORT int cuDeviceGetName(char *name, int size, int device)
{
    BEGIN("cuDeviceGetName");
    const char *text = getenv("FAKE_CUDA_NAME");
    (void)device;
    snprintf(name, (size_t)size, "%s", text ? text : "Stand-in GPU");
    return 0;
}

static size_t memory_size(void)
{
    return setting("FAKE_CUDA_MEMORY", UINT64_C(1) << 30);
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    BEGIN("cuDeviceTotalMem_v2");
    (void)device;
    *bytes = memory_size();
    return 0;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    static const int VALUES[][2] = {
        {CU_CLOCK_RATE, 1980000}, {CU_MULTIPROCESSOR_COUNT, 4},     {CU_CAPABILITY_MAJOR, 9},
        {CU_CAPABILITY_MINOR, 0}, {CU_SHARED_MEMORY_OPTIN, 232448}, {CU_MEMORY_POOLS_SUPPORTED, 1}};
    BEGIN("cuDeviceGetAttribute");
    (void)device;
    for (size_t i = 0; i < sizeof VALUES / sizeof *VALUES; i++) {
        if (VALUES[i][0] != attribute) continue;
        *value = VALUES[i][1];
        return 0;
    }
    return 1;
}

EXPORT int cuDevicePrimaryCtxRetain(cu_context *context, int device)
{
    BEGIN("cuDevicePrimaryCtxRetain");
    contexts[device].device = device;
    *context = &contexts[device];
    return 0;
}

EXPORT int cuCtxPushCurrent_v2(cu_context context)
{
    const int code = begin("cuCtxPushCurrent_v2");
    if (code && code != lost) return code; /* a lost context can be entered, to release */
    if (depth == MAX_DEPTH) give_up("contexts are entered more often than left");
    stack[depth++] = context;
    return 0;
}

EXPORT int cuCtxPopCurrent_v2(cu_context *context)
{
    if (!depth) give_up("a context is left that was not entered");
    *context = stack[--depth];
    return begin("cuCtxPopCurrent_v2");
}

/* ---- Memory --------------------------------------------------------------------------------- */

EXPORT int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    BEGIN_IN_CONTEXT("cuMemGetInfo_v2");
    *total_bytes = memory_size();
    *free_bytes = *total_bytes - stack[depth - 1]->used;
    return 0;
}

EXPORT int cuMemPoolCreate(cu_pool *pool, const cu_pool_properties *properties)
{
    static struct CUmemPoolHandle_st pools[32];
    BEGIN("cuMemPoolCreate");
    if (properties->allocation != 1 || properties->location.type != 1) return 1;
    *pool = &pools[properties->location.id];
    return 0;
}

EXPORT int cuMemPoolSetAttribute(cu_pool pool, int attribute, void *value)
{
    BEGIN("cuMemPoolSetAttribute");
    return !pool || attribute != 4 || *(uint64_t *)value != UINT64_MAX;
}

EXPORT int cuMemAllocFromPoolAsync(cu_address *out, size_t bytes, cu_pool pool, cu_stream stream)
{
    BEGIN_IN_CONTEXT("cuMemAllocFromPoolAsync");
    if (!pool || !bytes || stream->context != stack[depth - 1]) return 1;
    if (bytes > memory_size() - stream->context->used) return 2;
    block *b = malloc(sizeof *b);
    char *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!b || !memory) give_up("out of memory");
    /* What nothing wrote is strange; a workspace of megabytes costs more than its test. */
    memset(memory, 0xb7, bytes < 1 << 16 ? bytes : 1 << 16);
    *b = (block){blocks, memory, bytes, stream->context};
    blocks = b;
    stream->context->used += bytes;
    *out = (uintptr_t)memory | TAG;
    return 0;
}

static block **find_block(cu_address address, size_t bytes)
{
    const char *p = (char *)(uintptr_t)(address & ~TAG);
    for (block **b = &blocks; *b; b = &(*b)->next)
        if (p >= (*b)->memory && p < (*b)->memory + (*b)->size &&
            bytes <= (size_t)((*b)->memory + (*b)->size - p))
            return b;
    return NULL;
}

/* Reads and writes go through here, so that none leaves its block. */
static void *reach(cu_address address, size_t bytes)
{
    if (TAG != 0 && !(address & TAG))
        give_up("an address of the host, where one of the device is meant");
    if (!find_block(address, bytes)) give_up("memory that is not allocated");
    return (void *)(uintptr_t)(address & ~TAG);
}

static void *reach_host(const void *p)
{
    if ((uintptr_t)p & TAG) give_up("an address of the device, where one of the host is meant");
    return (void *)p;
}

EXPORT int cuMemFreeAsync(cu_address address, cu_stream stream)
{
    BEGIN_IN_CONTEXT("cuMemFreeAsync");
    block **link = find_block(address, 0);
    if (!link || (*link)->memory != reach(address, 0)) give_up("memory is released twice");
    block *b = *link;
    (void)stream;
    *link = b->next;
    b->owner->used -= b->size;
    free(b->memory);
    free(b);
    return 0;
}

EXPORT int cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    BEGIN_IN_CONTEXT("cuMemHostAlloc");
    *out = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    return !*out || flags != 3;
}

/* Functions that release do so even when they fail, so that a lost device is no leak. */
EXPORT int cuMemFreeHost(void *memory)
{
    ALONE;
    const int code = begin_in_context("cuMemFreeHost");
    free(memory);
    return code;
}

EXPORT int cuMemcpyHtoDAsync_v2(cu_address to, const void *from, size_t bytes, cu_stream stream)
{
    BEGIN_IN_CONTEXT("cuMemcpyHtoDAsync_v2");
    memcpy(reach(to, bytes), reach_host(from), bytes);
    return !stream;
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, cu_address from, size_t bytes, cu_stream stream)
{
    BEGIN_IN_CONTEXT("cuMemcpyDtoHAsync_v2");
    memcpy(reach_host(to), reach(from, bytes), bytes);
    return !stream;
}

EXPORT int cuMemcpyDtoDAsync_v2(cu_address to, cu_address from, size_t bytes, cu_stream stream)
{
    BEGIN_IN_CONTEXT("cuMemcpyDtoDAsync_v2");
    memmove(reach(to, bytes), reach(from, bytes), bytes);
    return !stream;
}

EXPORT int cuMemsetD8Async(cu_address to, unsigned char byte, size_t bytes, cu_stream stream)
{
    BEGIN_IN_CONTEXT("cuMemsetD8Async");
    memset(reach(to, bytes), byte, bytes);
    return !stream;
}

/* ---- Streams and events: each recording is a millisecond later than the one before ------------
 */

EXPORT int cuStreamCreate(cu_stream *stream, unsigned flags)
{
    BEGIN_IN_CONTEXT("cuStreamCreate");
    if (flags != 1) return 1;
    *stream = calloc(1, sizeof **stream);
    if (!*stream) return 2;
    (*stream)->context = stack[depth - 1];
    return 0;
}

EXPORT int cuStreamDestroy_v2(cu_stream stream)
{
    ALONE;
    const int code = begin_in_context("cuStreamDestroy_v2");
    free(stream);
    return code;
}

EXPORT int cuStreamSynchronize(cu_stream stream)
{
    BEGIN_IN_CONTEXT("cuStreamSynchronize");
    return stream->captured ? 900 : 0;
}

EXPORT int cuStreamWaitEvent(cu_stream stream, cu_event event, unsigned flags)
{
    BEGIN_IN_CONTEXT("cuStreamWaitEvent");
    return !stream || !event || flags;
}

EXPORT int cuEventCreate(cu_event *event, unsigned flags)
{
    BEGIN_IN_CONTEXT("cuEventCreate");
    *event = calloc(1, sizeof **event);
    if (!*event || flags) return 1;
    (*event)->context = stack[depth - 1];
    return 0;
}

EXPORT int cuEventDestroy_v2(cu_event event)
{
    ALONE;
    const int code = begin_in_context("cuEventDestroy_v2");
    free(event);
    return code;
}

EXPORT int cuEventRecord(cu_event event, cu_stream stream)
{
    BEGIN_IN_CONTEXT("cuEventRecord");
    if (event->context != stream->context) return 400;
    event->at = ++now;
    return 0;
}

EXPORT int cuEventSynchronize(cu_event event)
{
    BEGIN_IN_CONTEXT("cuEventSynchronize");
    return !event;
}

EXPORT int cuEventElapsedTime(float *ms, cu_event from, cu_event to)
{
    BEGIN_IN_CONTEXT("cuEventElapsedTime");
    if (!from->at || !to->at) return 400;
    *ms = (float)to->at - (float)from->at;
    return 0;
}

/* ---- Code: the only section of an image is its source (libnvrtc.c) ----------------------------
 */

EXPORT int cuModuleLoadData(cu_module *module, const void *image)
{
    BEGIN_IN_CONTEXT("cuModuleLoadData");
    const char *bytes = image;
    if (memcmp(bytes, "\177ELF", 4) != 0) return 200;
    *module = calloc(1, sizeof **module);
    if (!*module) return 2;
    (*module)->text = strdup(bytes + 128); /* behind the ELF header and one section header */
#ifdef FAKE_CUDA_RUNS
    if (!run_idle()) (*module)->object = run_compile((*module)->text);
#endif
    return 0;
}

EXPORT int cuModuleUnload(cu_module module)
{
    ALONE;
    const int code = begin_in_context("cuModuleUnload");
    free(module->text);
    free(module);
    return code;
}

/* A name followed by "(" in the source counts as the kernel's declaration. Functions live as long
 * as the process. */
EXPORT int cuModuleGetFunction(cu_function *function, cu_module module, const char *name)
{
    BEGIN_IN_CONTEXT("cuModuleGetFunction");
    const size_t size = strlen(name);
    const char *at = module->text;
#ifdef FAKE_CUDA_RUNS
    if (module->object && !dlsym(module->object, name)) return 500;
    (void)size, (void)at;
#else
    while ((at = strstr(at, name)) && at[size] != '(') at += size;
    if (!at) return 500;
#endif
    cu_function f = calloc(1, sizeof *f);
    if (!f) return 2;
    f->module = module;
    f->next = functions;
    functions = f;
    snprintf(f->name, sizeof f->name, "%s", name);
    *function = f;
    return 0;
}

EXPORT int cuFuncGetAttribute(int *value, int attribute, cu_function function)
{
    BEGIN_IN_CONTEXT("cuFuncGetAttribute");
    *value = 1024;
    return !function || attribute != 1;
}

EXPORT int cuFuncSetAttribute(cu_function function, int attribute, int value)
{
    BEGIN_IN_CONTEXT("cuFuncSetAttribute");
    if (function && attribute == CU_FUNCTION_SHARED_PART) return value < 0 || value > 100;
    return !function || attribute != 8 || value != 232448 - 1024;
}

static void run(const fake_launch *l)
{
    void *arguments[MAX_ARGUMENTS];
    for (int i = 0; i < MAX_ARGUMENTS; i++) arguments[i] = (void *)&l->arguments[i];
    if (l->kernel >= 0) kernels[l->kernel].run(arguments, l->grid, l->block);
#ifdef FAKE_CUDA_RUNS
    if (l->call.launch) run_launch(&l->call, l->grid, l->block);
#endif
}

static void record(cu_graph g, const fake_launch *l)
{
    g->items = realloc(g->items, (g->count + 1) * sizeof *l);
    if (!g->items) give_up("out of memory");
    g->items[g->count++] = *l;
}

static fake_launch launch_of(const char *name, void **arguments)
{
    fake_launch l = {.kernel = -1};
    for (int i = 0; i < MAX_KERNELS && kernels[i].entry; i++)
        if (strcmp(kernels[i].entry, name) == 0) l.kernel = i;
    const int *sizes = l.kernel < 0 ? NULL : kernels[l.kernel].sizes;
    for (int i = 0; sizes && sizes[i]; i++) memcpy(&l.arguments[i], arguments[i], (size_t)sizes[i]);
    return l;
}

EXPORT int cuLaunchKernel(cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned shared_bytes, cu_stream stream, void **arguments, void **extra)
{
    BEGIN_IN_CONTEXT("cuLaunchKernel");
    if (!stream || extra || (uint64_t)block_x * block_y * block_z - 1 >= 1024) return 1;
    if (!grid_x || !grid_y || !grid_z || grid_y > 65535 || grid_z > 65535 || shared_bytes > 232448)
        return 1;
    fake_launch l = launch_of(function->name, arguments);
    memcpy(l.grid, (unsigned[]){grid_x, grid_y, grid_z}, sizeof l.grid);
    memcpy(l.block, (unsigned[]){block_x, block_y, block_z}, sizeof l.block);
#ifdef FAKE_CUDA_RUNS
    if (function->module->object)
        l.call = run_call_of(function->module->object, function->name, arguments);
#endif
    if (stream->captured)
        record(stream->captured, &l);
    else
        run(&l);
    return 0;
}

EXPORT int cuLaunchKernelEx(const cu_launch *l, cu_function function, void **arguments,
                            void **extra)
{
    for (unsigned i = 0; i < l->attribute_count; i++)
        if (l->attributes[i].id != CU_LAUNCH_EARLY) return 1;
    return cuLaunchKernel(function, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
                          l->block[2], l->shared_bytes, l->stream, arguments, extra);
}

/* The copy engine's view of a matrix. It keeps, as 64-bit numbers: address, columns, rows, bytes of
 * a row, columns and rows of a box. */
/* Bytes of an element of a map; 0: no type that kernels use. */
static unsigned map_item(int type)
{
    return type == CU_MAP_F16 || type == CU_MAP_BF16 ? 2 : type == CU_MAP_U8;
}

static int swizzle_of(unsigned bytes)
{
    return bytes <= 64 ? CU_MAP_SWIZZLE_64 : CU_MAP_SWIZZLE_128;
}

EXPORT int cuTensorMapEncodeTiled(void *out, int type, unsigned rank, cu_address address,
                                  const uint64_t *sizes, const uint64_t *strides,
                                  const unsigned *box, const unsigned *steps, int interleave,
                                  int swizzle, int promotion, int fill)
{
    BEGIN_IN_CONTEXT("cuTensorMapEncodeTiled");
    const uint64_t most = UINT64_C(1) << 32;
    const unsigned item = map_item(type);
    if ((uintptr_t)out % 64 || rank != 2 || !item) return 1;
    if (address % 16 || strides[0] % 16 || strides[0] >= most << 8 || interleave || fill) return 1;
    for (int i = 0; i < 2; i++)
        if (!sizes[i] || sizes[i] > most || !box[i] || box[i] > 256 || steps[i] != 1) return 1;
    if (swizzle != swizzle_of(box[0] * item) || box[0] * item > 128 || promotion < 0 || promotion > 3)
        return 1;
    reach(address, (sizes[1] - 1) * strides[0] + sizes[0] * item);
    const uint64_t kept[16] = {address & ~TAG, sizes[0], sizes[1], strides[0], box[0], box[1]};
    memcpy(out, kept, sizeof kept);
    return 0;
}

/* The copy engine's view of an image. It keeps: address, channels, width, height, images, x and y
 * where the first windows start, and the last ones from the last pixel, strides, channels and
 * pixels of a box. */
EXPORT int cuTensorMapEncodeIm2col(void *out, int type, unsigned rank, cu_address address,
                                   const uint64_t *sizes, const uint64_t *strides, const int *first,
                                   const int *last, unsigned channels, unsigned pixels,
                                   const unsigned *steps, int interleave, int swizzle,
                                   int promotion, int fill)
{
    BEGIN_IN_CONTEXT("cuTensorMapEncodeIm2col");
    const uint64_t most = UINT64_C(1) << 32;
    const unsigned item = map_item(type);
    if ((uintptr_t)out % 64 || rank != 4 || !item) return 1;
    if (address % 16 || interleave || fill || swizzle != swizzle_of(channels * item)) return 1;
    if (!channels || channels * item > 128 || !pixels || pixels > 1024 || promotion < 0 ||
        promotion > 3 || steps[0] != 1 || steps[3] != 1)
        return 1;
    for (int i = 0; i < 4; i++)
        if (!sizes[i] || sizes[i] > most || (i && strides[i - 1] % 16)) return 1;
    for (int i = 0; i < 2; i++)
        if (first[i] < -128 || first[i] > 127 || last[i] < -128 || last[i] > 127 || !steps[i + 1] ||
            steps[i + 1] > 8)
            return 1;
    reach(address, sizes[3] * strides[2]);
    const uint64_t kept[16] = {address & ~TAG,
                               sizes[0],
                               sizes[1],
                               sizes[2],
                               sizes[3],
                               (uint64_t)(int64_t)first[0],
                               (uint64_t)(int64_t)first[1],
                               (uint64_t)(int64_t)last[0],
                               (uint64_t)(int64_t)last[1],
                               steps[1],
                               steps[2],
                               channels,
                               pixels};
    memcpy(out, kept, sizeof kept);
    return 0;
}

/* ---- Graphs: only launches can be captured ----------------------------------------------------
 */

EXPORT int cuStreamBeginCapture_v2(cu_stream stream, int mode)
{
    BEGIN_IN_CONTEXT("cuStreamBeginCapture_v2");
    if (mode != 1 || stream->captured) return 1;
    stream->captured = calloc(1, sizeof *stream->captured);
    return !stream->captured;
}

static void destroy_graph(cu_graph g)
{
    if (g) free(g->items);
    free(g);
}

EXPORT int cuStreamEndCapture(cu_stream stream, cu_graph *graph)
{
    cu_graph captured = stream->captured;
    ALONE;
    const int code = begin_in_context("cuStreamEndCapture");
    stream->captured = NULL;
    if (code || !captured) destroy_graph(captured);
    if (code) return code;
    *graph = captured;
    return captured ? 0 : 901;
}

EXPORT int cuGraphInstantiateWithFlags(cu_graph_exec *out, cu_graph graph, unsigned long long flags)
{
    BEGIN_IN_CONTEXT("cuGraphInstantiateWithFlags");
    *out = calloc(1, sizeof **out);
    if (!*out || flags) return 1;
    (*out)->graph.count = graph->count;
    (*out)->graph.items = malloc(graph->count * sizeof *graph->items + 1);
    if (!(*out)->graph.items) give_up("out of memory");
    for (size_t i = 0; i < graph->count; i++) (*out)->graph.items[i] = graph->items[i];
    return 0;
}

EXPORT int cuGraphLaunch(cu_graph_exec graph, cu_stream stream)
{
    BEGIN_IN_CONTEXT("cuGraphLaunch");
    for (size_t i = 0; i < graph->graph.count; i++) run(&graph->graph.items[i]);
    return stream->captured != NULL;
}

EXPORT int cuGraphExecDestroy(cu_graph_exec graph)
{
    ALONE;
    const int code = begin_in_context("cuGraphExecDestroy");
    free(graph->graph.items);
    free(graph);
    return code;
}

EXPORT int cuGraphDestroy(cu_graph graph)
{
    ALONE;
    const int code = begin_in_context("cuGraphDestroy");
    destroy_graph(graph);
    return code;
}
