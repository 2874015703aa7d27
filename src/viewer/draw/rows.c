/* SPDX-License-Identifier: Apache-2.0 */
/* Rows below a card's name: shapes and types of its outputs, and attributes. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/printable.h"
#include "base/pytext.h"
#include "viewer/draw/parts.h"

enum { ROW = 13, MOST_ROWS = 16, MOST_ITEMS = 8, MOST_LETTERS = 64 };
static const double ROW_SIZE = 9.5;

/* ---- Shapes and types ----------------------------------------------------------------------- */

static const char *short_type(const char *dtype)
{
    static const char *const SHORT[][2] = {
        {"float32", "f32"}, {"float16", "f16"}, {"bfloat16", "bf16"}, {"float64", "f64"},
        {"int8", "i8"},     {"int16", "i16"},   {"int32", "i32"},     {"int64", "i64"},
        {"uint8", "u8"},    {"uint16", "u16"},  {"uint32", "u32"},    {"uint64", "u64"}};
    for (size_t i = 0; i < sizeof SHORT / sizeof SHORT[0]; i++)
        if (!strcmp(dtype, SHORT[i][0])) return SHORT[i][1];
    return dtype;
}

/* An x in a dimension's name is a letter. */
static bool has_names(const char *size)
{
    for (const char *c = size; *c; c++)
        if (!isdigit((unsigned char)*c) && !strchr("?x", *c)) return true;
    return false;
}

const char *shape_text(picture_list *p, const char *size, const char *dtype)
{
    str text = {0};
    const char *shown = size ? picture_shown(p, size) : "";
    const bool names = has_names(shown);
    for (const char *c = shown; *c; c++) {
        if (*c == 'x' && !names)
            str_append(&text, "×");
        else
            str_append_char(&text, *c);
    }
    if (size && !*size) str_append(&text, "scalar");
    if (dtype && *dtype)
        str_printf(&text, "%s%s", text.size ? " " : "", picture_shown(p, short_type(dtype)));
    const char *out = picture_printf(p, "%s", str_text(&text));
    p->failed |= text.failed;
    str_deinit(&text);
    return out;
}

/* ---- Attributes ----------------------------------------------------------------------------- */

static void append_values(str *out, const pgy_onnx_attribute *a)
{
    const bool ints = pgy_onnx_attribute_kind(a) == PGY_ATTR_INTS;
    const size_t count = ints ? a->int_count : a->float_count;
    str_append_char(out, '[');
    for (size_t i = 0; i < count && i < MOST_ITEMS; i++) {
        str_append(out, i ? ", " : "");
        if (ints)
            str_printf(out, "%lld", (long long)a->ints[i]);
        else
            str_append_g(out, 5, a->floats[i]);
    }
    str_append(out, count > MOST_ITEMS ? ", …]" : "]");
}

static const char *attribute_text(picture_list *p, const pgy_onnx_attribute *a)
{
    str text = {0};
    str_append_printable(&text, a->name, strlen(a->name), "");
    str_append(&text, " = ");
    switch (pgy_onnx_attribute_kind(a)) {
    case PGY_ATTR_INT: str_printf(&text, "%lld", (long long)a->i); break;
    case PGY_ATTR_FLOAT: str_append_g(&text, 5, a->f); break;
    case PGY_ATTR_INTS:
    case PGY_ATTR_FLOATS: append_values(&text, a); break;
    case PGY_ATTR_STRING:
        str_append_printable(&text, a->s.data, a->s.size < MOST_LETTERS ? a->s.size : MOST_LETTERS,
                             "");
        break;
    case PGY_ATTR_TENSOR: str_append(&text, "tensor"); break;
    case PGY_ATTR_GRAPH: str_append(&text, "graph"); break;
    default: str_append(&text, "…"); break;
    }
    const char *out = picture_printf(p, "%s", str_text(&text));
    p->failed |= text.failed;
    str_deinit(&text);
    return out;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

static size_t attribute_rows(const view_node *n, const view_draw_options *options)
{
    return options->attributes && n->source ? n->source->attribute_count : 0;
}

static size_t row_count(const view_node *n, const view_draw_options *options)
{
    const size_t wanted = (options->types ? n->output_count : 0) + attribute_rows(n, options);
    return wanted < MOST_ROWS ? wanted : MOST_ROWS;
}

double rows_height(const view_graph *g, uint32_t node, const view_draw_options *options)
{
    const size_t rows = row_count(&g->nodes[node], options);
    return rows ? (double)(ROW * rows + 5) : 0;
}

static const char *row_text(const drawing *d, const view_node *n, size_t row)
{
    const size_t types = d->options->types ? n->output_count : 0;
    if (row >= types) return attribute_text(d->list, n->source->attributes[row - types]);
    if (n->outputs[row] == VIEW_NONE) return "(left out)";
    const view_tensor *t = &d->g->tensors[n->outputs[row]];
    return picture_printf(d->list, "→ %s", shape_text(d->list, t->shape, t->dtype));
}

static const char *shown_row(const drawing *d, const view_node *n, size_t row)
{
    const size_t wanted = (d->options->types ? n->output_count : 0) + attribute_rows(n, d->options);
    const bool is_cut = row + 1 == row_count(n, d->options) && wanted > row + 1;
    return is_cut ? "…" : row_text(d, n, row);
}

double rows_width(const drawing *d, uint32_t node)
{
    const view_node *n = &d->g->nodes[node];
    double width = 0;
    for (size_t i = 0; i < row_count(n, d->options); i++)
        width = fmax(width, picture_text_width(shown_row(d, n, i), ROW_SIZE, false));
    return width;
}

void rows_draw(const drawing *d, uint32_t node, double x, double y, double width, paint colour)
{
    const view_node *n = &d->g->nodes[node];
    for (size_t i = 0; i < row_count(n, d->options); i++)
        picture_text_at(d->list, x, y + 9 + ROW * (double)i, ROW_SIZE, false, colour,
                        picture_fit(d->list, shown_row(d, n, i), ROW_SIZE, false, width));
}
