/* SPDX-License-Identifier: Apache-2.0 */
/* Each image is an embedded PNG that the viewer enlarges, with its coordinates above it. If an
 * image has more elements than the figure has pixels, each pixel shows the worst of its elements,
 * and the figure says so. The grid, titles and file names follow the original. */
#include "compare/heatmap.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/printable.h"
#include "base/xml.h"
#include "compare/png.h"

enum { MAX_ROWS = 14, MAX_COLUMNS = 7, FIGURE_HEIGHT = 1080, FIGURE_WIDTH = 1920 };
enum { BORDER = 20, HEADER = 92, LABEL = 16, GAP = 8, SCALE_WIDTH = 800, SCALE_STEPS = 160 };
enum { MAX_ENLARGE = 64, MIN_SIDE = 24, TITLE_SIZE = 16, TEXT_SIZE = 13, LABEL_SIZE = 11 };
enum { SHOWN_TEXT = 180 };
static const uint32_t ZERO = 0xffffff, INFINITE = 0x00a651, NOT_A_NUMBER = 0x7f7f7f,
                      OUT_OF_BOUNDS = 0xdddddd;

/* The colour map `plasma`, sampled at equal distances. */
static const uint32_t PLASMA[] = {0x0d0887, 0x4b03a1, 0x7d03a8, 0xa82296, 0xcb4679,
                                  0xe56b5d, 0xf89441, 0xfdc328, 0xf0f921};

static uint32_t mix(uint32_t a, uint32_t b, double t)
{
    uint32_t out = 0;
    for (int shift = 0; shift <= 16; shift += 8) {
        double x = a >> shift & 255, y = b >> shift & 255;
        out |= (uint32_t)(x + (y - x) * t + 0.5) << shift;
    }
    return out;
}

static uint32_t plasma(double t)
{
    const int last = (int)(sizeof PLASMA / sizeof PLASMA[0]) - 1;
    if (!(t > 0)) return PLASMA[0];
    if (t >= 1) return PLASMA[last];
    int i = (int)(t * last);
    return mix(PLASMA[i], PLASMA[i + 1], t * last - i);
}

static uint32_t colour(const heatmap *h, double v)
{
    if (isnan(v)) return NOT_A_NUMBER;
    if (isinf(v)) return INFINITE;
    if (h->scale.logarithmic && v <= 0) return ZERO;
    return plasma(axis_place(&h->scale, v));
}

/* ---- The grid ------------------------------------------------------------------------------- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

heatmap heatmap_of(const pgy_tensor *t, const double *values, bool logarithmic)
{
    size_t rank = pgy_tensor_rank(t), lead = rank < 3 ? 3 - rank : 0;
    heatmap h = {.values = values, .rank = rank + lead, .images = 1};
    for (size_t i = 0; i < h.rank; i++) h.shape[i] = i < lead ? 1 : pgy_tensor_shape(t)[i - lead];
    for (size_t i = 0; i + 2 < h.rank; i++) h.images *= (size_t)h.shape[i];
    h.height = (size_t)h.shape[h.rank - 2];
    h.width = (size_t)h.shape[h.rank - 1];
    if (!h.height || !h.width || !h.images) return h;
    h.scale = axis_of(values, h.images * h.height * h.width, logarithmic);
    h.rows = least(FIGURE_HEIGHT / h.height, MAX_ROWS);
    h.columns = least(FIGURE_WIDTH / h.width, MAX_COLUMNS);
    if (!h.rows) h.rows = 1;
    if (!h.columns) h.columns = 1;
    if (h.images < h.rows * h.columns) {
        h.columns = least(h.images, h.columns);
        h.rows = (h.images + h.columns - 1) / h.columns;
    }
    return h;
}

size_t heatmap_figures(const heatmap *h)
{
    size_t each = h->rows * h->columns;
    return each ? (h->images + each - 1) / each : 0;
}

/* "(0,1,0:H,0:W)" */
static void append_coordinates(str *out, const heatmap *h, size_t image)
{
    size_t index[PGY_MAX_RANK + 2];
    for (size_t i = h->rank - 2; i-- > 0;) {
        index[i] = image % (size_t)h->shape[i];
        image /= (size_t)h->shape[i];
    }
    str_append_char(out, '(');
    for (size_t i = 0; i + 2 < h->rank; i++) str_printf(out, "%zu,", index[i]);
    str_printf(out, "0:%zu,0:%zu)", h->height, h->width);
}

