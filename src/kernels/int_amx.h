/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products of bytes by the tile instructions (AMX), for 16 or 32 rows of an unsigned A
 * whose groups lie side by side, and a signed B packed as for int_tile_vnni. They are exact in
 * int32, so results are those of the other micro-kernels. */
#ifndef KERNELS_INT_AMX_H
#define KERNELS_INT_AMX_H

#include "kernels/int_tile.h"

enum { INT_AMX_ROWS = 16, INT_AMX_GROUPS = 16, INT_AMX_MOST_ROWS = 2 * INT_AMX_ROWS };

/* One implementation of the instructions. */
typedef struct int_amx {
    /* Prepares the thread's tiles for `step` groups; stop gives them back. */
    void (*start)(size_t step);
    void (*stop)(void);
    /* Indices: blocks of 16 rows - 1, vectors - 1. j->c has room for all rows. */
    void (*run[2][3])(const int_job *j, size_t step);
} int_amx;

extern const int_amx int_amx_native;
/* An implementation that a test program adds to use instead, on any processor. Not linked: NULL. */
extern const int_amx INT_AMX_OF_TEST __attribute__((weak));

/* The state of a thread's tiles. */
typedef struct int_amx_use {
    const int_amx *amx; /* NULL: they are not used */
    size_t step;        /* groups that a tile holds; it divides the groups of a tap */
} int_amx_use;

/* Prepares the tiles for jobs of so many groups and at least `rows` rows, if the processor has
 * them, `level` allows them and they are faster. int_amx_end must follow. */
int_amx_use int_amx_begin(cpu_level level, size_t groups, size_t rows);
void int_amx_end(const int_amx_use *u);
/* Computes 32 or 16 of `rows` rows. @return their number; 0: none, another micro-kernel must */
size_t int_amx_run(const int_amx_use *u, const int_job *j, size_t rows, size_t vectors);

#endif
