/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution of three axes over patches that do not overlap, as models of video and of images
 * with text begin with: each patch becomes a row, and the rows are multiplied by the weights. */
#include "base/alloc.h"
#include "engine/passes/pass.h"
#include "transform/pattern.h"

enum { AXES = 3, RANK = AXES + 2, MAX_SIZE = 1 << 24 };

typedef struct patches {
    pattern *p;
    pgy_node *n;
    int64_t channels, maps;             /* of the input, of the output */
    int64_t kernel[AXES], counts[AXES]; /* of a patch, of patches */
    int64_t all_counts, all_elements;   /* patches of an image, elements of a patch */
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
    *s = (patches){.p = p, .n = n, .all_counts = 1};
    if (pattern_rank(x) != RANK || pattern_rank(w) != RANK || pattern_dtype(x) != PGY_F32 ||
        !pattern_is_constant(p, w) || pattern_int(n, "group", 1) != 1)
        return false;
    s->channels = s->all_elements = pattern_size(x, 1);
    s->maps = pattern_size(w, 0);
    if (s->channels < 1 || s->maps < 1 || s->channels != pattern_size(w, 1)) return false;
    for (int d = 0; d < AXES; d++) {
        const int64_t size = pattern_size(x, d + 2);
        s->kernel[d] = pattern_size(w, d + 2);
        if (s->kernel[d] < 1 || size < 1 || size > MAX_SIZE || size % s->kernel[d]) return false;
        s->counts[d] = size / s->kernel[d];
        s->all_counts *= s->counts[d];
        s->all_elements *= s->kernel[d];
        if (s->all_counts > MAX_SIZE || s->all_elements > MAX_SIZE) return false;
    }
    return ints_are(n, "strides", s->kernel, AXES, 1) && ints_are(n, "dilations", NULL, AXES, 1) &&
           ints_are(n, "pads", NULL, 2 * AXES, 0) &&
           (pattern_text_is(n, "auto_pad", "NOTSET", "NOTSET") ||
            pattern_text_is(n, "auto_pad", "VALID", "NOTSET"));
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

static pgy_value *add(const patches *s, const char *op, pgy_value *a, pgy_value *b, pgy_value *y,
                      pgy_node **made)
{
    pgy_value *inputs[] = {a, b};
    if (!y) y = value_create_unique(s->n->graph, s->n->outputs[0]->name, s->p->err);
    pgy_node *node = a && y ? pattern_add(s->p, s->n, op, inputs, b ? 2 : 1, y) : NULL;
    if (!node && !s->p->status) s->p->status = PGY_E_MEMORY;
    if (made) *made = node;
    return node ? y : NULL;
}

/* A size of 0 is that of the input. y NULL: a new value. */
static pgy_value *reshape(const patches *s, pgy_value *v, const int64_t *shape, size_t rank,
                          pgy_value *y)
{
    pgy_value *sizes = NULL;
    if (v && value_create_ints(&sizes, s->n->graph, s->n->outputs[0]->name, shape, rank, s->p->err))
        s->p->status = PGY_E_MEMORY;
    return sizes ? add(s, "Reshape", v, sizes, y, NULL) : NULL;
}

static pgy_value *transpose(const patches *s, pgy_value *v, const int64_t *perm, size_t rank)
{
    pgy_node *made = NULL;
    pgy_value *y = v ? add(s, "Transpose", v, NULL, NULL, &made) : NULL;
    if (y) pattern_set_ints(s->p, made, "perm", perm, rank);
    return y;
}

/* The patches of an image as rows. */
static pgy_value *rows_of(const patches *s)
{
    static const int64_t PERM[] = {0, 2, 4, 6, 1, 3, 5, 7};
    const int64_t *c = s->counts, *k = s->kernel;
    const int64_t cut[] = {0, s->channels, c[0], k[0], c[1], k[1], c[2], k[2]};
    const int64_t rows[] = {0, s->all_counts, s->all_elements};
    pgy_value *v = s->n->inputs[0];
    if (s->all_counts > 1) v = transpose(s, reshape(s, v, cut, 8, NULL), PERM, 8);
    return reshape(s, v, rows, 3, NULL);
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
        s->p->status = PGY_E_MEMORY;
    }
    mem_free(turned);
    pgy_tensor_release(w);
    return made;
}

static bool rule(pattern *p, pgy_node *n)
{
    static const int64_t PERM[] = {0, 2, 1};
    patches s;
    if (!pattern_is(n, "Conv") || !read_patches(&s, p, n)) return false;
    const int64_t image[] = {0, s.maps, s.counts[0], s.counts[1], s.counts[2]};
    pgy_value *bias = pattern_input(n, 2), *y = n->outputs[0];
    pgy_value *v = rows_of(&s), *w = v ? columns_of(&s) : NULL;
    pgy_node *product = NULL;
    if (w) v = add(&s, "MatMul", v, w, NULL, &product);
    if (product) product->name = n->name;
    if (w && bias) v = add(&s, "Add", v, bias, NULL, NULL);
    if (w && s.all_counts > 1) v = transpose(&s, v, PERM, 3);
    const bool done = w && reshape(&s, v, image, RANK, y);
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
    .summary = "convolutions of three axes over patches that do not overlap, as products",
    .run_for = run};
