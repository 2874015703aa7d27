/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the type of a plain scalar of YAML 1.1, and writes texts so that they are read as texts.
 * Rare notations of numbers (base 60, octal, dates) are read as texts and written in quotes. */
#include "base/yaml_scalar.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/pytext.h"
#include "base/utf8.h"
#include "base/yaml.h"

static bool is_any(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (!strcmp(text, *words)) return true;
    return false;
}

static const char *const NULLS[] = {"", "~", "null", "Null", "NULL", NULL};
static const char *const TRUTHS[] = {"yes",  "Yes", "YES", "true", "True",
                                     "TRUE", "on",  "On",  "ON",   NULL};
static const char *const LIES[] = {"no",    "No",  "NO",  "false", "False",
                                   "FALSE", "off", "Off", "OFF",   NULL};
static const char *const OTHERS[] = {"=", "<<", ".nan", ".NaN", ".NAN", NULL};
static const char *const INFINITIES[] = {".inf", ".Inf", ".INF", NULL};

static bool is_integer(const char *text)
{
    if (*text == '-' || *text == '+') text++;
    if (!*text || (*text == '0' && text[1])) return false;
    return strspn(text, "0123456789") == strlen(text);
}

/* Digits with a point: "1.5", ".5e+3", "-1."; after a sign, a digit must precede the point. */
static bool is_real(const char *text)
{
    size_t digits = 0;
    bool point = false;
    if (*text == '-' || *text == '+') {
        text++;
        if (*text == '.') return false;
    }
    for (; (*text >= '0' && *text <= '9') || (*text == '.' && !point); text++) {
        point |= *text == '.';
        digits += *text != '.';
    }
    if (!digits || !point) return false;
    if (*text == 'e' || *text == 'E') {
        text++;
        if (*text != '-' && *text != '+') return false;
        text++;
        return *text && strspn(text, "0123456789") == strlen(text);
    }
    return !*text;
}

void yaml_resolve(json_value *v, const char *text)
{
    const bool sign = *text == '-' || *text == '+';
    if (is_any(text, NULLS)) {
        v->type = JSON_NULL;
    } else if (is_any(text, TRUTHS) || is_any(text, LIES)) {
        v->type = JSON_BOOL;
        v->boolean = is_any(text, TRUTHS);
    } else if (is_integer(text)) {
        errno = 0;
        v->integer = strtoll(text, NULL, 10);
        v->type = errno ? JSON_REAL : JSON_INT;
        v->real = text_to_double(text, NULL);
    } else if (is_real(text)) {
        v->type = JSON_REAL;
        v->real = text_to_double(text, NULL);
    } else if (is_any(text + sign, INFINITIES)) {
        v->type = JSON_REAL;
        v->real = *text == '-' ? -INFINITY : INFINITY;
    } else if (is_any(text, OTHERS + 2)) {
        v->type = JSON_REAL;
        v->real = NAN;
    }
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* True if this reader or another one could take the text for a number or a date. */
static bool is_number_like(const char *text)
{
    const char *p = text + (*text == '-' || *text == '+');
    if (is_any(p, INFINITIES)) return true;
    if (!strncmp(p, "0x", 2) || !strncmp(p, "0b", 2) || !strncmp(p, "0o", 2)) return true;
    if (!(*p >= '0' && *p <= '9') && !(*p == '.' && p[1] >= '0' && p[1] <= '9')) return false;
    if (strpbrk(p, "eE") && !strchr(p, '.')) return false; /* not a number in YAML 1.1 */
    return strspn(p, "0123456789_.:-+eETZtz ") == strlen(p);
}

static bool is_plain(const char *text)
{
    const size_t size = strlen(text);
    if (is_any(text, NULLS) || is_any(text, TRUTHS) || is_any(text, LIES) || is_any(text, OTHERS) ||
        is_number_like(text))
        return false;
    if (strchr(",[]{}#&*!|>'\"%@`", *text)) return false;
    if (strchr("-?:", *text) && (!text[1] || text[1] == ' ')) return false;
    if (!strncmp(text, "---", 3) || !strncmp(text, "...", 3)) return false;
    if (*text == ' ' || text[size - 1] == ' ' || text[size - 1] == ':') return false;
    return !strstr(text, ": ") && !strstr(text, " #");
}

static bool is_printable(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7E) return false;
    return true;
}

/* Takes one character; a byte that is not UTF-8 is taken as Latin-1. */
static size_t take_code(uint32_t *code, const char *p, const char *end)
{
    const size_t size = utf8_read(p, end, code);
    if (size) return size;
    *code = (unsigned char)*p;
    return 1;
}

static void append_escaped(str *out, const char *text)
{
    static const char NAMES[] = "abtnvfre\"\\", VALUES[] = "\a\b\t\n\v\f\r\x1b\"\\";
    str_append_char(out, '"');
    for (const char *p = text, *end = text + strlen(text); p < end;) {
        uint32_t code;
        const char *known = strchr(VALUES, *p);
        const size_t size = take_code(&code, p, end);
        if (known)
            str_printf(out, "\\%c", NAMES[known - VALUES]);
        else if (code >= 0x20 && code < 0x7F)
            str_append_char(out, (char)code);
        else
            str_printf(out,
                       code < 0x100     ? "\\x%02X"
                       : code < 0x10000 ? "\\u%04X"
                                        : "\\U%08X",
                       (unsigned)code);
        p += size;
    }
    str_append_char(out, '"');
}

void yaml_append_text(str *out, const char *text)
{
    if (!is_printable(text)) {
        append_escaped(out, text);
        return;
    }
    if (is_plain(text)) {
        str_append(out, text);
        return;
    }
    str_append_char(out, '\'');
    for (; *text; text++) {
        str_append_char(out, *text);
        if (*text == '\'') str_append_char(out, '\'');
    }
    str_append_char(out, '\'');
}

void yaml_append_real(str *out, double v)
{
    char text[32];
    if (isnan(v) || isinf(v)) {
        str_append(out, isnan(v) ? ".nan" : v < 0 ? "-.inf" : ".inf");
        return;
    }
    py_double_repr(text, v);
    char *e = strchr(text, 'e');
    if (e && !strchr(text, '.')) {
        str_append_n(out, text, (size_t)(e - text));
        str_append(out, ".0");
        str_append(out, e);
    } else {
        str_append(out, text);
    }
}
