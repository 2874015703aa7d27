/* SPDX-License-Identifier: Apache-2.0 */
/* QLinearSoftmax on CUDA devices. The problem is that of the host's kernel, and so are the results.
 */
#include <string.h>

#include "kernels/cuda/adapted.h"
#include "kernels/cuda/byte_sums.h"
#include "kernels/shared_params.h"

extern const kernel KERNELS_qlinear_softmax[];

enum { THREADS = 256, CHUNK = 16, MOST_CHUNKS = 4, WARP = 32, MOST_BLOCKS = 132 * 4 };

/* Arguments of byte_softmax.cu: the same struct as there. */
typedef struct softmax_call {
    uint64_t x, y, rows, length, inner;
    double scale;
    byte_limits limits;
    uint32_t flip;
    double powers[256];
} softmax_call;

static bool softmax_is_float(const void *inner, uint32_t inputs, uint32_t i)
{
    (void)inner, (void)inputs;
    return i == 1 || i == 3;
}

/* Lanes of a warp that share a row. */
static uint32_t lanes_of(const qlinear_softmax_params *p)
{
    uint32_t lanes = 1;
    while (lanes < WARP && lanes * CHUNK < p->length) lanes *= 2;
    return lanes;
}

/* Chunks that a lane keeps; 0: a row stays in memory. */
static uint64_t chunks_of(const qlinear_softmax_params *p)
{
    const uint64_t each = lanes_of(p) * CHUNK, chunks = p->length / each + (p->length % each != 0);
    return p->inner == 1 && p->length % CHUNK == 0 && chunks <= MOST_CHUNKS ? chunks : 0;
}

static void load_softmax(cuda_source *s, str *defines, const adapted_params *a, const void *inner)
{
    (void)a;
    *s = (cuda_source){"byte_softmax", CUDA_SOURCE_byte_softmax, {"run"}, {CUDA_SOURCE_bytes}};
    cuda_define_int(defines, "LANES", lanes_of(inner));
    cuda_define_int(defines, "CHUNKS", (int64_t)chunks_of(inner));
}

static pgy_status launch_softmax(const adapted_run *r, pgy_error *err)
{
    const qlinear_softmax_params *p = r->inner;
    const uint64_t rows = p->outer * p->inner, each = THREADS / lanes_of(p),
                   blocks = rows / each + (rows % each != 0);
    softmax_call c = {.x = (uint64_t)(uintptr_t)r->run->tensors[0],
                      .y = (uint64_t)(uintptr_t)r->run->tensors[r->a->inputs],
                      .rows = rows,
                      .length = p->length,
                      .inner = p->inner,
                      .scale = p->q.scale,
                      .limits = byte_limits_of(&p->q.finish),
                      .flip = p->q.flip};
    memcpy(c.powers, p->q.powers, sizeof c.powers);
    return cuda_launch_blocks(r->stream, r->loaded->functions[0],
                              blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS, THREADS, &c, err);
}

const adapted_family ADAPTED_QLINEAR_SOFTMAX = {.inner = &KERNELS_qlinear_softmax[0],
                                                .is_float = softmax_is_float,
                                                .load = load_softmax,
                                                .launch = launch_softmax};
