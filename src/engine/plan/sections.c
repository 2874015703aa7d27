/* SPDX-License-Identifier: Apache-2.0 */
/* The header and the section table of a plan, and the contents of its sections: most are used where
 * they are mapped; deflated ones are inflated and 16-bit constants are widened when it is opened.
 */
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "engine/plan/file.h"

/* Indexed by kind: the size of one record of the section; 0: the section holds bytes. */
static const size_t RECORD_BYTES[PLAN_KIND_END] = {
    [PLAN_INFO] = sizeof(plan_info_record), [PLAN_SETTINGS] = sizeof(plan_setting),
    [PLAN_VALUES] = sizeof(plan_value),     [PLAN_DIMS] = sizeof(plan_dim),
    [PLAN_PROFILES] = sizeof(plan_profile), [PLAN_RANGES] = sizeof(plan_range),
    [PLAN_SPACES] = sizeof(plan_space),     [PLAN_ARENAS] = sizeof(plan_arena),
    [PLAN_PROGRAMS] = sizeof(plan_program), [PLAN_TENSORS] = sizeof(plan_tensor),
    [PLAN_SHAPES] = sizeof(int64_t),        [PLAN_STEPS] = sizeof(plan_step),
    [PLAN_REFS] = sizeof(uint32_t),         [PLAN_MARKS] = sizeof(plan_mark),
};

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
    const bool bulk = s->kind >= PLAN_CONSTANTS && s->size_bytes;
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
    if (!s->space) p->sections[s->kind] = s;
    if (s->kind == PLAN_CONSTANTS) p->constants[s->space] = s;
    return bulk || p->trusted ? PGY_OK : check_hash(p, s, err);
}

/* ---- Their contents ------------------------------------------------------------------------- */

static pgy_status inflate_section(plan_file *p, const plan_section *s, pgy_error *err)
{
    const unsigned char *from = p->data + s->offset;
    uint64_t raw_bytes = 0;
    if (s->size_bytes < sizeof raw_bytes) return plan_damaged(err, "a deflated section is cut off");
    memcpy(&raw_bytes, from, sizeof raw_bytes);
    if (!raw_bytes || raw_bytes > PLAN_MAX_DEFLATED)
        return plan_damaged(err, "the size of a deflated section is out of range");
    unsigned char *raw = mem_alloc_aligned(PLAN_ALIGN, raw_bytes);
    if (!raw) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while opening the plan");
    p->owned[s->kind] = raw;
    uLongf size = (uLongf)raw_bytes;
    if (uncompress(raw, &size, from + sizeof raw_bytes,
                   (uLong)(s->size_bytes - sizeof raw_bytes)) != Z_OK ||
        size != raw_bytes)
        return plan_damaged(err, "a deflated section cannot be inflated to its size");
    p->at[s->kind] = raw;
    p->counts[s->kind] = raw_bytes;
    return PGY_OK;
}

static pgy_status find_records(plan_file *p, uint32_t kind, pgy_error *err)
{
    const plan_section *s = p->sections[kind];
    const size_t record_bytes = RECORD_BYTES[kind] ? RECORD_BYTES[kind] : 1;
    if (s->flags & PLAN_DEFLATED) {
        const pgy_status st = inflate_section(p, s, err);
        if (st) return st;
    } else {
        p->at[kind] = p->data + s->offset;
        p->counts[kind] = s->size_bytes;
    }
    if (p->counts[kind] % record_bytes)
        return plan_damaged(err, "the size of a section is not a multiple of its record size");
    p->counts[kind] /= record_bytes;
    return PGY_OK;
}

static pgy_status find_area(plan_file *p, plan_area area, uint32_t kind, pgy_error *err)
{
    if (p->counts[kind] % sizeof(uint16_t))
        return plan_damaged(err, "its 16-bit constants end within a number");
    const bool mapped = p->map.data && !p->owned[kind];
    return area_widen(&p->host.at[area], mapped ? &p->map : NULL, p->at[kind], p->counts[kind],
                      area, err);
}

pgy_status plan_take_sections(plan_file *p, pgy_error *err)
{
    const plan_section *table = (const plan_section *)(p->header + 1);
    pgy_status st = check_header(p->header, p->size, p->trusted, err);
    for (uint32_t i = 0; !st && i < p->header->section_count; i++)
        st = take_section(p, &table[i], err);
    for (uint32_t i = 1; !st && i < PLAN_KIND_END; i++) {
        if (p->sections[i])
            st = find_records(p, i, err);
        else if (i <= PLAN_SOURCE)
            st = plan_damaged(err, "a section is missing");
    }
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
