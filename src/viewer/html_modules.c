/* SPDX-License-Identifier: Apache-2.0 */
/* Joins the ES modules of a page into one script, because a file on disk cannot import others:
 * lines with imports go, and the word "export". Comments that begin a line go too, which halves the
 * script. src/viewer/page/README.md has the rules that make this safe. */
#include "viewer/html_parts.h"

#include <string.h>

#define MODULE(name_) extern const char PAGE_JS_##name_[];
#define STYLE(name_) extern const char PAGE_CSS_##name_[];
#include "viewer/page/modules.def"
#undef MODULE
#undef STYLE

#define STYLE(name_)
#define MODULE(name_) PAGE_JS_##name_,
static const char *const MODULES[] = {
#include "viewer/page/modules.def"
    NULL,
};
#undef MODULE
#undef STYLE

#define MODULE(name_)
#define STYLE(name_) PAGE_CSS_##name_,
static const char *const STYLES[] = {
#include "viewer/page/modules.def"
    NULL,
};

static const char *skip_blanks(const char *p)
{
    while (*p == ' ' || *p == '\t') p++;
    return p;
}

static const char *line_end(const char *p)
{
    const char *end = strchr(p, '\n');
    return end ? end + 1 : p + strlen(p);
}

/* The line after a comment that begins at p. */
static const char *comment_end(const char *p)
{
    const char *end = strstr(p + 2, "*/");
    return end ? line_end(end) : p + strlen(p);
}

/* Appends a text's lines without comments of their own and blank lines. */
static void put_lines(str *out, const char *p, bool is_module)
{
    static const char EXPORT[] = "export ";
    while (*p) {
        const char *text = skip_blanks(p), *end = line_end(p);
        if (!strncmp(text, "/*", 2)) {
            p = comment_end(text);
            continue;
        }
        const bool dropped = *text == '\n' || (is_module && !strncmp(text, "//", 2)) ||
                             (is_module && !strncmp(p, "import ", 7));
        if (is_module && str_starts_with(p, EXPORT)) p += sizeof EXPORT - 1;
        if (!dropped) str_append_n(out, p, (size_t)(end - p));
        p = end;
    }
}

void html_script(str *out)
{
    str_append_char(out, '\n');
    for (size_t i = 0; MODULES[i]; i++) put_lines(out, MODULES[i], true);
}

void html_style(str *out)
{
    str_append_char(out, '\n');
    for (size_t i = 0; STYLES[i]; i++) put_lines(out, STYLES[i], false);
}
