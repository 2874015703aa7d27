/* SPDX-License-Identifier: Apache-2.0 */
/* Large matrix products of 16-bit floats with constant B on Hopper GPUs (piped.cu): blocks that
 * stay on their multiprocessors, copies by tensor maps, activations beside the products of the next
 * tile. Other GPUs compute the same with the tiles of matmul_packed.c. */
#include "base/alloc.h"
#include "kernels/cuda/matmul_packed.h"

enum { ROWS = 128, COLUMNS = 256, STEP = 64, GROUP_ROWS = 64, GROUP = 128, STAGES = 3, TILE = 0 };
/* The shared memory that piped.cu lays out from a multiple of 1024 on: stages, a tile of Y,
 * barriers. */
enum { ROOM = (STAGES * (ROWS + COLUMNS) * STEP + ROWS * COLUMNS) * 2 + STAGES * 16 + 32 + 1024 };

typedef struct loaded {
    cuda_loaded *code;
    packed_loaded *other; /* of GPUs other than Hopper; NULL on Hopper */
    uint32_t multiprocessors;
} loaded;

/* Arguments of the kernel in piped.cu: the same struct as there. */
typedef struct piped_call {
    cuda_tensor_map x, w, y;
    uint64_t bias;
    uint32_t m, n, k, unused;
    float alpha, first, second;
} piped_call;

/* ---- The problem ---------------------------------------------------------------------------- */

static bool is_piped(const cuda_matmul_params *p)
{
    return p->out_type == p->type && !p->has_residual && p->s.n % PACKED_VECTOR == 0 &&
           (p->s.bias == MATMUL_NO_BIAS || p->bias_type == p->type);
}

/* Blocks of a cluster: they compute tiles below each other. */
static uint32_t members_of(const matmul_shape *s)
{
    return s->m > ROWS ? 2 : 1;
}

static uint64_t units_of(const matmul_shape *s)
{
    const uint64_t rows = (uint64_t)ROWS * members_of(s);
    return (s->m + rows - 1) / rows * ((s->n + COLUMNS - 1) / COLUMNS);
}

static bool piped_accept(kernel_problem *u, double *cost_ns)
{
    const double multiprocessors = 132, rate = 4800, tile_end_ns = 700;
    matmul_packed_params p;
    cuda_set_linear(u);
    if (!matmul_packed_describe(&p, u, TILE) || !is_piped(&p.own)) return false;
    const matmul_shape *s = &p.own.s;
    const uint64_t at_once = (uint64_t)multiprocessors / members_of(s);
    const double waves = (double)((units_of(s) + at_once - 1) / at_once),
                 tile = 2.0 * ROWS * COLUMNS * (double)s->k / rate + tile_end_ns,
                 moved = cuda_cost(cuda_bytes(u), 0, true), computed = 2500 + waves * tile;
    *cost_ns = moved > computed ? moved : computed;
    return true;
}

static pgy_status piped_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    return matmul_packed_create(out, u, TILE, err);
}

static bool piped_extent(kernel_extent *e, const kernel_claim *q)
{
    if (!matmul_packed_reach(e, q, TILE)) return false;
    const matmul_packed_params *p = q->params;
    return is_piped(&p->own) || extent_refuse(e, "product");
}

/* ---- Loading -------------------------------------------------------------------------------- */

static void unload(void *given)
{
    loaded *l = given;
    if (!l) return;
    cuda_unload(l->code);
    packed_unload(l->other);
    mem_free(l);
}

