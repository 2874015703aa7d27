/* SPDX-License-Identifier: Apache-2.0 */
/* Discrete Fourier transforms in float32 (DFT and STFT): parameters, tables and loops.
 *
 * Complex numbers are pairs of vectors, whose lanes belong to different lines, or pairs of floats.
 * A transform whose length has small prime factors is made in passes, one for each factor; other
 * lengths become a cyclic convolution, whose length is a power of two. Real lines of even length
 * are transformed as complex ones of half the length. */
#ifndef KERNELS_DFT_H
#define KERNELS_DFT_H

#include "kernels/extent.h"

/* LARGEST: limit of the factors. */
enum { DFT_LANES = 16, DFT_FACTORS = 31, DFT_LARGEST = 31 };

/* A length as product of factors, each from 2 to DFT_LARGEST. */
typedef struct dft_length {
    uint64_t size;
    uint32_t count, factors[DFT_FACTORS];
} dft_length;

typedef struct dft_params {
    uint64_t outer, inner;      /* lines: outer * inner; STFT: batch, and 1 */
    uint64_t in_size, out_size; /* elements of a line; STFT: of the signal, and of a spectrum */
    uint64_t length, complex_length;
    uint64_t step, frames;                  /* of STFT, else 0 and 1 */
    dft_length passes;                      /* of the complex transform, or of the convolution */
    uint32_t convolves;                     /* the passes are those of a convolution */
    uint32_t in_parts, out_parts;           /* 1: real, 2: complex */
    uint32_t halved, inverse, mirrored;     /* halved: real lines become complex ones of half the
                                               length; mirrored: the input is half a spectrum */
    uint32_t windowed, wide, level, inputs; /* wide: several lines at once */
} dft_params;

/* The tables among the packed bytes, in floats: pairs of cosine and sine. */
typedef struct dft_tables {
    const float *turns;    /* e^(-2 pi i k / size) of the passes' size */
    const float *halves;   /* halved: e^(-2 pi i k / length), k <= length / 2 */
    const float *chirp;    /* convolves: e^(-pi i k^2 / complex_length) */
    const float *spectrum; /* convolves: of the conjugate chirp, divided by the size */
} dft_tables;
/* @return the number of floats; EXTENT_TOO_MUCH: the sizes overflow */
uint64_t dft_table_floats(const dft_params *p);

/* Elements (pairs count twice) of each of the two buffers of a line or of DFT_LANES lines. */
static inline uint64_t dft_buffer(const dft_params *p)
{
    const uint64_t most = p->length > p->passes.size ? p->length : p->passes.size;
    return extent_mul(extent_add(most, 1), 2);
}

/* Loops over a line, or over DFT_LANES lines in vectors. */
typedef struct dft_loops {
    /* Transforms `a` with `b` as other buffer; returns the one that holds the result. */
    float *(*transform)(float *a, float *b, const dft_params *p, const dft_tables *t);
    /* The spectrum of real lines from that of lines of half the length; `bins` of it. */
    void (*split)(float *y, const float *x, const dft_params *p, const dft_tables *t);
    /* y = x * scale, and swaps the two parts of `count` pairs if `swaps`. */
    void (*scale)(float *x, size_t count, float factor, bool swaps);
    /* Multiplies element k of each line by window[k]; `parts` values belong to an element. */
    void (*window)(float *x, const float *window, size_t count, size_t parts);
} dft_loops;
const dft_loops *dft_loops_of(bool wide, cpu_level level);

void dft_run(const kernel_run *r);

#endif
