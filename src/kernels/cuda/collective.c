/* SPDX-License-Identifier: Apache-2.0 */
/* DistCollective between GPUs, by NCCL. The ranks meet on the host before each enqueues its part,
 * because NCCL does not notice that ranks come to different collectives: it would wait forever. */
#include "ops/class_collective.h"

#include "device/cuda_ranks.h"
#include "kernels/cuda/code.h"
#include "kernels/extent.h"

extern const kernel KERNELS_collective[];

static const struct {
    pgy_dtype dtype;
    cuda_ranks_type type;
    bool moves; /* NCCL has no such type, so it is moved as bytes */
} TYPES[] = {{PGY_F32, CUDA_RANKS_F32, false},   {PGY_F16, CUDA_RANKS_F16, false},
             {PGY_BF16, CUDA_RANKS_BF16, false}, {PGY_F64, CUDA_RANKS_F64, false},
             {PGY_I8, CUDA_RANKS_I8, false},     {PGY_U8, CUDA_RANKS_U8, false},
             {PGY_I32, CUDA_RANKS_I32, false},   {PGY_U32, CUDA_RANKS_U32, false},
             {PGY_I64, CUDA_RANKS_I64, false},   {PGY_U64, CUDA_RANKS_U64, false},
             {PGY_I16, CUDA_RANKS_U8, true},     {PGY_U16, CUDA_RANKS_U8, true},
             {PGY_BOOL, CUDA_RANKS_U8, true}};
enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

static size_t type_index(uint32_t dtype)
{
    size_t i = 0;
    while (i < TYPE_COUNT && TYPES[i].dtype != (pgy_dtype)dtype) i++;
    return i;
}

/* NCCL's averages of integers wrap before they divide, so the host computes them. */
static bool can_compute(const collective *c)
{
    const size_t i = type_index(c->type);
    if (i == TYPE_COUNT) return false;
    if (!collective_reduces(c->operation)) return true;
    return !TYPES[i].moves &&
           (c->reduction != COLLECTIVE_AVG || pgy_dtype_is_float((pgy_dtype)c->type));
}

static bool cuda_collective_accept(kernel_problem *u, double *cost_ns)
{
    collective c;
    if (collective_read(&c, u->node, NULL)) return false;
    c.type = (uint32_t)u->inputs[0].dtype;
    if (!can_compute(&c)) return false;
    cuda_set_linear(u);
    *cost_ns = 10000 + cuda_cost(cuda_bytes(u) * 4, 0, false);
    return true;
}

static pgy_status cuda_collective_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    return KERNELS_collective[0].prepare(out, u, err);
}

static bool cuda_collective_extent(kernel_extent *e, const kernel_claim *q)
{
    if (!KERNELS_collective[0].extent(e, q)) return false;
    return can_compute(q->params) || extent_refuse(e, "type");
}

/* A missing library is an error before the first run. */
static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    const collective *c = plan->params;
    (void)self, (void)d;
    *out = NULL;
    return c->ranks > 1 ? cuda_ranks_open(err) : PGY_OK;
}

/* data[i] is the device of the i-th member. The first member connects all. */
static void connect(const void *const *data, size_t count, size_t self, void *user)
{
    const collective *c = user;
    int64_t rank;
    device *devices[PGY_MAX_RANKS];
    if (self) return;
    for (size_t i = 0; i < count; i++) devices[i] = (device *)data[i];
    cuda_ranks_join(communicator_current(&rank), c->members, devices, count);
}

static cuda_ranks_call call_of(const collective *c, const kernel_run *r)
{
    static const cuda_ranks_operation OPERATIONS[COLLECTIVE_OPERATIONS] = {
        [COLLECTIVE_ALL_REDUCE] = CUDA_RANKS_ALL_REDUCE,
        [COLLECTIVE_ALL_GATHER] = CUDA_RANKS_ALL_GATHER,
        [COLLECTIVE_REDUCE_SCATTER] = CUDA_RANKS_REDUCE_SCATTER,
        [COLLECTIVE_BROADCAST] = CUDA_RANKS_BROADCAST,
        [COLLECTIVE_REDUCE] = CUDA_RANKS_REDUCE,
        [COLLECTIVE_GATHER] = CUDA_RANKS_GATHER,
        [COLLECTIVE_SCATTER] = CUDA_RANKS_SCATTER,
        [COLLECTIVE_ALL_TO_ALL] = CUDA_RANKS_ALL_TO_ALL};
    static const cuda_ranks_reduction REDUCTIONS[COLLECTIVE_REDUCTIONS] = {
        [COLLECTIVE_SUM] = CUDA_RANKS_SUM,
        [COLLECTIVE_PROD] = CUDA_RANKS_PROD,
        [COLLECTIVE_MIN] = CUDA_RANKS_MIN,
        [COLLECTIVE_MAX] = CUDA_RANKS_MAX,
        [COLLECTIVE_AVG] = CUDA_RANKS_AVG};
    const size_t i = type_index(c->type);
    const uint64_t item = cuda_item((pgy_dtype)c->type), bytes = TYPES[i].moves ? item : 1;
    const uint64_t below = c->root < 0 ? 0 : (UINT64_C(1) << c->root) - 1;
    return (cuda_ranks_call){.operation = OPERATIONS[c->operation],
                             .type = TYPES[i].type,
                             .reduction = REDUCTIONS[c->reduction],
                             .count = c->count * bytes,
                             .item = item / bytes,
                             .root = (size_t)__builtin_popcountll(c->members & below),
                             .in = r->tensors[0],
                             .out = r->tensors[1]};
}

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const collective *c = r->params;
    uint32_t self;
    int64_t rank;
    cuda_ranks *group = NULL;
    pgy_status st = collective_find_self(c, &self, err);
    if (st) return st;
    const uint64_t bytes = c->count * cuda_item((pgy_dtype)c->type);
    if (c->ranks == 1)
        return device_copy(stream, r->tensors[1], r->tensors[0], bytes, DEVICE_WITHIN, err);
    st = collective_meet(c, bytes, stream->device, connect, (void *)c, err);
    if (!st) st = cuda_ranks_find(&group, communicator_current(&rank), c->members, err);
    if (st || !bytes) return st;
    const cuda_ranks_call call = call_of(c, r);
    return cuda_ranks_enqueue(group, self, &call, stream, err);
}

const kernel KERNELS_cuda_collective[] = {
    {.name = "cuda_collective",
     .version = 1,
     .ops = "DistCollective",
     .flags = KERNEL_HOLDS_NEXT | KERNEL_JOINS_RANKS,
     .device = "cuda",
     .accept = cuda_collective_accept,
     .prepare = cuda_collective_prepare,
     .extent = cuda_collective_extent,
     .load = load,
     .enqueue = enqueue},
    {0},
};
