/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that slide over the spatial axes: attributes, output size with symbolic dims, and the
 * iteration over input rows that convolution and pooling share. */
#ifndef OPS_CLASS_WINDOW_H
#define OPS_CLASS_WINDOW_H

#include "ops/op.h"

enum { WINDOW_MAX = 8 }; /* largest number of spatial axes */
typedef enum window_pad {
    WINDOW_PAD_EXPLICIT,
    WINDOW_PAD_SAME_UPPER,
    WINDOW_PAD_SAME_LOWER,
    WINDOW_PAD_VALID
} window_pad;

typedef struct window {
    size_t rank; /* number of spatial axes */
    bool ceil_mode;
    window_pad auto_pad;
    int64_t kernel[WINDOW_MAX]; /* 0 until known */
    int64_t stride[WINDOW_MAX], dilation[WINDOW_MAX], begin[WINDOW_MAX], end[WINDOW_MAX];
    int64_t in[WINDOW_MAX], out[WINDOW_MAX]; /* valid after window_resolve */
} window;

/* Reads and checks attributes kernel_shape, strides, dilations, pads, auto_pad and ceil_mode.
 * kernel stays 0 without kernel_shape. */
pgy_status window_read(window *w, const op_node *n, size_t rank, pgy_error *err) PGY_MUST_CHECK;
/* Takes the kernel's size from the weights' shape if the attribute is absent; else checks that both
 * agree. */
pgy_status window_kernel(window *w, const op_node *n, const int64_t *shape,
                         pgy_error *err) PGY_MUST_CHECK;
/* Computes the output size along one axis; `kernel` is the kernel's size there, possibly
 * symbolic. */
pgy_status window_out(dim *out, const window *w, op_infer *c, size_t axis, dim in, dim kernel,
                      pgy_error *err) PGY_MUST_CHECK;
/* Sets in, out and, for automatic padding, begin and end. */
void window_resolve(window *w, const int64_t *in, const int64_t *out);

/* Counts for one plane. A row lies along the last spatial axis, so the numbers of rows and taps are
 * products over the other spatial axes. */
size_t window_out_rows(const window *w);
size_t window_in_rows(const window *w);
size_t window_taps(const window *w); /* kernel positions in the axes before the last */
size_t window_kernel_count(const window *w);
size_t window_in_count(const window *w);
size_t window_out_count(const window *w);
/* Gives the input row that output row `row` reads at tap `tap` of the outer axes. False: it lies in
 * the padding. */
bool window_row(const window *w, size_t row, size_t tap, size_t *in_row);
/* Gives the output columns [*lo, *hi) that read inside the input at column tap `tap`; *lo reads
 * input column *first. */
void window_columns(const window *w, int64_t tap, int64_t *lo, int64_t *hi, int64_t *first);

#endif
