/* SPDX-License-Identifier: Apache-2.0 */
/* Bundles and deflates small sections, lays out the section table and writes everything in order.
 * Sections are fed twice, to the hash and to the file, so that no large one is gathered in memory.
 */
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "engine/plan/records.h"
#include "engine/plan/write.h"
#include "onnx/model.h"

enum { MAX_TABLE = PLAN_KIND_END - 1 + PLAN_MAX_SPACES };

static uint64_t round_up(uint64_t offset, uint64_t alignment)
{
    return (offset + alignment - 1) / alignment * alignment;
}

/* ---- The bytes of a section ------------------------------------------------------------------ */

typedef struct content {
    const plan_piece *pieces;
    size_t count;
    plan_area area; /* other than PLAN_AREA_PLAIN: pieces are narrowed */
    plan_piece one; /* storage for a section that is a single piece */
} content;

static void take_pool(content *c, const plan_pool *pool)
{
    c->pieces = pool->pieces;
    c->count = pool->count;
}

static void take_area(content *c, const plan_writer *w, plan_area area)
{
    take_pool(c, &w->host.pools[area]);
    c->area = area;
}

static void find_content(content *c, const plan_writer *w, uint32_t kind, uint32_t space)
{
    *c = (content){.count = 1, .pieces = &c->one};
    if (!space && w->deflated >> kind & 1)
        c->one = (plan_piece){.data = str_text(&w->small[kind]), .size_bytes = w->small[kind].size};
    else if (kind == PLAN_CONSTANTS && space)
        take_pool(c, &w->constants[space]);
    else if (kind == PLAN_CONSTANTS)
        take_area(c, w, PLAN_AREA_PLAIN);
    else if (kind == PLAN_CONSTANTS_F16)
        take_area(c, w, PLAN_AREA_F16);
    else if (kind == PLAN_CONSTANTS_BF16)
        take_area(c, w, PLAN_AREA_BF16);
    else if (kind == PLAN_WEIGHTS)
        take_pool(c, &w->weights);
    else if (kind == PLAN_PARAMS)
        take_pool(c, &w->params);
    else if (kind == PLAN_MODEL || kind == PLAN_SOURCE)
        c->one = w->models[kind - PLAN_MODEL];
    else
        c->one = (plan_piece){.data = str_text(&w->small[kind]), .size_bytes = w->small[kind].size};
    const bool weights =
        kind > PLAN_PARAMS && kind < PLAN_BUNDLE && kind != PLAN_MODEL && kind != PLAN_SOURCE;
    if (w->source->stripped && weights) c->count = 0;
}

typedef pgy_status (*taker)(void *user, const void *data, size_t size, pgy_error *err);

static const char ZEROS[PLAN_BULK_ALIGN];

static pgy_status feed_narrowed(const plan_piece *piece, plan_area area, taker take, void *user,
                                pgy_error *err)
{
    enum { CHUNK = 8192 };
    const float *words = piece->data;
    const uint64_t count = piece->size_bytes / sizeof *words;
    uint16_t narrow[CHUNK];
    pgy_status st = PGY_OK;
    for (uint64_t i = 0; !st && i < count; i += CHUNK) {
        const size_t part = count - i < CHUNK ? (size_t)(count - i) : CHUNK;
        area_narrow(narrow, words + i, part, area);
        st = take(user, narrow, part * sizeof *narrow, err);
    }
    return st;
}

/* Gives back pages of the models' files from time to time: pieces may lie there. */
static void give_back(uint64_t *read_bytes, const plan_writer *w, uint64_t size_bytes)
{
    enum { TURN_BYTES = 64 << 20 };
    *read_bytes += size_bytes;
    if (*read_bytes < TURN_BYTES) return;
    *read_bytes = 0;
    model_forget_pages(w->source->model);
    if (w->source->original) model_forget_pages(w->source->original);
}

static pgy_status feed(const content *c, const plan_writer *w, taker take, void *user,
                       pgy_error *err)
{
    const uint64_t divisor = c->area ? 2 : 1;
    uint64_t done = 0, read_bytes = 0;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < c->count; i++) {
        const plan_piece *piece = &c->pieces[i];
        const uint64_t start = area_place(piece->offset) / divisor;
        give_back(&read_bytes, w, piece->size_bytes);
        if (start > done) st = take(user, ZEROS, (size_t)(start - done), err);
        if (!st && c->area)
            st = feed_narrowed(piece, c->area, take, user, err);
        else if (!st && piece->size_bytes)
            st = take(user, piece->data, piece->size_bytes, err);
        done = start + piece->size_bytes / divisor;
    }
    return st;
}

static uint64_t content_bytes(const content *c)
{
    if (!c->count) return 0;
    const plan_piece *last = &c->pieces[c->count - 1];
    return (area_place(last->offset) + last->size_bytes) / (c->area ? 2 : 1);
}

/* ---- Deflated sections ----------------------------------------------------------------------- */