static pgy_status load_piped(loaded *l, const cuda_matmul_params *p, device *d, pgy_error *err)
{
    static const cuda_source SOURCE = {
        "piped", CUDA_SOURCE_piped, {"run"}, {CUDA_SOURCE_groups, CUDA_SOURCE_barriers}};
    str defines = {0};
    void *code = NULL;
    cuda_define_int(&defines, "STAGES", STAGES);
    cuda_define_int(&defines, "MEMBERS", members_of(&p->s));
    cuda_define_int(&defines, "TENSOR", p->type == PGY_F16 ? 1 : 2);
    cuda_define_int(&defines, "BIASED", p->s.bias != MATMUL_NO_BIAS);
    cuda_define_int(&defines, "ACTIVATION", cuda_matmul_activation(p));
    cuda_define_type(&defines, "X", (pgy_dtype)p->type);
    cuda_define_type(&defines, "Y", (pgy_dtype)p->type);
    const pgy_status st = cuda_load(&code, d, &SOURCE, &defines, err);
    l->code = code;
    return st;
}

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    const matmul_packed_params *p = plan->params;
    void *other = NULL;
    loaded *l = mem_calloc(1, sizeof *l);
    (void)self;
    if (!l) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    l->multiprocessors = cuda_multiprocessors(d);
    const pgy_status st =
        cuda_is_hopper(d) ? load_piped(l, &p->own, d, err) : matmul_packed_load(&other, p, d, err);
    l->other = other;
    if (st)
        unload(l);
    else
        *out = l;
    return st;
}

/* ---- Running -------------------------------------------------------------------------------- */

static cuda_matrix matrix_of(const cuda_matmul_params *p, const void *data, uint64_t rows,
                             uint64_t columns, uint64_t pitch)
{
    return (cuda_matrix){.address = (uint64_t)(uintptr_t)data,
                         .row_bytes = pitch * 2,
                         .rows = rows,
                         .columns = columns,
                         .box_columns = STEP,
                         .type = cuda_element_of((pgy_dtype)p->type)};
}

static pgy_status describe_matrices(piped_call *c, const kernel_run *r, device_stream *stream,
                                    pgy_error *err)
{
    const cuda_matmul_params *p = &((const matmul_packed_params *)r->params)->own;
    const matmul_shape *s = &p->s;
    cuda_matrix x = matrix_of(p, r->tensors[0], s->m, s->k, s->a_row),
                w = matrix_of(p, r->packed, s->n, s->k, s->k),
                y = matrix_of(p, r->tensors[p->inputs], s->m, s->n, s->n);
    x.box_rows = ROWS;
    w.box_rows = COLUMNS / members_of(s);
    y.box_rows = GROUP_ROWS;
    pgy_status st = cuda_tensor_map_encode(&c->x, stream, &x, err);
    if (!st) st = cuda_tensor_map_encode(&c->w, stream, &w, err);
    return st ? st : cuda_tensor_map_encode(&c->y, stream, &y, err);
}

/* Two groups of warps multiply, one starts copies, and two compute activations. */
static uint32_t threads_of(const cuda_matmul_params *p)
{
    return (cuda_matmul_activation(p) ? 5 : 3) * GROUP;
}

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const loaded *l = r->loaded;
    if (l->other) return matmul_packed_enqueue(r, l->other, stream, err);
    const matmul_packed_params *p = r->params;
    const matmul_shape *s = &p->own.s;
    const uint32_t members = members_of(s);
    const uint64_t units = units_of(s), most = l->multiprocessors / members;
    piped_call c = {.bias = s->bias ? (uint64_t)(uintptr_t)r->tensors[2] : 0,
                    .m = (uint32_t)s->m,
                    .n = (uint32_t)s->n,
                    .k = (uint32_t)s->k,
                    .alpha = s->alpha};
    const pgy_status st = describe_matrices(&c, r, stream, err);
    if (st) return st;
    return cuda_launch_shared(stream, l->code->functions[0],
                              (units < most ? units : most) * members, threads_of(&p->own), ROOM,
                              &c, err);
}

const kernel KERNELS_cuda_matmul_piped[] = {
    {.name = "matmul_piped",
     .version = 2,
     .ops = "MatMul Gemm pgy:FusedMatMul com.microsoft:FusedMatMul",
     .device = "cuda",
     .accept = piped_accept,
     .prepare = piped_prepare,
     .extent = piped_extent,
     .load = load,
     .unload = unload,
     .enqueue = enqueue},
    {0},
};
