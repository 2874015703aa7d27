/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels over blocks of differences, AVX2. Elsewhere the table is that of the portable file, never
 * chosen. */
#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#else
#define TARGET
#endif
#define TABLE block_kernels_avx2
#include "compare/block_table.inc"
