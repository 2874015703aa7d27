/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays as NumPy prints them. The elements that will be shown (all, or the edges of a summarised
 * array) are gathered first, the common format is found from them, then rows are laid out
 * recursively: brackets nest, lines break at the width, r newlines separate sub-arrays of rank r.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/pytext.h"
#include "base/sized.h"
#include "base/str.h"
#include "tensor/convert.h"
#include "tensor/tensor.h"
#include "tensor/text_float.h"

enum { DEFAULT_EDGE = 3, DEFAULT_THRESHOLD = 1000, DEFAULT_WIDTH = 75 };

typedef struct printer {
    pgy_view v;
    const pgy_dtype_info *type;
    const char *data;
    int64_t strides[PGY_MAX_RANK];
    bool summarised;
    int64_t edge;
    int64_t line_width; /* columns of a line; INT64_MAX: never break */
    int int_width;
    text_float real, imaginary;
    str out, word;
} printer;

/* ---- One element ---------------------------------------------------------------------------- */

static double part_at(const printer *p, size_t at, int part)
{
    if (p->type->kind != PGY_KIND_COMPLEX) return element_as_f64(p->v.dtype, p->data, at);
    return element_as_f64(p->v.dtype == PGY_C64 ? PGY_F32 : PGY_F64, p->data,
                          at * 2 + (size_t)part);
}

static void append_int(str *out, const printer *p, size_t at, int width)
{
    int64_t v = element_as_i64(p->v.dtype, p->data, at);
    if (p->type->kind == PGY_KIND_UNSIGNED)
        str_printf(out, "%*llu", width, (unsigned long long)v);
    else
        str_printf(out, "%*lld", width, (long long)v);
}

static void append_string(str *out, pgy_string s)
{
    char *text = mem_strndup(s.size ? s.data : "", s.size);
    if (!text)
        out->failed = true;
    else
        str_append_py_repr(out, text);
    mem_free(text);
}

/* The j goes directly behind the imaginary part, before the blanks that align it. */
static void append_complex(str *out, const printer *p, size_t at)
{
    text_float_append(out, &p->real, part_at(p, at, 0));
    text_float_append(out, &p->imaginary, part_at(p, at, 1));
    if (out->failed) return;
    size_t blanks = 0;
    while (out->size > blanks && out->data[out->size - 1 - blanks] == ' ') blanks++;
    str_append_char(out, ' ');
    if (!out->failed) out->data[out->size - 1 - blanks] = 'j';
}

static void append_element(str *out, const printer *p, size_t at)
{
    switch (p->type->kind) {
    case PGY_KIND_BOOL:
        str_append(out, element_as_i64(p->v.dtype, p->data, at) ? " True" : "False");
        return;
    case PGY_KIND_SIGNED:
    case PGY_KIND_UNSIGNED: append_int(out, p, at, p->int_width); return;
    case PGY_KIND_FLOAT: text_float_append(out, &p->real, part_at(p, at, 0)); return;
    case PGY_KIND_COMPLEX: append_complex(out, p, at); return;
    case PGY_KIND_STRING:
        append_string(out, ((const pgy_string *)(const void *)p->data)[at]);
        return;
    }
}

/* "(1+2j)", or "2j" alone when the real part is +0; whole numbers have no point. */
static void append_complex_scalar(str *out, const printer *p)
{
    str number = {0};
    double real = part_at(p, 0, 0);
    bool both = real != 0 || signbit(real);
    if (both) str_append_char(out, '(');
    for (int part = both ? 0 : 1; part < 2; part++) {
        double v = part_at(p, 0, part);
        str_clear(&number);
        text_float_scalar(&number, p->real.bits, v);
        if (str_ends_with(str_text(&number), ".0")) number.size -= 2;
        if (both && part && (isnan(v) || !signbit(v))) str_append_char(out, '+');
        str_append_n(out, str_text(&number), number.size);
    }
    str_append(out, both ? "j)" : "j");
    out->failed |= number.failed;
    str_deinit(&number);
}

