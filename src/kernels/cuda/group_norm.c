/* SPDX-License-Identifier: Apache-2.0 */
/* Group normalisation on CUDA devices, with SiLU, in linear layout and in channels last. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/cuda/code.h"
#include "kernels/extent.h"

enum { X, SCALE, BIAS, INPUTS };
/* MOST_WIDTH: channels whose factors are in shared memory */
enum { PACK = 8, MOST_THREADS = 1024, MOST_UNITS = 1 << 20, MOST_WIDTH = 4096 };

typedef struct params {
    uint64_t images, channels, pixels, groups;
    uint32_t types[INPUTS]; /* pgy_dtype */
    uint32_t last, silu;
    float epsilon;
} params;

typedef struct group_norm_loaded {
    void *code;
    uint32_t shares; /* blocks of a cluster */
} group_norm_loaded;

/* ---- How the work is cut --------------------------------------------------------------------- */

enum { MOST_KEPT = 8 }; /* packs of a thread in registers */

static uint64_t width_of(const params *p) /* channels of a group */
{
    return p->channels / p->groups;
}

/* Groups beside each other that a block computes together, in channels last: as many as fill rows
 * of memory, of which it would otherwise read parts. */
static uint32_t sets_of(const params *p)
{
    enum { ROW = 32, ENOUGH = 80, MOST = 16 };
    const uint64_t bytes = width_of(p) * cuda_item((pgy_dtype)p->types[X]);
    uint32_t sets = 1;
    while (p->last && sets < MOST && bytes * sets < ENOUGH && bytes * sets % ROW &&
           p->groups % (sets * 2) == 0)
        sets *= 2;
    return sets;
}

/* Elements of a pack: a part of a group, or whole groups. */
static uint32_t vector_of(const params *p)
{
    const uint64_t width = width_of(p), all = width * sets_of(p);
    uint32_t vector = PACK;
    if (!p->last)
        while (p->pixels % vector) vector /= 2;
    else
        while (all % vector || (width % vector && vector % width)) vector /= 2;
    return vector;
}

static uint64_t units_of(const params *p)
{
    return p->images * (p->groups / sets_of(p));
}

static uint64_t items_of(const params *p)
{
    return width_of(p) * sets_of(p) * p->pixels / vector_of(p);
}

/* Blocks that share a set of groups: in channels last as many as keep all multiprocessors busy;
 * else if it is too long for the registers of one. */
static uint32_t shares_of(const params *p)
{
    enum { MULTIPROCESSORS = 132, MOST = 8, LEAST = 1024 };
    const uint64_t least = p->last ? LEAST : MOST_THREADS * MOST_KEPT;
    uint32_t shares = 1;
    while (shares < MOST && units_of(p) * shares < MULTIPROCESSORS && items_of(p) > least * shares)
        shares *= 2;
    return shares;
}

/* In channels last a thread has several packs, so that fewer add up sums. */
static uint32_t threads_of(const params *p, uint32_t shares)
{
    const uint64_t items = items_of(p) / shares / (p->last ? 4 : 1);
    uint32_t threads = p->last ? 256 : 64;
    while (threads < MOST_THREADS && items > threads) threads *= 2;
    return threads;
}

static bool is_possible(const params *p)
{
    const uint64_t most = INT32_MAX;
    if (!p->images || !p->channels || !p->pixels || !p->groups || p->images > most ||
        p->channels > most || p->pixels > most || p->groups > most || p->channels % p->groups ||
        p->channels * p->pixels > most)
        return false;
    return width_of(p) <= MOST_WIDTH;
}

/* ---- The problem ----------------------------------------------------------------------------- */

static bool read_operator(params *p, const kernel_problem *u)
{
    const op_node *n = u->node;
    const bool is_own = strcmp(n->def->name, "GroupNorm") == 0;
    int64_t groups = op_attr_int(n, is_own ? "groups" : "num_groups", 0);
    p->epsilon = (float)op_attr_float(n, "epsilon", 1e-5);
    p->groups = groups > 0 ? (uint64_t)groups : 0;
    p->silu = is_own && op_attr_int(n, "activation", 0) == 1;
    p->last = is_own && op_attr_int(n, "channels_last", 1) != 0;
    return is_own || (n->def->since >= 21 && op_attr_int(n, "stash_type", 1) == 1);
}

static bool group_norm_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[X];
    *p = (params){.images = 1, .pixels = 1};
    if (u->input_count != INPUTS || x->rank < 3 || u->outputs[0].dtype != x->dtype) return false;
    for (uint32_t i = 0; i < INPUTS; i++) {
        if (!cuda_is_float(u->inputs[i].dtype)) return false;
        p->types[i] = u->inputs[i].dtype;
    }
    if (!kernel_count(x) || !read_operator(p, u)) return false;
    const int32_t axis = p->last ? x->rank - 1 : 1;
    p->images = (uint64_t)x->shape[0];
    p->channels = (uint64_t)x->shape[axis];
    p->pixels = kernel_count(x) / p->images / p->channels;
    if (x->layout == KERNEL_CHANNELS_LAST) {
        if (p->last) return false; /* the last axis is not that of the format */
        p->last = 1;
    }
    return is_possible(p) && kernel_count(&u->inputs[SCALE]) == p->channels &&
           kernel_count(&u->inputs[BIAS]) == p->channels;
}

