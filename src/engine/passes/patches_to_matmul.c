/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution over patches that do not overlap, as models of video and of images begin with: each
 * patch becomes a row, and the rows are multiplied by the weights. In float32 with three axes; of
 * bytes (ConvInteger) with two, if the patches are too large for the convolutions of bytes. */
#include "base/alloc.h"
#include "engine/passes/pass.h"
#include "transform/pattern.h"

enum { MOST_AXES = 3, MAX_SIZE = 1 << 24, SMALL_PATCH = 8 };

typedef struct patches {
    pattern *p;
    pgy_node *n;
    bool bytes;
    int axes;
    int64_t channels, maps;                       /* of the input, of the output */
    int64_t kernel[MOST_AXES], counts[MOST_AXES]; /* of a patch, of patches */
    int64_t all_counts, all_elements;             /* patches of an image, elements of a patch */
} patches;

static bool ints_are(const pgy_node *n, const char *name, const int64_t *wanted, size_t count,
                     int64_t fallback)
{
    const pgy_onnx_attribute *a = node_attribute(n, name);
    if (a && a->int_count != count) return false;
    for (size_t i = 0; i < count; i++)
        if ((a ? a->ints[i] : fallback) != (wanted ? wanted[i] : fallback)) return false;
    return true;
}

static bool read_patches(patches *s, pattern *p, pgy_node *n)
{
    pgy_value *x = n->inputs[0], *w = n->inputs[1];
    *s = (patches){.p = p, .n = n, .all_counts = 1, .bytes = pattern_is(n, "ConvInteger")};
    s->axes = s->bytes ? 2 : 3;
    if (pattern_rank(x) != 2 + s->axes || pattern_rank(w) != 2 + s->axes ||
        (!s->bytes && pattern_dtype(x) != PGY_F32) || !pattern_is_constant(p, w) ||
        pattern_int(n, "group", 1) != 1)
        return false;
    if (s->bytes && ((pattern_size(w, 2) <= SMALL_PATCH && pattern_size(w, 3) <= SMALL_PATCH) ||
                     (pattern_input(n, 3) && !pattern_input(n, 2))))
        return false;
    s->channels = s->all_elements = pattern_size(x, 1);
    s->maps = pattern_size(w, 0);
    if (s->channels < 1 || s->maps < 1 || s->channels != pattern_size(w, 1)) return false;
    for (int d = 0; d < s->axes; d++) {
        const int64_t size = pattern_size(x, d + 2);
        s->kernel[d] = pattern_size(w, d + 2);
        if (s->kernel[d] < 1 || size < 1 || size > MAX_SIZE || size % s->kernel[d]) return false;
        s->counts[d] = size / s->kernel[d];
        s->all_counts *= s->counts[d];
        s->all_elements *= s->kernel[d];
        if (s->all_counts > MAX_SIZE || s->all_elements > MAX_SIZE) return false;
    }
    /* A pointwise convolution reads and writes its images where they lie. */
    if (s->all_elements == s->channels && s->all_counts > 1) return false;
    const size_t axes = (size_t)s->axes;
    return ints_are(n, "strides", s->kernel, axes, 1) && ints_are(n, "dilations", NULL, axes, 1) &&
           ints_are(n, "pads", NULL, 2 * axes, 0) &&
           (pattern_text_is(n, "auto_pad", "NOTSET", "NOTSET") ||
            pattern_text_is(n, "auto_pad", "VALID", "NOTSET"));
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

static pgy_value *binary(const patches *s, const char *op, pgy_value *a, pgy_value *b)
{
    return pattern_make(s->p, s->n, NULL, op, (pgy_value *const[]){a, b}, 2);
}

/* A size of 0 is that of the input. */
static pgy_value *reshape(const patches *s, pgy_value *v, const int64_t *shape, size_t rank)
{
    return binary(s, "Reshape", v, pattern_list(s->p, s->n, NULL, shape, rank));
}

static pgy_value *transpose(const patches *s, pgy_value *v, const int64_t *perm, size_t rank)
{
    pgy_value *y = pattern_make(s->p, s->n, NULL, "Transpose", &v, 1);
    if (y) pattern_set_ints(s->p, y->producer, "perm", perm, rank);
    return y;
}

/* The patches of an image as rows. */
static pgy_value *rows_of(const patches *s)
{
    int64_t cut[2 + 2 * MOST_AXES] = {0, s->channels}, perm[2 + 2 * MOST_AXES] = {0};
    const int64_t rows[] = {0, s->all_counts, s->all_elements};
    const int axes = s->axes;
    pgy_value *v = s->n->inputs[0];
    for (int d = 0; d < axes; d++) {
        cut[2 + 2 * d] = s->counts[d];
        cut[3 + 2 * d] = s->kernel[d];
        perm[1 + d] = 2 + 2 * d;
        perm[2 + axes + d] = 3 + 2 * d;
    }
    perm[1 + axes] = 1;
    const size_t rank = 2 + 2 * (size_t)axes;
    if (s->all_counts > 1) v = transpose(s, reshape(s, v, cut, rank), perm, rank);
    return reshape(s, v, rows, 3);
}

/* Bytes with a column for each map. */
static pgy_value *byte_columns(const patches *s)
{
    const int64_t shape[] = {s->all_elements, s->maps};
    pgy_value *w = s->n->inputs[1], *made = NULL;
    pgy_tensor *t = NULL, *turned = NULL;
    s->p->status = fold_constant(&t, &s->p->f, w, s->p->err);
    if (!s->p->status && t)
        s->p->status = pgy_tensor_create(&turned, pgy_tensor_dtype(t), 2, shape, s->p->err);
    if (turned) {
        const uint8_t *from = pgy_tensor_data(t);
        uint8_t *to = pgy_tensor_data(turned);
        const size_t rows = (size_t)shape[0], columns = (size_t)shape[1];
        for (size_t j = 0; j < columns; j++)
            for (size_t i = 0; i < rows; i++) to[i * columns + j] = *from++;
        made = pattern_tensor(s->p, s->n->graph, w->name, turned);
    }
    pgy_tensor_release(turned);
    pgy_tensor_release(t);
    return made;
}

/* The weights with a column for each map. */
static pgy_value *columns_of(const patches *s)
{
    const int64_t shape[] = {s->all_elements, s->maps};
    pgy_tensor *w = pattern_floats(s->p, s->n->inputs[1]);
    const size_t rows = (size_t)shape[0], columns = (size_t)shape[1];
    double *turned = w ? mem_calloc(rows * columns, sizeof *turned) : NULL;
    pgy_value *made = NULL;
    if (turned) {
        const double *from = pgy_tensor_data(w);
        for (size_t j = 0; j < columns; j++)
            for (size_t i = 0; i < rows; i++) turned[i * columns + j] = *from++;
        made = pattern_weight(s->p, s->n->graph, s->n->inputs[1]->name, PGY_F32, 2, shape, turned);
    } else if (!s->p->status) {
        s->p->status = graph_no_memory(s->p->err);
    }
    mem_free(turned);
    pgy_tensor_release(w);
    return made;
}

/* Rows times weights: with a bias, or with zero points. */
static pgy_value *multiply(const patches *s, pgy_value *rows)
{
    pgy_value *w = !rows ? NULL : s->bytes ? byte_columns(s) : columns_of(s), *v;
    if (s->bytes) {
        pgy_value *const inputs[] = {rows, w, pattern_input(s->n, 2), pattern_input(s->n, 3)};
        const size_t count = inputs[3] ? 4 : inputs[2] ? 3 : 2;
        return w ? pattern_make(s->p, s->n, NULL, "MatMulInteger", inputs, count) : NULL;
    }
    v = binary(s, "MatMul", rows, w);
    return pattern_input(s->n, 2) ? binary(s, "Add", v, s->n->inputs[2]) : v;
}

static bool rule(pattern *p, pgy_node *n)
{
    static const int64_t PERM[] = {0, 2, 1};
    patches s;
    if ((!pattern_is(n, "Conv") && !pattern_is(n, "ConvInteger")) || !read_patches(&s, p, n))
        return false;
    const int64_t image[] = {0, s.maps, s.counts[0], s.counts[1], s.counts[2]};
    pgy_value *v = multiply(&s, rows_of(&s));
    if (v) v->producer->name = n->name;
    if (s.all_counts > 1) v = transpose(&s, v, PERM, 3);
    pgy_value *const inputs[] = {v, pattern_list(p, n, NULL, image, 2 + (size_t)s.axes)};
    const bool done = v && pattern_add(p, n, "Reshape", inputs, 2, n->outputs[0]);
    if (done) pattern_drop(p, n);
    return done;
}

static pgy_status run(pgy_graph *g, const pass_target *target, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {rule, NULL};
    if (pass_is_for_cuda(target)) return PGY_OK;
    return pattern_run(g, "patches_to_matmul", RULES, changes, err);
}

const pass PASS_patches_to_matmul = {
    .name = "patches_to_matmul",
    .summary = "convolutions over patches that do not overlap, as products",
    .run_for = run};
