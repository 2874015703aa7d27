// SPDX-License-Identifier: Apache-2.0
// A program of functions of single elements, with operands that broadcast. The kernel's row writes the
// program: RANK axes; OPERANDS(X) with X(operand, type, whether its last axis has stride 1); STEPS,
// statements on x0, x1, ...; RESULT, of type OUT; VECTOR elements of the last axis for each thread;
// INDEX, the type of element numbers.
typedef struct operand {
    const void *data;
    uint64_t strides[RANK];
} operand;

typedef struct pointwise {
    void *y;
    uint64_t count, shape[RANK];
    operand x[COUNT];
#ifdef MORE // more arguments of the program, if it has some
    MORE more;
#endif
} pointwise;

#define PACK(type) JOIN(pack_, type)
#define DEFINE_PACK(type)                                                   \
    typedef struct ALIGNED(sizeof(type) * VECTOR) PACK(type) { type at[VECTOR]; } PACK(type);
PACKS(DEFINE_PACK)

KERNEL(run, pointwise, 256)
{
    const INDEX units = (INDEX)(a.count / VECTOR), step = (INDEX)BLOCKS_X * 256;
    for (INDEX unit = (INDEX)BLOCK_X * 256 + THREAD; unit < units; unit += step) {
        INDEX rest = unit * VECTOR, offset[COUNT];
        UNROLL for (int k = 0; k < COUNT; k++) offset[k] = 0;
        UNROLL for (int d = RANK - 1; d >= 0; d--) {
            const INDEX size = (INDEX)a.shape[d], at = d ? rest % size : rest;
            if (d) rest /= size;
            UNROLL for (int k = 0; k < COUNT; k++) offset[k] += at * (INDEX)a.x[k].strides[d];
        }
#define READ(k, type, dense)                                                                      \
    PACK(type) p##k;                                                                              \
    if (dense)                                                                                    \
        p##k = *(const PACK(type) *)((const type *)a.x[k].data + offset[k]);                      \
    else                                                                                          \
        p##k.at[0] = ((const type *)a.x[k].data)[offset[k]];
        OPERANDS(READ)
        PACK(OUT) y;
        UNROLL for (int v = 0; v < VECTOR; v++) {
#define OPEN(k, type, dense) const JOIN(wide_, type) x##k = WIDEN(type, p##k.at[dense ? v : 0]);
            OPERANDS(OPEN)
            STEPS
            y.at[v] = NARROW(OUT, RESULT);
        }
        *(PACK(OUT) *)((OUT *)a.y + unit * VECTOR) = y;
    }
}
