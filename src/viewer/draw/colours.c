/* SPDX-License-Identifier: Apache-2.0 */
/* Scales are straight lines in the OKLab space, where equal steps look equal; they differ in
 * lightness and along blue and yellow only, which colour-blind people tell apart. */
#include "viewer/draw/colours.h"

#include <math.h>
#include <string.h>

const uint32_t COLOUR_MAGNITUDE[COLOUR_STOPS] = {0x12306e, 0x2c4973, 0x476076, 0x637678, 0x808d77,
                                                 0x9fa474, 0xbebb6d, 0xded262, 0xffe94e};
const uint32_t COLOUR_DIFFERENCE[COLOUR_STOPS] = {0x1f5fa8, 0x517eb6, 0x7e9cc3, 0xabbbcf, 0xd9d9d9,
                                                  0xd3b9ab, 0xcb997d, 0xc0794e, 0xb4570a};
/* Okabe and Ito's colours, which colour-blind people tell apart. */
const uint32_t COLOUR_OF_NAMES[COLOUR_NAMES] = {0x56b4e9, 0xe69f00, 0x009e73, 0xcc79a7,
                                                0x0072b2, 0xf0e442, 0xd55e00, 0x9a9a9a};
const uint32_t COLOUR_OF_CATEGORY[COLOUR_CATEGORIES] = {
    [VIEW_LAYER] = 0x3b64a8,         [VIEW_ACTIVATION] = 0xb0413e,   [VIEW_POOL] = 0x3f8f4f,
    [VIEW_NORMALIZATION] = 0x2a8f86, [VIEW_SHAPE] = 0x8b6f5c,        [VIEW_TENSOR] = 0xa37c00,
    [VIEW_DATA] = 0x7b7b7b,          [VIEW_QUANTIZATION] = 0xc4610a, [VIEW_ATTENTION] = 0xd6930f,
    [VIEW_CONTROL] = 0x7453a6,       [VIEW_CONSTANT] = 0xa9a9a9,     [VIEW_INPUT] = 0x1f7a8c,
    [VIEW_OUTPUT] = 0x1f7a8c,        [VIEW_OTHER] = 0x5f6b7a};

const colour_theme THEME_LIGHT = {{[ROLE_PAGE] = 0xffffff,
                                   [ROLE_CARD] = 0xfbfcfd,
                                   [ROLE_BORDER] = 0x8a94a0,
                                   [ROLE_TEXT] = 0x1b2026,
                                   [ROLE_DIM] = 0x5a6572,
                                   [ROLE_EDGE] = 0x6b7683,
                                   [ROLE_FRAME] = 0xf1f4f7,
                                   [ROLE_HEADER] = 0xe2e8ee,
                                   [ROLE_BADGE] = 0x2b4a7a,
                                   [ROLE_HATCH] = 0xc3cad2,
                                   [ROLE_ALERT] = 0xb3261e}};
const colour_theme THEME_DARK = {{[ROLE_PAGE] = 0x14181d,
                                  [ROLE_CARD] = 0x1f252c,
                                  [ROLE_BORDER] = 0x6c7885,
                                  [ROLE_TEXT] = 0xe6eaee,
                                  [ROLE_DIM] = 0xa3aeb9,
                                  [ROLE_EDGE] = 0x8794a1,
                                  [ROLE_FRAME] = 0x1a1f25,
                                  [ROLE_HEADER] = 0x2a323b,
                                  [ROLE_BADGE] = 0x9dbbe8,
                                  [ROLE_HATCH] = 0x4b5560,
                                  [ROLE_ALERT] = 0xff8a80}};

/* Names whose colour says the same on every picture. */
static const struct {
    const char *name;
    uint32_t colour;
} FIXED[] = {
    {"fail", 0xd55e00},   {"pass", 0x56b4e9},    {"nan", COLOUR_NOT_FINITE}, {"inf", 0xe07aa5},
    {"normal", 0x56b4e9}, {"zero", COLOUR_ZERO}, {"saturated", 0xe69f00},    {"constant", 0xb9a06b},
    {"same", 0xd9d9d9},   {"changed", 0xe69f00}, {"added", 0x56b4e9},        {"removed", 0xd55e00},
    {"fused", 0xcc79a7},
};

/* ---- Ranges --------------------------------------------------------------------------------- */

