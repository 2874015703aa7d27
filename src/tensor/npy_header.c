/* SPDX-License-Identifier: Apache-2.0 */
/* The header of .npy: a magic, a version, a length and a Python dict literal with the three keys
 * 'descr', 'fortran_order' and 'shape'. The parser accepts only the literals that NumPy writes
 * (strings, True and False, tuples of integers); structured and object types are refused. Writing
 * gives NumPy's own bytes: version 1.0, room for one axis to grow to 21 digits, then padding that
 * puts the elements at a multiple of 64. */
#include <string.h>

#include "base/alloc.h"
#include "tensor/npy.h"

enum { MAGIC_SIZE = 6, GROWTH_DIGITS = 21, DATA_ALIGNMENT = 64, MAX_HEADER = 1 << 20 };
static const char MAGIC[] = "\x93NUMPY";

typedef struct parser {
    const char *p, *end;
    npy_header *out;
    bool has_descr, has_order, has_shape;
} parser;

static void skip_space(parser *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\t' || *s->p == '\r'))
        s->p++;
}

/* Skips blanks, then takes one character if it is c. */
static bool take(parser *s, char c)
{
    skip_space(s);
    if (s->p >= s->end || *s->p != c) return false;
    s->p++;
    return true;
}

static bool take_word(parser *s, const char *word)
{
    size_t size = strlen(word);
    skip_space(s);
    if ((size_t)(s->end - s->p) < size || memcmp(s->p, word, size)) return false;
    s->p += size;
    return true;
}

static bool take_string(parser *s, span *out)
{
    skip_space(s);
    if (s->p >= s->end || (*s->p != '\'' && *s->p != '"')) return false;
    const char *begin = s->p + 1, *quote = memchr(begin, *s->p, (size_t)(s->end - begin));
    if (!quote) return false;
    *out = (span){begin, (size_t)(quote - begin)};
    s->p = quote + 1;
    return true;
}

static bool take_dim(parser *s, int64_t *out)
{
    int64_t value = 0;
    skip_space(s);
    const char *begin = s->p;
    for (; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++)
        if (!i64_mul(&value, value, 10) || !i64_add(&value, value, *s->p - '0')) return false;
    if (s->p == begin) return false;
    if (s->p < s->end && *s->p == 'L') s->p++; /* suffix of Python 2's long integers */
    *out = value;
    return true;
}

static bool take_shape(parser *s)
{
    if (!take(s, '(')) return false;
    for (s->out->rank = 0; !take(s, ')');) {
        if (s->out->rank == PGY_MAX_RANK || !take_dim(s, &s->out->shape[s->out->rank++]))
            return false;
        if (!take(s, ',') && !(take(s, ')') && s->out->rank > 1)) return false;
        if (s->p[-1] == ')') break;
    }
    return true;
}

/* Reads the type of the elements: "<f4", "|b1", ">U12". */
static pgy_status parse_descr(npy_header *out, span descr, pgy_error *err)
{
    const char *p = descr.data, *end = p + descr.size;
    const pgy_dtype_info *types;
    bool has_order = p < end && strchr("<>=|", *p);
    out->big_endian = has_order && *p == '>';
    p += has_order;
    span code = {p, (size_t)(end - p)};
    size_t count = pgy_dtype_list(&types);
    for (size_t i = 0; i < count; i++)
        if (types[i].npy && span_equals(code, types[i].npy)) {
            out->dtype = types[i].dtype;
            return PGY_OK;
        }
    if (code.size && (*p == 'U' || *p == 'S')) {
        parser digits = {.p = p + 1, .end = end};
        int64_t width;
        out->dtype = PGY_STRING;
        out->wide = *p == 'U';
        if (take_dim(&digits, &width) && digits.p == end && width <= INT32_MAX) {
            out->string_width = (size_t)width;
            return PGY_OK;
        }
    }
    if (code.size && *p == 'O')
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "npy: the array holds pickled Python objects, which are not read");
    return pgy_error_set(err, PGY_E_UNSUPPORTED, "npy: element type '%.*s' is unknown",
                         (int)(descr.size < 80 ? descr.size : 80), descr.data);
}

static pgy_status bad_header(const parser *s, const char *wanted, pgy_error *err)
{
    int left = s->end - s->p < 40 ? (int)(s->end - s->p) : 40;
    return pgy_error_set(err, PGY_E_FORMAT,
                         "npy: the header is malformed: expected %s before '%.*s'", wanted, left,
                         s->p);
}

static pgy_status parse_entry(parser *s, pgy_error *err)
{
    span key, descr;
    if (!take_string(s, &key) || !take(s, ':')) return bad_header(s, "a key and a colon", err);
    if (span_equals(key, "descr")) {
        s->has_descr = true;
        skip_space(s);
        if (s->p < s->end && *s->p == '[')
            return pgy_error_set(err, PGY_E_UNSUPPORTED,
                                 "npy: structured element types are not supported");
        if (!take_string(s, &descr)) return bad_header(s, "an element type", err);
        return parse_descr(s->out, descr, err);
    }
    if (span_equals(key, "fortran_order")) {
        s->has_order = true;
        s->out->fortran = take_word(s, "True");
        return s->out->fortran || take_word(s, "False") ? PGY_OK
                                                        : bad_header(s, "True or False", err);
    }
    if (!span_equals(key, "shape"))
        return pgy_error_set(err, PGY_E_FORMAT, "npy: the header has the unknown key '%.*s'",
                             (int)(key.size < 80 ? key.size : 80), key.data);
    s->has_shape = true;
    return take_shape(s) ? PGY_OK : bad_header(s, "a tuple of dimensions", err);
}

