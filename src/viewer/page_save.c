/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a page; the file's name decides the form. */
#include "base/cancel.h"
#include "base/file.h"
#include "viewer/draw/draw.h"
#include "viewer/html.h"
#include "viewer/page_blocks.h"

static pgy_status make_html(str *out, pgy_page *p, pgy_error *err)
{
    return html_write(out, p, false, NULL, err);
}

static pgy_status make_json(str *out, pgy_page *p, pgy_error *err)
{
    pgy_status st = page_complete(p, err);
    return st ? st : page_blocks_write(out, p, err);
}

static pgy_status save_text(pgy_page *p, const char *path,
                            pgy_status (*make)(str *, pgy_page *, pgy_error *), pgy_error *err)
{
    str text = {0};
    pgy_status st = make(&text, p, err);
    if (!st && text.failed)
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while a page is written");
    if (!st) st = cancel_check(err);
    if (!st) st = file_write_all(path, str_text(&text), text.size, err);
    str_deinit(&text);
    return st;
}

pgy_status pgy_page_save(pgy_page *p, const char *path, pgy_error *err)
{
    if (!p || !path)
        return pgy_error_set(err, PGY_E_ARGUMENT, "pgy_page_save: 'p' and 'path' must not be NULL");
    const char *extension = path_extension(path);
    if (str_equal_nocase(extension, ".html") || str_equal_nocase(extension, ".htm"))
        return save_text(p, path, make_html, err);
    if (str_equal_nocase(extension, ".json")) return save_text(p, path, make_json, err);
    if (view_draw_can_save(path)) return view_draw_save(p, path, NULL, err);
    return pgy_error_set(
        err, PGY_E_ARGUMENT,
        "'%s' has no extension that names a form of pages: .html, .json, .svg or .png", path);
}
