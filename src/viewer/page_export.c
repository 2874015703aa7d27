/* SPDX-License-Identifier: Apache-2.0 */
/* What leaves a page in other forms: pictures, tables, attachments, a text for bug reports. */
#include "base/file.h"
#include "base/sized.h"
#include "viewer/attachment.h"
#include "viewer/draw/draw.h"
#include "viewer/export.h"

static pgy_status check(const char *function, const pgy_page *p, const char *path, pgy_error *err)
{
    if (p && path) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT, "%s: 'p' and 'path' must not be NULL", function);
}

static pgy_status check_extension(const char *path, const char *a, const char *b, pgy_error *err)
{
    const char *extension = path_extension(path);
    if (str_equal_nocase(extension, a) || str_equal_nocase(extension, b)) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT, "'%s' has the wrong extension; expected %s or %s",
                         path, a, b);
}

pgy_status pgy_page_draw(pgy_page *p, const char *path, const pgy_picture_options *options,
                         pgy_error *err)
{
    pgy_picture_options o = {.size = sizeof o};
    pgy_status st = check("pgy_page_draw", p, path, err);
    if (!st) st = SIZED_TAKE(pgy_picture_options, &o, options, err);
    if (st) return st;
    if (o.theme < PGY_THEME_AUTO || o.theme > PGY_THEME_DARK)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "pgy_picture_options.theme is %d; expected 0 to 2", (int)o.theme);
    if (!(o.scale >= 0 && o.scale <= 100))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "pgy_picture_options.scale is %g; expected 0 to 100", o.scale);
    const view_draw_options draw = {.graph = VIEW_NONE,
                                    .quantity = o.quantity,
                                    .theme = (view_theme)o.theme,
                                    .scale = o.scale,
                                    .attributes = o.attributes,
                                    .types = o.types};
    st = check_extension(path, ".svg", ".png", err);
    return st ? st : view_draw_save(p, path, &draw, err);
}

pgy_status pgy_page_save_table(pgy_page *p, const char *id, const char *path, pgy_error *err)
{
    pgy_status st = check("pgy_page_save_table", p, path, err);
    if (!st && !id)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "pgy_page_save_table: 'id' must not be NULL");
    if (!st) st = check_extension(path, ".csv", ".json", err);
    return st ? st : view_export_table(p, id, path, err);
}

pgy_status pgy_page_save_attachment(pgy_page *p, const char *path, pgy_error *err)
{
    pgy_status st = check("pgy_page_save_attachment", p, path, err);
    return st ? st : view_attachment_save(p, path, err);
}

pgy_status pgy_page_text(char **out, pgy_page *p, pgy_error *err)
{
    str text = {0};
    if (!out || !p)
        return pgy_error_set(err, PGY_E_ARGUMENT, "pgy_page_text: 'out' and 'p' must not be NULL");
    pgy_status st = view_export_report(&text, p, err);
    if (!st) st = str_give(out, &text, err);
    str_deinit(&text);
    return st;
}
