/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of eight floats for any processor: compilers map them to the instructions it has. */
#include <stdint.h>

#pragma GCC diagnostic ignored "-Wpsabi" /* no vector crosses a file's border */

typedef float vector_eight __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t vector_mask __attribute__((vector_size(32)));

#define VEC vector_eight
#define LANES 8
#define TARGET
#define LOAD(p) (*(const vector_eight *)(p))
#define STORE(p, v) ((void)(*(vector_eight *)(p) = (v)))
#define SPREAD(p) (*(p) + (vector_eight){0})
#define MADD(x, y, z) ((x) * (y) + (z))
#define ADD(x, y) ((x) + (y))
#define SUB(x, y) ((x) - (y))
#define MUL(x, y) ((x) * (y))
#define CHOOSE(m, x, y) ((vector_eight)(((m) & (vector_mask)(x)) | (~(m) & (vector_mask)(y))))
#define MAX(x, y) CHOOSE((x) > (y), x, y) /* y where one of them is NaN */
#define MIN(x, y) CHOOSE((x) < (y), x, y)
#define ZERO() ((vector_eight){0})
#define DIV(x, y) ((x) / (y))
