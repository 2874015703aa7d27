/* SPDX-License-Identifier: Apache-2.0 */
/** One function for each layer of a network, and loops and conditionals. Part of network.h, which
 * includes this header. */
#ifndef POLYGRAPHY_NETWORK_LAYERS_H
#define POLYGRAPHY_NETWORK_LAYERS_H

#include <polygraphy/network.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Constants, types ----------------------------------------------------------------------- */

/** Retains the tensor. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_constant(pgy_layer **out, pgy_network *net,
                                                           pgy_tensor *t, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_identity(pgy_layer **out, pgy_network *net,
                                                           pgy_value *input, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_cast(pgy_layer **out, pgy_network *net,
                                                       pgy_value *input, pgy_dtype to,
                                                       pgy_error *err);
/** Outputs the shape of `input` as int64 of rank 1. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_shape(pgy_layer **out, pgy_network *net,
                                                        pgy_value *input, pgy_error *err);

/* ---- Element by element --------------------------------------------------------------------- */

typedef enum pgy_activation_type {
    PGY_ACTIVATION_RELU,
    PGY_ACTIVATION_SIGMOID,
    PGY_ACTIVATION_TANH,
    PGY_ACTIVATION_LEAKY_RELU,       /**< x >= 0 ? x : alpha x */
    PGY_ACTIVATION_ELU,              /**< x >= 0 ? x : alpha (exp x - 1) */
    PGY_ACTIVATION_SELU,             /**< beta (x > 0 ? x : alpha (exp x - 1)) */
    PGY_ACTIVATION_SOFTSIGN,         /**< x / (1 + |x|) */
    PGY_ACTIVATION_SOFTPLUS,         /**< alpha log(exp(beta x) + 1) */
    PGY_ACTIVATION_CLIP,             /**< max(alpha, min(beta, x)) */
    PGY_ACTIVATION_HARD_SIGMOID,     /**< max(0, min(1, alpha x + beta)) */
    PGY_ACTIVATION_SCALED_TANH,      /**< alpha tanh(beta x) */
    PGY_ACTIVATION_THRESHOLDED_RELU, /**< x > alpha ? x : 0 */
    PGY_ACTIVATION_GELU_ERF,
    PGY_ACTIVATION_GELU_TANH
} pgy_activation_type;
/** alpha and beta have no defaults: the types that use them take them as they are. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_activation(pgy_layer **out, pgy_network *net,
                                                             pgy_value *input,
                                                             pgy_activation_type type, double alpha,
                                                             double beta, pgy_error *err);

typedef enum pgy_unary_operation {
    PGY_UNARY_EXP,
    PGY_UNARY_LOG,
    PGY_UNARY_SQRT,
    PGY_UNARY_RECIP,
    PGY_UNARY_ABS,
    PGY_UNARY_NEG,
    PGY_UNARY_SIN,
    PGY_UNARY_COS,
    PGY_UNARY_TAN,
    PGY_UNARY_SINH,
    PGY_UNARY_COSH,
    PGY_UNARY_ASIN,
    PGY_UNARY_ACOS,
    PGY_UNARY_ATAN,
    PGY_UNARY_ASINH,
    PGY_UNARY_ACOSH,
    PGY_UNARY_ATANH,
    PGY_UNARY_CEIL,
    PGY_UNARY_FLOOR,
    PGY_UNARY_ERF,
    PGY_UNARY_NOT,
    PGY_UNARY_SIGN,
    PGY_UNARY_ROUND, /**< halves to even */
    PGY_UNARY_ISINF,
    PGY_UNARY_ISNAN
} pgy_unary_operation;
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_unary(pgy_layer **out, pgy_network *net,
                                                        pgy_value *input,
                                                        pgy_unary_operation operation,
                                                        pgy_error *err);

