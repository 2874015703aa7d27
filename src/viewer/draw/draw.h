/* SPDX-License-Identifier: Apache-2.0 */
/* Draws what a view shows, with the values of one quantity: as SVG, or as PNG without any library
 * but zlib. The same view and options give the same bytes. */
#ifndef VIEWER_DRAW_H
#define VIEWER_DRAW_H

#include "viewer/draw/picture.h"
#include "viewer/page.h"

typedef enum view_theme { VIEW_THEME_AUTO, VIEW_THEME_LIGHT, VIEW_THEME_DARK } view_theme;

enum {
    VIEW_SCALE_LIMIT = 100,
    VIEW_SIDE_LIMIT = 100000,        /* pixels of one side of a PNG file */
    VIEW_PIXEL_LIMIT = 500 * 1000000 /* pixels in all */
};

typedef struct view_draw_options {
    uint32_t graph;       /* index of the graph; VIEW_NONE: both merged, or the only one */
    uint32_t root;        /* container: 0 is the main graph */
    const char *quantity; /* id; NULL: the most telling one that the graph has; "": none */
    view_theme theme;     /* PNG: AUTO is light */
    double scale;         /* pixels for each unit; 0: 1 for SVG; 2 for PNG, less if it is large */
    bool attributes;      /* rows with attributes on the cards */
    bool types;           /* rows with shapes and types of the outputs */
    bool hide_legend;
    uint32_t width_limit; /* largest width in pixels, to which the scale is reduced; 0: none */
} view_draw_options;

/* Append a file's bytes. @param options  NULL: zeroed, with VIEW_NONE as graph */
pgy_status view_draw_svg(str *out, pgy_page *p, const view_draw_options *options,
                         pgy_error *err) PGY_MUST_CHECK;
pgy_status view_draw_png(str *out, pgy_page *p, const view_draw_options *options,
                         pgy_error *err) PGY_MUST_CHECK;
/* Writes a file that appears whole or not at all; its name ends in ".svg" or ".png". */
pgy_status view_draw_save(pgy_page *p, const char *path, const view_draw_options *options,
                          pgy_error *err) PGY_MUST_CHECK;
bool view_draw_can_save(const char *path);

/* The steps: shapes, then text or pixels. */
pgy_status view_draw_list(picture_list *out, pgy_page *p, const view_draw_options *options,
                          pgy_error *err) PGY_MUST_CHECK;
pgy_status svg_write(str *out, const picture_list *p, view_theme theme, double scale,
                     pgy_error *err) PGY_MUST_CHECK;
pgy_status png_write(str *out, const picture_list *p, view_theme theme, double scale,
                     pgy_error *err) PGY_MUST_CHECK;

#endif