void heatmap_title(str *out, const heatmap *h, size_t figure)
{
    size_t first = figure * h->rows * h->columns;
    str_printf(out, "%s | ", h->kind);
    str_append_printable(out, h->output, strlen(h->output), "");
    str_append(out, h->scale.logarithmic ? " (Log Scale): " : ": ");
    append_coordinates(out, h, first);
    str_append(out, " to ");
    append_coordinates(out, h, least(first + h->rows * h->columns, h->images) - 1);
}

/* ---- Places in the figure ------------------------------------------------------------------- */

typedef struct layout {
    size_t across, down;   /* columns and rows of an image; each cell is one tensor element, or a
                              group of them */
    size_t grow_x, grow_y; /* PNG pixels per element: smoothing viewers then blur only edges */
    double width, height;  /* size of an image in the figure */
    double column, row;    /* distance from one image to the next */
    double total_width, scale_at; /* distance of the scale from the top */
} layout;

/* Estimates the width of text in a sans-serif font. */
static double text_width(const char *text, double size)
{
    return (double)strlen(text) * size * 0.6;
}

static layout make_layout(const heatmap *h, const char *title, const char *sides)
{
    layout l = {.across = least(h->width, FIGURE_WIDTH / h->columns),
                .down = least(h->height, FIGURE_HEIGHT / h->rows)};
    str label = {0};
    double room_x = (double)FIGURE_WIDTH / (double)h->columns,
           room_y = (double)FIGURE_HEIGHT / (double)h->rows;
    double enlarge = fmin(room_x / (double)l.across, room_y / (double)l.down);
    enlarge = fmin(enlarge, MAX_ENLARGE);
    l.width = fmax((double)l.across * enlarge, MIN_SIDE);
    l.height = fmax((double)l.down * enlarge, MIN_SIDE);
    l.grow_x = (size_t)l.width / l.across;
    l.grow_y = (size_t)l.height / l.down;
    append_coordinates(&label, h, h->images - 1);
    l.column = fmax(l.width, text_width(str_text(&label), LABEL_SIZE)) + GAP;
    l.row = l.height + LABEL + GAP;
    l.scale_at = HEADER + l.row * (double)h->rows + GAP;
    l.total_width = fmax(l.column * (double)h->columns, SCALE_WIDTH + 80);
    l.total_width = fmax(l.total_width, text_width(title, TITLE_SIZE));
    l.total_width = fmax(l.total_width, text_width(sides, TEXT_SIZE)) + 2 * BORDER;
    str_deinit(&label);
    return l;
}

/* ---- Drawing -------------------------------------------------------------------------------- */

static void append_text(str *out, const char *what, double x, double y, int size, const char *text)
{
    str_printf(out,
               "<text class=\"%s\" x=\"%.6g\" y=\"%.6g\" font-family=\"sans-serif\" "
               "font-size=\"%d\"%s>",
               what, x, y, size, strcmp(what, "tick") ? "" : " text-anchor=\"middle\"");
    str_append_xml(out, text);
    str_append(out, "</text>\n");
}

static void append_box(str *out, double x, double y, double width, double height, uint32_t fill)
{
    str_printf(out,
               "<rect x=\"%.6g\" y=\"%.6g\" width=\"%.6g\" height=\"%.6g\" fill=\"#%06x\" "
               "stroke=\"#888888\"/>\n",
               x, y, width, height, fill);
}

