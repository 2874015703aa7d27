/* SPDX-License-Identifier: Apache-2.0 */
/* TensorRT's EfficientNMS_TRT and EfficientNMS_ONNX_TRT, as exporters of detectors write them: per
 * image, the best scores over the threshold in falling order, without those whose box overlaps a
 * better one of their class. Results fill tensors of a fixed size: counts, boxes, scores and
 * classes, or rows of image, class and box, which repeat the last row. Among equal scores the
 * earlier box wins. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/class_check.h"

enum { BOXES, SCORES, ANCHORS };
enum { FIXED, ROWS };            /* op_def.user */
enum { MOST_CANDIDATES = 4096 }; /* candidates of one image, as in the plug-in */

static const op_attr_def ATTRS[] = {
    {"background_class", OP_ATTR_INT, false, "-1"}, {"box_coding", OP_ATTR_INT, false, "0"},
    {"class_agnostic", OP_ATTR_INT, false, "0"},    {"iou_threshold", OP_ATTR_FLOAT, true, NULL},
    {"max_output_boxes", OP_ATTR_INT, true, NULL},  {"plugin_namespace", OP_ATTR_STRING, false, ""},
    {"plugin_version", OP_ATTR_STRING, false, "1"}, {"score_activation", OP_ATTR_INT, false, "0"},
    {"score_threshold", OP_ATTR_FLOAT, true, NULL}, {NULL},
};

static const op_attr_def ROWS_ATTRS[] = {
    {"center_point_box", OP_ATTR_INT, false, "0"},
    {"iou_threshold", OP_ATTR_FLOAT, true, NULL},
    {"max_output_boxes_per_class", OP_ATTR_INT, true, NULL},
    {"plugin_namespace", OP_ATTR_STRING, false, ""},
    {"plugin_version", OP_ATTR_STRING, false, "1"},
    {"score_threshold", OP_ATTR_FLOAT, true, NULL},
    {NULL},
};

static int64_t most_boxes(const op_node *n)
{
    return op_attr_int(n, n->def->user == ROWS ? "max_output_boxes_per_class" : "max_output_boxes",
                       0);
}

static pgy_status check(const op_infer *c, pgy_error *err)
{
    const op_node *n = c->node;
    const bool rows = n->def->user == ROWS;
    const op_value *scores = &c->inputs[SCORES];
    const int64_t coding = op_attr_int(n, rows ? "center_point_box" : "box_coding", 0);
    if (most_boxes(n) < 0 || most_boxes(n) > INT32_MAX)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "the largest number of boxes is %" PRId64 ", which is out of range",
                        most_boxes(n));
    if (coding < 0 || coding > 1)
        return op_error(n, err, PGY_E_ARGUMENT, "the box coding is %" PRId64 ", but must be 0 or 1",
                        coding);
    if (op_has_input(c, ANCHORS) && coding == 0)
        return op_error(n, err, PGY_E_UNSUPPORTED, "anchors with box_coding = 0 are not supported");
    pgy_status st = rank_check(c, BOXES, 3, rows ? 3 : 4, err);
    if (!st) st = rank_check(c, SCORES, 3, 3, err);
    if (!st) st = rank_check(c, ANCHORS, 3, 3, err);
    if (st || scores->rank < 0 || !rank_known(c, BOXES)) return st;
    const size_t last = (size_t)c->inputs[BOXES].rank - 1;
    st = dim_check(c, BOXES, 0, scores->dims[0], "the batch", err);
    if (!st)
        st = dim_check(c, BOXES, 1, scores->dims[rows ? 2 : 1], "the number of scored boxes", err);
    return st ? st : dim_check(c, BOXES, last, dim_const(4), "the number of coordinates", err);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *scores = &c->inputs[SCORES];
    const dim most = dim_const(most_boxes(c->node));
    pgy_status st = check(c, err);
    if (st) return st;
    dim *out = op_dims(c, 3);
    if (!out) return rule_no_memory(c->node, err);
    dim batch = dim_unknown(c->dims, "the batch is not known"), classes = batch;
    if (scores->rank == 3) {
        batch = scores->dims[0];
        classes = scores->dims[1];
    }
    if (c->node->def->user == ROWS) {
        out[0] = dim_mul(c->dims, dim_mul(c->dims, batch, classes), most);
        out[1] = dim_const(3);
        op_set_output(c, 0, PGY_I32, 2, out);
        return PGY_OK;
    }
    dim *count = op_dims(c, 2);
    if (!count) return rule_no_memory(c->node, err);
    memcpy(count, (dim[]){batch, dim_const(1)}, 2 * sizeof *count);
    memcpy(out, (dim[]){batch, most, dim_const(4)}, 3 * sizeof *out);
    output_set(c, 0, PGY_I32, 2, count);
    output_set(c, 1, c->inputs[BOXES].dtype, 3, out);
    output_set(c, 2, scores->dtype, 2, out);
    output_set(c, 3, PGY_I32, 2, out);
    return PGY_OK;
}