static pgy_status append(void *user, const void *data, size_t size, pgy_error *err)
{
    str *to = user;
    str_append_n(to, data, size);
    return to->failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory while writing the plan")
                      : PGY_OK;
}

/* Appends the deflated bytes. False: out of memory. */
static bool deflate_bytes(str *to, const str *raw)
{
    const uint64_t raw_bytes = raw->size;
    uLongf size = compressBound((uLong)raw->size);
    str_append_n(to, (const char *)&raw_bytes, sizeof raw_bytes);
    str_append_fill(to, 0, size);
    if (to->failed) return false;
    Bytef *at = (Bytef *)to->data + sizeof raw_bytes;
    if (compress2(at, &size, (const Bytef *)raw->data, (uLong)raw->size, Z_BEST_COMPRESSION) !=
        Z_OK)
        return false;
    to->size = sizeof raw_bytes + size;
    return true;
}

/* Deflates `raw` as the section of its kind, unless the result has more than `limit` bytes. */
static pgy_status deflate_into(plan_writer *w, uint32_t kind, const str *raw, size_t limit,
                               pgy_error *err)
{
    str packed = {0};
    if (!deflate_bytes(&packed, raw)) {
        str_deinit(&packed);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory while writing the plan");
    }
    if (packed.size <= limit) {
        str_deinit(&w->small[kind]);
        w->small[kind] = packed;
        w->deflated |= UINT64_C(1) << kind;
    } else {
        str_deinit(&packed);
    }
    return PGY_OK;
}

static pgy_status deflate_section(plan_writer *w, uint32_t kind, pgy_error *err)
{
    content c;
    str raw = {0};
    find_content(&c, w, kind, 0);
    const uint64_t size = content_bytes(&c);
    if (w->bundled >> kind & 1 || !size || size > PLAN_MAX_DEFLATED) return PGY_OK;
    pgy_status st = feed(&c, w, append, &raw, err);
    /* Inflating costs time, and weights save little. */
    if (!st) st = deflate_into(w, kind, &raw, size - size / 4, err);
    str_deinit(&raw);
    return st;
}

/* Bytes up to which a section joins the bundle: all records and the graph of a small model, but no
 * weights of note. Weights save little, and large sections take time to be put in order. */
static uint64_t most_bundled(uint32_t kind)
{
    enum { WEIGHTS = 8 << 10, OTHERS = 32 << 10 };
    return kind > PLAN_PARAMS && kind != PLAN_MODEL && kind != PLAN_SOURCE ? WEIGHTS : OTHERS;
}

/* Adds the record of a section to the bundle if the section is small and there is room. */
static void choose_bundled(plan_writer *w, str *records, uint64_t *room, uint32_t kind)
{
    content c;
    find_content(&c, w, kind, 0);
    const uint64_t size = content_bytes(&c),
                   taken = sizeof(plan_bundled) + round_up(size, PLAN_ALIGN);
    if (size > most_bundled(kind) || taken > *room || (kind > PLAN_SOURCE && !c.count)) return;
    const plan_bundled b = {.kind = kind, .size_bytes = (uint32_t)size};
    str_append_n(records, (const char *)&b, sizeof b);
    w->bundled |= UINT64_C(1) << kind;
    *room -= taken;
}

static pgy_status add_bundled(str *to, const plan_writer *w, uint32_t kind, pgy_error *err)
{
    content c;
    str section = {0};
    find_content(&c, w, kind, 0);
    pgy_status st = feed(&c, w, append, &section, err);
    str_append_fill(to, 0, (size_t)(round_up(to->size, PLAN_ALIGN) - to->size));
    const size_t start = to->size, record_bytes = plan_record_bytes(kind);
    if (!st) str_append_fill(to, 0, section.size);
    if (!st && to->failed)
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while writing the plan");
    if (!st && section.size)
        plan_shuffle(to->data + start, section.data, record_bytes, section.size / record_bytes);
    str_deinit(&section);
    return st;
}

/* Small sections are deflated as one: they have much in common, and need no place in the table. */
static pgy_status bundle_sections(plan_writer *w, pgy_error *err)
{
    const plan_bundled end = {0};
    uint64_t room = PLAN_MAX_DEFLATED - PLAN_ALIGN - sizeof end;
    str raw = {0};
    for (uint32_t kind = 1; kind < PLAN_BUNDLE; kind++) choose_bundled(w, &raw, &room, kind);
    str_append_n(&raw, (const char *)&end, sizeof end);
    pgy_status st = PGY_OK;
    for (uint32_t kind = 1; !st && kind < PLAN_BUNDLE; kind++)
        if (w->bundled >> kind & 1) st = add_bundled(&raw, w, kind, err);
    if (!st) st = deflate_into(w, PLAN_BUNDLE, &raw, SIZE_MAX, err);
    str_deinit(&raw);
    return st;
}

