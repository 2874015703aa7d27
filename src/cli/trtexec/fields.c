/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the library name fields of its structs; a user of this program knows options. */
#include <ctype.h>
#include <string.h>

#include "cli/trtexec/trtexec.h"

static const struct {
    const char *field, *option;
} FIELDS[] = {
    {"calibration.cache", "--calib"},
    {"calibration.data", "--loadInputs"},
    {"config.bf16", "--bf16"},
    {"config.constraints", "--precisionConstraints"},
    {"config.debug_tensors", "--markDebug"},
    {"config.error_on_timing_cache_miss", "--errorOnTimingCacheMiss"},
    {"config.fp16", "--fp16"},
    {"config.int8", "--int8"},
    {"config.layer_types", "--layerPrecisions"},
    {"config.load_timing_cache", "--timingCacheFile"},
    {"config.optimization_level", "--builderOptimizationLevel"},
    {"config.passes", "-pass:NAME in --setBuildRoute"},
    {"config.refittable", "--refit"},
    {"config.save_timing_cache", "--timingCacheFile"},
    {"config.strip_plan", "--stripWeights"},
    {"config.tensor_types", "--inputIOFormats or --outputIOFormats"},
    {"config.workspace_bytes", "--memPoolSize"},
    {"profile.max", "--maxShapes"},
    {"profile.min", "--minShapes"},
    {"profile.opt", "--optShapes"},
    {"random.inputs", "--shapes"},
    {"route.resume", "--continue"},
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '\'';
}

/* The option of the field at the start of the text; *size: length of its name. */
static const char *option_at(size_t *size, const char *text)
{
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++) {
        *size = strlen(FIELDS[i].field);
        if (!strncmp(text, FIELDS[i].field, *size) && (!is_word(text[*size]) || text[*size] == '.'))
            return FIELDS[i].option;
    }
    return NULL;
}

void trtexec_fields(str *out, const char *text)
{
    for (size_t i = 0, size = 0; text[i];) {
        const bool begins = !i || !is_word(text[i - 1]);
        const char *option = begins ? option_at(&size, text + i) : NULL;
        if (option) {
            str_append(out, option);
            i += size;
        } else {
            str_append_char(out, text[i++]);
        }
    }
}
