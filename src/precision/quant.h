/* SPDX-License-Identifier: Apache-2.0 */
/* Layers in int8 and float8: quant_sites.c lists them, quant_observe.c looks at what they read,
 * quant_grid.c has the numbers of 8 bits, quant_fit.c finds scales and weights for one method,
 * quant_rows.c and quant_improve.c round weights and correct biases by what a layer computes,
 * quant_methods.c tries methods, quant_model.c writes Q/DQ nodes.
 *
 * A layer reads its tensors through quantize and dequantize, with one scale for a tensor, and its
 * weight with one scale for an output channel. What it computes stays float32. */
#ifndef PRECISION_QUANT_H
#define PRECISION_QUANT_H

#include "engine/precision/calibrate.h"
#include "ops/op.h"
#include "precision/precision.h"

/* ---- quant_sites.c --------------------------------------------------------------------------- */

/* Where the channels of a tensor are that smoothing may scale. */
typedef enum quant_channels { CHANNELS_NONE, CHANNELS_SECOND, CHANNELS_LAST } quant_channels;

/* A tensor that layers read. Readers with channels in different places have ports of their own. */
typedef struct quant_port {
    pgy_value *value;
    quant_channels channels;
    size_t channel_count; /* 0: not known, or it changes */
    size_t rank;          /* of the tensor, as it was seen */
    float *largest;       /* for each channel: the largest magnitude that occurred */
    uint64_t bytes;       /* of its float32 elements, and of those before limits and moves */
    bool only;            /* nothing but layers reads it, so it need not be stored as float32 */
    size_t seen;          /* the last sample that was looked at, plus 1 */
} quant_port;

/* A layer that can be quantized. */
typedef struct quant_site {
    pgy_node *node;
    size_t *ports; /* for each tensor that it reads: index of the port */
    size_t port_count;
    pgy_tensor *weight; /* input 1 in float32; NULL: it has none */
    size_t axis;        /* of the weight: the output channels */
} quant_site;

typedef struct quant_fit quant_fit;

typedef struct quantizer {
    pgy_precision *p;
    pgy_dtype type; /* PGY_I8 or PGY_F8E4M3FN */
    quant_port *ports;
    size_t port_count;
    quant_site *sites;
    size_t site_count;
    size_t *nodes;   /* for each site: the index of its node */
    size_t *site_of; /* for each node: its site plus 1, or 0 */
    quant_fit *fit;  /* the method in use */
    uint64_t *moved; /* for each node that only limits or moves elements: bytes that it reads */
} quantizer;

bool quant_is_type(pgy_dtype type);
/* Does n only limit or move elements, so that it can work on 8-bit ones? */
bool quant_passes_on(const pgy_node *n);
pgy_status quantizer_create(quantizer **out, pgy_precision *p, pgy_dtype type,
                            pgy_error *err) PGY_MUST_CHECK;
void quantizer_destroy(quantizer *q);
/* Bytes that a set saves: three quarters of weights, and of tensors that nothing reads as float32.
 * `set` has an entry for each site. */
uint64_t quantizer_saves(const quantizer *q, const level *set);

/* ---- quant_grid.c ---------------------------------------------------------------------------- */

typedef struct quant_method {
    pgy_calibrator calibrator;
    double quantile; /* of PGY_CALIBRATOR_LEGACY */
    double smooth;   /* 0: none */
    bool asymmetric, adaptive, bias_correction;
} quant_method;

double quant_most(pgy_dtype type); /* the largest number before it is scaled: 127 or 448 */
/* The values that numbers have after quantize and dequantize, as QuantizeLinear rounds. */
void quant_round(float *to, const float *from, size_t count, pgy_dtype type, grid g);
/* The numbers of the type next to u, which is scaled already: *low <= u <= *high if u is in range.
 */
void quant_neighbours(float *low, float *high, pgy_dtype type, float u);
/* The scale and zero point that the calibrator of a method chooses. */
grid quant_grid(const histogram *h, pgy_dtype type, const quant_method *m);

/* ---- quant_apply.c -----------------------------------------------------------------------------
 */

/* The scales and weights of all layers for one method. */
struct quant_fit {
    quant_method method;
    grid *grids;          /* for each port */
    float **shrink;       /* for each port: factors of its channels; NULL: none */
    pgy_tensor **weights; /* for each site: the weight after quantize and dequantize */
    float **steps;        /* for each site: the scale of each output channel of its weight */
    float **shifts;       /* for each site: what is added to each output channel; NULL: nothing */
};

