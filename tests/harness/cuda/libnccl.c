/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for NCCL over memory of the host, beside either stand-in for the driver. A collective
 * blocks until all ranks have called it, and is done when it returns. Like the library it does not
 * notice that ranks call different things, except that it then prints a sentence and aborts.
 * FAKE_CUDA_FAIL is in fault.h; a call that fails does not come to the others. */
#include <stdint.h>
#include <stdio.h>

#include "device/cuda/nccl.h"
#include "fault.h"

#define EXPORT __attribute__((visibility("default")))
#define BEGIN(name)                    \
    const int begun_ = fault_of(name); \
    if (begun_) return begun_

enum { MOST = 64, REMOTE_ERROR = 6, INVALID_USAGE = 5 };
enum { REDUCE_SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN, REDUCE_AVG };

typedef struct call {
    const char *name;
    const void *in;
    size_t count;
    int type, reduction, root;
} call;

typedef struct post {
    const void *data; /* NULL: nothing is sent */
    size_t bytes;
} post;

typedef struct group {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int count, users, here;
    uint64_t turn;
    int aborted;
    call calls[MOST];
    post posts[MOST][MOST]; /* from, to */
} group;

struct ncclComm {
    group *g;
    int rank, inside;
};

/* What a thread collects between group_start and group_end. */
typedef struct transfer {
    int sends, peer;
    void *data;
    size_t bytes;
    nccl_comm comm;
} transfer;
static __thread transfer transfers[4 * MOST];
static __thread int transfer_count, grouped, group_error; /* the first error of a group ends it */

__attribute__((noreturn)) static void give_up(const char *text)
{
    fprintf(stderr, "fake nccl: %s\n", text);
    abort();
}

/* Both drivers' device addresses are host addresses but for this bit. */
static void *reach(const void *address)
{
    return (void *)((uintptr_t)address & ~(UINT64_C(1) << 62));
}

