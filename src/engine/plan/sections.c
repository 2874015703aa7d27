/* SPDX-License-Identifier: Apache-2.0 */
/* The header and the section table of a plan, and the contents of its sections: large ones are used
 * where they are mapped; when a plan is opened, deflated ones are inflated and 16-bit constants are
 * widened.
 */
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "engine/plan/file.h"
#include "engine/plan/records.h"

pgy_status plan_damaged(pgy_error *err, const char *what)
{
    return pgy_error_set(err, PGY_E_FORMAT, "the plan is damaged: %s", what);
}

/* ---- The header and the table ---------------------------------------------------------------- */

static pgy_status check_header(const plan_header *h, size_t size, bool trusted, pgy_error *err)
{
    if (h->major < PLAN_OLDEST_MAJOR || h->major > PLAN_MAJOR)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "the plan has format version %u.%u, but this library (%s) reads "
                             "versions %d to %d: convert the model again",
                             h->major, h->minor, pgy_version(), PLAN_OLDEST_MAJOR, PLAN_MAJOR);
    if (h->file_bytes != size)
        return pgy_error_set(
            err, PGY_E_FORMAT,
            "the plan is damaged: its header says %llu bytes, but the file has %zu",
            (unsigned long long)h->file_bytes, size);
    if (h->section_count > PLAN_MAX_SECTIONS ||
        h->header_bytes != sizeof *h + h->section_count * sizeof(plan_section) ||
        h->header_bytes > size)
        return plan_damaged(err, "its section table exceeds the header or the file");
    plan_header clean = *h;
    clean.hash = 0;
    const uint64_t hash = hash_xxh64(h + 1, h->section_count * sizeof(plan_section),
                                     hash_xxh64(&clean, sizeof clean, 0));
    return !trusted && hash != h->hash ? plan_damaged(err, "the checksum of its header differs")
                                       : PGY_OK;
}

static pgy_status check_hash(const plan_file *p, const plan_section *s, pgy_error *err)
{
    if (hash_xxh64(p->data + s->offset, s->size_bytes, 0) == s->hash) return PGY_OK;
    return pgy_error_set(err, PGY_E_FORMAT,
                         "the plan is damaged: the checksum of section %u differs", s->kind);
}

static pgy_status take_section(plan_file *p, const plan_section *s, pgy_error *err)
{
    const bool bulk = s->kind >= PLAN_CONSTANTS && s->kind != PLAN_BUNDLE && s->size_bytes;
    if (s->offset > p->size || s->size_bytes > p->size - s->offset)
        return plan_damaged(err, "a section exceeds the file");
    if (!s->kind || s->kind >= PLAN_KIND_END) {
        if (s->flags & PLAN_OPTIONAL) return PGY_OK;
        return pgy_error_set(
            err, PGY_E_UNSUPPORTED,
            "the plan has a section of kind %u, which this library (%s) does not know", s->kind,
            pgy_version());
    }
    if (s->version != 1)
        return pgy_error_set(
            err, PGY_E_UNSUPPORTED,
            "section %u of the plan has version %u, but this library (%s) reads version 1", s->kind,
            s->version, pgy_version());
    if (s->offset % PLAN_ALIGN ||
        (bulk && s->size_bytes >= PLAN_BULK_BYTES && s->offset % PLAN_BULK_ALIGN))
        return plan_damaged(err, "a section is not aligned");
    if (s->space >= PLAN_MAX_SPACES || (s->space && s->kind != PLAN_CONSTANTS))
        return plan_damaged(err, "a section names an unknown device");
    if (s->flags & PLAN_DEFLATED && s->space)
        return plan_damaged(err, "the constants of a device are deflated");
    if (s->space ? p->constants[s->space] != NULL : p->sections[s->kind] != NULL)
        return plan_damaged(err, "a section occurs twice");
    if (s->space)
        p->constants[s->space] = s;
    else
        p->sections[s->kind] = s;
    return bulk || p->trusted ? PGY_OK : check_hash(p, s, err);
}

/* ---- Their contents ------------------------------------------------------------------------- */

/* Memory for the contents of a section that is not used where it is mapped. */
static pgy_status own_section(unsigned char **to, plan_file *p, uint32_t kind, uint64_t size,
                              pgy_error *err)
{
    if (!size || size > PLAN_MAX_DEFLATED)
        return plan_damaged(err, "the size of a deflated section is out of range");
    *to = mem_alloc_aligned(PLAN_ALIGN, size);
    if (!*to) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while opening the plan");
    p->at[kind] = p->owned[kind] = *to;
    p->counts[kind] = size;
    return PGY_OK;
}

static pgy_status inflate_section(plan_file *p, const plan_section *s, pgy_error *err)
{
    const unsigned char *from = p->data + s->offset;
    uint64_t raw_bytes = 0;
    unsigned char *raw = NULL;
    if (s->size_bytes < sizeof raw_bytes) return plan_damaged(err, "a deflated section is cut off");
    memcpy(&raw_bytes, from, sizeof raw_bytes);
    const pgy_status st = own_section(&raw, p, s->kind, raw_bytes, err);
    uLongf size = (uLongf)raw_bytes;
    if (st) return st;
    if (uncompress(raw, &size, from + sizeof raw_bytes,
                   (uLong)(s->size_bytes - sizeof raw_bytes)) != Z_OK ||
        size != raw_bytes)
        return plan_damaged(err, "a deflated section cannot be inflated to its size");
    return PGY_OK;
}

