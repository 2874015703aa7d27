/* SPDX-License-Identifier: Apache-2.0 */
/* Version, names of statuses, and the text of an error. The text is one printable line whatever its
 * parts contain (a name in a model file may hold anything): white space becomes blanks, and other
 * unprintable bytes become escapes. A text that is too long ends in "...". */
#include <polygraphy/base.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "base/printable.h"

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

/* Puts "..." at the end of a text that fills its buffer, without cutting a UTF-8 character. */
static void cut(char *text, size_t capacity)
{
    size_t end = capacity - 4;
    while (end > 0 && ((unsigned char)text[end] & 0xC0) == 0x80) end--;
    memcpy(text + end, "...", 4);
}

/* Escapes are longer than the bytes they replace, so they need memory; without it, blanks replace
 * the bytes. */
static void escape(char *text, size_t capacity)
{
    str clean = {0};
    str_append_printable(&clean, text, strlen(text), "");
    if (!clean.failed) {
        const bool whole = clean.size < capacity;
        const size_t size = whole ? clean.size : capacity - 1;
        memcpy(text, str_text(&clean), size);
        text[size] = '\0';
        if (!whole) cut(text, capacity);
    } else {
        for (char *p = text; *p; p++)
            if ((unsigned char)*p < 0x20 || (unsigned char)*p > 0x7e) *p = ' ';
    }
    str_deinit(&clean);
}

/* Makes one clean line of text[0, capacity); `wanted` is what vsnprintf would have written. */
static void tidy(char *text, size_t capacity, int wanted)
{
    for (char *p = text; *p; p++)
        if (strchr("\t\n\v\f\r", *p)) *p = ' ';
    if (wanted >= 0 && (size_t)wanted >= capacity) cut(text, capacity);
    if (!is_printable(text, strlen(text), "")) escape(text, capacity);
}

/* Adds the size of a refused block to the next memory error, whatever function reports it.
 * @return the size of the text, which may be more than there is room for, as vsnprintf */
static int add_refused(char *text, size_t capacity, int size)
{
    const size_t refused = mem_take_refused();
    if (!refused || size < 0 || (size_t)size >= capacity) return size;
    return size + snprintf(text + size, capacity - (size_t)size,
                           " (%zu bytes more than the %zu in use exceed %s)", refused,
                           mem_counted_bytes(), memory_limit_describe().text);
}

pgy_status pgy_error_set(pgy_error *err, pgy_status status, const char *format, ...)
{
    if (!err) return status;
    char text[sizeof err->text]; /* an argument may be err->text itself */
    text[0] = '\0';
    va_list args;
    va_start(args, format);
    int wanted = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (status == PGY_E_MEMORY) wanted = add_refused(text, sizeof text, wanted);
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
    if (front[0] && strncmp(err->text, front, strlen(front)) == 0) return status;
    const int wanted = snprintf(text, sizeof text, "%s%s", front, err->text);
    text[sizeof err->text - 1] = '\0';
    tidy(text, sizeof err->text, wanted);
    memcpy(err->text, text, strlen(text) + 1);
    return status;
}

pgy_status str_give(char **out, str *s, pgy_error *err)
{
    char *text = str_take(s);
    if (!text) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    *out = text;
    return PGY_OK;
}