static size_t item_of(int type)
{
    static const size_t SIZES[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
    return SIZES[type];
}

EXPORT unsigned long fake_nccl_count(const char *name)
{
    return fault_counter_of(name)->count;
}

EXPORT const char *ncclGetErrorString(int code)
{
    return code == INVALID_USAGE ? "invalid usage" : "stand-in failure";
}

EXPORT int ncclCommInitAll(nccl_comm *comms, int count, const int *devices)
{
    BEGIN("ncclCommInitAll");
    const char *multicast = getenv("NCCL_NVLS_ENABLE");
    if (!multicast || strcmp(multicast, "0") != 0) give_up("multicast is on");
    for (int i = 0; i < count; i++)
        for (int k = 0; k < i; k++)
            if (devices[i] == devices[k]) return INVALID_USAGE;
    group *g = calloc(1, sizeof *g);
    if (!g || count > MOST) give_up("out of memory");
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
    g->count = g->users = count;
    for (int i = 0; i < count; i++) {
        comms[i] = calloc(1, sizeof *comms[i]);
        if (!comms[i]) give_up("out of memory");
        *comms[i] = (struct ncclComm){.g = g, .rank = i};
    }
    return 0;
}

static void end(nccl_comm comm, int aborts)
{
    group *g = comm->g;
    pthread_mutex_lock(&g->lock);
    g->aborted |= aborts;
    pthread_cond_broadcast(&g->changed);
    while (comm->inside) pthread_cond_wait(&g->changed, &g->lock);
    const int last = --g->users == 0;
    pthread_mutex_unlock(&g->lock);
    free(comm);
    if (last) free(g);
}

EXPORT int ncclCommDestroy(nccl_comm comm)
{
    const int code = fault_of("ncclCommDestroy");
    end(comm, 0);
    return code;
}

EXPORT int ncclCommAbort(nccl_comm comm)
{
    const int code = fault_of("ncclCommAbort");
    end(comm, 1);
    return code;
}

EXPORT int ncclCommGetAsyncError(nccl_comm comm, int *code)
{
    (void)comm;
    *code = 0;
    BEGIN("ncclCommGetAsyncError");
    return 0;
}

/* Waits until all ranks have come to this line. The lock is held. */
static void wait_for_all(group *g)
{
    const uint64_t turn = g->turn;
    if (++g->here == g->count) {
        g->here = 0;
        g->turn++;
        pthread_cond_broadcast(&g->changed);
    }
    while (g->turn == turn && !g->aborted) pthread_cond_wait(&g->changed, &g->lock);
}

static float half_to_float(uint16_t h, int bf16)
{
    union {
        uint32_t bits;
        float f;
    } u = {(uint32_t)h << 16};
    if (bf16) return u.f;
    const uint32_t exponent = h >> 10 & 31, fraction = h & 1023;
    if (exponent == 0) return (h & 0x8000 ? -1 : 1) * (float)fraction / 16777216.0F;
    u.bits = (uint32_t)(h & 0x8000) << 16 | (exponent == 31 ? 255 : exponent + 112) << 23 |
             fraction << 13;
    return u.f;
}

/* To nearest even. */
static uint16_t float_to_half(float f, int bf16)
{
    union {
        float f;
        uint32_t bits;
    } u = {f}, small = {f < 0 ? 0.5F - f : 0.5F + f}; /* a step of `small` is 2^-24, as of f16 */
    const uint32_t sign = u.bits >> 16 & 0x8000, size = u.bits & 0x7fffffff;
    if (bf16) return (uint16_t)((u.bits + 0x7fff + (u.bits >> 16 & 1)) >> 16);
    if (size > 0x7f800000) return (uint16_t)(sign | 0x7e00);
    if (size >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
    if (size < 0x38800000) return (uint16_t)(sign | (small.bits - 0x3f000000));
    return (uint16_t)(sign | ((size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13));
}

static double load(const void *data, size_t i, int type)
{
    switch (type) {
    case 0: return ((const int8_t *)data)[i];
    case 1: return ((const uint8_t *)data)[i];
    case 2: return ((const int32_t *)data)[i];
    case 3: return ((const uint32_t *)data)[i];
    case 4: return (double)((const int64_t *)data)[i];
    case 5: return (double)((const uint64_t *)data)[i];
    case 6: return half_to_float(((const uint16_t *)data)[i], 0);
    case 7: return ((const float *)data)[i];
    case 8: return ((const double *)data)[i];
    default: return half_to_float(((const uint16_t *)data)[i], 1);
    }
}

static void store(void *data, size_t i, int type, double v)
{
    switch (type) {
    case 0: ((int8_t *)data)[i] = (int8_t)(int64_t)v; break;
    case 1: ((uint8_t *)data)[i] = (uint8_t)(int64_t)v; break;
    case 2: ((int32_t *)data)[i] = (int32_t)v; break;
    case 3: ((uint32_t *)data)[i] = (uint32_t)v; break;
    case 4: ((int64_t *)data)[i] = (int64_t)v; break;
    case 5: ((uint64_t *)data)[i] = (uint64_t)v; break;
    case 6: ((uint16_t *)data)[i] = float_to_half((float)v, 0); break;
    case 7: ((float *)data)[i] = (float)v; break;
    case 8: ((double *)data)[i] = v; break;
    default: ((uint16_t *)data)[i] = float_to_half((float)v, 1); break;
    }
}

static double join(double a, double b, int reduction)
{
    switch (reduction) {
    case REDUCE_PROD: return a * b;
    case REDUCE_MAX: return a > b ? a : b;
    case REDUCE_MIN: return a < b ? a : b;
    default: return a + b;
    }
}

/* Writes the reduction of elements [from, from + count) of all ranks. */
static void reduce(void *out, const group *g, const call *c, size_t from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double v = load(g->calls[0].in, from + i, c->type);
        for (int r = 1; r < g->count; r++)
            v = join(v, load(g->calls[r].in, from + i, c->type), c->reduction);
        store(out, i, c->type, c->reduction == REDUCE_AVG ? v / g->count : v);
    }
}

static void copy_all(void *out, const group *g, size_t bytes)
{
    for (int r = 0; r < g->count; r++)
        memcpy((char *)out + (size_t)r * bytes, g->calls[r].in, bytes);
}

static void compute(void *out, const group *g, int rank)
{
    const call *c = &g->calls[rank];
    const size_t bytes = c->count * item_of(c->type);
    for (int r = 0; r < g->count; r++)
        if (strcmp(g->calls[r].name, c->name) != 0 || g->calls[r].count != c->count ||
            g->calls[r].type != c->type || g->calls[r].reduction != c->reduction)
            give_up("ranks call different collectives");
    if (!strcmp(c->name, "ncclAllReduce")) reduce(out, g, c, 0, c->count);
    if (!strcmp(c->name, "ncclReduceScatter")) reduce(out, g, c, c->count * (size_t)rank, c->count);
    if (!strcmp(c->name, "ncclAllGather")) copy_all(out, g, bytes);
    if (!strcmp(c->name, "ncclBroadcast")) memcpy(out, g->calls[c->root].in, bytes);
    if (!strcmp(c->name, "ncclReduce") && rank == c->root) reduce(out, g, c, 0, c->count);
}

static int collective(call c, void *out, nccl_comm comm, cu_stream stream)
{
    group *g = comm->g;
    BEGIN(c.name);
    if (!stream) return 4;
    c.in = reach(c.in);
    pthread_mutex_lock(&g->lock);
    comm->inside = 1;
    g->calls[comm->rank] = c;
    wait_for_all(g);
    if (!g->aborted) compute(reach(out), g, comm->rank);
    wait_for_all(g);
    const int code = g->aborted ? REMOTE_ERROR : 0;
    comm->inside = 0;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
    return code;
}

EXPORT int ncclAllReduce(const void *in, void *out, size_t count, int type, int reduction,
                         nccl_comm comm, cu_stream stream)
{
    return collective((call){"ncclAllReduce", in, count, type, reduction, 0}, out, comm, stream);
}

EXPORT int ncclAllGather(const void *in, void *out, size_t count, int type, nccl_comm comm,
                         cu_stream stream)
{
    return collective((call){"ncclAllGather", in, count, type, 0, 0}, out, comm, stream);
}

EXPORT int ncclReduceScatter(const void *in, void *out, size_t count, int type, int reduction,
                             nccl_comm comm, cu_stream stream)
{
    return collective((call){"ncclReduceScatter", in, count, type, reduction, 0}, out, comm,
                      stream);
}

EXPORT int ncclBroadcast(const void *in, void *out, size_t count, int type, int root,
                         nccl_comm comm, cu_stream stream)
{
    return collective((call){"ncclBroadcast", in, count, type, 0, root}, out, comm, stream);
}

EXPORT int ncclReduce(const void *in, void *out, size_t count, int type, int reduction, int root,
                      nccl_comm comm, cu_stream stream)
{
    return collective((call){"ncclReduce", in, count, type, reduction, root}, out, comm, stream);
}

/* ---- Sends and receives --------------------------------------------------------------------- */

EXPORT int ncclGroupStart(void)
{
    BEGIN("ncclGroupStart");
    if (grouped) give_up("groups within groups");
    grouped = 1;
    transfer_count = group_error = 0;
    return 0;
}

static int collect(const char *name, transfer t)
{
    const int code = fault_of(name);
    if (code) return group_error = code;
    if (!grouped || transfer_count == 4 * MOST) give_up("a transfer outside of a group");
    transfers[transfer_count++] = t;
    return 0;
}

EXPORT int ncclSend(const void *in, size_t count, int type, int peer, nccl_comm comm,
                    cu_stream stream)
{
    (void)stream;
    return collect("ncclSend", (transfer){1, peer, reach(in), count * item_of(type), comm});
}

EXPORT int ncclRecv(void *out, size_t count, int type, int peer, nccl_comm comm, cu_stream stream)
{
    (void)stream;
    return collect("ncclRecv", (transfer){0, peer, reach(out), count * item_of(type), comm});
}

static void wait_for_post(group *g, const post *p, int wanted)
{
    while (!g->aborted && (p->data != NULL) != wanted) pthread_cond_wait(&g->changed, &g->lock);
}

static void take(group *g, const transfer *t)
{
    post *p = &g->posts[t->peer][t->comm->rank];
    wait_for_post(g, p, 1);
    if (g->aborted) return;
    if (p->bytes != t->bytes) give_up("a receive of another size than its send");
    memcpy(t->data, p->data, t->bytes);
    p->data = NULL;
    pthread_cond_broadcast(&g->changed);
}

EXPORT int ncclGroupEnd(void)
{
    grouped = 0;
    BEGIN("ncclGroupEnd");
    if (group_error || !transfer_count) return group_error;
    nccl_comm comm = transfers[0].comm;
    group *g = comm->g;
    pthread_mutex_lock(&g->lock);
    comm->inside = 1;
    for (int i = 0; i < transfer_count; i++)
        if (transfers[i].sends)
            g->posts[comm->rank][transfers[i].peer] = (post){transfers[i].data, transfers[i].bytes};
    pthread_cond_broadcast(&g->changed);
    for (int i = 0; i < transfer_count; i++)
        if (!transfers[i].sends) take(g, &transfers[i]);
    for (int i = 0; i < transfer_count; i++)
        if (transfers[i].sends) wait_for_post(g, &g->posts[comm->rank][transfers[i].peer], 0);
    const int code = g->aborted ? REMOTE_ERROR : 0;
    comm->inside = 0;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
    return code;
}
