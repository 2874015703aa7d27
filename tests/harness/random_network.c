/* SPDX-License-Identifier: Apache-2.0 */
/* Layers are drawn without checking that they fit: the network refuses those that do not, and they
 * are left out. */
#include "harness/random_network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VALUES = 64, MAX_ELEMENTS = 20000 };

typedef struct maker {
    byte_source *source;
    pgy_network *net;
    /* float32 values with known shapes, which later layers may read */
    pgy_value *values[MAX_VALUES];
    size_t count;
} maker;

/* ---- Bytes ---------------------------------------------------------------------------------- */

uint32_t byte_source_below(byte_source *s, uint32_t bound)
{
    if (s->size) {
        s->state = s->state * 31 + *s->data + 1;
        s->size--;
        return *s->data++ % bound;
    }
    s->state = s->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(s->state >> 33) % bound;
}

void byte_source_fill(byte_source *s, pgy_tensor *t)
{
    float *x = pgy_tensor_data(t);
    uint64_t state = s->state * 2 + byte_source_below(s, 251);
    for (size_t i = 0; i < pgy_tensor_count(t); i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x[i] = (float)(state >> 40) / 8388608.0f - 1;
    }
}

static uint32_t pick(maker *m, uint32_t bound)
{
    return byte_source_below(m->source, bound);
}

/* ---- Values --------------------------------------------------------------------------------- */

static int64_t size_of(const pgy_value *v, int32_t axis)
{
    return v->dims[axis < 0 ? axis + v->rank : axis].value;
}

static size_t elements(const pgy_value *v)
{
    size_t count = 1;
    for (int32_t i = 0; i < v->rank; i++) count *= (size_t)size_of(v, i);
    return count;
}

/* Draws one of the latest values. If rank is not 0, takes a value of that rank; NULL: there is
 * none. */
static pgy_value *choose(maker *m, int32_t rank)
{
    const uint32_t back = pick(m, 6);
    pgy_value *found = m->values[m->count - 1 - back % m->count];
    for (size_t i = m->count; rank && found->rank != rank && i-- > 0;) found = m->values[i];
    return rank && found->rank != rank ? NULL : found;
}

static void keep(maker *m, pgy_status st, pgy_layer *const *made)
{
    const pgy_layer *layer = *made;
    for (size_t i = 0; !st && i < layer->output_count; i++) {
        pgy_value *v = layer->outputs[i];
        if (v->dtype == PGY_F32 && v->rank >= 0 && m->count < MAX_VALUES && elements(v) &&
            elements(v) <= MAX_ELEMENTS)
            m->values[m->count++] = v;
    }
}

static pgy_value *weights(maker *m, size_t rank, const int64_t *shape, float scale, float shift)
{
    pgy_tensor *t = NULL;
    pgy_layer *layer = NULL;
    if (pgy_tensor_create(&t, PGY_F32, rank, shape, NULL)) return NULL;
    byte_source_fill(m->source, t);
    float *x = pgy_tensor_data(t);
    for (size_t i = 0; i < pgy_tensor_count(t); i++) x[i] = x[i] * scale + shift;
    const pgy_status st = pgy_network_add_constant(&layer, m->net, t, NULL);
    pgy_tensor_release(t);
    return st ? NULL : layer->outputs[0];
}

/* ---- Layers --------------------------------------------------------------------------------- */

static void convolution(maker *m)
{
    static const int64_t KERNELS[] = {1, 3, 3, 5};
    pgy_layer *layer = NULL;
    pgy_value *x = choose(m, 4);
    if (!x) return;
    const int64_t c = size_of(x, 1), k = KERNELS[pick(m, 4)];
    int64_t groups = pick(m, 3) ? 1 : c, outputs = pick(m, 3) ? 1 + (int64_t)pick(m, 34) : c;
    if (groups == c) outputs = c * (1 + (int64_t)pick(m, 2));
    const int64_t shape[4] = {outputs, c / groups, k, k};
    pgy_convolution p = {.groups = groups};
    p.kernel = weights(m, 4, shape, 1.5f / sqrtf((float)(c / groups * k * k)), 0);
    if (pick(m, 2)) p.bias = weights(m, 1, &outputs, 0.3f, 0);
    for (int i = 0; i < 2; i++) {
        p.window.stride[i] = 1 + (pick(m, 4) == 0);
        p.window.dilation[i] = 1 + (pick(m, 6) == 0);
        p.window.pre_padding[i] = pick(m, 3) ? k / 2 : 0;
        p.window.post_padding[i] = pick(m, 5) ? p.window.pre_padding[i] : k / 2;
    }
    keep(m, pgy_network_add_convolution(&layer, m->net, x, &p, NULL), &layer);
}