colour_range colour_range_begin(const view_quantity *q)
{
    return (colour_range){.low = INFINITY,
                          .high = -INFINITY,
                          .scale = q->scale,
                          .is_ratio = q->scale == VIEW_DIVERGING &&
                                      (str_ends_with(q->id, "ratio") ||
                                       (q->unit && span_equals(span_of(q->unit), "x"))),
                          .is_reversed = q->better == VIEW_BETTER_HIGH};
}

static bool is_by_logarithm(const colour_range *r)
{
    return r->scale == VIEW_LOG || r->is_ratio;
}

void colour_range_add(colour_range *r, double value)
{
    if (!isfinite(value) || (is_by_logarithm(r) && value <= 0)) return;
    r->low = fmin(r->low, value);
    r->high = fmax(r->high, value);
}

void colour_range_finish(colour_range *r)
{
    r->is_empty = r->low > r->high;
    if (r->is_empty) {
        r->low = is_by_logarithm(r) ? 0.1 : 0;
        r->high = 1;
    }
    if (r->is_ratio) {
        const double far = fmax(fmax(fabs(log(r->low)), fabs(log(r->high))), log(1.01));
        r->low = exp(-fmin(far, 700));
        r->high = exp(fmin(far, 700));
    } else if (r->scale == VIEW_DIVERGING) {
        const double far = fmax(fabs(r->low), fabs(r->high));
        r->high = far > 0 ? far : 1;
        r->low = -r->high;
    } else if (r->scale == VIEW_LINEAR && r->low > 0) {
        r->low = 0;
    }
    /* One value alone: it is the high end. */
    if (r->low >= r->high) r->low = is_by_logarithm(r) ? r->high / 10 : r->high - 1;
    if (r->low >= r->high) r->low = nextafter(r->high, -INFINITY);
}

double colour_place(const colour_range *r, double value)
{
    double place;
    if (is_by_logarithm(r))
        place = value > 0 ? log(value / r->low) / log(r->high / r->low) : 0;
    else
        place = (value / 2 - r->low / 2) / (r->high / 2 - r->low / 2);
    if (!(place > 0)) place = 0;
    return place > 1 ? 1 : place;
}

/* ---- Colours -------------------------------------------------------------------------------- */

static uint32_t mix(uint32_t a, uint32_t b, double share)
{
    uint32_t out = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        const double x = a >> shift & 255, y = b >> shift & 255;
        out |= (uint32_t)lround(x + (y - x) * share) << shift;
    }
    return out;
}

uint32_t colour_at(const colour_range *r, double place)
{
    const uint32_t *stops = r->scale == VIEW_DIVERGING ? COLOUR_DIFFERENCE : COLOUR_MAGNITUDE;
    if (r->is_reversed) place = 1 - place;
    const double at = place * (COLOUR_STOPS - 1);
    const size_t k = at >= COLOUR_STOPS - 1 ? COLOUR_STOPS - 2 : (size_t)at;
    return mix(stops[k], stops[k + 1], at - (double)k);
}

static uint32_t colour_of_name(const view_quantity *q, double value)
{
    if (!(value >= 0) || value >= q->name_count) return COLOUR_NOT_FINITE;
    const uint32_t k = (uint32_t)value;
    for (size_t i = 0; i < sizeof FIXED / sizeof FIXED[0]; i++)
        if (!strcmp(q->names[k], FIXED[i].name)) return FIXED[i].colour;
    return COLOUR_OF_NAMES[k % COLOUR_NAMES];
}

uint32_t colour_of(const colour_range *r, const view_quantity *q, double value)
{
    if (r->scale == VIEW_CATEGORY) return colour_of_name(q, value);
    if (!isfinite(value)) return COLOUR_NOT_FINITE;
    if (value == 0 && is_by_logarithm(r)) return COLOUR_ZERO;
    return colour_at(r, colour_place(r, value));
}

/* Relative luminance as WCAG defines it. */
static double luminance(uint32_t rgb)
{
    static const double WEIGHT[] = {0.0722, 0.7152, 0.2126};
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        const double c = (rgb >> 8 * k & 255) / 255.0;
        sum += WEIGHT[k] * (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
    return sum;
}

uint32_t colour_of_text(uint32_t background)
{
    /* Contrast with white equals contrast with black at a luminance of 0.179. */
    return luminance(background) > 0.179 ? 0x000000 : 0xffffff;
}
