/* SPDX-License-Identifier: Apache-2.0 */
/* Splits lines of edit scripts into words as a shell does: blanks separate words, 'this' is
 * literal, "this" is literal except \" and \\, a backslash quotes the next character, # begins a
 * comment. Words remember which characters were quoted, so a name with a comma can be an item of a
 * list. */
#include <string.h>

#include "gs/script/script.h"

bool piece_push(piece_list *list, piece p, arena *a)
{
    if (list->count == list->capacity) {
        const size_t wanted = list->capacity ? 2 * list->capacity : 8;
        piece *grown = arena_alloc_array(a, wanted, sizeof *grown);
        if (!grown) return false;
        if (list->count) memcpy(grown, list->items, list->count * sizeof *grown);
        list->items = grown;
        list->capacity = wanted;
    }
    list->items[list->count++] = p;
    return true;
}

piece piece_from(piece p, size_t offset)
{
    return (piece){p.text + offset, p.quoted + offset, p.column + offset};
}

const char *piece_find(piece p, char c)
{
    for (size_t i = 0; p.text[i]; i++)
        if (p.text[i] == c && p.quoted[i] == '0') return p.text + i;
    return NULL;
}

bool piece_starts(piece p, const char *prefix)
{
    for (size_t i = 0; prefix[i]; i++)
        if (p.text[i] != prefix[i] || p.quoted[i] != '0') return false;
    return true;
}

bool piece_is(piece p, const char *text)
{
    return piece_starts(p, text) && !p.text[strlen(text)];
}

/* ---- Words ----------------------------------------------------------------------------------- */

typedef struct reader {
    const char *at, *start; /* at: next character; start: first character of the line */
    size_t lines;
    str text, quoted;
} reader;

/* True at a backslash that ends a line, so that the next line continues it. */
static bool is_joint(const char *p)
{
    return p[0] == '\\' && (p[1] == '\n' || (p[1] == '\r' && p[2] == '\n'));
}

static void skip_joint(reader *r)
{
    r->at += r->at[1] == '\r' ? 3 : 2;
    r->lines++;
}

static bool is_end(const char *p)
{
    return !*p || *p == '\n' || (*p == '\r' && p[1] == '\n');
}

static void take(reader *r, bool quoted)
{
    str_append_char(&r->text, *r->at++);
    str_append_char(&r->quoted, quoted ? '1' : '0');
}

static pgy_status read_quoted(reader *r, pgy_error *err)
{
    const char mark = *r->at;
    const size_t column = (size_t)(r->at - r->start) + 1;
    for (r->at++; *r->at != mark; take(r, true)) {
        if (is_end(r->at))
            return pgy_error_set(err, PGY_E_FORMAT, "column %zu: a %c is not closed", column, mark);
        if (mark == '"' && *r->at == '\\' && (r->at[1] == '"' || r->at[1] == '\\')) r->at++;
    }
    r->at++;
    return PGY_OK;
}

static pgy_status read_word(reader *r, pgy_error *err)
{
    str_clear(&r->text);
    str_clear(&r->quoted);
    while (!is_end(r->at) && *r->at != ' ' && *r->at != '\t' && !is_joint(r->at)) {
        if (*r->at == '\'' || *r->at == '"') {
            const pgy_status st = read_quoted(r, err);
            if (st) return st;
        } else if (*r->at == '\\' && !is_end(r->at + 1)) {
            r->at++;
            take(r, true);
        } else {
            take(r, false);
        }
    }
    return PGY_OK;
}

static pgy_status push_word(piece_list *out, const reader *r, size_t column, arena *a,
                            pgy_error *err)
{
    piece p = {.column = column};
    if (!r->text.failed && !r->quoted.failed) {
        p.text = arena_strndup(a, str_text(&r->text), r->text.size);
        p.quoted = arena_strndup(a, str_text(&r->quoted), r->quoted.size);
    }
    if (!p.text || !p.quoted || !piece_push(out, p, a)) return gs_no_memory(err);
    return PGY_OK;
}

pgy_status line_read(piece_list *out, const char **next, size_t *lines, const char *text, arena *a,
                     pgy_error *err)
{
    reader r = {.at = text, .start = text, .lines = 1};
    piece_list words = {0};
    pgy_status st = PGY_OK;
    while (!st) {
        while (*r.at == ' ' || *r.at == '\t' || is_joint(r.at)) {
            if (*r.at == '\\')
                skip_joint(&r);
            else
                r.at++;
        }
        if (*r.at == '#')
            while (!is_end(r.at)) r.at++;
        if (is_end(r.at)) break;
        const size_t column = (size_t)(r.at - text) + 1;
        st = read_word(&r, err);
        if (!st) st = push_word(&words, &r, column, a, err);
    }
    str_deinit(&r.text);
    str_deinit(&r.quoted);
    if (st) return st;
    if (*r.at == '\r') r.at++;
    if (*r.at == '\n') r.at++;
    *out = words;
    *next = r.at;
    *lines = r.lines;
    return PGY_OK;
}

/* ---- Lists ----------------------------------------------------------------------------------- */

static pgy_status push_part(piece_list *out, piece p, size_t begin, size_t end, arena *a,
                            pgy_error *err)
{
    const piece part = {arena_strndup(a, p.text + begin, end - begin),
                        arena_strndup(a, p.quoted + begin, end - begin), p.column + begin};
    if (!part.text || !part.quoted || !piece_push(out, part, a)) return gs_no_memory(err);
    return PGY_OK;
}

pgy_status piece_split(piece_list *out, piece p, arena *a, pgy_error *err)
{
    piece_list list = {0};
    size_t depth = 0, begin = 0, i = 0;
    pgy_status st = PGY_OK;
    if (p.text[0])
        for (;; i++) {
            const char c = p.quoted[i] == '1' ? 'x' : p.text[i];
            if (c == '[') depth++;
            if (c == ']' && depth) depth--;
            if (c && (c != ',' || depth)) continue;
            st = push_part(&list, p, begin, i, a, err);
            begin = i + 1;
            if (st || !c) break;
        }
    if (!st) *out = list;
    return st;
}

pgy_status piece_items(piece_list *out, piece p, arena *a, pgy_error *err)
{
    const size_t size = strlen(p.text);
    if (!piece_starts(p, "[")) return piece_split(out, p, a, err);
    if (size < 2 || p.text[size - 1] != ']' || p.quoted[size - 1] != '0')
        return pgy_error_set(err, PGY_E_FORMAT, "'%s' lacks its ']'", p.text);
    piece inner = {arena_strndup(a, p.text + 1, size - 2), arena_strndup(a, p.quoted + 1, size - 2),
                   p.column + 1};
    if (!inner.text || !inner.quoted) return gs_no_memory(err);
    return piece_split(out, inner, a, err);
}
