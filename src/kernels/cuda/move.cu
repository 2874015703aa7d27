// SPDX-License-Identifier: Apache-2.0
// Kernels that move elements of type T, whose width alone matters.
enum { MOVE_AXES = 8 };

// ---- Strided: Transpose, Slice, Expand, Tile, DepthToSpace, SpaceToDepth ---------------------------

typedef struct strided {
    const void *x; // at the first element that is read
    void *y;
    uint64_t count, shape[MOVE_AXES], strides[MOVE_AXES];
    uint32_t rank;
} strided;

KERNEL(strided_copy, strided, 256)
{
    for (uint64_t i = (uint64_t)BLOCK_X * 256 + THREAD; i < a.count; i += (uint64_t)BLOCKS_X * 256) {
        uint64_t rest = i, offset = 0;
        if (a.count >> 32) {
            for (int d = (int)a.rank - 1; d > 0; d--) {
                offset += rest % a.shape[d] * a.strides[d];
                rest /= a.shape[d];
            }
        } else {
            uint32_t low = (uint32_t)rest;
            for (int d = (int)a.rank - 1; d > 0; d--) {
                const uint32_t size = (uint32_t)a.shape[d];
                offset += low % size * a.strides[d];
                low /= size;
            }
            rest = low;
        }
        offset += rest * a.strides[0];
        ((T *)a.y)[i] = ((const T *)a.x)[(int64_t)offset];
    }
}

// The axis `turned` has stride 1 in x, the last axis in y: tiles go through shared memory, so that
// neighbouring threads read and write neighbouring elements. planes: product of the other axes.
typedef struct turned {
    const void *x;
    void *y;
    uint64_t shape[MOVE_AXES], strides[MOVE_AXES], out_strides[MOVE_AXES];
    uint64_t planes, row_tiles, column_tiles;
    uint32_t rank, turned;
} turned;

KERNEL(turned_copy, turned, 256)
{
    SHARED T tile[32][33];
    const uint32_t last = a.rank - 1, lane = THREAD % 32, line = THREAD / 32;
    const uint64_t rows = a.shape[a.turned], columns = a.shape[last];
    for (uint64_t unit = BLOCK_X; unit < a.planes * a.row_tiles * a.column_tiles; unit += BLOCKS_X) {
        const uint64_t column = unit % a.column_tiles * 32, row = unit / a.column_tiles % a.row_tiles * 32;
        uint64_t rest = unit / (a.column_tiles * a.row_tiles), from = 0, to = 0;
        for (int d = (int)last - 1; d >= 0; d--) {
            if ((uint32_t)d == a.turned) continue;
            from += rest % a.shape[d] * a.strides[d];
            to += rest % a.shape[d] * a.out_strides[d];
            rest /= a.shape[d];
        }
        for (uint32_t i = line; i < 32; i += 8)
            if (column + i < columns && row + lane < rows)
                tile[i][lane] = ((const T *)a.x)[(int64_t)(from + (column + i) * a.strides[last] + row + lane)];
        BARRIER();
        for (uint32_t i = line; i < 32; i += 8)
            if (row + i < rows && column + lane < columns)
                ((T *)a.y)[to + (row + i) * a.out_strides[a.turned] + column + lane] = tile[lane][i];
        BARRIER();
    }
}

// As turned_copy, if the last axis of y is short, as three colours are: a block brings PIXELS neighbours of each of its `last` elements, four
// at a time, and stores them in the order of y. The turned axis is the one before the last, and a multiple of four.
enum { PIXELS = 1024, MOST_LAST = 8 };
typedef struct woven {
    const void *x;
    void *y;
    uint64_t planes, pixels, blocks, plane_step, step; // blocks: of a plane; steps: elements of x from one plane and one `last` to the next
    uint32_t last;
} woven;