static pgy_status parse_dict(parser *s, pgy_error *err)
{
    if (!take(s, '{')) return bad_header(s, "'{'", err);
    while (!take(s, '}')) {
        pgy_status st = parse_entry(s, err);
        if (st) return st;
        if (take(s, ',')) continue;
        if (!take(s, '}')) return bad_header(s, "',' or '}'", err);
        break;
    }
    skip_space(s);
    if (s->p != s->end) return bad_header(s, "the end", err);
    if (!s->has_descr || !s->has_order || !s->has_shape)
        return pgy_error_set(err, PGY_E_FORMAT, "npy: the header lacks '%s'",
                             !s->has_descr   ? "descr"
                             : !s->has_order ? "fortran_order"
                                             : "shape");
    return PGY_OK;
}

static pgy_status count_bytes(npy_header *h, pgy_error *err)
{
    size_t item = h->wide ? h->string_width * 4 : h->string_width;
    pgy_status st = pgy_shape_count(&h->count, h->rank, h->shape, err);
    if (st) return pgy_error_prefix(err, st, "npy: ");
    if (h->dtype == PGY_STRING && !item && h->count)
        return pgy_error_set(err, PGY_E_FORMAT, "npy: the header says %zu strings of width 0",
                             h->count);
    if (h->dtype == PGY_STRING)
        return size_mul(&h->data_bytes, h->count, item)
                   ? PGY_OK
                   : pgy_error_set(err, PGY_E_SHAPE, "npy: %zu strings of %zu bytes are too many",
                                   h->count, item);
    st = pgy_dtype_size_bytes(&h->data_bytes, h->dtype, h->count, err);
    return st ? pgy_error_prefix(err, st, "npy: ") : PGY_OK;
}

pgy_status npy_header_parse(npy_header *out, const void *data, size_t size_bytes, pgy_error *err)
{
    const uint8_t *bytes = data;
    npy_header h = {0};
    if (size_bytes < MAGIC_SIZE + 4 || memcmp(bytes, MAGIC, MAGIC_SIZE))
        return pgy_error_set(err, PGY_E_FORMAT,
                             "npy: the file does not begin with the magic bytes of an npy file");
    unsigned version = bytes[6];
    if (version < 1 || version > 3)
        return pgy_error_set(err, PGY_E_UNSUPPORTED, "npy: format version %u.%u is unknown",
                             version, bytes[7]);
    size_t begin = version == 1 ? 10 : 12, length = bytes[8] | (size_t)bytes[9] << 8;
    if (version > 1 && size_bytes >= begin)
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (length > MAX_HEADER)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "npy: the header has %zu bytes; at most %d are supported", length,
                             (int)MAX_HEADER);
    if (begin + length > size_bytes)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "npy: the header has %zu bytes, but the file ends after %zu", length,
                             size_bytes);
    parser s = {
        .p = (const char *)bytes + begin, .end = (const char *)bytes + begin + length, .out = &h};
    pgy_status st = parse_dict(&s, err);
    if (st) return st;
    h.data_offset = begin + length;
    st = count_bytes(&h, err);
    if (st) return st;
    *out = h;
    return PGY_OK;
}

static pgy_status append_descr(str *text, pgy_dtype dtype, size_t string_width, pgy_error *err)
{
    const pgy_dtype_info *info = pgy_dtype_describe(dtype);
    if (dtype == PGY_STRING)
        str_printf(text, "<U%zu", string_width);
    else if (!info->npy)
        return pgy_error_set(err, PGY_E_TYPE, "npy: NumPy has no element type %s", info->name);
    else
        str_printf(text, "%c%s", info->bits == 8 ? '|' : '<', info->npy);
    return PGY_OK;
}

static size_t append_shape(str *text, size_t rank, const int64_t *shape)
{
    size_t before = text->size;
    str_append_char(text, '(');
    for (size_t i = 0; i < rank; i++)
        str_printf(text, "%s%lld", i ? ", " : "", (long long)shape[i]);
    str_append(text, rank == 1 ? ",)" : ")");
    if (!rank || text->failed) return 0;
    size_t digits = strspn(text->data + before + 1, "0123456789");
    return digits < GROWTH_DIGITS ? GROWTH_DIGITS - digits : 0;
}

pgy_status npy_header_write(str *out, pgy_dtype dtype, size_t string_width, size_t rank,
                            const int64_t *shape, pgy_error *err)
{
    str text = {0};
    str_append(&text, "{'descr': '");
    pgy_status st = append_descr(&text, dtype, string_width, err);
    if (st) goto done;
    str_append(&text, "', 'fortran_order': False, 'shape': ");
    size_t growth = append_shape(&text, rank, shape);
    str_append(&text, ", }");
    str_append_fill(&text, ' ', growth);
    str_append_fill(&text, ' ', DATA_ALIGNMENT - (MAGIC_SIZE + 4 + text.size + 1) % DATA_ALIGNMENT);
    str_append_char(&text, '\n');
    if (text.size > UINT16_MAX) {
        st = pgy_error_set(err, PGY_E_SHAPE, "npy: a header of %zu bytes is too long", text.size);
        goto done;
    }
    str_append_n(out, MAGIC, MAGIC_SIZE);
    str_append_n(out, "\x01\x00", 2);
    str_append_char(out, (char)(text.size & 0xff));
    str_append_char(out, (char)(text.size >> 8));
    str_append_n(out, text.data, text.failed ? 0 : text.size);
    if (text.failed || out->failed) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
done:
    str_deinit(&text);
    return st;
}