/* NaN is worse than infinity, which is worse than all other errors. */
static double worse(double a, double b)
{
    if (isnan(a) || isnan(b)) return NAN;
    return a > b ? a : b;
}

static pgy_status draw_image(picture *to, const heatmap *h, const layout *l, size_t image,
                             pgy_error *err)
{
    pgy_status st = picture_create(to, l->across * l->grow_x, l->down * l->grow_y, err);
    double *row = st ? NULL : mem_alloc(l->across * sizeof *row);
    if (st) return st;
    if (!row) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while drawing a heatmap");
    const double *values = h->values + image * h->height * h->width;
    for (size_t y = 0, j = 0; y < l->down; y++) {
        for (size_t x = 0; x < l->across; x++) row[x] = -INFINITY;
        for (; j < h->height && j * l->down / h->height == y; j++)
            for (size_t i = 0; i < h->width; i++) {
                size_t x = i * l->across / h->width;
                row[x] = worse(row[x], values[j * h->width + i]);
            }
        for (size_t x = 0; x < l->across; x++)
            picture_fill(to, x * l->grow_x, y * l->grow_y, l->grow_x, l->grow_y, colour(h, row[x]));
    }
    mem_free(row);
    return PGY_OK;
}

static pgy_status append_base64(str *out, const str *data, pgy_error *err)
{
    char *text = mem_alloc(base64_encoded_size(data->size));
    if (!text) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while drawing a heatmap");
    base64_encode(text, data->data, data->size);
    str_append_n(out, text, base64_encoded_size(data->size));
    mem_free(text);
    return PGY_OK;
}

static pgy_status append_cell(str *out, const heatmap *h, const layout *l, size_t image,
                              size_t cell, pgy_error *err)
{
    double x = BORDER + (double)(cell % h->columns) * l->column;
    double y = HEADER + (double)(cell / h->columns) * l->row;
    picture pixels = {0};
    str png = {0}, label = {0};
    pgy_status st = PGY_OK;
    bool inside = image < h->images;
    if (inside)
        append_coordinates(&label, h, image);
    else
        str_append(&label, "Out Of Bounds");
    append_text(out, "coordinates", x, y - 4, LABEL_SIZE, str_text(&label));
    append_box(out, x, y, l->width, l->height, OUT_OF_BOUNDS);
    if (inside) st = draw_image(&pixels, h, l, image, err);
    if (inside && !st) st = picture_png(&png, &pixels, err);
    if (st || !inside) goto done;
    str_printf(out,
               "<image x=\"%.6g\" y=\"%.6g\" width=\"%.6g\" height=\"%.6g\" "
               "preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" "
               "xlink:href=\"data:image/png;base64,",
               x, y, l->width, l->height);
    st = append_base64(out, &png, err);
    str_append(out, "\"/>\n");
done:
    picture_deinit(&pixels);
    str_deinit(&png);
    str_deinit(&label);
    return st;
}

/* Explains the colours that are not on the scale. */
static void append_swatches(str *out, const heatmap *h, double y)
{
    bool seen[4] = {false};
    static const char *const NAMES[] = {"0 (equal)", "NaN", "infinite", "out of bounds"};
    const uint32_t colours[] = {ZERO, NOT_A_NUMBER, INFINITE, OUT_OF_BOUNDS};
    for (size_t i = 0, n = h->images * h->height * h->width; i < n; i++) {
        seen[0] |= h->scale.logarithmic && h->values[i] <= 0;
        seen[1] |= isnan(h->values[i]);
        seen[2] |= isinf(h->values[i]);
    }
    seen[3] = heatmap_figures(h) * h->rows * h->columns > h->images;
    double x = BORDER;
    for (size_t i = 0; i < 4; i++) {
        if (!seen[i]) continue;
        append_box(out, x, y, 14, 14, colours[i]);
        append_text(out, "swatch", x + 20, y + 12, TEXT_SIZE, NAMES[i]);
        x += 150;
    }
}

