/* SPDX-License-Identifier: Apache-2.0 */
/* The knobs of build routes: settings of the builder that change which plan it makes. A row is a
 * field of the configuration, or stands for every pass or layer. */
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "perf/route.h"

typedef enum knob_kind {
    KNOB_FLAG,
    KNOB_ENUM,
    KNOB_NUMBER,
    KNOB_LEVEL,
    KNOB_BYTES,
    KNOB_PASS,
    KNOB_LAYER
} knob_kind;

struct route_knob {
    pgy_route_knob shown;
    knob_kind kind;
    size_t offset;
    bool of_calibration;      /* the field is one of pgy_calibration */
    const char *const *words; /* of an enumeration: names of its values, NULL-ended */
    int64_t most;             /* of a number, which is 0 or more */
};

static const char *const CPUS[] = {"native", "portable", "avx2", "avx512", NULL};
static const char *const CALIBRATORS[] = {"entropy2", "entropy", "minmax", "legacy", "mse", NULL};

#define CONFIG(member) .offset = offsetof(pgy_build_config, member)
#define CALIBRATION(member) .offset = offsetof(pgy_calibration, member), .of_calibration = true
#define SWITCH "[on|off]"

static const struct route_knob KNOBS[] = {
    {{"level", "[0|1|2|3|4|5]", "3", "builder optimization level: how many kernels are measured"},
     KNOB_LEVEL,
     .most = 5},
    {{"fp16", SWITCH, "off", "permit float16"}, KNOB_FLAG, CONFIG(fp16)},
    {{"bf16", SWITCH, "off", "permit bfloat16"}, KNOB_FLAG, CONFIG(bf16)},
    {{"int8", SWITCH, "off", "permit int8"}, KNOB_FLAG, CONFIG(int8)},
    {{"calibrator", "[entropy2|entropy|minmax|legacy|mse]", "entropy2",
      "how calibration chooses ranges for int8"},
     KNOB_ENUM,
     CALIBRATION(kind),
     .words = CALIBRATORS},
    {{"asymmetric", SWITCH, "off", "int8 activations have zero points"},
     KNOB_FLAG,
     CALIBRATION(asymmetric)},
    {{"threads", "a number, 0 for all processors", "0", "threads to build the plan for"},
     KNOB_NUMBER,
     CONFIG(threads),
     .most = 1024},
    {{"workspace", "none, or a size such as 64M", "none",
      "largest workspace of a kernel; kernels that need more are not used"},
     KNOB_BYTES},
    {{"cpu", "[native|portable|avx2|avx512]", "native", "instructions that kernels may use"},
     KNOB_ENUM,
     CONFIG(cpu_level),
     .words = CPUS},
    {{ROUTE_PASSES, SWITCH, "on", "a pass of the builder, by name; * matches all"}, KNOB_PASS},
    {{ROUTE_LAYERS, "[default|fp32|fp16|bf16|int8]", "default",
      "type to compute a layer in, by name, in which * matches any text"},
     KNOB_LAYER},
};
enum { KNOB_COUNT = sizeof KNOBS / sizeof *KNOBS };

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* ---- Finding -------------------------------------------------------------------------------- */

const route_knob *route_knob_find(span name)
{
    for (size_t i = 0; i < KNOB_COUNT; i++) {
        const char *own = KNOBS[i].shown.name;
        const size_t size = strlen(own);
        const bool many = own[size - 1] == ':';
        if (many ? name.size > size && !memcmp(name.data, own, size) : span_equals(name, own))
            return &KNOBS[i];
    }
    return NULL;
}

const char *route_pass_at(size_t i)
{
    pgy_pass pass;
    for (size_t k = 0; pgy_pass_at(&pass, k); k++)
        if (pass.occurrence == 1 && !i--) return pass.name;
    return NULL;
}

static const char *pass_name(const char *name)
{
    return name + strlen(ROUTE_PASSES);
}

bool route_knob_is_known(const char *name)
{
    const route_knob *k = route_knob_find(span_of(name));
    if (!k || k->kind != KNOB_PASS) return k != NULL;
    for (size_t i = 0; route_pass_at(i); i++)
        if (!strcmp(route_pass_at(i), pass_name(name))) return true;
    return false;
}

bool pgy_route_knob_at(pgy_route_knob *out, size_t i)
{
    if (i >= KNOB_COUNT) return false;
    *out = KNOBS[i].shown;
    return true;
}

