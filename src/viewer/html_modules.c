/* SPDX-License-Identifier: Apache-2.0 */
/* Joins the ES modules of a page into one script, because a file on disk cannot import others:
 * lines with imports go, and the word "export". Comments that begin a line and indentation go too:
 * they are a third of the text. src/viewer/page/README.md has the rules that make this safe. */
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

/* What follows a comment at p: the next line, or code in the same line. */
static const char *comment_end(const char *p)
{
    const char *end = strstr(p + 2, "*/");
    if (!end) return p + strlen(p);
    end = skip_blanks(end + 2);
    return *end == '\n' ? end + 1 : end;
}

/* Appends a text's lines without blank lines, comments of their own, and blanks at their start. */
static void put_lines(str *out, const char *p, bool is_module)
{
    static const char EXPORT[] = "export ", IMPORT[] = "import ";
    while (*p) {
        p = skip_blanks(p);
        if (str_starts_with(p, "/*")) {
            p = comment_end(p);
            continue;
        }
        const char *end = line_end(p);
        const bool dropped = *p == '\n' || (is_module && str_starts_with(p, "//")) ||
                             (is_module && str_starts_with(p, IMPORT));
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