static void deconvolution(maker *m)
{
    pgy_layer *layer = NULL;
    pgy_value *x = choose(m, 4);
    if (!x) return;
    const int64_t shape[4] = {size_of(x, 1), 1 + (int64_t)pick(m, 9), 2, 2};
    pgy_convolution p = {.groups = 1, .window = {.stride = {2, 2}}};
    p.kernel = weights(m, 4, shape, 0.7f, 0);
    keep(m, pgy_network_add_deconvolution(&layer, m->net, x, &p, NULL), &layer);
}

static void activation(maker *m)
{
    static const struct {
        pgy_activation_type type;
        double alpha, beta;
    } KINDS[] = {{PGY_ACTIVATION_RELU, 0, 0},
                 {PGY_ACTIVATION_SIGMOID, 0, 0},
                 {PGY_ACTIVATION_TANH, 0, 0},
                 {PGY_ACTIVATION_LEAKY_RELU, 0.1, 0},
                 {PGY_ACTIVATION_ELU, 0.7, 0},
                 {PGY_ACTIVATION_SELU, 1.6, 1.05},
                 {PGY_ACTIVATION_SOFTSIGN, 0, 0},
                 {PGY_ACTIVATION_SOFTPLUS, 1, 1},
                 {PGY_ACTIVATION_CLIP, -0.5, 0.7},
                 {PGY_ACTIVATION_CLIP, 0, 6},
                 {PGY_ACTIVATION_HARD_SIGMOID, 1 / 6.0, 0.5},
                 {PGY_ACTIVATION_SCALED_TANH, 0.9, 1.1},
                 {PGY_ACTIVATION_GELU_ERF, 0, 0},
                 {PGY_ACTIVATION_GELU_TANH, 0, 0}};
    pgy_layer *layer = NULL, *product = NULL;
    pgy_value *x = choose(m, 0);
    const uint32_t kind = pick(m, sizeof KINDS / sizeof *KINDS);
    const pgy_status st = pgy_network_add_activation(&layer, m->net, x, KINDS[kind].type,
                                                     KINDS[kind].alpha, KINDS[kind].beta, NULL);
    keep(m, st, &layer);
    if (st || pick(m, 2)) return; /* often x * f(x), which fusions look for */
    keep(m,
         pgy_network_add_elementwise(&product, m->net, x, layer->outputs[0], PGY_ELEMENTWISE_PROD,
                                     NULL),
         &product);
}

static void elementwise(maker *m)
{
    static const pgy_elementwise_operation KINDS[] = {
        PGY_ELEMENTWISE_SUM, PGY_ELEMENTWISE_SUM, PGY_ELEMENTWISE_PROD, PGY_ELEMENTWISE_SUB,
        PGY_ELEMENTWISE_MAX, PGY_ELEMENTWISE_MIN, PGY_ELEMENTWISE_DIV};
    pgy_layer *layer = NULL;
    pgy_value *a = choose(m, 0), *b = choose(m, a->rank);
    const pgy_elementwise_operation kind = KINDS[pick(m, sizeof KINDS / sizeof *KINDS)];
    const uint32_t form = pick(m, 4);
    int64_t shape[PGY_MAX_RANK];
    for (int32_t i = 0; i < a->rank; i++)
        shape[i] = form == 1 && i == 1             ? size_of(a, i)
                   : form == 2 && i == a->rank - 1 ? size_of(a, i)
                                                   : 1;
    /* a constant second operand: one number, or one per channel or column */
    if (form || kind == PGY_ELEMENTWISE_DIV)
        b = weights(m, (size_t)a->rank, shape, 0.4f, 1.0f);
    else if (b && pick(m, 2)) {
        pgy_value *swap = a;
        a = b;
        b = swap;
    }
    if (b) keep(m, pgy_network_add_elementwise(&layer, m->net, a, b, kind, NULL), &layer);
}

