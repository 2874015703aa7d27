/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/plain_plan.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/hash.h"

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

void plain_plan_append(str *out, const void *plan)
{
    const unsigned char *bytes = plan;
    plan_header h;
    plan_section table[PLAN_MAX_SECTIONS];
    memcpy(&h, bytes, sizeof h);
    memcpy(table, bytes + sizeof h, h.section_count * sizeof *table);
    str_append_n(out, plan, h.header_bytes);
    for (uint32_t i = 0; i < h.section_count; i++) {
        const plan_section from = table[i];
        pad(out, from.size_bytes >= PLAN_BULK_BYTES ? PLAN_BULK_ALIGN : PLAN_ALIGN);
        table[i].offset = out->size;
        if (from.flags & PLAN_DEFLATED)
            append_inflated(out, bytes + from.offset, from.size_bytes);
        else
            str_append_n(out, (const char *)bytes + from.offset, from.size_bytes);
        table[i].flags &= ~(uint32_t)PLAN_DEFLATED;
        table[i].size_bytes = out->size - table[i].offset;
    }
    h.file_bytes = out->size;
    if (out->failed) abort();
    memcpy(out->data, &h, sizeof h);
    memcpy(out->data + sizeof h, table, h.section_count * sizeof *table);
    plain_plan_sign(out->data);
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