static pgy_status deflate_sections(plan_writer *w, pgy_error *err)
{
    pgy_status st = bundle_sections(w, err);
    for (uint32_t kind = 1; !st && kind < PLAN_BUNDLE; kind++) st = deflate_section(w, kind, err);
    return st;
}

/* ---- The section table ----------------------------------------------------------------------- */

static pgy_status add_to_hash(void *user, const void *data, size_t size, pgy_error *err)
{
    (void)err;
    hash_stream_add(user, data, size);
    return PGY_OK;
}

static void add_section(plan_header *h, plan_section *table, const plan_writer *w, uint32_t kind,
                        uint32_t space)
{
    plan_section *s = &table[h->section_count];
    content c;
    hash_stream hash;
    find_content(&c, w, kind, space);
    if ((!space && w->bundled >> kind & 1) || (kind > PLAN_SOURCE && !c.count)) return;
    hash_stream_start(&hash);
    (void)feed(&c, w, add_to_hash, &hash, NULL);
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->space = space;
    s->version = 1;
    s->flags = !space && w->deflated >> kind & 1 ? PLAN_DEFLATED : 0;
    s->size_bytes = hash.total;
    s->hash = hash_stream_finish(&hash);
    h->section_count++;
}

static void lay_out(plan_header *h, plan_section *table, const plan_writer *w)
{
    memset(h, 0, sizeof *h);
    memcpy(h->magic, PLAN_MAGIC, sizeof h->magic);
    h->major = PLAN_MAJOR;
    h->minor = PLAN_MINOR;
    h->cpu_level = (uint32_t)w->needs;
    for (uint32_t kind = 1; kind < PLAN_KIND_END; kind++) add_section(h, table, w, kind, 0);
    for (uint32_t space = 1; space < w->space_count; space++)
        add_section(h, table, w, PLAN_CONSTANTS, space);
    h->header_bytes = (uint32_t)(sizeof *h + h->section_count * sizeof *table);
    uint64_t end = h->header_bytes;
    for (uint32_t i = 0; i < h->section_count; i++) {
        const bool bulk = table[i].size_bytes >= PLAN_BULK_BYTES;
        table[i].offset = round_up(end, bulk ? PLAN_BULK_ALIGN : PLAN_ALIGN);
        end = table[i].offset + table[i].size_bytes;
    }
    h->file_bytes = round_up(end, PLAN_PAGE);
}

/* Hash of the header, with its hash field as 0, and of the section table. */
static uint64_t hash_header(const plan_header *h, const plan_section *table)
{
    plan_header clean = *h;
    clean.hash = 0;
    return hash_xxh64(table, h->section_count * sizeof *table, hash_xxh64(&clean, sizeof clean, 0));
}

/* ---- The file ------------------------------------------------------------------------------- */

/* Output of the writer: a file, or memory of the right size. */
typedef struct sink {
    file_writer *file;
    unsigned char *data;
    uint64_t size_bytes;
} sink;

static pgy_status put_bytes(void *user, const void *data, size_t size, pgy_error *err)
{
    sink *to = user;
    if (!size) return PGY_OK;
    if (to->data) memcpy(to->data + to->size_bytes, data, size);
    to->size_bytes += size;
    return to->file ? file_writer_write(to->file, data, size, err) : PGY_OK;
}

static pgy_status put_plan(sink *to, const plan_header *header, const plan_section *table,
                           const plan_writer *w, pgy_error *err)
{
    pgy_status st = put_bytes(to, header, sizeof *header, err);
    if (!st) st = put_bytes(to, table, header->section_count * sizeof *table, err);
    for (uint32_t i = 0; !st && i < header->section_count; i++) {
        content c;
        find_content(&c, w, table[i].kind, table[i].space);
        st = put_bytes(to, ZEROS, (size_t)(table[i].offset - to->size_bytes), err);
        if (!st) st = feed(&c, w, put_bytes, to, err);
    }
    if (!st) st = put_bytes(to, ZEROS, (size_t)(header->file_bytes - to->size_bytes), err);
    return st;
}

pgy_status plan_write_file(const char *path, void **data, size_t *size, plan_writer *w,
                           pgy_error *err)
{
    plan_header header;
    plan_section table[MAX_TABLE];
    sink to = {0};
    pgy_status st = deflate_sections(w, err);
    if (st) return st;
    lay_out(&header, table, w);
    header.hash = hash_header(&header, table);
    if (path) {
        st = file_writer_create(&to.file, path, err);
        if (!st) st = put_plan(&to, &header, table, w, err);
        if (!st) st = file_writer_commit(to.file, err);
        file_writer_destroy(to.file);
        return st;
    }
    to.data = mem_alloc(header.file_bytes);
    if (!to.data) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a plan");
    st = put_plan(&to, &header, table, w, err);
    if (st) {
        mem_free(to.data);
        return st;
    }
    *data = to.data;
    *size = header.file_bytes;
    return PGY_OK;
}