/* ---- Passes --------------------------------------------------------------------------------- */

/* A configuration without a text of its own follows the environment. */
static const char *passes_of(const pgy_build_config *c)
{
    const char *text = c && c->passes ? c->passes : getenv("POLYGRAPHY_PASSES");
    return text ? text : "";
}

/* True if `word` is one of the comma-separated words. */
static bool has_word(const char *words, const char *word)
{
    const size_t wanted = strlen(word);
    for (const char *at = words; *at;) {
        const size_t size = strcspn(at, ",");
        if (size == wanted && !memcmp(at, word, size)) return true;
        at += size + (at[size] == ',');
    }
    return false;
}

static pgy_status set_pass(const char *name, bool on, pgy_build_config *c, arena *a, pgy_error *err)
{
    const char *words = passes_of(c);
    const char *off = arena_printf(a, "-%s", name);
    str text = {0};
    if (!off) return no_memory(err);
    for (const char *at = words; *at;) {
        const size_t size = strcspn(at, ",");
        if (size && !span_equals((span){at, size}, off))
            str_printf(&text, "%s%.*s", text.size ? "," : "", (int)size, at);
        at += size + (at[size] == ',');
    }
    if (!on) str_printf(&text, "%s%s", text.size ? "," : "", off);
    c->passes = text.failed ? NULL : arena_strdup(a, str_text(&text));
    str_deinit(&text);
    return c->passes ? PGY_OK : no_memory(err);
}

/* ---- Layers --------------------------------------------------------------------------------- */

static const struct {
    const char *word;
    pgy_dtype dtype;
} TYPES[] = {{"default", PGY_DTYPE_NONE},
             {"fp32", PGY_F32},
             {"fp16", PGY_F16},
             {"bf16", PGY_BF16},
             {"int8", PGY_I8}};
enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

static const char *layer_name(const char *name)
{
    return name + strlen(ROUTE_LAYERS);
}

/* The last choice of a layer counts, so one more at the end replaces those before it. */
static pgy_status set_layer(const char *name, size_t type, pgy_build_config *c, arena *a,
                            pgy_error *err)
{
    if (TYPES[type].dtype == PGY_DTYPE_NONE) return PGY_OK;
    pgy_type_choice *all = arena_alloc_array(a, c->layer_type_count + 1, sizeof *all);
    const char *own = arena_strdup(a, name);
    if (!all || !own) return no_memory(err);
    for (size_t i = 0; i < c->layer_type_count; i++) all[i] = c->layer_types[i];
    all[c->layer_type_count++] = (pgy_type_choice){own, TYPES[type].dtype};
    c->layer_types = all;
    return PGY_OK;
}

/* ---- Reading values ------------------------------------------------------------------------- */

static pgy_status wrong_value(const route_knob *k, const char *name, const char *value,
                              pgy_error *err)
{
    return pgy_error_set(err, PGY_E_ARGUMENT, "knob -%s: '%s' is not one of its values: %s",
                         printable_name(name), printable_name(value), k->shown.values);
}

static bool find_word(int *out, const char *value, const char *const *words)
{
    for (int i = 0; words[i]; i++) {
        *out = i;
        if (!strcmp(words[i], value)) return true;
    }
    return false;
}

static bool read_number(int64_t *out, const char *value, int64_t most)
{
    int64_t n = 0;
    if (!*value) return false;
    for (const char *c = value; *c; c++) {
        if (*c < '0' || *c > '9') return false;
        n = n * 10 + (*c - '0');
        if (n > most) return false;
    }
    *out = n;
    return true;
}

/* "64M"; powers of two, bytes without a letter. */
static bool read_bytes(uint64_t *out, const char *value)
{
    static const char SUFFIXES[] = "BKMG";
    const size_t size = strlen(value);
    char digits[16];
    int64_t n = 0;
    if (!size || size > sizeof digits) return false;
    const char *suffix = strchr(SUFFIXES, value[size - 1]);
    const size_t count = size - (suffix != NULL);
    if (count >= sizeof digits) return false;
    memcpy(digits, value, count);
    digits[count] = '\0';
    if (!read_number(&n, digits, (int64_t)1 << 32)) return false;
    *out = (uint64_t)n << (suffix ? 10 * (suffix - SUFFIXES) : 0);
    return true;
}

/* ---- Setting -------------------------------------------------------------------------------- */

