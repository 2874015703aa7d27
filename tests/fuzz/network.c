/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as calls of the network API: layers on whatever tensors there are, with small numbers as
 * parameters, wrong ones included; loops, changes, and a model at the end, which must be one that
 * can be read. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <polygraphy/network.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_TENSORS = 48, MAX_STEPS = 40, LIST = 4 };

typedef struct maker {
    const uint8_t *data;
    size_t size;
    pgy_network *net;  /* the top */
    pgy_network *here; /* where layers go */
    pgy_loop *loop;    /* open, or NULL */
    pgy_layer *recurrence;
    pgy_value *tensors[MAX_TENSORS];
    size_t count;
    pgy_error err;
} maker;

static unsigned take(maker *m)
{
    if (!m->size) return 0;
    m->size--;
    return *m->data++;
}

static int64_t number(maker *m)
{
    return (int64_t)(take(m) % 12) - 3;
}

static pgy_value *any(maker *m)
{
    return m->count ? m->tensors[take(m) % m->count] : NULL;
}

static void keep(maker *m, pgy_status st, const pgy_layer *layer)
{
    for (size_t i = 0; !st && layer && i < layer->output_count; i++)
        if (m->count < MAX_TENSORS && layer->outputs[i]) m->tensors[m->count++] = layer->outputs[i];
}

static const int64_t *list(maker *m, int64_t *out)
{
    for (int i = 0; i < LIST; i++) out[i] = number(m);
    return out;
}

static void add_input(maker *m)
{
    static const pgy_dtype TYPES[] = {PGY_F32, PGY_I64, PGY_BOOL, PGY_F16, PGY_I32, PGY_I8};
    int64_t dims[LIST];
    pgy_value *v = NULL;
    const char name[] = {'a', (char)('a' + m->count % 26), (char)('a' + m->count / 26), '\0'};
    for (int i = 0; i < LIST; i++) dims[i] = (int64_t)(take(m) % 6) - 1;
    const pgy_dtype dtype = TYPES[take(m) % 6];
    const int32_t rank = (int32_t)(take(m) % 5);
    if (pgy_network_add_input(&v, m->net, name, dtype, rank, dims, &m->err)) return;
    if (m->count < MAX_TENSORS) m->tensors[m->count++] = v;
}

static void add_constant(maker *m)
{
    const pgy_dtype dtype = take(m) % 2 ? PGY_F32 : PGY_I64;
    const int64_t shape[] = {take(m) % 5, take(m) % 4, take(m) % 3, 2};
    pgy_tensor *t = NULL;
    pgy_layer *layer = NULL;
    if (pgy_tensor_create(&t, dtype, take(m) % 5, shape, &m->err)) return;
    for (size_t i = 0; i < pgy_tensor_count(t); i++) {
        if (dtype == PGY_F32) ((float *)pgy_tensor_data(t))[i] = (float)number(m);
        if (dtype == PGY_I64) ((int64_t *)pgy_tensor_data(t))[i] = number(m);
    }
    keep(m, pgy_network_add_constant(&layer, m->here, t, &m->err), layer);
    pgy_tensor_release(t);
}

static pgy_window window(maker *m)
{
    pgy_window w = {.padding_mode = (pgy_padding_mode)(take(m) % 5)};
    for (int i = 0; i < PGY_MAX_SPATIAL; i++) {
        w.stride[i] = number(m) / 2;
        w.dilation[i] = take(m) % 3;
        w.pre_padding[i] = take(m) % 3;
        w.post_padding[i] = take(m) % 3;
    }
    return w;
}

static void add_window(maker *m)
{
    pgy_layer *layer = NULL;
    const pgy_convolution c = {.kernel = any(m),
                               .bias = take(m) % 2 ? any(m) : NULL,
                               .window = window(m),
                               .groups = number(m)};
    pgy_pooling p = {.type = (pgy_pooling_type)(take(m) % 4), .window = window(m)};
    (void)list(m, (int64_t[LIST]){0});
    for (int i = 0; i < PGY_MAX_SPATIAL; i++) p.window_size[i] = number(m);
    const unsigned which = take(m) % 3;
    pgy_value *x = any(m);
    const pgy_status st = which == 0 ? pgy_network_add_convolution(&layer, m->here, x, &c, &m->err)
                          : which == 1
                              ? pgy_network_add_deconvolution(&layer, m->here, x, &c, &m->err)
                              : pgy_network_add_pooling(&layer, m->here, x, &p, &m->err);
    keep(m, st, layer);
}