void quant_fit_destroy(quant_fit *f, const quantizer *q);
/* The tensor of a port as its layers see it; a float32 tensor of any shape. */
pgy_status quant_port_apply(pgy_tensor **out, const quantizer *q, const quant_fit *f, size_t port,
                            const pgy_tensor *t, pgy_error *err) PGY_MUST_CHECK;
/* Adds the shifts of a site to its output, which may be replaced. */
pgy_status quant_shift(pgy_tensor **output, const quantizer *q, const quant_fit *f, size_t site,
                       pgy_error *err) PGY_MUST_CHECK;
/* Element i of a port's tensor has channel (i / inner) % channel_count. */
size_t quant_port_inner(const quant_port *port, const pgy_tensor *t);
/* The weight of a site with its smoothing factors, not rounded. */
pgy_status quant_weight_scaled(pgy_tensor **out, const quantizer *q, const quant_fit *f,
                               size_t site, pgy_error *err) PGY_MUST_CHECK;
size_t quant_groups(const quant_site *s); /* of a convolution; else 1 */
/* The channel of its port that element i of a site's weight multiplies. */
size_t quant_weight_channel(const quant_site *s, size_t i);
/* Number of elements behind one index of an axis. */
size_t quant_inner(const pgy_tensor *t, size_t axis);

/* ---- quant_observe.c ------------------------------------------------------------------------- */

/* Looks at the tensors of all ports on the samples of the search: bytes and channels. */
pgy_status quant_observe(quantizer *q, pgy_error *err) PGY_MUST_CHECK;
/* Counts the elements of each port, after its smoothing factors. */
pgy_status quant_count(histogram **out, quantizer *q, const quant_fit *f,
                       pgy_error *err) PGY_MUST_CHECK;

/* ---- quant_fit.c ----------------------------------------------------------------------------- */

pgy_status quant_fit_create(quant_fit **out, quantizer *q, const quant_method *m,
                            pgy_error *err) PGY_MUST_CHECK;

/* ---- quant_rows.c ---------------------------------------------------------------------------- */

/* Where the weight of a layer has the factor of output channel c and depth k: at c * channel_step +
 * k * depth_step. Channels are in `groups` blocks, each of which reads `depth` numbers of its own.
 */
typedef struct quant_form {
    size_t channels, depth, groups, channel_step, depth_step;
    size_t area; /* numbers of one input channel that are neighbours in the depth */
} quant_form;
/* false: the layer is no product of rows and a matrix. */
bool quant_form_of(quant_form *out, const quant_site *s);
/* What a layer read for some of its outputs: rows of groups * depth numbers. */
typedef struct quant_rows {
    float *data;
    size_t count, width;
} quant_rows;
/* out->data is the caller's; NULL: no row. */
pgy_status quant_rows_read(quant_rows *out, quantizer *q, size_t site, const quant_form *form,
                           pgy_error *err) PGY_MUST_CHECK;

/* ---- quant_improve.c ------------------------------------------------------------------------- */

/* Rounds weights so that layers compute less error, or adds what layers lose on average; as the
 * method asks. */
pgy_status quant_improve(quantizer *q, quant_fit *f, pgy_error *err) PGY_MUST_CHECK;

/* ---- quant_methods.c ------------------------------------------------------------------------- */

/* Before the search: finds the method, and makes the emulator quantize. */
pgy_status quant_prepare(pgy_precision *p, pgy_error *err) PGY_MUST_CHECK;
/* After the search: all layers in float16 and in plain int8, to compare with. */
pgy_status quant_compare(pgy_precision *p, pgy_error *err) PGY_MUST_CHECK;

/* ---- quant_model.c --------------------------------------------------------------------------- */

/* Makes the graph in which the layers of a set are quantized; it has an entry for each site. */
pgy_status quant_graph(pgy_graph **out, const pgy_precision *p, const level *set,
                       pgy_error *err) PGY_MUST_CHECK;
/* Quantizes the layers of a set in a copy of the graph, in which they are float32. */
pgy_status quant_write(pgy_graph *g, const pgy_precision *p, const level *set,
                       pgy_error *err) PGY_MUST_CHECK;
/* The model of the best set. */
pgy_status quant_model(pgy_model **out, const pgy_precision *p, pgy_error *err) PGY_MUST_CHECK;

#endif
