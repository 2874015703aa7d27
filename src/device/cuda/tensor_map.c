/* SPDX-License-Identifier: Apache-2.0 */
/* Describes matrices for the copy engine of a GPU. */
#include <string.h>

#include "device/cuda/gpu.h"

pgy_status cuda_tensor_map_encode(cuda_tensor_map *out, device_stream *s, const cuda_matrix *m,
                                  pgy_error *err)
{
    cuda_gpu *g = gpu_of(s->device);
    const uint64_t sizes[] = {m->columns, m->rows}, strides[] = {m->row_bytes};
    const unsigned box[] = {m->box_columns, m->box_rows}, steps[] = {1, 1};
    pgy_status st = gpu_enter(g, err);
    if (st) return st;
    memset(out, 0, sizeof *out);
    const int code = g->driver->tensor_map(out, m->bf16 ? CU_MAP_BF16 : CU_MAP_F16, 2, m->address,
                                           sizes, strides, box, steps, 0, CU_MAP_SWIZZLE_128,
                                           CU_MAP_PROMOTE_128, 0);
    st = gpu_check(g, code, "describing a matrix to the copy engine", err);
    gpu_leave(g);
    return st;
}
