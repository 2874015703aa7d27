/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of GPUs by NCCL. One thread makes the communicators of a group; then each rank uses
 * its own. Another thread may abort it meanwhile: NCCL ends a call that is in progress, and this
 * file begins none afterwards. */
#include "device/cuda/nccl.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/dl.h"
#include "device/cuda/gpu.h"
#include "device/cuda/libraries.h"
#include "device/cuda_ranks.h"

/* A call of NCCL that waits for no other rank is over by then. */
enum { LONGEST_CALL_MS = 100 };

typedef struct member {
    pthread_mutex_t lock;
    nccl_comm comm; /* NULL: aborted */
    bool calling;   /* its rank is within a call of NCCL */
} member;

struct cuda_ranks {
    struct cuda_ranks *next;
    const cuda_nccl *nccl;
    uint64_t members;
    size_t count;
    pgy_status status; /* of making it */
    pgy_error why;
    member items[];
};

/* What is attached to a pgy_communicator. */
typedef struct groups {
    pthread_mutex_t lock;
    cuda_ranks *first;
    bool stopped;
} groups;

/* ---- The library ---------------------------------------------------------------------------- */

static cuda_nccl library;
static pgy_status opened;
static pgy_error why;

/* NCCL reads its variables when it starts. Multicast over NVLink (NVLS) is used only if the user
 * asks for it: a program that fails with it can leave the GPUs of a host unusable for others. */
static void open_once(void)
{
    static const char *const NAMES[] = {"libnccl.so.2", NULL};
    const dl_symbol symbols[] = {
#define X(member, symbol, result, arguments) {symbol, (void **)(void *)&library.member, true},
#include "device/cuda/nccl.def"
#undef X
    };
    void *handle = NULL;
    setenv("NCCL_NVLS_ENABLE", "0", 0);
    opened = cuda_library_open(&handle, NAMES, &why);
    if (!opened) opened = dl_resolve(handle, symbols, sizeof symbols / sizeof *symbols, &why);
}

pgy_status cuda_nccl_open(const cuda_nccl **out, pgy_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_once);
    if (opened) return pgy_error_set(err, opened, "ranks on GPUs need NCCL: %s", why.text);
    *out = &library;
    return PGY_OK;
}

pgy_status cuda_ranks_open(pgy_error *err)
{
    const cuda_nccl *nccl = NULL;
    return cuda_nccl_open(&nccl, err);
}

static pgy_status check(const cuda_nccl *n, int code, const char *doing, pgy_error *err)
{
    if (!code) return PGY_OK;
    const char *text = n->error_text(code);
    return pgy_error_set(err, PGY_E_DEVICE,
                         "NCCL failed while %s: %s (code %d); NCCL_DEBUG=WARN makes it say more",
                         doing, text ? text : "unknown", code);
}

/* ---- Groups --------------------------------------------------------------------------------- */

/* Takes the communicator from the member, so that no call begins with it any more. */
static nccl_comm take(member *m)
{
    pthread_mutex_lock(&m->lock);
    nccl_comm comm = m->comm;
    m->comm = NULL;
    pthread_mutex_unlock(&m->lock);
    return comm;
}

static bool is_calling(member *m)
{
    pthread_mutex_lock(&m->lock);
    const bool calling = m->calling;
    pthread_mutex_unlock(&m->lock);
    return calling;
}

static void destroy_members(cuda_ranks *r)
{
    for (size_t i = 0; i < r->count; i++) {
        nccl_comm comm = take(&r->items[i]);
        if (comm) (void)r->nccl->destroy(comm);
    }
}

/* A call that lasts waits within NCCL for another rank, and an abort ends it. A shorter one must
 * be over before, because an abort frees what it is about to use. */
static void abort_members(cuda_ranks *r)
{
    nccl_comm comms[PGY_MAX_RANKS];
    for (size_t i = 0; i < r->count; i++) comms[i] = take(&r->items[i]);
    for (size_t i = 0; i < r->count; i++) {
        for (int ms = 0; ms < LONGEST_CALL_MS && is_calling(&r->items[i]); ms++)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        if (comms[i]) (void)r->nccl->abort(comms[i]);
    }
}