#if WOVEN
KERNEL(woven_copy, woven, 256)
{
    typedef struct ALIGNED(sizeof(T) * 4) four { T at[4]; } four;
    SHARED four room[MOST_LAST * PIXELS / 4];
    for (uint64_t unit = BLOCK_X; unit < a.planes * a.blocks; unit += BLOCKS_X) {
        const uint64_t plane = quotient(unit, a.blocks), first = (unit - plane * a.blocks) * PIXELS;
        const uint32_t count = a.pixels - first < PIXELS ? (uint32_t)(a.pixels - first) : PIXELS;
        const T *const x = (const T *)a.x + plane * a.plane_step + first;
        four *const y = (four *)((T *)a.y + (plane * a.pixels + first) * a.last);
        for (uint32_t c = 0; c < a.last; c++)
            if (THREAD * 4 < count) room[c * PIXELS / 4 + THREAD] = *(const four *)(x + c * a.step + THREAD * 4);
        BARRIER();
        for (uint32_t i = THREAD; i < count / 4 * a.last; i += 256) {
            uint32_t pixel = i * 4 / a.last, c = i * 4 - pixel * a.last;
            four v;
            UNROLL for (int e = 0; e < 4; e++) {
                v.at[e] = ((const T *)room)[c * PIXELS + pixel];
                if (++c == a.last) c = 0, pixel++;
            }
            y[i] = v;
        }
        BARRIER();
    }
}
#endif

// ---- Concat and Split: `width` elements of each row go to or come from a row of `pitch` elements ----

enum { SEGMENTS = 4 };
typedef struct segment {
    const void *x;
    void *y;
    uint64_t width, from_pitch, to_pitch, end; // end: elements of all segments up to this one
} segment;
typedef struct segments {
    segment at[SEGMENTS];
    uint64_t count;
} segments;

KERNEL(segment_copy, segments, 256)
{
    for (uint64_t i = (uint64_t)BLOCK_X * 256 + THREAD; i < a.count; i += (uint64_t)BLOCKS_X * 256) {
        segment s = a.at[0];
        uint64_t begin = 0;
        UNROLL for (int k = 1; k < SEGMENTS; k++)
            if (i >= a.at[k - 1].end) {
                s = a.at[k];
                begin = a.at[k - 1].end;
            }
        const uint64_t row = quotient(i - begin, s.width), at = i - begin - row * s.width;
        ((T *)s.y)[row * s.to_pitch + at] = ((const T *)s.x)[row * s.from_pitch + at];
    }
}

// ---- Gather ----------------------------------------------------------------------------------------

typedef struct gather {
    const void *x, *indices;
    void *y;
    int32_t *fault; // NULL: not reported
    uint64_t outer, length, count, block;
    uint32_t wide, fault_kind;
} gather;

KERNEL(gather_rows, gather, 256)
{
    const uint64_t total = a.outer * a.count * a.block;
    for (uint64_t i = (uint64_t)BLOCK_X * 256 + THREAD; i < total; i += (uint64_t)BLOCKS_X * 256) {
        const uint64_t entry = i / a.block, at = i - entry * a.block, outer = entry / a.count;
        const uint64_t which = entry - outer * a.count;
        const int64_t given = a.wide ? ((const int64_t *)a.indices)[which] : ((const int32_t *)a.indices)[which];
        const uint64_t index = (uint64_t)given + (given < 0 ? a.length : 0);
        if (index >= a.length) {
            if (a.fault) *(volatile int32_t *)a.fault = (int32_t)a.fault_kind;
            continue;
        }
        ((T *)a.y)[i] = ((const T *)a.x)[(outer * a.length + index) * a.block + at];
    }
}

// ---- Pad and nearest Resize: a table for each axis says which index is read; -1: the padding value --

typedef struct mapped {
    const void *x, *value;
    void *y;
    const int32_t *tables;
    int32_t *fault;
    uint64_t count, in[MOVE_AXES], shape[MOVE_AXES], strides[MOVE_AXES], starts[MOVE_AXES];
    uint32_t rank, fault_kind;
} mapped;

KERNEL(mapped_copy, mapped, 256)
{
    for (uint64_t i = (uint64_t)BLOCK_X * 256 + THREAD; i < a.count; i += (uint64_t)BLOCKS_X * 256) {
        uint64_t rest = i, offset = 0;
        int inside = 1;
        for (int d = (int)a.rank - 1; d >= 0; d--) {
            const uint64_t higher = quotient(rest, a.shape[d]);
            const int32_t at = a.tables[a.starts[d] + rest - higher * a.shape[d]];
            rest = higher;
            if (at < 0) {
                inside = 0;
            } else if ((uint64_t)at >= a.in[d]) {
                inside = 0;
                if (a.fault) *(volatile int32_t *)a.fault = (int32_t)a.fault_kind;
            } else {
                offset += (uint64_t)at * a.strides[d];
            }
        }
        const T none = {0};
        ((T *)a.y)[i] = inside ? ((const T *)a.x)[offset] : a.value ? *(const T *)a.value : none;
    }
}
