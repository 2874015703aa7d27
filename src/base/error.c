/* SPDX-License-Identifier: Apache-2.0 */
/* Version, names of statuses, and the text of an error. The text is one line whatever its parts
 * contain (a name in a model file may hold anything), so control characters become blanks; a text
 * that is too long ends in "...". */
#include <polygraphy/base.h>

#include <stdio.h>
#include <string.h>

const char *pgy_version(void)
{
    return PGY_VERSION;
}

const char *pgy_status_name(pgy_status status)
{
    static const char *const NAMES[] = {
        [PGY_OK] = "ok",
        [PGY_E_ARGUMENT] = "argument",
        [PGY_E_TYPE] = "type",
        [PGY_E_SHAPE] = "shape",
        [PGY_E_NOT_FOUND] = "not found",
        [PGY_E_UNSUPPORTED] = "unsupported",
        [PGY_E_FORMAT] = "format",
        [PGY_E_IO] = "io",
        [PGY_E_MEMORY] = "memory",
        [PGY_E_DEVICE] = "device",
        [PGY_E_BACKEND] = "backend",
        [PGY_E_CANCELLED] = "cancelled",
        [PGY_E_INTERNAL] = "internal",
    };
    const size_t i = (size_t)status;
    return i < sizeof NAMES / sizeof NAMES[0] ? NAMES[i] : "unknown";
}

/* Makes one clean line of text[0, capacity); `wanted` is what vsnprintf would have written. */
static void tidy(char *text, size_t capacity, int wanted)
{
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = ' ';
    if (wanted < 0 || (size_t)wanted < capacity) return;
    size_t end = capacity - 4;
    while (end > 0 && ((unsigned char)text[end] & 0xC0) == 0x80)
        end--; /* keep whole UTF-8 characters */
    memcpy(text + end, "...", 4);
}

pgy_status pgy_error_set(pgy_error *err, pgy_status status, const char *format, ...)
{
    if (!err) return status;
    char text[sizeof err->text]; /* an argument may be err->text itself */
    text[0] = '\0';
    va_list args;
    va_start(args, format);
    const int wanted = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tidy(text, sizeof text, wanted);
    memcpy(err->text, text, strlen(text) + 1);
    return status;
}

pgy_status pgy_error_prefix(pgy_error *err, pgy_status status, const char *format, ...)
{
    if (!err) return status;
    char front[sizeof err->text], text[2 * sizeof err->text];
    front[0] = '\0';
    va_list args;
    va_start(args, format);
    vsnprintf(front, sizeof front, format, args);
    va_end(args);
    const int wanted = snprintf(text, sizeof text, "%s%s", front, err->text);
    text[sizeof err->text - 1] = '\0';
    tidy(text, sizeof err->text, wanted);
    memcpy(err->text, text, strlen(text) + 1);
    return status;
}