static void add_shape(maker *m)
{
    pgy_layer *layer = NULL;
    int64_t a[LIST], b[LIST], c[LIST];
    int32_t order[LIST];
    for (int i = 0; i < LIST; i++) order[i] = (int32_t)(take(m) % 5);
    const pgy_shuffle shuffle = {.first_transpose = take(m) % 2 ? order : NULL,
                                 .reshape = list(m, a),
                                 .reshape_rank = take(m) % 5,
                                 .second_transpose = take(m) % 2 ? order : NULL,
                                 .zero_is_size = take(m) % 2};
    const pgy_slice slice = {.count = take(m) % 5,
                             .axes = take(m) % 2 ? list(m, c) : NULL,
                             .start = a,
                             .size = list(m, b),
                             .stride = take(m) % 2 ? b : NULL,
                             .start_at = take(m) % 3 ? NULL : any(m),
                             .mode = (pgy_sample_mode)(take(m) % 6),
                             .fill = take(m) % 2 ? any(m) : NULL};
    const pgy_resize resize = {.dims = take(m) % 2 ? b : NULL, .size = take(m) % 2 ? any(m) : NULL};
    pgy_value *x = any(m), *pair[2] = {x, any(m)};
    pgy_status st = PGY_E_ARGUMENT;
    /* Lists have an entry for every axis that a tensor can have here. */
    if (x && x->rank > LIST) return;
    switch (take(m) % 7) {
    case 0: st = pgy_network_add_shuffle(&layer, m->here, x, &shuffle, &m->err); break;
    case 1:
        if (slice.count <= LIST) st = pgy_network_add_slice(&layer, m->here, x, &slice, &m->err);
        break;
    case 2: st = pgy_network_add_squeeze(&layer, m->here, x, 1, a, &m->err); break;
    case 3: st = pgy_network_add_unsqueeze(&layer, m->here, x, take(m) % 3, a, &m->err); break;
    case 4:
        st = pgy_network_add_concatenation(&layer, m->here, pair, 2, (int32_t)a[0], &m->err);
        break;
    case 5: st = pgy_network_add_padding(&layer, m->here, x, take(m) % 5, a, b, &m->err); break;
    default: st = pgy_network_add_resize(&layer, m->here, x, &resize, &m->err); break;
    }
    keep(m, st, layer);
}

static void add_many(maker *m)
{
    pgy_layer *layer = NULL;
    pgy_value *x = any(m), *y = any(m), *z = any(m);
    const uint32_t axes = take(m) % 32;
    const int32_t axis = (int32_t)number(m);
    const pgy_normalization norm = {
        .scale = take(m) % 2 ? y : NULL, .axes = axes, .groups = number(m)};
    pgy_status st;
    switch (take(m) % 10) {
    case 0:
        st = pgy_network_add_reduce(&layer, m->here, x, (pgy_reduce_operation)(take(m) % 6), axes,
                                    take(m) % 2, &m->err);
        break;
    case 1: st = pgy_network_add_softmax(&layer, m->here, x, axes, &m->err); break;
    case 2:
        st = pgy_network_add_topk(&layer, m->here, x, PGY_TOPK_MAX, number(m), axes, PGY_I32,
                                  &m->err);
        break;
    case 3: st = pgy_network_add_normalization(&layer, m->here, x, &norm, &m->err); break;
    case 4:
        st =
            pgy_network_add_matrix_multiply(&layer, m->here, x, (pgy_matrix_operation)(take(m) % 4),
                                            y, (pgy_matrix_operation)(take(m) % 4), &m->err);
        break;
    case 5:
        st = pgy_network_add_gather(&layer, m->here, x, y, (pgy_gather_mode)(take(m) % 4), axis,
                                    (int32_t)number(m), &m->err);
        break;
    case 6:
        st = pgy_network_add_scatter(&layer, m->here, x, y, z, (pgy_scatter_mode)(take(m) % 2),
                                     axis, &m->err);
        break;
    case 7: st = pgy_network_add_one_hot(&layer, m->here, x, y, z, axis, &m->err); break;
    case 8: st = pgy_network_add_select(&layer, m->here, x, y, z, &m->err); break;
    default: st = pgy_network_add_assertion(&layer, m->here, x, "fuzz", &m->err); break;
    }
    keep(m, st, layer);
}

