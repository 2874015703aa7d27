/* SPDX-License-Identifier: Apache-2.0 */
/* Reads rows: for a sample of a layer's outputs, the numbers that their weights multiply. For a
 * product a row is a row of its first matrix; for a convolution it is the window of an output
 * position, of all groups one after the other, with 0 for padding. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "precision/quant.h"

enum { MOST_ROWS = 1024, MOST_NUMBERS = 16 << 20, AXES = 4 };

bool quant_form_of(quant_form *out, const quant_site *s)
{
    const pgy_node *n = s->node;
    if (!s->weight) return false;
    const int64_t *shape = pgy_tensor_shape(s->weight);
    const size_t rank = pgy_tensor_rank(s->weight);
    const bool conv = node_is(n, "Conv");
    *out = (quant_form){.groups = 1, .area = 1};
    if (!conv && (rank != 2 || !(node_is(n, "MatMul") || node_is(n, "Gemm")))) return false;
    out->channels = (size_t)shape[s->axis];
    out->depth = pgy_tensor_count(s->weight) / (out->channels ? out->channels : 1);
    out->channel_step = s->axis ? 1 : out->depth;
    out->depth_step = s->axis ? out->channels : 1;
    if (conv) {
        out->groups = quant_groups(s);
        for (size_t d = 2; d < rank; d++) out->area *= (size_t)shape[d];
        if (rank < 3 || rank > 2 + AXES || out->channels % out->groups) return false;
    }
    return out->channels && out->depth;
}

/* ---- Windows -------------------------------------------------------------------------------- */

typedef struct window {
    size_t axes;
    int64_t in[AXES], out[AXES], kernel[AXES], stride[AXES], dilation[AXES], pad[AXES];
} window;

static int64_t entry(const pgy_node *n, const char *name, size_t i, int64_t fallback)
{
    const pgy_onnx_attribute *a = node_attribute(n, name);
    return a && i < a->int_count ? a->ints[i] : fallback;
}

static bool auto_pad_is(const pgy_node *n, const char *wanted)
{
    const pgy_onnx_attribute *a = node_attribute(n, "auto_pad");
    return a && a->s.size == strlen(wanted) && memcmp(a->s.data, wanted, a->s.size) == 0;
}

/* false: the layer has no output. */
static bool read_window(window *w, const quant_site *s, const pgy_tensor *x)
{
    const int64_t *shape = pgy_tensor_shape(x);
    w->axes = pgy_tensor_rank(x) - 2;
    for (size_t d = 0; d < w->axes; d++) {
        w->in[d] = shape[2 + d];
        w->kernel[d] = pgy_tensor_shape(s->weight)[2 + d];
        w->stride[d] = entry(s->node, "strides", d, 1);
        w->dilation[d] = entry(s->node, "dilations", d, 1);
        const int64_t reach = (w->kernel[d] - 1) * w->dilation[d] + 1;
        const bool upper = auto_pad_is(s->node, "SAME_UPPER");
        if (w->stride[d] < 1) return false;
        if (upper || auto_pad_is(s->node, "SAME_LOWER")) {
            w->out[d] = (w->in[d] + w->stride[d] - 1) / w->stride[d];
            const int64_t all = (w->out[d] - 1) * w->stride[d] + reach - w->in[d];
            w->pad[d] = all > 0 ? (all + (upper ? 0 : 1)) / 2 : 0;
        } else {
            const bool valid = auto_pad_is(s->node, "VALID");
            const int64_t end = valid ? 0 : entry(s->node, "pads", w->axes + d, 0);
            w->pad[d] = valid ? 0 : entry(s->node, "pads", d, 0);
            w->out[d] = (w->in[d] + w->pad[d] + end - reach) / w->stride[d] + 1;
        }
        if (w->out[d] < 1 || w->in[d] < 1) return false;
    }
    return true;
}

/* Number i of a row of mixed radix: the position along each axis. */
static void unravel(int64_t *at, size_t i, const int64_t *sizes, size_t axes)
{
    for (size_t d = axes; d-- > 0; i /= (size_t)sizes[d]) at[d] = (int64_t)(i % (size_t)sizes[d]);
}

