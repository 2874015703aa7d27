/* SPDX-License-Identifier: Apache-2.0 */
/* A picture as a list of shapes, which svg.c writes as text and png.c as pixels. Coordinates are
 * CSS pixels from the left and the top. A failed allocation sets `failed`, and later shapes are
 * dropped, so callers test once at the end. */
#ifndef VIEWER_DRAW_PICTURE_H
#define VIEWER_DRAW_PICTURE_H

#include "base/arena.h"
#include "viewer/draw/colours.h"

typedef enum paint_kind { PAINT_NONE, PAINT_ROLE, PAINT_RGB } paint_kind;
typedef struct paint {
    paint_kind kind;
    colour_role role; /* its colour depends on the theme */
    uint32_t rgb;
    float opacity; /* 0: opaque, like 1 */
} paint;
paint paint_role(colour_role role);
paint paint_rgb(uint32_t rgb);

typedef enum shape_kind { SHAPE_RECT, SHAPE_PATH, SHAPE_TEXT, SHAPE_GROUP, SHAPE_END } shape_kind;
typedef enum shape_anchor { ANCHOR_START, ANCHOR_MIDDLE, ANCHOR_END } shape_anchor;

typedef struct shape {
    shape_kind kind;
    paint fill, stroke;
    float stroke_width;
    bool dashed, hatched; /* hatched: stripes over the fill */
    float x, y;           /* left, top; of text the base line */
    float width, height, radius;
    float *points; /* path: x, y pairs */
    uint32_t count;
    bool closed;
    bool curved;      /* between two points an S that begins and ends vertical */
    const char *text; /* printable; of a group its title, which may be NULL */
    const char *name; /* group: what it is, "card" */
    uint32_t ref;     /* group: node, container or tensor; VIEW_NONE: none */
    float size;
    bool bold;
    shape_anchor anchor;
} shape;

typedef struct picture_list {
    arena memory;
    shape *shapes;
    size_t count, capacity;
    float width, height;
    const char *title;
    shape dropped; /* the last shape after a failure */
    bool failed;
} picture_list;

void picture_list_deinit(picture_list *p);
pgy_status picture_list_check(const picture_list *p, pgy_error *err) PGY_MUST_CHECK;

/* Append a shape; the result may be changed until the next one, and is never NULL. */
shape *picture_rect(picture_list *p, double x, double y, double width, double height, double radius,
                    paint fill);
/* @param points  x, y pairs, which are copied */
shape *picture_path(picture_list *p, const float *points, uint32_t count, paint fill, paint stroke,
                    double stroke_width);
/* @param text  printable UTF-8, which is copied */
shape *picture_text_at(picture_list *p, double x, double y, double size, bool bold, paint fill,
                       const char *text);
void picture_group(picture_list *p, const char *name, uint32_t ref, const char *title);
void picture_end(picture_list *p);

/* Text of a name from a model: printable, at most 2000 bytes. */
const char *picture_shown(picture_list *p, const char *name);
/* Shortened in the middle so that it is at most `width` wide; "" if not even one letter fits. */
const char *picture_fit(picture_list *p, const char *text, double size, bool bold, double width);
double picture_text_width(const char *text, double size, bool bold);
const char *picture_printf(picture_list *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