static void append_scale(str *out, const heatmap *h, double y)
{
    tick ticks[AXIS_TICKS];
    size_t count = axis_even_ticks(ticks, &h->scale, 4);
    str name = {0};
    const double left = BORDER + 40, step = (double)SCALE_WIDTH / SCALE_STEPS;
    str_printf(&name, "%s (%s%s)", h->kind, h->unit, h->scale.logarithmic ? ", log scale" : "");
    append_text(out, "axis", BORDER, y + 12, TEXT_SIZE, str_text(&name));
    for (int i = 0; i < (count > 1 ? SCALE_STEPS : 4); i++) /* a swatch for a single value */
        str_printf(
            out, "<rect x=\"%.6g\" y=\"%.6g\" width=\"%.6g\" height=\"16\" fill=\"#%06x\"/>\n",
            left + step * i, y + 20, step + 0.5, plasma(count > 1 ? i / (SCALE_STEPS - 1.0) : 0));
    for (size_t i = 0; i < count; i++) {
        double x = left + ticks[i].at * SCALE_WIDTH;
        str_printf(out, "<path d=\"M%.6g %.6gv6\" stroke=\"#000000\"/>\n", x, y + 36);
        append_text(out, "tick", x, y + 56, TEXT_SIZE, ticks[i].label);
    }
    append_swatches(out, h, y + 72);
    str_deinit(&name);
}

static void append_axes(str *out, const heatmap *h, const layout *l)
{
    str text = {0};
    str_printf(&text, "Down: last axis but one, length %zu. Across: last axis, length %zu.",
               h->height, h->width);
    if (l->down < h->height || l->across < h->width)
        str_printf(&text, " A pixel shows the worst of up to %zu x %zu elements.",
                   (h->height + l->down - 1) / l->down, (h->width + l->across - 1) / l->across);
    append_text(out, "axis", BORDER, 66, TEXT_SIZE, str_text(&text));
    str_deinit(&text);
}

/* Cuts the middle out of a text that is too long for a figure. */
static void shorten(str *out, const char *text)
{
    size_t size = strlen(text), head = SHOWN_TEXT / 2, tail = size - least(size, SHOWN_TEXT / 2);
    if (size <= SHOWN_TEXT) {
        str_append(out, text);
        return;
    }
    while (head && ((unsigned char)text[head] & 0xc0) == 0x80) head--;
    while (tail < size && ((unsigned char)text[tail] & 0xc0) == 0x80) tail++;
    str_append_n(out, text, head);
    str_append(out, "...");
    str_append(out, text + tail);
}

pgy_status heatmap_draw(str *svg, const heatmap *h, size_t figure, pgy_error *err)
{
    str title = {0}, shown = {0}, sides = {0};
    pgy_status st = PGY_OK;
    size_t cells = h->rows * h->columns;
    heatmap_title(&title, h, figure);
    shorten(&shown, str_text(&title));
    shorten(&sides, h->sides);
    layout l = make_layout(h, str_text(&shown), str_text(&sides));
    str_printf(svg,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" "
               "xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"%.6g\" height=\"%.6g\">\n"
               "<title>",
               l.total_width, l.scale_at + 100);
    str_append_xml(svg, str_text(&title));
    str_append(svg, "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
    append_text(svg, "title", BORDER, 24, TITLE_SIZE, str_text(&shown));
    append_text(svg, "sides", BORDER, 46, TEXT_SIZE, str_text(&sides));
    append_axes(svg, h, &l);
    for (size_t i = 0; i < cells && !st; i++)
        st = append_cell(svg, h, &l, figure * cells + i, i, err);
    append_scale(svg, h, l.scale_at);
    str_append(svg, "</svg>\n");
    if (!st && (svg->failed || title.failed || shown.failed || sides.failed))
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while drawing a heatmap");
    str_deinit(&title);
    str_deinit(&shown);
    str_deinit(&sides);
    return st;
}