typedef struct candidate {
    double score, box[4]; /* corners */
    size_t anchor, class, order;
} candidate;

typedef struct suppression {
    const op_eval *c;
    size_t boxes, classes, most;
    bool rows, agnostic, sigmoid, centred;
    int64_t background;
    double score, overlap; /* thresholds */
} suppression;

static double score_of(const suppression *s, size_t image, size_t anchor, size_t class)
{
    const size_t at = s->rows ? (image * s->classes + class) * s->boxes + anchor
                              : (image * s->boxes + anchor) * s->classes + class;
    const double x = in_f64(s->c, SCORES)[at];
    return s->sigmoid ? 1 / (1 + exp(-x)) : x;
}

static void read_box(const suppression *s, size_t image, candidate *k)
{
    const op_eval *c = s->c;
    const int64_t *shape = in_shape(c, BOXES);
    const bool per_class = in_rank(c, BOXES) == 4 && shape[2] != 1;
    const size_t place = image * s->boxes + k->anchor;
    const double *x = in_f64(c, BOXES) + 4 * (per_class ? place * s->classes + k->class : place);
    double box[4] = {x[0], x[1], x[2], x[3]};
    if (in_f64(c, ANCHORS)) {
        const double *a =
            in_f64(c, ANCHORS) + 4 * (in_shape(c, ANCHORS)[0] == 1 ? k->anchor : place);
        for (size_t i = 0; i < 2; i++) {
            box[i] = x[i] * a[2 + i] + a[i];
            box[2 + i] = exp(x[2 + i]) * a[2 + i];
        }
    }
    for (size_t i = 0; i < 2; i++) {
        k->box[i] = s->centred ? box[i] - box[2 + i] / 2 : box[i];
        k->box[2 + i] = s->centred ? box[i] + box[2 + i] / 2 : box[2 + i];
    }
}

static double overlap(const double *a, const double *b)
{
    double common = 1, first = 1, second = 1;
    for (size_t i = 0; i < 2; i++) {
        const double a0 = fmin(a[i], a[i + 2]), a1 = fmax(a[i], a[i + 2]);
        const double b0 = fmin(b[i], b[i + 2]), b1 = fmax(b[i], b[i + 2]);
        common *= fmax(0, fmin(a1, b1) - fmax(a0, b0));
        first *= a1 - a0;
        second *= b1 - b0;
    }
    const double all = first + second - common;
    return common > 0 && all > 0 ? common / all : 0;
}

