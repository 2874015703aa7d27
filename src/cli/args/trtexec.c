/* SPDX-License-Identifier: Apache-2.0 */
/* Users of trtexec know options in camel case and lists as one word with commas. This program knows
 * these options by name and answers with its own. */
#include "cli/args/trtexec.h"

#include <ctype.h>
#include <string.h>

/* ---- Shapes --------------------------------------------------------------------------------- */

/* Appends "1x3x8" as "[1,3,8]". False if a dimension is not a number. */
static bool append_dims(str *out, span dims)
{
    bool digit = false;
    str_append_char(out, '[');
    for (size_t i = 0; i < dims.size; i++) {
        const char c = dims.data[i];
        if (c == 'x' && digit && i + 1 < dims.size) {
            str_append_char(out, ',');
            digit = false;
        } else if (isdigit((unsigned char)c) || (c == '-' && !digit)) {
            str_append_char(out, c);
            digit = true;
        } else {
            return false;
        }
    }
    str_append_char(out, ']');
    return digit && dims.data[dims.size - 1] != '-';
}

static bool append_item(str *out, span item)
{
    size_t colon = item.size;
    while (colon > 0 && item.data[colon - 1] != ':') colon--;
    if (colon < 2) return false;
    const bool quoted = item.data[0] == '\'' && colon > 2 && item.data[colon - 2] == '\'';
    const span name = {item.data + quoted, colon - 1 - (quoted ? 2 : 0)};
    const span dims = {item.data + colon, item.size - colon};
    if (!name.size) return false;
    str_append_char(out, '\'');
    str_append_n(out, name.data, name.size);
    str_append_char(out, ':');
    if (!dims.size || span_equals(dims, "scalar"))
        str_append(out, "[]");
    else if (!append_dims(out, dims))
        return false;
    str_append_char(out, '\'');
    return true;
}

bool trtexec_shapes(str *out, const char *text)
{
    str shapes = {0};
    bool ok = *text != 0;
    for (const char *at = text; ok && *at;) {
        const size_t size = strcspn(at, ",");
        if (shapes.size) str_append_char(&shapes, ' ');
        ok = append_item(&shapes, (span){at, size}) && (!at[size] || at[size + 1]);
        at += size + (at[size] == ',');
    }
    if (ok) str_append(out, str_text(&shapes));
    str_deinit(&shapes);
    return ok;
}

/* ---- Options -------------------------------------------------------------------------------- */

typedef struct peer {
    const char *name, *here;
    /* what the advice appends to `here`: nothing, trtexec's value, or its shapes, translated */
    enum { FLAG, VALUE, SHAPES } kind;
} peer;

static const peer PEERS[] = {
    {"--onnx", "the path of the model, without an option, before the other options", FLAG},
    {"--loadEngine", "the path of the plan, without an option, before the other options", FLAG},
    {"--saveEngine", "--save-engine", VALUE},
    {"--shapes", "--input-shapes", SHAPES},
    {"--minShapes", "--trt-min-shapes", SHAPES},
    {"--optShapes", "--trt-opt-shapes", SHAPES},
    {"--maxShapes", "--trt-max-shapes", SHAPES},
    {"--memPoolSize", "--pool-limit POOL:BYTES, such as --pool-limit workspace:1G", FLAG},
    {"--inputIOFormats", "--tensor-formats and --tensor-dtypes", FLAG},
    {"--outputIOFormats", "--tensor-formats and --tensor-dtypes", FLAG},
    {"--calib", "--calibration-cache", VALUE},
    {"--timingCacheFile", "--load-timing-cache and --save-timing-cache", VALUE},
    {"--errorOnTimingCacheMiss", "--error-on-timing-cache-miss", FLAG},
    {"--builderOptimizationLevel", "--builder-optimization-level", VALUE},
    {"--profilingVerbosity", "--profiling-verbosity", VALUE},
    {"--precisionConstraints", "--precision-constraints", VALUE},
    {"--layerPrecisions", "--layer-precisions LAYER:TYPE, with blanks between several", FLAG},
    {"--sparsity", "--sparse-weights", FLAG},
    {"--stronglyTyped", "--strongly-typed", FLAG},
    {"--noTF32", "no option: TF32 is off without --tf32", FLAG},
    {"--directIO", "--direct-io", FLAG},
    {"--stripWeights", "--strip-plan", FLAG},
    {"--allowWeightStreaming", "--weight-streaming", FLAG},
    {"--weightStreamingBudget", "--weight-streaming-budget", VALUE},
    {"--versionCompatible", "--version-compatible", FLAG},
    {"--hardwareCompatibilityLevel", "--hardware-compatibility-level", VALUE},
    {"--tilingOptimizationLevel", "--tiling-optimization-level", VALUE},
    {"--maxAuxStreams", "--max-aux-streams", VALUE},
    {"--useDLACore", "--use-dla", FLAG},
    {"--allowGPUFallback", "--allow-gpu-fallback", FLAG},
    {"--staticPlugins", "--plugins", VALUE},
    {"--dynamicPlugins", "--plugins", VALUE},
    {"--markDebug", "--mark-debug", VALUE},
    {"--warmUp", "--warm-up N, a number of inferences", FLAG},
    {"--loadInputs", "--load-inputs FILE, a file that --save-inputs wrote", FLAG},
    {"--exportOutput", "--save-outputs", VALUE},
    {"--dumpOutput", "--save-outputs FILE", FLAG},
    {"--dumpLayerInfo", "'{program} inspect model PLAN --show layers attrs'", FLAG},
    {"--exportLayerInfo", "'{program} inspect model PLAN --show layers attrs'", FLAG},
    {"--buildOnly", "'{program} convert MODEL -o ENGINE.plan'", FLAG},
    {"--skipInference", "'{program} convert MODEL -o ENGINE.plan'", FLAG},
};

static bool names_peer(const char *word, size_t size, const peer *one)
{
    if (strlen(one->name) != size) return false;
    for (size_t i = 0; i < size; i++)
        if (tolower((unsigned char)word[i]) != tolower((unsigned char)one->name[i])) return false;
    return true;
}

bool trtexec_advice(str *out, const char *word)
{
    const char *equals = strchr(word, '=');
    const size_t size = equals ? (size_t)(equals - word) : strlen(word);
    for (size_t i = 0; i < sizeof PEERS / sizeof *PEERS; i++) {
        const peer *one = &PEERS[i];
        if (!names_peer(word, size, one)) continue;
        str_printf(out, "'%s' is an option of trtexec; use %s", one->name, one->here);
        if (one->kind == VALUE) str_printf(out, " %s", equals ? equals + 1 : "VALUE");
        if (one->kind == SHAPES) str_append_char(out, ' ');
        if (one->kind == SHAPES && !(equals && trtexec_shapes(out, equals + 1)))
            str_append(out, "'NAME:[1,3,224,224]'");
        return true;
    }
    return false;
}
