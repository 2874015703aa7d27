/* SPDX-License-Identifier: Apache-2.0 */
/* What several families use of move.cu: sources of kernels that move elements, and transposes. */
#ifndef KERNELS_CUDA_MOVE_H
#define KERNELS_CUDA_MOVE_H

#include "kernels/cuda/code.h"
#include "kernels/walk.h"

/* Arguments of turned_copy in move.cu: the same struct as there. Axis `turned` has stride 1 in x;
 * the output is contiguous. move_launch_turned fills the other members. */
typedef struct move_turned {
    uint64_t x, y, shape[WALK_AXES], strides[WALK_AXES], out_strides[WALK_AXES];
    uint64_t planes, row_tiles, column_tiles;
    uint32_t rank, turned;
} move_turned;

/* Chooses the function `entry` of move.cu for elements of `item` bytes. */
void move_write_source(cuda_source *s, str *defines, uint32_t item, const char *entry);
pgy_status move_launch_turned(device_stream *s, const cuda_loaded *l, move_turned *t,
                              pgy_error *err);

#endif
