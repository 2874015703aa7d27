/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/plain_plan.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/hash.h"
#include "engine/plan/records.h"

static void pad(str *out, uint64_t alignment)
{
    str_append_fill(out, 0, (size_t)((alignment - out->size % alignment) % alignment));
}

static void append_inflated(str *out, const unsigned char *from, uint64_t size_bytes)
{
    uint64_t raw_bytes;
    memcpy(&raw_bytes, from, sizeof raw_bytes);
    str_append_fill(out, 0, raw_bytes);
    uLongf size = (uLongf)raw_bytes;
    if (out->failed || uncompress((Bytef *)out->data + out->size - raw_bytes, &size,
                                  from + sizeof raw_bytes, size_bytes - sizeof raw_bytes) != Z_OK)
        abort();
}

/* A section to be written, and its bytes. */
typedef struct plain_section {
    plan_section s;
    const char *bytes;
} plain_section;

static void unshuffle(char *at, const plan_section *s)
{
    const size_t record_bytes = plan_record_bytes(s->kind);
    str copy = {0};
    str_append_n(&copy, at, s->size_bytes);
    if (copy.failed) abort();
    if (s->size_bytes) plan_unshuffle(at, copy.data, record_bytes, s->size_bytes / record_bytes);
    str_deinit(&copy);
}

static size_t unbundle(plain_section *to, str *bundle)
{
    size_t count = 0;
    plan_bundled b;
    while (memcpy(&b, bundle->data + count * sizeof b, sizeof b), b.kind)
        to[count++].s = (plan_section){.kind = b.kind, .version = 1, .size_bytes = b.size_bytes};
    uint64_t offset = (count + 1) * sizeof b;
    for (size_t i = 0; i < count; i++) {
        offset = (offset + PLAN_ALIGN - 1) / PLAN_ALIGN * PLAN_ALIGN;
        to[i].bytes = bundle->data + offset;
        unshuffle(bundle->data + offset, &to[i].s);
        offset += to[i].s.size_bytes;
    }
    return count;
}

static int compare_sections(const void *a, const void *b)
{
    const plan_section *x = &((const plain_section *)a)->s, *y = &((const plain_section *)b)->s;
    if (x->space != y->space) return x->space < y->space ? -1 : 1;
    return x->kind < y->kind ? -1 : x->kind > y->kind;
}

/* A plan whose sections are being inflated. */
typedef struct plain_plan {
    plan_header h;
    plain_section sections[PLAN_MAX_SECTIONS];
    size_t count;
    str inflated[PLAN_MAX_SECTIONS];
} plain_plan;

static void gather(plain_plan *p, const char *bytes, bool keep_bundle)
{
    memset(p, 0, sizeof *p);
    memcpy(&p->h, bytes, sizeof p->h);
    for (uint32_t i = 0; i < p->h.section_count; i++) {
        plain_section *to = &p->sections[p->count++];
        memcpy(&to->s, bytes + sizeof p->h + i * sizeof to->s, sizeof to->s);
        to->bytes = bytes + to->s.offset;
        if (!(to->s.flags & PLAN_DEFLATED)) continue;
        str *raw = &p->inflated[i];
        append_inflated(raw, (const unsigned char *)to->bytes, to->s.size_bytes);
        to->s.flags &= ~(uint32_t)PLAN_DEFLATED;
        to->s.size_bytes = raw->size;
        to->bytes = raw->data;
        if (to->s.kind == PLAN_BUNDLE && !keep_bundle) p->count += unbundle(to, raw) - 1;
    }
    qsort(p->sections, p->count, sizeof *p->sections, compare_sections);
}

static void append(str *out, const void *plan, bool keep_bundle)
{
    plain_plan p;
    plan_section table[PLAN_MAX_SECTIONS];
    gather(&p, plan, keep_bundle);
    p.h.section_count = (uint32_t)p.count;
    p.h.header_bytes = (uint32_t)(sizeof p.h + p.count * sizeof *table);
    str_append_fill(out, 0, p.h.header_bytes);
    for (size_t i = 0; i < p.count; i++) {
        table[i] = p.sections[i].s;
        pad(out, table[i].size_bytes >= PLAN_BULK_BYTES ? PLAN_BULK_ALIGN : PLAN_ALIGN);
        table[i].offset = out->size;
        str_append_n(out, p.sections[i].bytes, table[i].size_bytes);
    }
    p.h.file_bytes = out->size;
    if (out->failed) abort();
    memcpy(out->data, &p.h, sizeof p.h);
    memcpy(out->data + sizeof p.h, table, p.count * sizeof *table);
    plain_plan_sign(out->data);
    for (size_t i = 0; i < PLAN_MAX_SECTIONS; i++) str_deinit(&p.inflated[i]);
}

void plain_plan_append(str *out, const void *plan)
{
    append(out, plan, false);
}

void plain_plan_append_bundled(str *out, const void *plan)
{
    append(out, plan, true);
}

void plain_plan_sign(void *plan)
{
    unsigned char *bytes = plan;
    plan_header h;
    memcpy(&h, bytes, sizeof h);
    for (uint32_t i = 0; i < h.section_count; i++) {
        unsigned char *at = bytes + sizeof h + i * sizeof(plan_section);
        plan_section s;
        memcpy(&s, at, sizeof s);
        s.hash = hash_xxh64(bytes + s.offset, s.size_bytes, 0);
        memcpy(at, &s, sizeof s);
    }
    h.hash = 0;
    h.hash = hash_xxh64(bytes + sizeof h, h.section_count * sizeof(plan_section),
                        hash_xxh64(&h, sizeof h, 0));
    memcpy(bytes, &h, sizeof h);
}
