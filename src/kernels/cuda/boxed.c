/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions in channels last and matrix products with packed weights on Hopper GPUs, whose tiles
 * the copy engine brings as boxes of tensor maps (boxed.cu). Other GPUs compute the same with
 * packed.cu. A row for each tile; deep ones fill the shared memory of a multiprocessor with
 * stages, so that copies wait less, but the next kernel finds no room beside them. */
#include "kernels/cuda/boxed.h"

#include "base/alloc.h"
#include "kernels/cuda/conv_last.h"
#include "kernels/cuda/matmul_packed.h"

enum {
    STEP = 64,
    STEP_BYTES = 128,
    WARP = 32,
    BARRIERS = 32
}; /* bytes of the barriers of a stage, or of two slim ones */

struct boxed_loaded {
    cuda_loaded *code;
    packed_loaded *other; /* of GPUs other than Hopper; NULL on Hopper */
    uint32_t step_bytes;  /* of each row */
};

/* The tile of a row, as in packed.c. */
static uint32_t tile_of(const kernel *self);

/* ---- How the work is cut --------------------------------------------------------------------- */

static bool is_deep(const packed_cut *c)
{
    return PACKED_TILE[c->tile].blocks == 1;
}

/* Clusters of more blocks wait long for whole multiprocessors beside each other. */
bool boxed_is_useful(const packed_cut *c)
{
    return !is_deep(c) || c->splits <= 2;
}

/* The cut with a tile of packed.cu that computes the same. */
static packed_cut shallow(const packed_cut *c)
{
    packed_cut other = *c;
    for (uint32_t i = 0; is_deep(&other) && i < PACKED_TILES; i++)
        if (PACKED_TILE[i].blocks > 1 && PACKED_TILE[i].m == PACKED_TILE[c->tile].m &&
            PACKED_TILE[i].n == PACKED_TILE[c->tile].n)
            other.tile = i;
    return other;
}

bool boxed_has_sizes(uint64_t m, uint64_t n)
{
    return m <= INT32_MAX / 2 && n <= INT32_MAX / 2;
}

/* Nanoseconds: a multiprocessor takes about 113 bytes per ns, and multiplies 6000 flop. */
double boxed_cost(const kernel_problem *u, const packed_cut *c, uint64_t m, uint64_t n, uint64_t k)
{
    const double multiprocessors = 132, launch = 2500, cluster = 2000, wait = 1.2;
    const packed_tile *t = &PACKED_TILE[c->tile];
    const double bytes = (t->m + t->n) * STEP * 2.0, flop = 2.0 * t->m * t->n * STEP,
                 step = bytes / 113 > flop / 6000 ? bytes / 113 : flop / 6000,
                 steps = (double)((k + STEP - 1) / STEP) / c->splits;
    double waves = (double)packed_blocks(c, m, n, 1) / multiprocessors;
    if (waves < 1) waves = 1;
    const double computed = launch + (c->splits > 1 ? cluster : 0) +
                            waves * steps * step * (is_deep(c) ? 1 : wait),
                 moved = cuda_cost(cuda_bytes(u), 0, true);
    return moved > computed ? moved : computed;
}

/* ---- Loading and launching ------------------------------------------------------------------- */

pgy_status boxed_load(void **out, const packed_kind *kind, device *d, pgy_error *err)
{
    cuda_source source = packed_text(kind, "boxed", CUDA_SOURCE_boxed);
    size_t count = 0;
    str defines = {0};
    void *code = NULL;
    boxed_loaded *l = mem_calloc(1, sizeof *l);
    pgy_status st = PGY_OK;
    if (!l) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    while (source.before[count]) count++;
    source.before[count] = CUDA_SOURCE_barriers;
    l->step_bytes = kind->slim ? STEP_BYTES / 2 : STEP_BYTES;
    if (cuda_is_hopper(d)) {
        packed_define(&defines, kind, kind->cut.splits);
        st = cuda_load(&code, d, &source, &defines, err);
        l->code = code;
    } else {
        packed_kind other = *kind;
        other.cut = shallow(&kind->cut);
        other.mapped = false; /* packed.cu reads zero points outside of the image */
        other.slim = false;
        st = packed_load(&code, &other, d, err);
        l->other = code;
    }
    if (st)
        mem_free(l);
    else
        *out = l;
    return st;
}

void boxed_unload(void *given)
{
    boxed_loaded *l = given;
    if (!l) return;
    cuda_unload(l->code);
    packed_unload(l->other);
    mem_free(l);
}