static void append_scalar(str *out, const printer *p)
{
    switch (p->type->kind) {
    case PGY_KIND_BOOL:
        str_append(out, element_as_i64(p->v.dtype, p->data, 0) ? "True" : "False");
        return;
    case PGY_KIND_SIGNED:
    case PGY_KIND_UNSIGNED: append_int(out, p, 0, 0); return;
    case PGY_KIND_FLOAT: text_float_scalar(out, p->real.bits, part_at(p, 0, 0)); return;
    case PGY_KIND_COMPLEX: append_complex_scalar(out, p); return;
    case PGY_KIND_STRING:
        str_append_n(out, ((const pgy_string *)(const void *)p->data)->data,
                     ((const pgy_string *)(const void *)p->data)->size);
        return;
    }
}

/* ---- The common format ---------------------------------------------------------------------- */

typedef void (*visit)(printer *p, size_t at);

static int64_t shown_index(const printer *p, int32_t axis, int64_t i)
{
    int64_t count = p->v.shape[axis];
    return p->summarised && 2 * p->edge < count && i >= p->edge ? count - 2 * p->edge + i : i;
}

static int64_t shown_count(const printer *p, int32_t axis)
{
    int64_t count = p->v.shape[axis];
    return p->summarised && 2 * p->edge < count ? 2 * p->edge : count;
}

static void visit_shown(printer *p, int32_t axis, size_t at, visit fn)
{
    if (axis == p->v.rank) {
        fn(p, at);
        return;
    }
    int64_t count = shown_count(p, axis);
    for (int64_t i = 0; i < count; i++)
        visit_shown(p, axis + 1, (size_t)((int64_t)at + shown_index(p, axis, i) * p->strides[axis]),
                    fn);
}

static void visit_range(printer *p, size_t at)
{
    text_float_range(&p->real, part_at(p, at, 0));
    if (p->type->kind == PGY_KIND_COMPLEX) text_float_range(&p->imaginary, part_at(p, at, 1));
}

static void visit_widths(printer *p, size_t at)
{
    text_float_widths(&p->real, part_at(p, at, 0));
    if (p->type->kind == PGY_KIND_COMPLEX) text_float_widths(&p->imaginary, part_at(p, at, 1));
}

static void visit_int(printer *p, size_t at)
{
    str_clear(&p->word);
    append_int(&p->word, p, at, 0);
    if ((int)p->word.size > p->int_width) p->int_width = (int)p->word.size;
}

static void find_format(printer *p)
{
    int bits = p->v.dtype == PGY_F64 || p->v.dtype == PGY_C128 ? 64
               : p->v.dtype == PGY_F16                         ? 16
                                                               : 32;
    p->real = (text_float){.bits = bits};
    p->imaginary = (text_float){.bits = bits, .always_sign = true};
    if (pgy_dtype_is_integer(p->v.dtype)) visit_shown(p, 0, 0, visit_int);
    if (p->type->kind != PGY_KIND_FLOAT && p->type->kind != PGY_KIND_COMPLEX) return;
    visit_shown(p, 0, 0, visit_range);
    text_float_choose(&p->real);
    text_float_choose(&p->imaginary);
    visit_shown(p, 0, 0, visit_widths);
    text_float_finish(&p->real);
    text_float_finish(&p->imaginary);
}

/* ---- Layout --------------------------------------------------------------------------------- */

static int64_t columns(const char *text, size_t size)
{
    int64_t n = 0;
    for (size_t i = 0; i < size; i++) n += (text[i] & 0xc0) != 0x80;
    return n;
}

/* Appends a word to the current line; *used counts its columns so far. If the word does not fit, a
 * new line with `indent` blanks begins. */
static void append_word(printer *p, const char *word, size_t size, int64_t width, int64_t indent,
                        int64_t *used)
{
    int64_t needs = columns(word, size);
    if (*used + needs > width && *used > indent) {
        while (p->out.size && p->out.data[p->out.size - 1] == ' ') p->out.size--;
        str_append_char(&p->out, '\n');
        str_append_fill(&p->out, ' ', (size_t)indent);
        *used = indent;
    }
    str_append_n(&p->out, word, size);
    *used += needs;
}