static void stop(void *state)
{
    groups *g = state;
    pthread_mutex_lock(&g->lock);
    g->stopped = true;
    for (cuda_ranks *r = g->first; r; r = r->next) abort_members(r);
    pthread_mutex_unlock(&g->lock);
}

static void destroy(void *state)
{
    groups *g = state;
    for (cuda_ranks *r = g->first, *next; r; r = next) {
        next = r->next;
        destroy_members(r);
        for (size_t i = 0; i < r->count; i++) pthread_mutex_destroy(&r->items[i].lock);
        mem_free(r);
    }
    pthread_mutex_destroy(&g->lock);
    mem_free(g);
}

static groups *groups_of(pgy_communicator *c)
{
    groups *g = communicator_attached(c);
    if (g) return g;
    g = mem_calloc(1, sizeof *g);
    if (!g) return NULL;
    pthread_mutex_init(&g->lock, NULL);
    return communicator_attach(
        c, &(communicator_attachment){.state = g, .stop = stop, .destroy = destroy});
}

static cuda_ranks *find(groups *g, uint64_t members)
{
    pthread_mutex_lock(&g->lock);
    cuda_ranks *r = g->first;
    while (r && r->members != members) r = r->next;
    pthread_mutex_unlock(&g->lock);
    return r;
}

/* Two ranks cannot share a GPU. */
static pgy_status read_devices(int *out, device *const *devices, size_t count, pgy_error *err)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = gpu_of(devices[i])->handle;
        for (size_t k = 0; k < i; k++)
            if (out[k] == out[i])
                return pgy_error_set(err, PGY_E_DEVICE,
                                     "two ranks are on device '%s'; each needs a GPU of its own",
                                     devices[i]->name);
    }
    return PGY_OK;
}

static pgy_status init(cuda_ranks *r, device *const *devices, pgy_error *err)
{
    int ordinals[PGY_MAX_RANKS];
    nccl_comm comms[PGY_MAX_RANKS] = {NULL};
    pgy_status st = cuda_nccl_open(&r->nccl, err);
    if (!st) st = read_devices(ordinals, devices, r->count, err);
    if (!st)
        st = check(r->nccl, r->nccl->init_all(comms, (int)r->count, ordinals),
                   "connecting the GPUs of the ranks", err);
    for (size_t i = 0; !st && i < r->count; i++) r->items[i].comm = comms[i];
    return st;
}

void cuda_ranks_join(pgy_communicator *c, uint64_t members, device *const *devices, size_t count)
{
    groups *g = groups_of(c);
    if (!g || find(g, members)) return;
    cuda_ranks *r = mem_calloc(1, sizeof *r + count * sizeof r->items[0]);
    if (!r) return;
    r->members = members;
    r->count = count;
    for (size_t i = 0; i < count; i++) pthread_mutex_init(&r->items[i].lock, NULL);
    r->status = init(r, devices, &r->why);
    pthread_mutex_lock(&g->lock);
    r->next = g->first;
    g->first = r;
    if (g->stopped) abort_members(r);
    pthread_mutex_unlock(&g->lock);
}

pgy_status cuda_ranks_find(cuda_ranks **out, pgy_communicator *c, uint64_t members, pgy_error *err)
{
    groups *g = communicator_attached(c);
    cuda_ranks *r = g ? find(g, members) : NULL;
    if (!r) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (r->status) return pgy_error_set(err, r->status, "%s", r->why.text);
    *out = r;
    return PGY_OK;
}

/* ---- Enqueueing ----------------------------------------------------------------------------- */

typedef struct work {
    const cuda_nccl *n;
    const cuda_ranks_call *c;
    nccl_comm comm;
    cu_stream stream;
    size_t self, count;
    size_t part; /* elements of a rank's part, where the input or output has one for each */
} work;

static int send_part(const work *w, size_t part, size_t peer)
{
    return w->n->send((const char *)w->c->in + part * w->part * w->c->item, w->part, w->c->type,
                      (int)peer, w->comm, w->stream);
}