bool boxed_uses_maps(const boxed_loaded *l)
{
    return !l->other;
}

/* Describes the weights and launches; the image or matrix is described already. */
pgy_status boxed_launch(const boxed_loaded *l, const packed_cut *cut, boxed_call *c, pgy_dtype type,
                        device_stream *stream, pgy_error *err)
{
    const packed_tile *t = &PACKED_TILE[cut->tile];
    const packed_cut other = shallow(cut);
    const uint32_t item = cuda_item(type);
    const cuda_matrix w = {.address = c->own.w,
                           .row_bytes = c->own.k_pitch * item,
                           .rows = c->own.w_rows ? c->own.w_rows : c->own.n,
                           .columns = c->own.k,
                           .box_rows = t->n,
                           .box_columns = l->step_bytes / item,
                           .type = cuda_element_of(type)};
    if (l->other) return packed_launch(stream, l->other, &other, &c->own, err);
    const pgy_status st = cuda_tensor_map_encode(&c->w, stream, &w, err);
    if (st) return st;
    return cuda_launch_shared(stream, l->code->functions[0],
                              packed_blocks(cut, c->own.m, c->own.n, 1), t->m * 2 + WARP,
                              packed_room(cut->tile, t->stages * BARRIERS), c, err);
}

pgy_status boxed_launch_matrix(const boxed_loaded *l, const packed_cut *cut, boxed_call *c,
                               pgy_dtype type, device_stream *stream, pgy_error *err)
{
    const uint32_t item = cuda_item(type);
    const cuda_matrix x = {.address = c->own.x,
                           .row_bytes = c->own.x_row * item,
                           .rows = c->own.m,
                           .columns = c->own.k,
                           .box_rows = PACKED_TILE[cut->tile].m,
                           .box_columns = l->step_bytes / item,
                           .type = cuda_element_of(type)};
    const pgy_status st = l->other ? PGY_OK : cuda_tensor_map_encode(&c->x, stream, &x, err);
    return st ? st : boxed_launch(l, cut, c, type, stream, err);
}

/* ---- Convolutions ---------------------------------------------------------------------------- */

static uint64_t conv_rows(const conv_shape *s)
{
    return extent_mul3(s->batch, (uint64_t)s->out[0], (uint64_t)s->out[1]);
}

static cuda_image image_of(const conv_last_params *p, const void *data)
{
    const conv_shape *s = &p->s;
    cuda_image m = {.address = (uint64_t)(uintptr_t)data,
                    .batch = s->batch,
                    .height = (uint64_t)s->in[0],
                    .width = (uint64_t)s->in[1],
                    .channels = s->in_channels,
                    .box_pixels = PACKED_TILE[p->cut.tile].m,
                    .box_channels = STEP,
                    .type = cuda_element_of((pgy_dtype)p->type)};
    for (int i = 0; i < 2; i++) {
        m.first[i] = (int32_t)-s->pad[i];
        m.last[i] = (int32_t)((s->out[i] - 1) * s->stride[i] - s->pad[i]);
        m.stride[i] = (uint32_t)s->stride[i];
    }
    return m;
}

/* Whole steps of k in each tap, and places that the copy engine can count. */
static bool can_bring(const conv_last_params *p)
{
    const conv_shape *s = &p->s;
    const int64_t most = 1 << 20; /* keeps the products below in their types */
    uint32_t farthest[2];
    if (s->groups != 1 || p->linear || s->in_channels % STEP || s->in_channels > INT32_MAX ||
        !boxed_has_sizes(conv_rows(s), s->out_channels))
        return false;
    for (int i = 0; i < 2; i++) {
        if (s->in[i] > most || s->out[i] > most || s->pad[i] < 0 || s->pad[i] > 128 ||
            s->stride[i] > 8 || s->kernel[i] > 256 || s->dilation[i] > 256)
            return false;
        farthest[i] = (uint32_t)((s->kernel[i] - 1) * s->dilation[i]);
    }
    const cuda_image m = image_of(p, NULL);
    return cuda_image_fits(&m, farthest);
}

static bool conv_accept(kernel_problem *u, double *cost_ns)
{
    conv_last_params p;
    conv_set_layouts(u, KERNEL_CHANNELS_LAST, KERNEL_CHANNELS_LAST);
    if (!conv_last_describe(&p, u, tile_of(u->self)) || !can_bring(&p) || !boxed_is_useful(&p.cut))
        return false;
    *cost_ns = boxed_cost(u, &p.cut, conv_rows(&p.s), p.s.out_channels,
                          p.s.in_channels * (uint64_t)(p.s.kernel[0] * p.s.kernel[1]));
    return true;
}

