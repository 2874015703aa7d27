/* SPDX-License-Identifier: Apache-2.0 */
/* The colours of quantities, categories and themes (docs/viewer.md, Colours; the page uses the
 * same). A colour is 0xRRGGBB. */
#ifndef VIEWER_DRAW_COLOURS_H
#define VIEWER_DRAW_COLOURS_H

#include "viewer/results.h"

enum { COLOUR_STOPS = 9, COLOUR_NAMES = 8, COLOUR_CATEGORIES = VIEW_OTHER + 1 };

extern const uint32_t COLOUR_MAGNITUDE[COLOUR_STOPS];        /* low to high */
extern const uint32_t COLOUR_DIFFERENCE[COLOUR_STOPS];       /* less, grey, more */
extern const uint32_t COLOUR_OF_NAMES[COLOUR_NAMES];         /* values that are names, in turn */
extern const uint32_t COLOUR_OF_CATEGORY[COLOUR_CATEGORIES]; /* stripes, by view_category */

#define COLOUR_ZERO 0xe1eaf4u       /* exactly zero, on a logarithmic scale */
#define COLOUR_NOT_FINITE 0xc2185bu /* NaN and infinite */

/* From values to colours. `low` and `high` are finite; low < high. */
typedef struct colour_range {
    double low, high;
    view_scale scale;
    bool is_ratio;    /* diverging around one, by logarithm */
    bool is_reversed; /* high is better: the conspicuous end is the low one */
    bool is_empty;    /* no value is finite (and positive, if the scale is logarithmic) */
} colour_range;

/* Begins with no value; add values, then finish. */
colour_range colour_range_begin(const view_quantity *q);
void colour_range_add(colour_range *r, double value);
void colour_range_finish(colour_range *r);

/* 0 to 1 along the scale, clamped. The value is finite. */
double colour_place(const colour_range *r, double value);
/* @param q  for names of categories */
uint32_t colour_of(const colour_range *r, const view_quantity *q, double value);
/* Colour at a place, 0 to 1, of the scale. */
uint32_t colour_at(const colour_range *r, double place);
/* Black or white, which is easier to read on this colour. */
uint32_t colour_of_text(uint32_t background);

/* Colours of everything that is not a value. */
typedef enum colour_role {
    ROLE_PAGE,
    ROLE_CARD,
    ROLE_BORDER,
    ROLE_TEXT,
    ROLE_DIM, /* less important text */
    ROLE_EDGE,
    ROLE_FRAME, /* an open container */
    ROLE_HEADER,
    ROLE_BADGE,
    ROLE_HATCH,
    ROLE_ALERT, /* contradictions */
    ROLE_COUNT
} colour_role;

typedef struct colour_theme {
    uint32_t of[ROLE_COUNT];
} colour_theme;
extern const colour_theme THEME_LIGHT, THEME_DARK;

#endif