typedef enum pgy_elementwise_operation {
    PGY_ELEMENTWISE_SUM,
    PGY_ELEMENTWISE_PROD,
    PGY_ELEMENTWISE_MAX,
    PGY_ELEMENTWISE_MIN,
    PGY_ELEMENTWISE_SUB,
    PGY_ELEMENTWISE_DIV, /**< integers are divided towards zero */
    PGY_ELEMENTWISE_POW,
    PGY_ELEMENTWISE_FLOOR_DIV,
    PGY_ELEMENTWISE_AND,
    PGY_ELEMENTWISE_OR,
    PGY_ELEMENTWISE_XOR,
    PGY_ELEMENTWISE_EQUAL,
    PGY_ELEMENTWISE_GREATER,
    PGY_ELEMENTWISE_LESS
} pgy_elementwise_operation;
/** Broadcasts: sizes of 1 are repeated, and missing leading axes count as 1. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_elementwise(pgy_layer **out, pgy_network *net,
                                                              pgy_value *a, pgy_value *b,
                                                              pgy_elementwise_operation operation,
                                                              pgy_error *err);
/** `slopes` must broadcast to the shape of the input. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_parametric_relu(pgy_layer **out, pgy_network *net,
                                                                  pgy_value *input,
                                                                  pgy_value *slopes,
                                                                  pgy_error *err);
/** condition ? a : b */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_select(pgy_layer **out, pgy_network *net,
                                                         pgy_value *condition, pgy_value *a,
                                                         pgy_value *b, pgy_error *err);

typedef enum pgy_scale_mode {
    PGY_SCALE_UNIFORM, /**< one number for the whole tensor */
    PGY_SCALE_CHANNEL, /**< a number for each channel */
    PGY_SCALE_ELEMENTWISE
} pgy_scale_mode;
/** (x * scale + shift) ^ power; NULL omits a step. */
typedef struct pgy_scale {
    pgy_scale_mode mode;
    pgy_value *shift, *scale, *power;
    int32_t channel_axis; /**< axis of the numbers per channel; 0 means axis 1 */
} pgy_scale;
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_scale(pgy_layer **out, pgy_network *net,
                                                        pgy_value *input, const pgy_scale *p,
                                                        pgy_error *err);

/* ---- Windows -------------------------------------------------------------------------------- */

typedef enum pgy_padding_mode {
    PGY_PADDING_EXPLICIT_ROUND_DOWN,
    PGY_PADDING_EXPLICIT_ROUND_UP, /**< also windows that begin inside the input and end outside */
    PGY_PADDING_SAME_UPPER, /**< output size = input size / stride, rounded up; an odd padding has
                               its larger part at the end */
    PGY_PADDING_SAME_LOWER
} pgy_padding_mode;

enum { PGY_MAX_SPATIAL = 3 };
/** How a window moves over the spatial axes: all axes after the first two. */
typedef struct pgy_window {
    int64_t stride[PGY_MAX_SPATIAL], dilation[PGY_MAX_SPATIAL]; /**< 0: 1 */
    int64_t pre_padding[PGY_MAX_SPATIAL], post_padding[PGY_MAX_SPATIAL];
    pgy_padding_mode padding_mode; /**< the SAME modes ignore the paddings */
} pgy_window;