static bool group_norm_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    const bool last = u->inputs[X].layout == KERNEL_CHANNELS_LAST;
    cuda_set_linear(u);
    if (last) u->inputs[X].layout = u->outputs[0].layout = KERNEL_CHANNELS_LAST;
    if (!group_norm_describe(&p, u)) return false;
    *cost_ns = cuda_cost(cuda_bytes(u), 0, false);
    return true;
}

static pgy_status group_norm_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)group_norm_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){
        .params = p, .params_bytes = sizeof *p, .phases = 1, .parts = 1, .in_place = -1};
    return PGY_OK;
}

static bool group_norm_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (q->input_count != INPUTS) return extent_refuse(e, "number of inputs");
    for (uint32_t i = 0; i < INPUTS; i++)
        if (!cuda_is_float((pgy_dtype)p->types[i])) return extent_refuse(e, "types");
    if (p->last > 1 || p->silu > 1) return extent_refuse(e, "a truth value");
    if (!is_possible(p)) return extent_refuse(e, "sizes");
    const uint64_t count = extent_mul3(p->images, p->channels, p->pixels);
    const uint32_t item = cuda_item((pgy_dtype)p->types[X]);
    extent_tensor(e, X, count, item);
    for (uint32_t i = SCALE; i < INPUTS; i++)
        extent_tensor(e, i, p->channels, cuda_item((pgy_dtype)p->types[i]));
    extent_tensor(e, INPUTS, count, item);
    return true;
}

/* ---- Running --------------------------------------------------------------------------------- */

static void define(str *out, const params *p, uint32_t shares)
{
    const uint32_t threads = threads_of(p, shares), sets = sets_of(p), vector = vector_of(p);
    const uint64_t columns = sets > 1 ? width_of(p) * sets / vector : 1,
                   line = threads / columns * columns * shares,
                   each = (items_of(p) + line - 1) / line;
    cuda_define_int(out, "THREADS", threads);
    cuda_define_int(out, "SHARES", shares);
    cuda_define_int(out, "SETS", sets);
    cuda_define_int(out, "GROUP", (int64_t)width_of(p));
    cuda_define_int(out, "VECTOR", vector);
    cuda_define_int(out, "KEPT", (int64_t)(each < MOST_KEPT ? each : MOST_KEPT));
    cuda_define_int(out, "LAST", p->last);
    cuda_define_int(out, "SILU", p->silu);
    cuda_define_int(out, "HALF", cuda_is_half((pgy_dtype)p->types[X]));
    cuda_define_type(out, "X", (pgy_dtype)p->types[X]);
    cuda_define_type(out, "SCALE", (pgy_dtype)p->types[SCALE]);
    cuda_define_type(out, "BIAS", (pgy_dtype)p->types[BIAS]);
    cuda_define_type(out, "Y", (pgy_dtype)p->types[X]);
}

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    static const cuda_source SOURCE = {
        "group_norm", CUDA_SOURCE_group_norm, {"run"}, {CUDA_SOURCE_barriers}};
    const params *p = plan->params;
    group_norm_loaded *l = mem_calloc(1, sizeof *l);
    str defines = {0};
    (void)self;
    if (!l) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    l->shares = cuda_has_clusters(d) ? shares_of(p) : 1;
    define(&defines, p, l->shares);
    const pgy_status st = cuda_load(&l->code, d, &SOURCE, &defines, err);
    if (st)
        mem_free(l);
    else
        *out = l;
    return st;
}

static void unload(void *loaded)
{
    group_norm_loaded *l = loaded;
    if (!l) return;
    cuda_unload(l->code);
    mem_free(l);
}

/* Arguments of the kernel in group_norm.cu: the same struct as there. */
typedef struct group_norm_call {
    uint64_t x, scale, bias, y, units;
    uint32_t sets, channels, pixels, items;
    float epsilon;
} group_norm_call;

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const params *p = r->params;
    const group_norm_loaded *l = r->loaded;
    const cuda_loaded *code = l->code;
    group_norm_call c = {.x = address(r->tensors[X]),
                         .scale = address(r->tensors[SCALE]),
                         .bias = address(r->tensors[BIAS]),
                         .y = address(r->tensors[INPUTS]),
                         .units = units_of(p),
                         .sets = (uint32_t)p->groups / sets_of(p),
                         .channels = (uint32_t)p->channels,
                         .pixels = (uint32_t)p->pixels,
                         .items = (uint32_t)items_of(p),
                         .epsilon = p->epsilon};
    const uint64_t units = c.units < MOST_UNITS ? c.units : MOST_UNITS;
    return cuda_launch_blocks(stream, code->functions[0], units * l->shares,
                              threads_of(p, l->shares), &c, err);
}

const kernel KERNELS_cuda_group_norm[] = {
    {.name = "cuda_group_norm",
     .version = 1,
     .ops = "GroupNormalization com.microsoft:GroupNorm",
     .device = "cuda",
     .accept = group_norm_accept,
     .prepare = group_norm_prepare,
     .extent = group_norm_extent,
     .load = load,
     .unload = unload,
     .enqueue = enqueue},
    {0},
};
