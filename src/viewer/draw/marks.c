/* SPDX-License-Identifier: Apache-2.0 */
/* Marks: each kind has an outline of its own, so that a print without colour tells them apart. */
#include <math.h>
#include <string.h>

#include "viewer/draw/parts.h"

enum { MOST_CORNERS = 12, MARK_STEP = 15, MARK_RADIUS = 7, MOST_MARKS = 5 };

typedef struct mark_look {
    const char *words;
    uint32_t colour;
    int corners;        /* of a regular outline; 0: `points`; -1: a disc */
    double turn;        /* in corners */
    double inner;       /* star: radius of the inner corners; 0: none */
    const char *symbol; /* in the middle; "x" and "/" are lines */
    signed char points[2 * MOST_CORNERS];
    int point_count;
} mark_look;

static const mark_look LOOKS[VIEW_MARK_COUNT] = {
    [VIEW_MARK_FAIL] = {"fails", 0xc62828, 8, 0.5, 0, "x", {0}, 0},
    [VIEW_MARK_NAN] = {"NaN", 0xad1457, 3, 0, 0, "N", {0}, 0},
    [VIEW_MARK_INF] = {"infinite", 0x6a1b9a, 3, 1.5, 0, "∞", {0}, 0},
    [VIEW_MARK_FIRST] = {"first to fail", 0xe65100, 5, 0, 0.45, "", {0}, 0},
    [VIEW_MARK_FUSED] = {"fused", 0x00695c, 6, 0.5, 0, "F", {0}, 0},
    [VIEW_MARK_NOT_RUN] = {"not run", 0x616161, -1, 0, 0, "/", {0}, 0},
    [VIEW_MARK_PRECISION] = {"precision changes", 0x1565c0, 4, 0, 0, "P", {0}, 0},
    [VIEW_MARK_CONTRADICTION] = {"contradiction", 0xb3261e, 4, 0.5, 0, "≠", {0}, 0},
    [VIEW_MARK_FINDING] = {"finding", 0x8a6100, 5, 0, 0, "!", {0}, 0},
    [VIEW_MARK_ADDED] = {"added",
                         0x00796b,
                         0,
                         0,
                         0,
                         "",
                         {-3, -9, 3,  -9, 3,  -3, 9,  -3, 9,  3,  3,  3,
                          3,  9,  -3, 9,  -3, 3,  -9, 3,  -9, -3, -3, -3},
                         12},
    [VIEW_MARK_REMOVED] = {"removed", 0xb71c1c, 0, 0, 0, "", {-9, -3, 9, -3, 9, 3, -9, 3}, 4},
    [VIEW_MARK_CHANGED] = {"changed", 0x9c4a00, -1, 0, 0, "→", {0}, 0},
    [VIEW_MARK_UNSUPPORTED] = {"unsupported", 0x424242, 5, 0.5, 0, "?", {0}, 0},
};

const char *mark_words(view_mark_kind kind)
{
    return LOOKS[kind].words;
}

/* Corners from the top, clockwise. */
static uint32_t trace(const mark_look *look, double x, double y, double radius, float *out)
{
    const int count = !look->corners    ? look->point_count
                      : look->inner > 0 ? 2 * look->corners
                                        : look->corners;
    for (int i = 0; i < count; i++) {
        double dx = look->points[2 * i] / 9.0, dy = look->points[2 * i + 1] / 9.0;
        if (look->corners) {
            const double angle = 2 * 3.14159265358979 * (i + look->turn) / count;
            const double far = look->inner > 0 && i % 2 ? look->inner : 1;
            dx = far * sin(angle), dy = -far * cos(angle);
        }
        out[2 * i] = (float)(x + radius * dx);
        out[2 * i + 1] = (float)(y + radius * dy);
    }
    return (uint32_t)count;
}

static void line(picture_list *p, double x, double y, double dx, double dy, paint colour)
{
    const float points[4] = {(float)(x - dx), (float)(y - dy), (float)(x + dx), (float)(y + dy)};
    picture_path(p, points, 2, (paint){0}, colour, 1.6);
}

void mark_draw(picture_list *p, view_mark_kind kind, double x, double y, double radius)
{
    const mark_look *look = &LOOKS[kind];
    const bool hollow = kind == VIEW_MARK_NOT_RUN;
    const paint colour = paint_rgb(look->colour), white = paint_rgb(0xffffff);
    shape *s;
    picture_group(p, "mark", VIEW_NONE, look->words);
    if (look->corners < 0) {
        s = picture_rect(p, x - 0.9 * radius, y - 0.9 * radius, 1.8 * radius, 1.8 * radius,
                         0.9 * radius, hollow ? white : colour);
    } else {
        float points[2 * MOST_CORNERS];
        const double reach = look->corners == 3 ? 1.3 * radius
                             : look->inner > 0  ? 1.2 * radius
                                                : 1.05 * radius;
        s = picture_path(p, points, trace(look, x, y, reach, points), colour, (paint){0}, 1);
        s->closed = true;
    }
    s->stroke = hollow ? colour : white;
    s->stroke_width = hollow ? 1.6f : 1;
    const double arm = 0.4 * radius;
    const double down = look->corners == 3 ? (look->turn > 0 ? -0.2 : 0.2) * radius : 0;
    if (*look->symbol == 'x') line(p, x, y, arm, arm, white);
    if (*look->symbol == 'x' || *look->symbol == '/')
        line(p, x, y, arm, -arm, hollow ? colour : white);
    else if (*look->symbol) {
        const double size = (look->corners == 3 ? 0.95 : 1.3) * radius;
        picture_text_at(p, x, y + down + 0.36 * size, size, true, white, look->symbol)->anchor =
            ANCHOR_MIDDLE;
    }
    picture_end(p);
}

void marks_draw(picture_list *p, uint32_t marks, double x, double y)
{
    int drawn = 0;
    for (uint32_t kind = 0; kind < VIEW_MARK_COUNT && drawn < MOST_MARKS; kind++)
        if (marks >> kind & 1)
            mark_draw(p, (view_mark_kind)kind, x - MARK_STEP * drawn++, y, MARK_RADIUS);
}