/* A value of any kind; which member counts depends on the kind. */
typedef struct knob_value {
    int word;
    int64_t number;
    uint64_t bytes;
    bool unlimited;
} knob_value;

static bool read_value(knob_value *out, const route_knob *k, const char *value)
{
    static const char *const SWITCHES[] = {"off", "on", NULL};
    switch (k->kind) {
    case KNOB_FLAG:
    case KNOB_PASS: return find_word(&out->word, value, SWITCHES);
    case KNOB_ENUM: return find_word(&out->word, value, k->words);
    case KNOB_NUMBER:
    case KNOB_LEVEL: return read_number(&out->number, value, k->most);
    case KNOB_BYTES:
        out->unlimited = !strcmp(value, "none");
        return out->unlimited || read_bytes(&out->bytes, value);
    case KNOB_LAYER:
        for (out->word = 0; out->word < TYPE_COUNT; out->word++)
            if (!strcmp(TYPES[out->word].word, value)) return true;
        break;
    }
    return false;
}

pgy_status route_knob_set(const route_knob *k, const char *name, const char *value,
                          pgy_build_config *config, pgy_calibration *calibration, arena *a,
                          pgy_error *err)
{
    knob_value v = {0};
    char *at = (char *)(k->of_calibration ? (void *)calibration : (void *)config);
    if (!read_value(&v, k, value)) return wrong_value(k, name, value, err);
    if (!at) return PGY_OK;
    switch (k->kind) {
    case KNOB_FLAG: *(bool *)(at + k->offset) = v.word == 1; break;
    case KNOB_ENUM: *(int *)(at + k->offset) = v.word; break;
    case KNOB_NUMBER: *(size_t *)(at + k->offset) = (size_t)v.number; break;
    case KNOB_LEVEL:
        config->has_optimization_level = true;
        config->optimization_level = v.number;
        break;
    case KNOB_BYTES:
        config->has_workspace_limit = !v.unlimited;
        config->workspace_bytes = v.bytes;
        break;
    case KNOB_PASS: return set_pass(pass_name(name), v.word == 1, config, a, err);
    case KNOB_LAYER: return set_layer(layer_name(name), (size_t)v.word, config, a, err);
    }
    return PGY_OK;
}

/* ---- Initial values ------------------------------------------------------------------------- */

static void append_bytes(str *out, uint64_t bytes)
{
    static const char SUFFIXES[] = "BKMG";
    size_t i = 0;
    while (i < 3 && bytes && bytes % 1024 == 0) bytes /= 1024, i++;
    str_printf(out, "%llu", (unsigned long long)bytes);
    if (i) str_append_char(out, SUFFIXES[i]);
}

static const char *layer_type(const char *name, const pgy_build_config *c)
{
    for (size_t i = c ? c->layer_type_count : 0; i-- > 0;)
        for (size_t k = 0; k < TYPE_COUNT; k++)
            if (!strcmp(c->layer_types[i].name, name) && TYPES[k].dtype == c->layer_types[i].dtype)
                return TYPES[k].word;
    return TYPES[0].word;
}

void route_knob_get(str *out, const route_knob *k, const char *name, const pgy_build_config *config,
                    const pgy_calibration *calibration)
{
    const char *at =
        (const char *)(k->of_calibration ? (const void *)calibration : (const void *)config);
    if (k->kind == KNOB_PASS) {
        str off = {0};
        str_printf(&off, "-%s", pass_name(name));
        str_append(out, has_word(passes_of(config), str_text(&off)) ? "off" : "on");
        str_deinit(&off);
    } else if (!at) {
        str_append(out, k->shown.initial);
    } else if (k->kind == KNOB_FLAG) {
        str_append(out, *(const bool *)(at + k->offset) ? "on" : "off");
    } else if (k->kind == KNOB_ENUM) {
        str_append(out, k->words[*(const int *)(at + k->offset)]);
    } else if (k->kind == KNOB_NUMBER) {
        str_printf(out, "%zu", *(const size_t *)(at + k->offset));
    } else if (k->kind == KNOB_LEVEL && config->has_optimization_level) {
        str_printf(out, "%lld", (long long)config->optimization_level);
    } else if (k->kind == KNOB_BYTES && config->has_workspace_limit) {
        append_bytes(out, config->workspace_bytes);
    } else if (k->kind == KNOB_LAYER) {
        str_append(out, layer_type(layer_name(name), config));
    } else {
        str_append(out, k->shown.initial);
    }
}
