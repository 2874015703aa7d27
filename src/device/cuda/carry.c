/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between a GPU's memory and pinned memory by a kernel, for graphs: between other kernels it
 * begins like one of them, while the copy engine costs some microseconds on each side. */
#include "device/cuda/gpu.h"

enum { THREADS = 256, MOST_BLOCKS = 128, VECTOR = 16 };

/* Memory of the host may have changed since the last run, so what was read then must not be used:
 * the loads are volatile. */
static const char SOURCE[] =
    "typedef unsigned long long carry_size;\n"
    "typedef struct carried { const void *from; void *to; carry_size vectors, size; } carried;\n"
    "#ifdef EMULATED\n"
    "typedef struct vector { unsigned char at[16]; } vector;\n"
    "#define TAKE(to, from) to = *(from)\n"
    "KERNEL(carry, carried, 256)\n"
    "#else\n"
    "typedef struct __align__(16) vector { unsigned int at[4]; } vector;\n"
    "#define TAKE(to, from) asm volatile(\"ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];\" \\\n"
    "    : \"=r\"((to).at[0]), \"=r\"((to).at[1]), \"=r\"((to).at[2]), \"=r\"((to).at[3]) \\\n"
    "    : \"l\"(from) : \"memory\")\n"
    "#define THREAD threadIdx.x\n"
    "#define BLOCK_X blockIdx.x\n"
    "#define BLOCKS_X gridDim.x\n"
    "extern \"C\" __global__ void __launch_bounds__(256) carry(const carried a)\n"
    "#endif\n"
    "{\n"
    "#if __CUDA_ARCH__ >= 900\n" /* as prelude.cu says of all kernels */
    "    asm volatile(\"griddepcontrol.launch_dependents;\\n\\tgriddepcontrol.wait;\" ::: "
    "\"memory\");\n"
    "#endif\n"
    "    const vector *from = (const vector *)a.from;\n"
    "    vector *to = (vector *)a.to;\n"
    "    const volatile unsigned char *rest = (const volatile unsigned char *)a.from;\n"
    "    for (carry_size i = (carry_size)BLOCK_X * 256 + THREAD; i < a.vectors;\n"
    "         i += (carry_size)BLOCKS_X * 256) {\n"
    "        vector v;\n"
    "        TAKE(v, from + i);\n"
    "        to[i] = v;\n"
    "    }\n"
    "    if (BLOCK_X) return;\n"
    "    for (carry_size i = a.vectors * 16 + THREAD; i < a.size; i += 256)\n"
    "        ((unsigned char *)a.to)[i] = rest[i];\n"
    "}\n";

/* Arguments of the kernel: the same struct as there. */
typedef struct carried {
    uint64_t from, to, vectors, size;
} carried;

static pgy_status load(cuda_stream *s, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (!s->carry)
        st = cuda_code_create(&s->carry, s->stream.device, "carry", SOURCE, (const char *[]){NULL},
                              err);
    return st ? st : cuda_code_function(&s->carry_entry, s->carry, "carry", err);
}

pgy_status cuda_carry(device_stream *stream, void *to, const void *from, size_t size_bytes,
                      pgy_error *err)
{
    cuda_stream *s = (cuda_stream *)stream;
    carried c = {(uint64_t)(uintptr_t)from, (uint64_t)(uintptr_t)to, 0, size_bytes};
    const pgy_status st = s->carry_entry ? PGY_OK : load(s, err);
    if (st || !size_bytes) return st;
    if (c.from % VECTOR == 0 && c.to % VECTOR == 0) c.vectors = size_bytes / VECTOR;
    const uint64_t blocks = (c.vectors + THREADS - 1) / THREADS;
    const cuda_grid g = {.grid = {(uint32_t)(!blocks                ? 1
                                             : blocks < MOST_BLOCKS ? blocks
                                                                    : MOST_BLOCKS),
                                  1, 1},
                         .block = {THREADS, 1, 1}};
    return cuda_launch(stream, s->carry_entry, &g, (void *[]){&c}, err);
}