static void append_row(printer *p, size_t at, int64_t indent, int64_t width)
{
    int32_t axis = p->v.rank - 1;
    int64_t count = shown_count(p, axis), used = indent;
    bool gap = count < p->v.shape[axis];
    for (int64_t i = 0; i < count && !p->out.failed; i++) {
        if (gap && i == p->edge) {
            append_word(p, "...", 3, width, indent, &used);
            str_append_char(&p->out, ' ');
            used++;
        }
        str_clear(&p->word);
        append_element(&p->word, p,
                       (size_t)((int64_t)at + shown_index(p, axis, i) * p->strides[axis]));
        append_word(p, str_text(&p->word), p->word.size, width, indent, &used);
        if (i + 1 == count) break;
        str_append_char(&p->out, ' ');
        used++;
    }
}

static void append_axis(printer *p, int32_t axis, size_t at, int64_t indent, int64_t width)
{
    str_append_char(&p->out, '[');
    if (axis == p->v.rank - 1) {
        append_row(p, at, indent, width == INT64_MAX ? width : width - 1);
        str_append_char(&p->out, ']');
        return;
    }
    int64_t count = shown_count(p, axis);
    bool gap = count < p->v.shape[axis];
    for (int64_t i = 0; i < count && !p->out.failed; i++) {
        if (i) str_append_fill(&p->out, '\n', (size_t)(p->v.rank - axis - 1));
        if (i) str_append_fill(&p->out, ' ', (size_t)indent);
        if (gap && i == p->edge) {
            str_append(&p->out, "...");
            str_append_fill(&p->out, '\n', (size_t)(p->v.rank - axis - 1));
            str_append_fill(&p->out, ' ', (size_t)indent);
        }
        append_axis(p, axis + 1, (size_t)((int64_t)at + shown_index(p, axis, i) * p->strides[axis]),
                    indent + 1, width == INT64_MAX ? width : width - 1);
    }
    str_append_char(&p->out, ']');
}

static void set_options(printer *p, const pgy_text_options *o)
{
    const int64_t edge = o->edge_items, threshold = o->threshold ? o->threshold : DEFAULT_THRESHOLD;
    const int64_t width = o->line_width ? o->line_width : DEFAULT_WIDTH;
    p->edge = edge ? edge : DEFAULT_EDGE;
    p->summarised = edge >= 0 && pgy_view_count(p->v) > (uint64_t)threshold;
    p->line_width = width < 0 ? INT64_MAX : width;
}

static void set_strides(printer *p)
{
    int64_t step = 1;
    for (int32_t i = p->v.rank; i-- > 0; step *= p->v.shape[i])
        p->strides[i] = p->v.strides ? p->v.strides[i] : step;
}

pgy_status pgy_view_text(char **out, pgy_view v, const pgy_text_options *options, pgy_error *err)
{
    printer p = {.v = v, .type = pgy_dtype_describe(v.dtype), .data = pgy_view_data(v)};
    if (!p.type->bits || v.rank < 0 || v.rank > PGY_MAX_RANK)
        return pgy_error_set(err, PGY_E_TYPE, "an array of type %s and rank %d cannot be printed",
                             p.type->name, (int)v.rank);
    pgy_text_options o = {.size = sizeof o};
    pgy_status st = view_need_host(&v, err);
    if (!st) st = SIZED_TAKE(pgy_text_options, &o, options, err);
    if (st) return st;
    set_options(&p, &o);
    if (pgy_view_count(v) == 0) {
        str_append(&p.out, "[]");
    } else if (!p.data) {
        return pgy_error_set(err, PGY_E_ARGUMENT, "a view of %zu elements has a NULL data pointer",
                             pgy_view_count(v));
    } else {
        set_strides(&p);
        find_format(&p);
        if (v.rank)
            append_axis(&p, 0, 0, 1, p.line_width);
        else
            append_scalar(&p.out, &p);
    }
    char *text = p.word.failed ? NULL : str_take(&p.out);
    str_deinit(&p.word);
    str_deinit(&p.out);
    if (!text) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    *out = text;
    return PGY_OK;
}