static void add_plain(maker *m)
{
    pgy_layer *layer = NULL;
    pgy_value *x = any(m);
    const unsigned which = take(m) % 3, op = take(m);
    const pgy_status st =
        which == 0 ? pgy_network_add_activation(&layer, m->here, x, (pgy_activation_type)(op % 15),
                                                (double)number(m), 1, &m->err)
        : which == 1
            ? pgy_network_add_unary(&layer, m->here, x, (pgy_unary_operation)(op % 26), &m->err)
            : pgy_network_add_elementwise(&layer, m->here, x, any(m),
                                          (pgy_elementwise_operation)(op % 15), &m->err);
    keep(m, st, layer);
}

static void use_loop(maker *m)
{
    pgy_layer *layer = NULL;
    pgy_status st = PGY_OK;
    if (!m->loop) {
        if (pgy_network_add_loop(&m->loop, m->net, &m->err)) return;
        m->here = pgy_loop_body(m->loop);
        m->recurrence = NULL;
        return;
    }
    switch (take(m) % 7) {
    case 0: st = pgy_loop_add_trip_count(NULL, m->loop, any(m), &m->err); break;
    case 1: st = pgy_loop_add_while(NULL, m->loop, any(m), &m->err); break;
    case 2:
        st = pgy_loop_add_recurrence(&layer, m->loop, any(m), &m->err);
        if (!st) m->recurrence = layer;
        break;
    case 3: st = pgy_loop_set_next(m->recurrence, any(m), &m->err); break;
    case 4:
        st = pgy_loop_add_iterator(&layer, m->loop, any(m), (int32_t)number(m), take(m) % 2,
                                   &m->err);
        break;
    case 5:
        st = pgy_loop_add_output(NULL, m->loop, any(m), (pgy_loop_output_kind)(take(m) % 4),
                                 (int32_t)number(m), &m->err);
        break;
    default:
        if (pgy_loop_close(m->loop, &m->err)) break;
        m->loop = NULL;
        m->here = m->net;
        for (size_t i = 0; i < pgy_network_layer_count(m->net); i++) {
            const pgy_layer *l = pgy_network_layer_at(m->net, i);
            if (l->type == PGY_LAYER_LOOP_OUTPUT) keep(m, PGY_OK, l);
        }
    }
    keep(m, st, layer);
}

static void change(maker *m)
{
    const size_t count = pgy_network_layer_count(m->here);
    pgy_layer *layer = count ? pgy_network_layer_at(m->here, take(m) % count) : NULL;
    pgy_status st = PGY_OK;
    const int64_t dims[] = {number(m), number(m)};
    switch (take(m) % 6) {
    case 0: st = pgy_layer_set_input(layer, take(m) % 3, any(m), &m->err); break;
    case 1: st = pgy_network_remove_layer(m->here, layer, &m->err); break;
    case 2: st = pgy_layer_set_precision(layer, take(m) % 2 ? PGY_F16 : PGY_F64, &m->err); break;
    case 3: st = pgy_layer_set_name(layer, "named", &m->err); break;
    case 4: st = pgy_network_set_shape(m->net, any(m), 2, dims, &m->err); break;
    default: st = pgy_network_rename_tensor(m->net, any(m), "renamed", &m->err); break;
    }
    (void)st;
}

static void finish(maker *m)
{
    pgy_model *model = NULL, *again = NULL;
    void *bytes = NULL;
    size_t size = 0;
    for (size_t i = 0; i < m->count; i++)
        if (i % 3 == 0 && pgy_network_mark_output(m->net, m->tensors[i], &m->err)) continue;
    if (pgy_network_to_model(&model, m->net, &m->err)) return;
    pgy_graph *g = NULL;
    if (pgy_model_serialize(&bytes, &size, model, &m->err) == PGY_OK) {
        if (pgy_model_parse(&again, bytes, size, true, NULL, &m->err) ||
            pgy_graph_import(&g, again, &m->err) || pgy_graph_infer_shapes(g, NULL, &m->err)) {
            fprintf(stderr, "what the network accepted is no model: %s\n", m->err.text);
            abort();
        }
        pgy_graph_destroy(g);
        pgy_model_destroy(again);
    }
    pgy_text_free(bytes);
    pgy_model_destroy(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const STEPS[])(maker * m) = {add_input, add_constant, add_window, add_shape,
                                               add_many,  add_plain,    use_loop,   change};
    maker m = {.data = data, .size = size};
    if (pgy_network_create(&m.net, "fuzz", &m.err)) return 0;
    m.here = m.net;
    for (int i = 0; i < MAX_STEPS && m.size; i++) STEPS[take(&m) % 8](&m);
    finish(&m);
    pgy_network_destroy(m.net);
    return 0;
}
