/* SPDX-License-Identifier: Apache-2.0 */
/* Text is first made printable, then escaped: XML allows every printable character. */
#include "base/xml.h"

#include <string.h>

#include "base/printable.h"

static const char *reference(char c)
{
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    case '\n': return "&#10;";
    case '\r': return "&#13;";
    case '\t': return "&#9;";
    default: return NULL;
    }
}

void str_append_xml(str *out, const char *text)
{
    str clean = {0};
    str_append_printable(&clean, text, strlen(text), "\n\r\t");
    out->failed = out->failed || clean.failed;
    for (const char *p = str_text(&clean); *p; p++) {
        const char *known = reference(*p);
        if (known)
            str_append(out, known);
        else
            str_append_char(out, *p);
    }
    str_deinit(&clean);
}
