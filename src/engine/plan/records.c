/* SPDX-License-Identifier: Apache-2.0 */
/* Records of plans, as they are in files and in bundles. */
#include "engine/plan/records.h"

size_t plan_record_bytes(uint32_t kind)
{
    static const size_t BYTES[PLAN_KIND_END] = {
        [PLAN_INFO] = sizeof(plan_info_record), [PLAN_SETTINGS] = sizeof(plan_setting),
        [PLAN_VALUES] = sizeof(plan_value),     [PLAN_DIMS] = sizeof(plan_dim),
        [PLAN_PROFILES] = sizeof(plan_profile), [PLAN_RANGES] = sizeof(plan_range),
        [PLAN_SPACES] = sizeof(plan_space),     [PLAN_ARENAS] = sizeof(plan_arena),
        [PLAN_PROGRAMS] = sizeof(plan_program), [PLAN_TENSORS] = sizeof(plan_tensor),
        [PLAN_SHAPES] = sizeof(int64_t),        [PLAN_STEPS] = sizeof(plan_step),
        [PLAN_REFS] = sizeof(uint32_t),         [PLAN_MARKS] = sizeof(plan_mark),
    };
    return BYTES[kind] ? BYTES[kind] : 1;
}

void plan_shuffle(void *to, const void *records, size_t record_bytes, size_t count)
{
    unsigned char *out = to;
    const unsigned char *in = records;
    for (size_t b = 0; b < record_bytes; b++)
        for (size_t i = 0; i < count; i++) *out++ = in[i * record_bytes + b];
}

void plan_unshuffle(void *records, const void *from, size_t record_bytes, size_t count)
{
    unsigned char *out = records;
    const unsigned char *in = from;
    for (size_t b = 0; b < record_bytes; b++)
        for (size_t i = 0; i < count; i++) out[i * record_bytes + b] = *in++;
}
