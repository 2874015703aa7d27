/* SPDX-License-Identifier: Apache-2.0 */
/* The copies that a session keeps of its options. */
#include "debug/options.h"

#include <string.h>

static void copy_text(bool *good, const char **text, arena *memory)
{
    if (!*text) return;
    *text = arena_strdup(memory, *text);
    *good &= *text != NULL;
}

static void copy_texts(bool *good, const char *const **texts, size_t count, arena *memory)
{
    if (!*texts) return;
    const char **copy = arena_alloc_array(memory, count + 1, sizeof *copy);
    *good &= copy != NULL;
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = (*texts)[i];
        copy_text(good, &copy[i], memory);
    }
    *texts = copy;
}

static void copy_codes(bool *good, const int64_t **codes, size_t count, arena *memory)
{
    if (!*codes) return;
    int64_t *copy = arena_alloc_array(memory, count + 1, sizeof *copy);
    *good &= copy != NULL;
    if (copy && count) memcpy(copy, *codes, count * sizeof *copy);
    *codes = copy;
}

bool debug_options_copy(pgy_debug_options *o, pgy_debug_check *c, arena *memory)
{
    bool good = true;
    copy_text(&good, &o->artifact_dir, memory);
    copy_text(&good, &o->candidate, memory);
    copy_text(&good, &o->info, memory);
    copy_text(&good, &o->load_replay, memory);
    copy_text(&good, &o->save_replay, memory);
    copy_texts(&good, &o->artifacts, o->artifact_count, memory);
    copy_texts(&good, &c->command, c->command_count, memory);
    copy_texts(&good, &c->fail_patterns, c->fail_pattern_count, memory);
    copy_codes(&good, &c->fail_codes, c->fail_code_count, memory);
    copy_codes(&good, &c->pass_codes, c->pass_code_count, memory);
    return good;
}