/* A bundle that is not deflated: its records will be put in order, in memory of our own. */
static pgy_status copy_section(plan_file *p, const plan_section *s, pgy_error *err)
{
    unsigned char *raw = NULL;
    const pgy_status st = own_section(&raw, p, s->kind, s->size_bytes, err);
    if (!st) memcpy(raw, p->data + s->offset, s->size_bytes);
    return st;
}

static pgy_status count_records(plan_file *p, uint32_t kind, pgy_error *err)
{
    const size_t record_bytes = plan_record_bytes(kind);
    if (p->counts[kind] % record_bytes)
        return plan_damaged(err, "the size of a section is not a multiple of its record size");
    p->counts[kind] /= record_bytes;
    return PGY_OK;
}

static pgy_status find_records(plan_file *p, uint32_t kind, pgy_error *err)
{
    const plan_section *s = p->sections[kind];
    pgy_status st = PGY_OK;
    if (s->flags & PLAN_DEFLATED) {
        st = inflate_section(p, s, err);
    } else if (kind == PLAN_BUNDLE) {
        st = copy_section(p, s, err);
    } else {
        p->at[kind] = p->data + s->offset;
        p->counts[kind] = s->size_bytes;
    }
    return st ? st : count_records(p, kind, err);
}

/* Puts the records of a bundled section in order. `copy` has room for them. */
static pgy_status find_bundled(plan_file *p, const plan_bundled *b, uint64_t offset, void *copy,
                               pgy_error *err)
{
    const uint64_t size = p->counts[PLAN_BUNDLE];
    unsigned char *at = (unsigned char *)p->owned[PLAN_BUNDLE] + offset;
    if (b->kind >= PLAN_BUNDLE)
        return plan_damaged(err, "its bundle has a section of an unknown kind");
    if (p->at[b->kind]) return plan_damaged(err, "a section occurs twice");
    if (offset > size || b->size_bytes > size - offset)
        return plan_damaged(err, "a section exceeds its bundle");
    p->at[b->kind] = at;
    p->counts[b->kind] = b->size_bytes;
    const pgy_status st = count_records(p, b->kind, err);
    if (st || plan_record_bytes(b->kind) == 1) return st;
    memcpy(copy, at, b->size_bytes);
    plan_unshuffle(at, copy, plan_record_bytes(b->kind), p->counts[b->kind]);
    return PGY_OK;
}

static pgy_status find_bundle(plan_file *p, pgy_error *err)
{
    const plan_bundled *records = p->at[PLAN_BUNDLE];
    const uint64_t size = p->counts[PLAN_BUNDLE], most = size / sizeof *records;
    size_t count = 0;
    if (!records) return PGY_OK;
    while (count < most && records[count].kind) count++;
    if (count == most) return plan_damaged(err, "the list of sections in its bundle has no end");
    void *copy = mem_alloc(size);
    if (!copy) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while opening the plan");
    uint64_t offset = (count + 1) * sizeof *records;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i++) {
        offset = (offset + PLAN_ALIGN - 1) / PLAN_ALIGN * PLAN_ALIGN;
        st = find_bundled(p, &records[i], offset, copy, err);
        offset += records[i].size_bytes;
    }
    mem_free(copy);
    return st;
}

static pgy_status find_area(plan_file *p, plan_area area, uint32_t kind, pgy_error *err)
{
    if (p->counts[kind] % sizeof(uint16_t))
        return plan_damaged(err, "its 16-bit constants end within a number");
    const bool mapped = p->map.data && p->sections[kind] && !p->owned[kind];
    return area_widen(&p->host.at[area], mapped ? &p->map : NULL, p->at[kind], p->counts[kind],
                      area, err);
}

pgy_status plan_take_sections(plan_file *p, pgy_error *err)
{
    const plan_section *table = (const plan_section *)(p->header + 1);
    pgy_status st = check_header(p->header, p->size, p->trusted, err);
    for (uint32_t i = 0; !st && i < p->header->section_count; i++)
        st = take_section(p, &table[i], err);
    for (uint32_t i = 1; !st && i < PLAN_KIND_END; i++)
        if (p->sections[i]) st = find_records(p, i, err);
    if (!st) st = find_bundle(p, err);
    for (uint32_t i = 1; !st && i <= PLAN_SOURCE; i++)
        if (!p->at[i]) st = plan_damaged(err, "a section is missing");
    if (st) return st;
    const size_t texts = p->counts[PLAN_STRINGS];
    if (!texts || ((const char *)p->at[PLAN_STRINGS])[texts - 1])
        return plan_damaged(err, "its strings do not end in a zero byte");
    if (p->counts[PLAN_INFO] != 1) return plan_damaged(err, "its description is missing");
    p->host.at[PLAN_AREA_PLAIN] = (pgy_bytes){p->at[PLAN_CONSTANTS], p->counts[PLAN_CONSTANTS]};
    st = find_area(p, PLAN_AREA_F16, PLAN_CONSTANTS_F16, err);
    return st ? st : find_area(p, PLAN_AREA_BF16, PLAN_CONSTANTS_BF16, err);
}

pgy_status plan_verify(const plan_file *p, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 1; !st && i < PLAN_KIND_END; i++)
        if (p->sections[i]) st = check_hash(p, p->sections[i], err);
    for (size_t i = 1; !st && i < p->counts[PLAN_SPACES]; i++)
        st = check_hash(p, p->constants[i], err);
    return st;
}