static int receive_part(const work *w, size_t part, size_t peer)
{
    return w->n->receive((char *)w->c->out + part * w->part * w->c->item, w->part, w->c->type,
                         (int)peer, w->comm, w->stream);
}

/* Which parts go where, also to the rank itself. */
static int send_and_receive(const work *w)
{
    const bool root = w->self == w->c->root;
    int code = 0;
    for (size_t i = 0; !code && i < w->count; i++) switch (w->c->operation) {
        case CUDA_RANKS_ALL_TO_ALL:
            code = send_part(w, i, i);
            if (!code) code = receive_part(w, i, i);
            break;
        case CUDA_RANKS_SCATTER:
            if (root) code = send_part(w, i, i);
            if (!code && i == w->c->root) code = receive_part(w, 0, i);
            break;
        default:
            if (i == w->c->root) code = send_part(w, 0, i);
            if (!code && root) code = receive_part(w, i, i);
            break;
        }
    return code;
}

static int exchange(const work *w)
{
    int code = w->n->group_start();
    if (code) return code;
    code = send_and_receive(w);
    const int end = w->n->group_end();
    return code ? code : end;
}

static int call_nccl(const work *w)
{
    const cuda_ranks_call *c = w->c;
    const cuda_nccl *n = w->n;
    switch (c->operation) {
    case CUDA_RANKS_ALL_REDUCE:
        return n->all_reduce(c->in, c->out, c->count, c->type, c->reduction, w->comm, w->stream);
    case CUDA_RANKS_ALL_GATHER:
        return n->all_gather(c->in, c->out, c->count, c->type, w->comm, w->stream);
    case CUDA_RANKS_REDUCE_SCATTER:
        return n->reduce_scatter(c->in, c->out, w->part, c->type, c->reduction, w->comm, w->stream);
    case CUDA_RANKS_BROADCAST:
        return n->broadcast(c->in, c->out, c->count, c->type, (int)c->root, w->comm, w->stream);
    case CUDA_RANKS_REDUCE:
        return n->reduce(c->in, c->out, c->count, c->type, c->reduction, (int)c->root, w->comm,
                         w->stream);
    default: return exchange(w);
    }
}

static pgy_status clear_others(const work *w, device_stream *s, pgy_error *err)
{
    const cuda_ranks_operation o = w->c->operation;
    if ((o != CUDA_RANKS_REDUCE && o != CUDA_RANKS_GATHER) || w->self == w->c->root) return PGY_OK;
    const uint64_t copies = o == CUDA_RANKS_GATHER ? w->count : 1;
    return device_fill(s, w->c->out, 0, copies * w->c->count * w->c->item, err);
}

static bool begin_call(work *w, member *m)
{
    pthread_mutex_lock(&m->lock);
    w->comm = m->comm;
    m->calling = w->comm != NULL;
    pthread_mutex_unlock(&m->lock);
    return w->comm != NULL;
}

static void end_call(member *m)
{
    pthread_mutex_lock(&m->lock);
    m->calling = false;
    pthread_mutex_unlock(&m->lock);
}

static pgy_status enqueue(work *w, cuda_gpu *g, member *m, pgy_error *err)
{
    int pending = 0;
    pgy_status st = gpu_enter(g, err);
    if (st) return st;
    if (begin_call(w, m)) {
        int code = w->n->async_error(w->comm, &pending);
        if (!code) code = pending;
        if (!code) code = call_nccl(w);
        end_call(m);
        st = check(w->n, code, "enqueueing a collective", err);
    } else {
        st = pgy_error_set(err, PGY_E_DEVICE, "NCCL was stopped because another rank failed");
    }
    gpu_leave(g);
    return st;
}

pgy_status cuda_ranks_enqueue(cuda_ranks *r, size_t self, const cuda_ranks_call *call,
                              device_stream *s, pgy_error *err)
{
    work w = {
        .n = r->nccl, .c = call, .stream = cuda_stream_handle(s), .self = self, .count = r->count};
    w.part = call->operation == CUDA_RANKS_GATHER ? call->count : call->count / r->count;
    const pgy_status st = clear_others(&w, s, err);
    return st ? st : enqueue(&w, gpu_of(s->device), &r->items[self], err);
}