static void pooling(maker *m)
{
    pgy_layer *layer = NULL;
    pgy_value *x = choose(m, 4);
    if (!x) return;
    const int64_t k = 2 + pick(m, 2);
    const pgy_pooling p = {.type = pick(m, 2) ? PGY_POOLING_MAX : PGY_POOLING_AVERAGE,
                           .window_size = {k, k},
                           .window = {.stride = {1 + pick(m, 2), 1 + pick(m, 2)},
                                      .pre_padding = {k / 2, k / 2},
                                      .post_padding = {k / 2, k / 2}},
                           .average_counts_padding = pick(m, 2)};
    keep(m, pgy_network_add_pooling(&layer, m->net, x, &p, NULL), &layer);
}

static void normalization(maker *m)
{
    pgy_layer *layer = NULL;
    pgy_value *x = choose(m, 0);
    int64_t shape[PGY_MAX_RANK];
    if (x->rank < 2) return;
    for (int32_t i = 0; i < x->rank; i++) shape[i] = i == x->rank - 1 ? size_of(x, i) : 1;
    const pgy_normalization p = {.axes = PGY_AXIS(x->rank - 1),
                                 .epsilon = 0.1, /* a small epsilon would amplify rounding errors */
                                 .scale = weights(m, (size_t)x->rank, shape, 0.3f, 1.0f),
                                 .bias = weights(m, (size_t)x->rank, shape, 0.3f, 0)};
    keep(m, pgy_network_add_normalization(&layer, m->net, x, &p, NULL), &layer);
}

static void batch_normalization(maker *m)
{
    pgy_layer *layer = NULL;
    pgy_value *x = choose(m, 4);
    if (!x) return;
    const int64_t c = size_of(x, 1);
    const pgy_scale p = {.mode = PGY_SCALE_CHANNEL,
                         .scale = weights(m, 1, &c, 0.3f, 1.0f),
                         .shift = weights(m, 1, &c, 0.3f, 0)};
    keep(m, pgy_network_add_scale(&layer, m->net, x, &p, NULL), &layer);
}

static void product(maker *m)
{
    pgy_layer *layer = NULL;
    pgy_value *a = choose(m, 0), *b = NULL;
    if (a->rank < 2) return;
    const pgy_matrix_operation is = pick(m, 2) ? PGY_MATRIX_NONE : PGY_MATRIX_TRANSPOSE;
    const int64_t k = size_of(a, -1), n = 1 + (int64_t)pick(m, 40);
    int64_t shape[PGY_MAX_RANK];
    for (int32_t i = 0; i < a->rank; i++) shape[i] = 1;
    shape[a->rank - 2] = is == PGY_MATRIX_NONE ? k : n;
    shape[a->rank - 1] = is == PGY_MATRIX_NONE ? n : k;
    if (pick(m, 3))
        b = weights(m, (size_t)a->rank, shape, 1.5f / sqrtf((float)k), 0);
    else
        b = a; /* a times itself, like attention scores */
    if (!b) return;
    keep(m,
         pgy_network_add_matrix_multiply(&layer, m->net, a, PGY_MATRIX_NONE, b,
                                         b == a ? PGY_MATRIX_TRANSPOSE : is, NULL),
         &layer);
}

static void softmax(maker *m)
{
    pgy_layer *layer = NULL;
    pgy_value *x = choose(m, 0);
    keep(m, pgy_network_add_softmax(&layer, m->net, x, PGY_AXIS(pick(m, (uint32_t)x->rank)), NULL),
         &layer);
}

