/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels over blocks of differences for any processor; block.inc has the bodies. */
#define TARGET
#define TABLE block_kernels_portable
#include "compare/block_table.inc"