static int by_score(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Collects the candidates that reach the threshold, best first. */
static size_t collect(const suppression *s, size_t image, candidate *list)
{
    size_t count = 0;
    for (size_t i = 0; i < s->boxes * s->classes; i++) {
        candidate k = {.anchor = i / s->classes, .class = i % s->classes, .order = i};
        k.score = score_of(s, image, k.anchor, k.class);
        if ((int64_t)k.class == s->background || !(k.score >= s->score)) continue;
        list[count++] = k;
    }
    qsort(list, count, sizeof *list, by_score);
    if (count > MOST_CANDIDATES) count = MOST_CANDIDATES;
    for (size_t i = 0; i < count; i++) read_box(s, image, &list[i]);
    return count;
}

/* Moves the kept boxes to the front. */
static size_t suppress(const suppression *s, candidate *list, size_t count, size_t *per_class)
{
    const size_t most = s->rows ? s->most * s->classes : s->most;
    size_t kept = 0, written = 0;
    memset(per_class, 0, s->classes * sizeof *per_class);
    for (size_t i = 0; i < count && written < most; i++) {
        bool stays = true;
        for (size_t j = 0; stays && j < kept; j++)
            if (s->agnostic || list[j].class == list[i].class)
                stays = overlap(list[j].box, list[i].box) < s->overlap;
        if (!stays || (s->rows && per_class[list[i].class] == s->most)) continue;
        per_class[list[i].class]++;
        list[kept++] = list[i];
        written++;
    }
    return kept;
}

static void store(const suppression *s, size_t image, const candidate *list, size_t count)
{
    const op_eval *c = s->c;
    out_i64(c, 0)[image] = (int64_t)count;
    for (size_t i = 0; i < count; i++) {
        const size_t at = image * s->most + i;
        if (out_f64(c, 1)) memcpy(out_f64(c, 1) + 4 * at, list[i].box, sizeof list[i].box);
        if (out_f64(c, 2)) out_f64(c, 2)[at] = list[i].score;
        if (out_i64(c, 3)) out_i64(c, 3)[at] = (int64_t)list[i].class;
    }
}

static void store_rows(const op_eval *c, size_t image, const candidate *list, size_t count,
                       size_t *next)
{
    for (size_t i = 0; i < count; i++, ++*next) {
        int64_t *to = out_i64(c, 0) + 3 * *next;
        to[0] = (int64_t)image;
        to[1] = (int64_t)list[i].class;
        to[2] = (int64_t)list[i].anchor;
    }
}

static pgy_status check_shapes(const suppression *s, pgy_error *err)
{
    const op_eval *c = s->c;
    const int64_t *b = in_shape(c, BOXES), *scores = in_shape(c, SCORES), *a = in_shape(c, ANCHORS);
    if (in_rank(c, BOXES) == 4 && b[2] != 1 && (size_t)b[2] != s->classes)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the boxes have %" PRId64 " classes, but the scores have %zu", b[2],
                        s->classes);
    if (a && ((a[0] != 1 && a[0] != scores[0]) || (size_t)a[1] != s->boxes || a[2] != 4))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the shape of the anchors does not fit the boxes");
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const op_node *n = c->node;
    candidate *list = NULL;
    size_t *per_class = NULL, cells = 0, next = 0;
    pgy_status st = inputs_check(c, "FFf", err);
    if (st || !out_count(c, 0)) return st;
    const int64_t *scores = in_shape(c, SCORES);
    suppression s = {.c = c,
                     .rows = n->def->user == ROWS,
                     .most = (size_t)most_boxes(n),
                     .agnostic = op_attr_int(n, "class_agnostic", 0) != 0,
                     .sigmoid = op_attr_int(n, "score_activation", 0) != 0,
                     .background = op_attr_int(n, "background_class", -1),
                     .score = op_attr_float(n, "score_threshold", 0),
                     .overlap = op_attr_float(n, "iou_threshold", 0)};
    s.centred = op_attr_int(n, s.rows ? "center_point_box" : "box_coding", 0) == 1;
    s.boxes = (size_t)scores[s.rows ? 2 : 1];
    s.classes = (size_t)scores[s.rows ? 1 : 2];
    st = check_shapes(&s, err);
    if (!st && !size_mul(&cells, s.boxes, s.classes)) st = rule_no_memory(n, err);
    if (!st) st = workspace_alloc((void **)&list, c, cells, sizeof *list, err);
    if (!st) st = workspace_alloc((void **)&per_class, c, s.classes, sizeof *per_class, err);
    for (size_t image = 0; !st && image < (size_t)scores[0]; image++) {
        const size_t count = suppress(&s, list, collect(&s, image, list), per_class);
        if (s.rows)
            store_rows(c, image, list, count, &next);
        else
            store(&s, image, list, count);
    }
    if (!st && s.rows && next)
        for (size_t i = 3 * next; i < out_count(c, 0); i++) out_i64(c, 0)[i] = out_i64(c, 0)[i - 3];
    mem_free(list);
    mem_free(per_class);
    return st;
}

#define ROW(op, space, most, outputs, attrs, which, text)                                     \
    {                                                                                         \
        op, space, 1, 0, 2, most, 1, outputs, 0, attrs, "float16 float32", infer, eval, NULL, \
            which, NULL, .signature = text                                                    \
    }
#define SPACES(op, most, outputs, attrs, which, text)      \
    ROW(op, "", most, outputs, attrs, which, text),        \
        ROW(op, "TRT", most, outputs, attrs, which, text), \
        ROW(op, "trt", most, outputs, attrs, which, text), \
        ROW(op, "trt.plugins", most, outputs, attrs, which, text)
const op_def OP_trt_efficient_nms[] = {
    SPACES("EfficientNMS_TRT", 3, 4, ATTRS, FIXED,
           "T = float16 float32; boxes:T, scores:T, ?anchors:T -> num_detections:int32, "
           "?detection_boxes:T, ?detection_scores:T, ?detection_classes:int32"),
    SPACES("EfficientNMS_ONNX_TRT", 2, 1, ROWS_ATTRS, ROWS,
           "T = float16 float32; boxes:T, scores:T -> selected_indices:int32"),
    {NULL},
};