static pgy_status conv_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    return conv_last_create(out, u, tile_of(u->self), err);
}

static bool conv_reach(kernel_extent *e, const kernel_claim *q)
{
    if (!conv_last_reach(e, q, tile_of(q->self))) return false;
    return can_bring(q->params) || extent_refuse(e, "sizes");
}

static pgy_status conv_load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                            pgy_error *err)
{
    const conv_last_params *p = plan->params;
    packed_kind kind = conv_last_kind(p);
    (void)self;
    if (cuda_is_hopper(d)) kind.plain = false; /* the image's map serves all windows */
    return boxed_load(out, &kind, d, err);
}

static pgy_status conv_enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const boxed_loaded *l = r->loaded;
    const conv_last_params *p = r->params;
    boxed_call c = {.own = conv_last_call(r)};
    const cuda_image m = image_of(p, r->tensors[0]);
    const pgy_status st = l->other ? PGY_OK : cuda_tensor_map_encode_image(&c.x, stream, &m, err);
    return st ? st : boxed_launch(l, &p->cut, &c, (pgy_dtype)p->type, stream, err);
}

/* ---- Matrix products ------------------------------------------------------------------------- */

static bool matmul_accept(kernel_problem *u, double *cost_ns)
{
    matmul_packed_params p;
    cuda_set_linear(u);
    if (!matmul_packed_describe(&p, u, tile_of(u->self))) return false;
    const matmul_shape *s = &p.own.s;
    if (!boxed_has_sizes(s->m, s->n) || !boxed_is_useful(&p.cut)) return false;
    *cost_ns = boxed_cost(u, &p.cut, s->m, s->n, s->k);
    return true;
}

static pgy_status matmul_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    return matmul_packed_create(out, u, tile_of(u->self), err);
}

static bool matmul_reach(kernel_extent *e, const kernel_claim *q)
{
    if (!matmul_packed_reach(e, q, tile_of(q->self))) return false;
    const matmul_packed_params *p = q->params;
    return boxed_has_sizes(p->own.s.m, p->own.s.n) || extent_refuse(e, "sizes");
}

static pgy_status matmul_load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                              pgy_error *err)
{
    const matmul_packed_params *p = plan->params;
    const packed_kind kind = matmul_packed_kind(p);
    (void)self;
    return boxed_load(out, &kind, d, err);
}

static pgy_status matmul_enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const boxed_loaded *l = r->loaded;
    const matmul_packed_params *p = r->params;
    boxed_call c = {.own = matmul_packed_call(r)};
    return boxed_launch_matrix(l, &p->cut, &c, (pgy_dtype)p->own.type, stream, err);
}

#define CONV(tile)                                                                               \
    {                                                                                            \
        .name = "conv_boxed_" tile, .version = 2,                                                \
        .ops = "Conv com.microsoft:FusedConv pgy:FusedConv", .device = "cuda",                   \
        .accept = conv_accept, .prepare = conv_prepare, .extent = conv_reach, .load = conv_load, \
        .unload = boxed_unload, .enqueue = conv_enqueue                                          \
    }
#define MATMUL(tile)                                                                      \
    {                                                                                     \
        .name = "matmul_boxed_" tile, .version = 1,                                       \
        .ops = "MatMul Gemm pgy:FusedMatMul com.microsoft:FusedMatMul", .device = "cuda", \
        .accept = matmul_accept, .prepare = matmul_prepare, .extent = matmul_reach,       \
        .load = matmul_load, .unload = boxed_unload, .enqueue = matmul_enqueue            \
    }
const kernel KERNELS_cuda_boxed[] = {
    CONV("128x128"),       CONV("128x64"),       CONV("64x64"),         CONV("64x128"),
    CONV("deep_128x64"),   CONV("deep_64x64"),   CONV("deep_64x128"),   CONV("thin_64x64"),
    MATMUL("128x128"),     MATMUL("128x64"),     MATMUL("64x64"),       MATMUL("64x128"),
    MATMUL("deep_128x64"), MATMUL("deep_64x64"), MATMUL("deep_64x128"), {0},
};

static uint32_t tile_of(const kernel *self)
{
    static const uint32_t TILES[] = {0, 1, 2, 4, 5, 6, 7, 8, 0, 1, 2, 4, 5, 6, 7};
    return TILES[self - KERNELS_cuda_boxed];
}