/* Copies the window of output `position` of one image with `channels` channels. */
static void copy_window(float *to, const window *w, const float *image, size_t channels,
                        size_t position, size_t area)
{
    int64_t out[AXES], tap[AXES];
    size_t plane = 1;
    for (size_t d = 0; d < w->axes; d++) plane *= (size_t)w->in[d];
    unravel(out, position, w->out, w->axes);
    for (size_t k = 0; k < area; k++) {
        size_t at = 0;
        bool inside = true;
        unravel(tap, k, w->kernel, w->axes);
        for (size_t d = 0; d < w->axes; d++) {
            const int64_t i = out[d] * w->stride[d] - w->pad[d] + tap[d] * w->dilation[d];
            inside = inside && i >= 0 && i < w->in[d];
            at = at * (size_t)w->in[d] + (size_t)(inside ? i : 0);
        }
        for (size_t c = 0; c < channels; c++) to[c * area + k] = inside ? image[c * plane + at] : 0;
    }
}

/* ---- Rows ----------------------------------------------------------------------------------- */

typedef struct reading {
    quantizer *q;
    const quant_site *site;
    const quant_form *form;
    quant_rows *rows;
    size_t share; /* rows of one sample */
} reading;

/* Takes rows from places that are equally far apart. */
static void take_windows(reading *r, const pgy_tensor *x)
{
    window w;
    const int64_t *shape = pgy_tensor_shape(x);
    const size_t channels = r->rows->width / r->form->area;
    size_t positions = 1, image = channels;
    if (pgy_tensor_rank(x) != pgy_tensor_rank(r->site->weight) || (size_t)shape[1] != channels ||
        !read_window(&w, r->site, x))
        return;
    for (size_t d = 0; d < w.axes; d++) {
        positions *= (size_t)w.out[d];
        image *= (size_t)w.in[d];
    }
    const size_t all = positions * (size_t)shape[0], count = all < r->share ? all : r->share;
    for (size_t i = 0; i < count; i++) {
        const size_t at = i * all / count;
        copy_window(r->rows->data + r->rows->count++ * r->rows->width, &w,
                    (const float *)pgy_tensor_data(x) + at / positions * image, channels,
                    at % positions, r->form->area);
    }
}

static void take_rows(reading *r, const pgy_tensor *x)
{
    const size_t width = r->rows->width, rank = pgy_tensor_rank(x);
    if (!rank || (size_t)pgy_tensor_shape(x)[rank - 1] != width) return;
    const size_t all = pgy_tensor_count(x) / width, count = all < r->share ? all : r->share;
    for (size_t i = 0; i < count; i++)
        memcpy(r->rows->data + r->rows->count++ * width,
               (const float *)pgy_tensor_data(x) + i * all / count * width, width * sizeof(float));
}

static pgy_status see(pgy_node *n, size_t sample, const op_tensor *inputs, void *user,
                      pgy_error *err)
{
    reading *r = user;
    pgy_tensor *x = NULL;
    (void)sample;
    if (n != r->site->node || !inputs[0].value) return PGY_OK;
    const pgy_status st = pgy_tensor_cast(&x, pgy_tensor_view(inputs[0].value), PGY_F32, err);
    if (st) return st;
    if (node_is(n, "Conv"))
        take_windows(r, x);
    else
        take_rows(r, x);
    pgy_tensor_release(x);
    return PGY_OK;
}

pgy_status quant_rows_read(quant_rows *out, quantizer *q, size_t site, const quant_form *form,
                           pgy_error *err)
{
    pgy_precision *p = q->p;
    const size_t samples = search_count(p), width = form->groups * form->depth;
    size_t most = MOST_NUMBERS / width;
    if (most > MOST_ROWS) most = MOST_ROWS;
    *out = (quant_rows){.width = width};
    reading r = {.q = q,
                 .site = &q->sites[site],
                 .form = form,
                 .rows = out,
                 .share = most / samples ? most / samples : 1};
    out->data = mem_calloc(r.share * samples * width, sizeof *out->data);
    if (!out->data) return search_no_memory(err);
    pgy_status st = PGY_OK;
    emulator_watch(p->emulator, see, &r);
    for (size_t s = 0; !st && s < samples; s++) {
        pgy_tensor_map *got = NULL;
        st = cancel_check(err);
        if (!st) st = emulator_run(&got, p->emulator, s, NULL, EMULATE_STORED, false, err);
        pgy_tensor_map_destroy(got);
    }
    emulator_watch(p->emulator, NULL, NULL);
    if (st || !out->count) {
        mem_free(out->data);
        *out = (quant_rows){0};
    }
    return cancel_check_after(st, err);
}
