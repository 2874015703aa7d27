/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels over blocks of differences for AVX2. On other processors than x86-64 this table holds the
 * portable kernels and is never chosen. */
#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#else
#define TARGET
#endif
#define TABLE block_kernels_avx2
#include "compare/block_table.inc"
