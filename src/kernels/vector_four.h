/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of four floats for any processor. Unlike vectors of eight (vector_portable.h), compilers
 * keep them in registers where there are no wider ones. */
#include <stdint.h>
#include <string.h>

typedef float four __attribute__((vector_size(16)));
typedef int32_t four_mask __attribute__((vector_size(16)));

static inline four four_load(const float *p)
{
    four v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void four_store(float *p, four v)
{
    memcpy(p, &v, sizeof v);
}

/* y where one of them is NaN. */
static inline four four_max(four x, four y)
{
    const four_mask more = x > y;
    return (four)((more & (four_mask)x) | (~more & (four_mask)y));
}

#define VEC four
#define LANES 4
#define TARGET
#define LOAD(p) four_load(p)
#define STORE(p, v) four_store(p, v)
#define SPREAD(p) ((four){*(p), *(p), *(p), *(p)})
#define MADD(x, y, z) ((x) * (y) + (z))
#define ADD(x, y) ((x) + (y))
#define SUB(x, y) ((x) - (y))
#define MUL(x, y) ((x) * (y))
#define MAX(x, y) four_max(x, y)
#define ZERO() ((four){0, 0, 0, 0})
