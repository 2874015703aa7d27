/* SPDX-License-Identifier: Apache-2.0 */
/* What all kernels of CUDA devices share: their sources, which the build embeds as text, types, and
 * the code that a step has loaded. */
#ifndef KERNELS_CUDA_CODE_H
#define KERNELS_CUDA_CODE_H

#include "base/str.h"
#include "device/cuda.h"
#include "kernels/kernel.h"

/* The text of <name>.cu in this folder. prelude.cu and then prelude_types.cu,
 * prelude_functions.cu and prelude_block.cu are compiled in front of every other source. */
extern const char CUDA_SOURCE_prelude[], CUDA_SOURCE_prelude_types[],
    CUDA_SOURCE_prelude_functions[], CUDA_SOURCE_prelude_block[];
extern const char CUDA_SOURCE_activate[], CUDA_SOURCE_attention[], CUDA_SOURCE_attention_groups[],
    CUDA_SOURCE_attention_parts[], CUDA_SOURCE_attention_rows[], CUDA_SOURCE_attention_tensor[],
    CUDA_SOURCE_barriers[], CUDA_SOURCE_boxed[], CUDA_SOURCE_byte_attention[],
    CUDA_SOURCE_byte_batch[], CUDA_SOURCE_byte_binary[], CUDA_SOURCE_byte_conv[],
    CUDA_SOURCE_byte_norm[], CUDA_SOURCE_byte_pool[], CUDA_SOURCE_byte_rows[],
    CUDA_SOURCE_byte_scores[], CUDA_SOURCE_byte_softmax[], CUDA_SOURCE_byte_words[],
    CUDA_SOURCE_bytes[], CUDA_SOURCE_caches[], CUDA_SOURCE_conv_direct[], CUDA_SOURCE_depthwise[],
    CUDA_SOURCE_depthwise_last[], CUDA_SOURCE_few[], CUDA_SOURCE_fp8[], CUDA_SOURCE_group_norm[],
    CUDA_SOURCE_groups[], CUDA_SOURCE_layer_norm[], CUDA_SOURCE_lookup[], CUDA_SOURCE_loose[],
    CUDA_SOURCE_mma[], CUDA_SOURCE_move[], CUDA_SOURCE_narrow[], CUDA_SOURCE_nbits[],
    CUDA_SOURCE_nbits_few[], CUDA_SOURCE_nbits_tile[], CUDA_SOURCE_nbits_wide[],
    CUDA_SOURCE_packed[], CUDA_SOURCE_packed_sums[], CUDA_SOURCE_piped[], CUDA_SOURCE_pointwise[],
    CUDA_SOURCE_pool[], CUDA_SOURCE_quantize[], CUDA_SOURCE_rows[], CUDA_SOURCE_tile[];

enum { CUDA_ENTRIES = 4, CUDA_BLOCK = 256 };

typedef struct cuda_source {
    const char *name, *text;
    const char *entries[CUDA_ENTRIES + 1]; /* names of the functions to load; NULL ends them */
    const char *before[8]; /* texts in front of it, such as CUDA_SOURCE_mma; NULL ends them */
} cuda_source;

/* What a kernel's `load` returns. */
typedef struct cuda_loaded {
    cuda_code *code;
    cuda_function *functions[CUDA_ENTRIES]; /* in the order of cuda_source.entries */
} cuda_loaded;

/* Compiles the source behind `defines`, lines that define macros; frees `defines`. */
pgy_status cuda_load(void **out, device *d, const cuda_source *s, str *defines, pgy_error *err);
void cuda_unload(void *loaded);

/* The name of a type in the sources, such as "f32"; NULL: no source has this type, but for float8,
 * which only its own kernels know. */
const char *cuda_type(pgy_dtype dtype);
static inline bool cuda_is_half(pgy_dtype dtype)
{
    return dtype == PGY_F16 || dtype == PGY_BF16;
}
/* float8 as GPUs have it; its functions are in fp8.cu. */
static inline bool cuda_is_float8(pgy_dtype dtype)
{
    return dtype == PGY_F8E4M3FN || dtype == PGY_F8E5M2;
}
static inline bool cuda_is_float(pgy_dtype dtype)
{
    return dtype == PGY_F32 || cuda_is_half(dtype);
}
uint32_t cuda_item(pgy_dtype dtype); /* bytes of an element */
/* As tensor maps name the type. */
static inline cuda_element cuda_element_of(pgy_dtype dtype)
{
    return dtype == PGY_F16 ? CUDA_F16 : dtype == PGY_BF16 ? CUDA_BF16 : CUDA_BYTE;
}

/* Appends "#define NAME TEXT" and a line break. */
void cuda_define(str *out, const char *name, const char *text);
void cuda_define_int(str *out, const char *name, int64_t value);
void cuda_define_type(str *out, const char *name, pgy_dtype dtype);

/* Launches blocks of `threads` threads, enough for `count` threads but at most a million blocks:
 * kernels loop. Nothing to do if count is 0. */
pgy_status cuda_launch_for(device_stream *s, const cuda_function *f, uint64_t count,
                           uint32_t threads, void *arguments, pgy_error *err);
/* Launches `blocks` blocks of `threads` threads each; does nothing if blocks is 0. */
pgy_status cuda_launch_blocks(device_stream *s, const cuda_function *f, uint64_t blocks,
                              uint32_t threads, void *arguments, pgy_error *err);
/* As cuda_launch_blocks; each block has `shared_bytes` of SHARED_ROOM. */
pgy_status cuda_launch_shared(device_stream *s, const cuda_function *f, uint64_t blocks,
                              uint32_t threads, uint32_t shared_bytes, void *arguments,
                              pgy_error *err);

/* Estimates the nanoseconds of a kernel that moves `bytes` bytes of device memory and does
 * `operations` arithmetic operations. */
double cuda_cost(double bytes, double operations, bool tensor_cores);
/* Bytes of all inputs and outputs of a problem. */
double cuda_bytes(const kernel_problem *u);
void cuda_set_linear(kernel_problem *u);

/* cuda_widen makes a float32 problem of one in 16-bit floats. Constants of up to CUDA_FEW elements
 * are converted into `room`; larger ones keep their 16-bit data, which must not be read. */
enum { CUDA_FEW = 16 };
typedef float cuda_room[KERNEL_MAX_INPUTS][CUDA_FEW];
void cuda_widen(kernel_problem *wide, cuda_room room, const kernel_problem *u);

#endif