typedef struct pgy_convolution {
    pgy_value *kernel; /**< [outputs, inputs / groups, spatial...]; of a deconvolution [inputs,
                          outputs / groups, spatial...] */
    pgy_value *bias;   /**< [outputs] or NULL */
    pgy_window window;
    int64_t groups; /**< 0: 1 */
} pgy_convolution;
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_convolution(pgy_layer **out, pgy_network *net,
                                                              pgy_value *input,
                                                              const pgy_convolution *p,
                                                              pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_deconvolution(pgy_layer **out, pgy_network *net,
                                                                pgy_value *input,
                                                                const pgy_convolution *p,
                                                                pgy_error *err);

typedef enum pgy_pooling_type {
    PGY_POOLING_MAX,
    PGY_POOLING_AVERAGE,
    PGY_POOLING_MAX_AVERAGE_BLEND /**< (1 - blend_factor) max + blend_factor average */
} pgy_pooling_type;
typedef struct pgy_pooling {
    pgy_pooling_type type;
    int64_t window_size[PGY_MAX_SPATIAL];
    pgy_window window;
    double blend_factor;
    bool average_counts_padding; /**< the opposite of TensorRT's averageCountExcludesPadding, so
                                    that 0 is the default */
} pgy_pooling;
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_pooling(pgy_layer **out, pgy_network *net,
                                                          pgy_value *input, const pgy_pooling *p,
                                                          pgy_error *err);

/** x / (k + alpha / window * sum of squares of the neighbouring channels) ^ beta; window is odd. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_lrn(pgy_layer **out, pgy_network *net,
                                                      pgy_value *input, int64_t window,
                                                      double alpha, double beta, double k,
                                                      pgy_error *err);
/** Pads the last `count` axes with zeros; negative numbers crop. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_padding(pgy_layer **out, pgy_network *net,
                                                          pgy_value *input, size_t count,
                                                          const int64_t *pre_padding,
                                                          const int64_t *post_padding,
                                                          pgy_error *err);

typedef enum pgy_interpolation {
    PGY_INTERPOLATION_NEAREST,
    PGY_INTERPOLATION_LINEAR,
    PGY_INTERPOLATION_CUBIC
} pgy_interpolation;
typedef enum pgy_coordinates {
    PGY_COORDINATES_ASYMMETRIC,
    PGY_COORDINATES_ALIGN_CORNERS,
    PGY_COORDINATES_HALF_PIXEL
} pgy_coordinates;
typedef enum pgy_resize_round {
    PGY_RESIZE_ROUND_FLOOR,
    PGY_RESIZE_ROUND_CEIL,
    PGY_RESIZE_ROUND_HALF_UP,
    PGY_RESIZE_ROUND_HALF_DOWN
} pgy_resize_round;
/** Exactly one of `dims`, `scales` (each with one entry per axis of the input) and `size` is given.
 */
typedef struct pgy_resize {
    const int64_t *dims;
    const double *scales;
    pgy_value *size; /**< int64, rank 1 */
    pgy_interpolation mode;
    pgy_coordinates coordinates;
    pgy_resize_round nearest_rounding;
    bool single_pixel_is_upper; /**< an output axis of one pixel takes the input's first pixel */
    double cubic_coefficient;   /**< 0 means -0.75 */
    bool exclude_outside;
} pgy_resize;
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_resize(pgy_layer **out, pgy_network *net,
                                                         pgy_value *input, const pgy_resize *p,
                                                         pgy_error *err);

/** What a slice reads at positions outside the axis. */
typedef enum pgy_sample_mode {
    PGY_SAMPLE_STRICT_BOUNDS, /**< reading outside is an error */
    PGY_SAMPLE_WRAP,
    PGY_SAMPLE_CLAMP,
    PGY_SAMPLE_FILL,
    PGY_SAMPLE_REFLECT /**< mirrored, without repeating the pixels at the edge */
} pgy_sample_mode;
/** Samples at the positions of `grid`, where -1 and 1 are the borders. mode: FILL (with zeros),
 * CLAMP or REFLECT. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_grid_sample(pgy_layer **out, pgy_network *net,
                                                              pgy_value *input, pgy_value *grid,
                                                              pgy_interpolation interpolation,
                                                              pgy_sample_mode mode,
                                                              bool align_corners, pgy_error *err);

/* ---- Shapes --------------------------------------------------------------------------------- */

/** Transposes, reshapes, and transposes again; each step may be left out. */
typedef struct pgy_shuffle {
    const int32_t *first_transpose; /**< one entry per axis of the input; NULL: none */
    const int64_t *reshape; /**< reshape_rank entries; -1: inferred from the other sizes; 0: as in
                               the input, unless zero_is_size. NULL: none */
    size_t reshape_rank;
    pgy_value *reshape_to;           /**< the shape as a tensor: int64, rank 1 */
    const int32_t *second_transpose; /**< NULL: none */
    /** The opposite of TensorRT's zeroIsPlaceholder, so that 0 is the default. */
    bool zero_is_size;
} pgy_shuffle;
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_shuffle(pgy_layer **out, pgy_network *net,
                                                          pgy_value *input, const pgy_shuffle *p,
                                                          pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_squeeze(pgy_layer **out, pgy_network *net,
                                                          pgy_value *input, size_t count,
                                                          const int64_t *axes, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_unsqueeze(pgy_layer **out, pgy_network *net,
                                                            pgy_value *input, size_t count,
                                                            const int64_t *axes, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_concatenation(pgy_layer **out, pgy_network *net,
                                                                pgy_value *const *inputs,
                                                                size_t count, int32_t axis,
                                                                pgy_error *err);

/** output[i] = input[start + i * stride], i < size: with numbers for all axes, or for those in
 * `axes`. Tensors (int64, rank 1) may replace the numbers. */
typedef struct pgy_slice {
    size_t count;        /**< number of entries in each list; 0: the input's rank */
    const int64_t *axes; /**< NULL: 0, 1 ... */
    const int64_t *start, *size, *stride; /**< stride NULL: ones */
    pgy_value *start_at, *size_at, *stride_at;
    pgy_sample_mode mode;
    pgy_value *fill; /**< the value that PGY_SAMPLE_FILL reads outside, one element; NULL: 0 */
} pgy_slice;
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_slice(pgy_layer **out, pgy_network *net,
                                                        pgy_value *input, const pgy_slice *p,
                                                        pgy_error *err);

typedef enum pgy_fill_operation {
    PGY_FILL_LINSPACE,       /**< alpha + sum of index k * beta[k] */
    PGY_FILL_RANDOM_UNIFORM, /**< random numbers from alpha to beta */
    PGY_FILL_RANDOM_NORMAL   /**< mean alpha, standard deviation beta */
} pgy_fill_operation;
typedef struct pgy_fill {
    pgy_fill_operation operation;
    size_t rank;
    const int64_t *dims;
    pgy_value *shape; /**< shape as int64 of rank 1, instead of dims */
    pgy_dtype dtype;  /**< NONE: float32 */
    double alpha;
    const double *beta; /**< LINSPACE: one number for each axis; else a single number */
    pgy_value *alpha_at,
        *beta_at; /**< tensors for LINSPACE, of the output's type, instead of numbers */
    bool has_seed;
    double seed;
} pgy_fill;
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_fill(pgy_layer **out, pgy_network *net,
                                                       const pgy_fill *p, pgy_error *err);

/* ---- Sums and orders ------------------------------------------------------------------------ */

/** Axes as a mask: bit i is axis i. */
#define PGY_AXIS(i) ((uint32_t)1 << (i))

typedef enum pgy_reduce_operation {
    PGY_REDUCE_SUM,
    PGY_REDUCE_PROD,
    PGY_REDUCE_MAX,
    PGY_REDUCE_MIN,
    PGY_REDUCE_AVG
} pgy_reduce_operation;
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_reduce(pgy_layer **out, pgy_network *net,
                                                         pgy_value *input,
                                                         pgy_reduce_operation operation,
                                                         uint32_t axes, bool keep_dims,
                                                         pgy_error *err);
/** axes: exactly one bit set; 0: the third axis from the end, or axis 0 if there are fewer than
 * three. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_softmax(pgy_layer **out, pgy_network *net,
                                                          pgy_value *input, uint32_t axes,
                                                          pgy_error *err);
typedef enum pgy_topk_operation { PGY_TOPK_MAX, PGY_TOPK_MIN } pgy_topk_operation;
/** Outputs: the sorted values, and their indices. axes: exactly one bit set. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_topk(pgy_layer **out, pgy_network *net,
                                                       pgy_value *input,
                                                       pgy_topk_operation operation, int64_t k,
                                                       uint32_t axes, pgy_dtype indices_type,
                                                       pgy_error *err);
/** Like pgy_network_add_topk, with k as a tensor: int64, one element. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_topk_of(pgy_layer **out, pgy_network *net,
                                                          pgy_value *input,
                                                          pgy_topk_operation operation,
                                                          pgy_value *k, uint32_t axes,
                                                          pgy_dtype indices_type, pgy_error *err);
typedef enum pgy_cumulative_operation { PGY_CUMULATIVE_SUM } pgy_cumulative_operation;
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_cumulative(pgy_layer **out, pgy_network *net,
                                                             pgy_value *input, int32_t axis,
                                                             pgy_cumulative_operation operation,
                                                             bool exclusive, bool reverse,
                                                             pgy_error *err);
/** (x - mean) / sqrt(variance + epsilon) * scale + bias, mean and variance over `axes`. */
typedef struct pgy_normalization {
    pgy_value *scale, *bias; /**< must broadcast to the shape of the input; may be NULL */
    uint32_t axes;
    double epsilon; /**< 0: 1e-5 */
    int64_t groups; /**< above 1: groups of axis 1, each with all spatial axes; `axes` must not
                       contain axis 1 */
} pgy_normalization;
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_normalization(pgy_layer **out, pgy_network *net,
                                                                pgy_value *input,
                                                                const pgy_normalization *p,
                                                                pgy_error *err);

typedef enum pgy_matrix_operation {
    PGY_MATRIX_NONE,
    PGY_MATRIX_TRANSPOSE, /**< transpose the last two axes */
    PGY_MATRIX_VECTOR /**< the last axis is a vector: a row on the left, a column on the right */
} pgy_matrix_operation;
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_matrix_multiply(
    pgy_layer **out, pgy_network *net, pgy_value *a, pgy_matrix_operation a_is, pgy_value *b,
    pgy_matrix_operation b_is, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_einsum(pgy_layer **out, pgy_network *net,
                                                         pgy_value *const *inputs, size_t count,
                                                         const char *equation, pgy_error *err);

/* ---- By index ------------------------------------------------------------------------------- */

typedef enum pgy_gather_mode {
    PGY_GATHER_DEFAULT, /**< gathers slices along an axis */
    PGY_GATHER_ELEMENT, /**< gathers one element per index */
    PGY_GATHER_ND       /**< the last axis of the indices is a position in the data */
} pgy_gather_mode;
/** @param axis         for DEFAULT and ELEMENT
 * @param elementwise  leading axes that data and indices share: 0 or 1 for DEFAULT, any number for
 * ND */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_gather(pgy_layer **out, pgy_network *net,
                                                         pgy_value *data, pgy_value *indices,
                                                         pgy_gather_mode mode, int32_t axis,
                                                         int32_t elementwise, pgy_error *err);
typedef enum pgy_scatter_mode { PGY_SCATTER_ELEMENT, PGY_SCATTER_ND } pgy_scatter_mode;
/** @param axis  of ELEMENT */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_scatter(pgy_layer **out, pgy_network *net,
                                                          pgy_value *data, pgy_value *indices,
                                                          pgy_value *updates, pgy_scatter_mode mode,
                                                          int32_t axis, pgy_error *err);
/** values: [off, on]; depth: one element. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_one_hot(pgy_layer **out, pgy_network *net,
                                                          pgy_value *indices, pgy_value *values,
                                                          pgy_value *depth, int32_t axis,
                                                          pgy_error *err);
/** Output: [rank, count], the positions of the elements that are not zero. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_non_zero(pgy_layer **out, pgy_network *net,
                                                           pgy_value *input, pgy_dtype indices_type,
                                                           pgy_error *err);
typedef enum pgy_box_format {
    PGY_BOX_CORNER_PAIRS, /**< x1, y1, x2, y2 */
    PGY_BOX_CENTER_SIZES  /**< x, y, width, height */
} pgy_box_format;
typedef struct pgy_nms {
    pgy_value *boxes;         /**< [batch, boxes, 4] */
    pgy_value *scores;        /**< [batch, boxes, classes] */
    pgy_value *max_per_class; /**< one element */
    double iou_threshold;
    bool has_score_threshold;
    double score_threshold;
    pgy_box_format format;
    pgy_dtype indices_type; /**< NONE: int32 */
} pgy_nms;
/** Outputs: [count, 3] (batch, class, box), and the count as a scalar. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_nms(pgy_layer **out, pgy_network *net,
                                                      const pgy_nms *p, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_reverse_sequence(
    pgy_layer **out, pgy_network *net, pgy_value *input, pgy_value *lengths, int32_t batch_axis,
    int32_t sequence_axis, pgy_error *err);

/* ---- Quantisation --------------------------------------------------------------------------- */

typedef struct pgy_quantization {
    pgy_value *scale, *zero_point; /**< zero_point NULL: 0 */
    pgy_dtype dtype; /**< type of the output; NONE: int8 when quantizing, the scale's type when
                        dequantizing */
    int32_t axis;    /**< axis that has one scale per channel; 0 means axis 1 */
    bool axis_is_first;
    int64_t block_size; /**< size of blocks along the axis, for one scale per block; 0: none */
} pgy_quantization;
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_quantize(pgy_layer **out, pgy_network *net,
                                                           pgy_value *input,
                                                           const pgy_quantization *p,
                                                           pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_dequantize(pgy_layer **out, pgy_network *net,
                                                             pgy_value *input,
                                                             const pgy_quantization *p,
                                                             pgy_error *err);
/** Quantises blocks along an axis, each with its own scale. Outputs: data and scales.
 * @param to  PGY_F8E4M3FN (scales are powers of two) or PGY_F4E2M1 (scales are float8)
 * @param double_scale  of F4E2M1: the scale of the scales, one element; else NULL */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_dynamic_quantize(
    pgy_layer **out, pgy_network *net, pgy_value *input, int32_t axis, int64_t block_size,
    pgy_dtype to, pgy_value *double_scale, pgy_error *err);

/* ---- Sequences ------------------------------------------------------------------------------ */

typedef struct pgy_attention {
    pgy_value *query, *key, *value; /**< [batch, heads, length, size]; the query must be scaled
                                       already, because this layer does not scale */
    pgy_value *mask; /**< bool (true: attend), or numbers to add to the scores; NULL: none */
    bool causal;
    bool no_softmax; /**< TensorRT's normalization kNONE */
} pgy_attention;
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_attention(pgy_layer **out, pgy_network *net,
                                                            const pgy_attention *p, pgy_error *err);
typedef struct pgy_rotary_embedding {
    pgy_value *cos_cache, *sin_cache;
    pgy_value
        *positions; /**< [batch, length], or NULL: then the caches are [batch, length, size] */
    bool interleaved;
    int64_t dim; /**< elements of a head that are rotated; 0: all */
} pgy_rotary_embedding;
/** input: [batch, heads, length, size] */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_rotary_embedding(pgy_layer **out,
                                                                   pgy_network *net,
                                                                   pgy_value *input,
                                                                   const pgy_rotary_embedding *p,
                                                                   pgy_error *err);
/** Writes update [batch, heads, length, size] into cache [batch, heads, capacity, size] at
 * write_indices [batch], int64. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_kvcache_update(pgy_layer **out, pgy_network *net,
                                                                 pgy_value *cache,
                                                                 pgy_value *update,
                                                                 pgy_value *write_indices,
                                                                 pgy_error *err);
typedef enum pgy_rnn_direction {
    PGY_RNN_FORWARD,
    PGY_RNN_REVERSE,
    PGY_RNN_BIDIRECTIONAL
} pgy_rnn_direction;
/** Weights as ONNX has them: w [directions, gates * hidden, inputs], r [directions, gates * hidden,
 * hidden], bias [directions, 2 * gates * hidden]; gates of an LSTM are i o f c, of a GRU z r h. */
typedef struct pgy_recurrent {
    int64_t hidden_size;
    pgy_rnn_direction direction;
    pgy_value *w, *r, *bias;
    pgy_value *sequence_lengths;      /**< int32 [batch], or NULL */
    pgy_value *initial_h, *initial_c; /**< initial state [directions, batch, hidden], or NULL; of an
                                         LSTM the cell state, too */
    bool linear_before_reset;         /**< of a GRU */
} pgy_recurrent;
/** type: PGY_LAYER_RNN (tanh), LSTM or GRU. input: [length, batch, inputs]. Outputs: all states
 * [length, directions, batch, hidden], the last h, and of an LSTM the last c. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_recurrent(pgy_layer **out, pgy_network *net,
                                                            pgy_layer_type type, pgy_value *input,
                                                            const pgy_recurrent *p, pgy_error *err);

/* ---- Assertions and plug-ins ---------------------------------------------------------------- */

/** A run fails with the message unless all elements of `condition` are true. A constant false fails
 * when it is added. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_assertion(pgy_layer **out, pgy_network *net,
                                                            pgy_value *condition,
                                                            const char *message, pgy_error *err);

/** An attribute ("field") of a plug-in; `kind` says which member holds the value. */
typedef struct pgy_plugin_field {
    const char *name;
    enum { PGY_FIELD_INT, PGY_FIELD_FLOAT, PGY_FIELD_TEXT, PGY_FIELD_INTS, PGY_FIELD_FLOATS } kind;
    int64_t i;
    double f;
    const char *text;
    const int64_t *ints;
    const float *floats;
    size_t count;
} pgy_plugin_field;
/** Adds an operator of another domain, built in or loaded by pgy_operators_load. @return
 * PGY_E_NOT_FOUND for an unknown operator */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_plugin(pgy_layer **out, pgy_network *net,
                                                         const char *domain, const char *op_type,
                                                         pgy_value *const *inputs,
                                                         size_t input_count, size_t output_count,
                                                         const pgy_plugin_field *fields,
                                                         size_t field_count, pgy_error *err);

/* ---- Loops ---------------------------------------------------------------------------------- */

/** A loop. Add the layers of its body to pgy_loop_body; they may read tensors from outside. The
 * loop's outputs exist after pgy_loop_close. */
typedef struct pgy_loop pgy_loop;
typedef enum pgy_loop_output_kind {
    PGY_LOOP_LAST_VALUE,  /**< value of a recurrence after the last iteration */
    PGY_LOOP_CONCATENATE, /**< the values of all iterations, along a new axis */
    PGY_LOOP_REVERSE      /**< like CONCATENATE, with the last iteration first */
} pgy_loop_output_kind;

PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_loop(pgy_loop **out, pgy_network *net,
                                                       pgy_error *err);
PGY_API pgy_network *pgy_loop_body(pgy_loop *loop);
/** Limits the number of iterations to `count`, an integer scalar from outside. */
PGY_API PGY_MUST_CHECK pgy_status pgy_loop_add_trip_count(pgy_layer **out, pgy_loop *loop,
                                                          pgy_value *count, pgy_error *err);
/** An iteration begins only while the condition, a bool scalar computed in the body from
 * recurrences and tensors from outside, is true. */
PGY_API PGY_MUST_CHECK pgy_status pgy_loop_add_while(pgy_layer **out, pgy_loop *loop,
                                                     pgy_value *condition, pgy_error *err);
/** Adds a value that the loop carries from one iteration to the next. outputs[0] is its present
 * value, a tensor of the body, with the type and shape of `initial`. */
PGY_API PGY_MUST_CHECK pgy_status pgy_loop_add_recurrence(pgy_layer **out, pgy_loop *loop,
                                                          pgy_value *initial, pgy_error *err);
/** Sets the value of a recurrence in the next iteration. */
PGY_API PGY_MUST_CHECK pgy_status pgy_loop_set_next(pgy_layer *recurrence, pgy_value *next,
                                                    pgy_error *err);
/** Iterates over the slices of a tensor from outside: outputs[0], a tensor of the body, is the
 * slice of the present iteration. */
PGY_API PGY_MUST_CHECK pgy_status pgy_loop_add_iterator(pgy_layer **out, pgy_loop *loop,
                                                        pgy_value *tensor, int32_t axis,
                                                        bool reverse, pgy_error *err);
/** Adds an output of the loop; outputs[0] exists after pgy_loop_close. axis: place of the new axis
 * of CONCATENATE and REVERSE. */
PGY_API PGY_MUST_CHECK pgy_status pgy_loop_add_output(pgy_layer **out, pgy_loop *loop, pgy_value *v,
                                                      pgy_loop_output_kind kind, int32_t axis,
                                                      pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_loop_close(pgy_loop *loop, pgy_error *err);

/* ---- Conditionals --------------------------------------------------------------------------- */

/** A conditional. Only the branch that is taken is computed. Branches may read tensors from
 * outside. */
typedef struct pgy_conditional pgy_conditional;
/** `condition` must be a bool scalar. */
PGY_API PGY_MUST_CHECK pgy_status pgy_network_add_conditional(pgy_conditional **out,
                                                              pgy_network *net,
                                                              pgy_value *condition, pgy_error *err);
PGY_API pgy_network *pgy_conditional_branch(pgy_conditional *c, bool taken_if_true);
/** Adds an input for the branches: outputs[0] is the tensor that they read. */
PGY_API PGY_MUST_CHECK pgy_status pgy_conditional_add_input(pgy_layer **out, pgy_conditional *c,
                                                            pgy_value *v, pgy_error *err);
/** Adds an output from one tensor of each branch, of equal type and rank. outputs[0] exists after
 * pgy_conditional_close. */
PGY_API PGY_MUST_CHECK pgy_status pgy_conditional_add_output(pgy_layer **out, pgy_conditional *c,
                                                             pgy_value *if_true,
                                                             pgy_value *if_false, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_conditional_close(pgy_conditional *c, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