static void reduction(maker *m)
{
    static const pgy_reduce_operation KINDS[] = {PGY_REDUCE_AVG, PGY_REDUCE_AVG, PGY_REDUCE_MAX,
                                                 PGY_REDUCE_MIN};
    pgy_layer *layer = NULL;
    pgy_value *x = choose(m, 0);
    const uint32_t axes = x->rank == 4 && pick(m, 2) ? PGY_AXIS(2) | PGY_AXIS(3)
                                                     : PGY_AXIS(pick(m, (uint32_t)x->rank));
    keep(m,
         pgy_network_add_reduce(&layer, m->net, x, KINDS[pick(m, 4)], axes, pick(m, 4) > 0, NULL),
         &layer);
}

static void concatenation(maker *m)
{
    pgy_layer *layer = NULL;
    pgy_value *a = choose(m, 0), *all[3] = {a, choose(m, a->rank), choose(m, a->rank)};
    if (!all[1] || !all[2]) return;
    keep(m,
         pgy_network_add_concatenation(
             &layer, m->net, all, 2 + pick(m, 2),
             pick(m, 3) ? (a->rank > 1) : (int32_t)pick(m, (uint32_t)a->rank), NULL),
         &layer);
}

static void transposition(maker *m)
{
    pgy_layer *layer = NULL;
    pgy_value *x = choose(m, 0);
    int32_t order[PGY_MAX_RANK];
    for (int32_t i = 0; i < x->rank; i++) order[i] = i;
    for (int32_t i = x->rank - 1; i > 0; i--) {
        const uint32_t k = pick(m, (uint32_t)i + 1);
        const int32_t swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    const pgy_shuffle p = {.first_transpose = order};
    keep(m, pgy_network_add_shuffle(&layer, m->net, x, &p, NULL), &layer);
}

static void reshape(maker *m)
{
    pgy_layer *layer = NULL;
    pgy_value *x = choose(m, 0);
    int64_t to[4];
    size_t rank = 0;
    if (x->rank == 4 && pick(m, 2)) { /* pixels become a sequence, as in vision transformers */
        to[rank++] = size_of(x, 0), to[rank++] = size_of(x, 1), to[rank++] = -1;
    } else if (x->rank == 3) {
        to[rank++] = size_of(x, 0), to[rank++] = size_of(x, 1), to[rank++] = 1, to[rank++] = -1;
    } else {
        to[rank++] = size_of(x, 0), to[rank++] = -1;
    }
    const pgy_shuffle p = {.reshape = to, .reshape_rank = rank};
    keep(m, pgy_network_add_shuffle(&layer, m->net, x, &p, NULL), &layer);
}

static void slice(maker *m)
{
    pgy_layer *layer = NULL;
    pgy_value *x = choose(m, 0);
    const int64_t axis = pick(m, (uint32_t)x->rank), size = size_of(x, (int32_t)axis);
    const int64_t start = pick(m, (uint32_t)size), stride = 1 + (pick(m, 3) == 0);
    const int64_t count = (size - start + stride - 1) / stride;
    const pgy_slice p = {
        .count = 1, .axes = &axis, .start = &start, .size = &count, .stride = &stride};
    keep(m, pgy_network_add_slice(&layer, m->net, x, &p, NULL), &layer);
}

static void resize(maker *m)
{
    static const double SCALES[4] = {1, 1, 2, 2};
    pgy_layer *layer = NULL;
    pgy_value *x = choose(m, 4);
    if (!x) return;
    const bool nearest = pick(m, 2);
    const pgy_resize p = {.scales = SCALES,
                          .mode = nearest ? PGY_INTERPOLATION_NEAREST : PGY_INTERPOLATION_LINEAR,
                          .coordinates =
                              nearest ? PGY_COORDINATES_ASYMMETRIC : PGY_COORDINATES_HALF_PIXEL};
    keep(m, pgy_network_add_resize(&layer, m->net, x, &p, NULL), &layer);
}

static void padding(maker *m)
{
    pgy_layer *layer = NULL;
    pgy_value *x = choose(m, 4);
    const int64_t before[2] = {pick(m, 3), pick(m, 3)}, behind[2] = {pick(m, 3), pick(m, 3)};
    if (x) keep(m, pgy_network_add_padding(&layer, m->net, x, 2, before, behind, NULL), &layer);
}

static void (*const LAYERS[])(maker *m) = {convolution,   convolution,
                                           convolution,   activation,
                                           activation,    elementwise,
                                           elementwise,   elementwise,
                                           pooling,       product,
                                           product,       normalization,
                                           softmax,       reduction,
                                           concatenation, reshape,
                                           slice,         transposition,
                                           resize,        deconvolution,
                                           padding,       batch_normalization};

/* ---- The network ---------------------------------------------------------------------------- */

static bool add_inputs(maker *m)
{
    static const int64_t CHANNELS[] = {1, 2, 3, 4, 7, 8, 15, 16, 17, 24, 32, 33};
    const int64_t image[4] = {1 + pick(m, 2), CHANNELS[pick(m, 12)], 1 + pick(m, 14),
                              1 + pick(m, 14)};
    const int64_t sequence[3] = {1 + pick(m, 2), 1 + pick(m, 9), 1 + pick(m, 40)};
    m->count = 2;
    return pgy_network_add_input(&m->values[0], m->net, "sequence", PGY_F32, 3, sequence, NULL) ==
               PGY_OK &&
           pgy_network_add_input(&m->values[1], m->net, "image", PGY_F32, 4, image, NULL) == PGY_OK;
}

static bool mark_outputs(maker *m)
{
    bool ok = true;
    for (size_t i = m->count; ok && i-- > 2;)
        if (!m->values[i]->consumer_count || pick(m, 12) == 0)
            ok = pgy_network_mark_output(m->net, m->values[i], NULL) == PGY_OK;
    if (pgy_network_output_count(m->net)) return ok;
    return pgy_network_mark_output(m->net, m->values[m->count - 1], NULL) == PGY_OK;
}

pgy_model *random_network(byte_source *s)
{
    return random_network_below(s, RANDOM_MAX_LAYERS);
}

pgy_model *random_network_below(byte_source *s, uint32_t max_layers)
{
    maker m = {.source = s};
    pgy_model *model = NULL;
    if (pgy_network_create(&m.net, "random", NULL)) return NULL;
    bool ok = add_inputs(&m);
    const uint32_t layers = 1 + pick(&m, max_layers);
    for (uint32_t i = 0; ok && i < layers; i++)
        LAYERS[pick(&m, sizeof LAYERS / sizeof *LAYERS)](&m);
    if (ok && mark_outputs(&m) && pgy_network_to_model(&model, m.net, NULL)) model = NULL;
    pgy_network_destroy(m.net);
    return model;
}

pgy_tensor_map *random_feed(byte_source *s, const pgy_metadata *inputs)
{
    pgy_tensor_map *feed = NULL;
    if (pgy_tensor_map_create(&feed, NULL)) return NULL;
    for (size_t i = 0; i < pgy_metadata_count(inputs); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(inputs, i);
        pgy_tensor *t = NULL;
        pgy_status st = pgy_tensor_create(&t, PGY_F32, (size_t)info->rank, info->shape, NULL);
        if (!st) byte_source_fill(s, t);
        if (!st) st = pgy_tensor_map_adopt(feed, info->name, t, NULL);
        if (!st) continue;
        pgy_tensor_map_destroy(feed);
        return NULL;
    }
    return feed;
}

double largest_error(const pgy_tensor *got, const pgy_tensor *wanted)
{
    const float *x = pgy_tensor_data(got), *y = pgy_tensor_data(wanted);
    const size_t count = pgy_tensor_count(wanted);
    double worst = 0, squares = 0;
    if (pgy_tensor_count(got) != count) return INFINITY;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(x[i]) && !isfinite(y[i])) continue;
        if (!isfinite(x[i]) || !isfinite(y[i])) return INFINITY;
        worst = fmax(worst, fabs((double)x[i] - (double)y[i]));
        squares += (double)y[i] * (double)y[i];
    }
    return count ? worst / (sqrt(squares / (double)count) + 1e-3) : 0;
}
