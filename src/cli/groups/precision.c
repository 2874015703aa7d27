/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what the search for precisions may do: types, criterion, cost, methods for 8 bits. */
#include "cli/groups/precision.h"

#include <math.h>
#include <string.h>

#include "base/pytext.h"
#include "cli/args/values.h"

/* The names of --types: those that --layer-precisions takes, too. */
static const struct {
    const char *name;
    pgy_dtype type;
} TYPES[] = {{"float16", PGY_F16}, {"bfloat16", PGY_BF16}, {"int8", PGY_I8}, {"fp8", PGY_F8E4M3FN}};

static const char *const CALIBRATORS[] = {"entropy2",   "entropy", "minmax",
                                          "percentile", "mse",     NULL};
static const char *const QUANTIZATIONS[] = {"symmetric", "asymmetric", NULL};
static const char *const ROUNDINGS[] = {"nearest", "adaptive", NULL};
static const char *const TRIES[] = {"calibrators",     "smooth", "rounding",
                                    "bias-correction", "all",    NULL};
static const unsigned TRY_BITS[] = {PGY_PRECISION_TRY_CALIBRATORS, PGY_PRECISION_TRY_SMOOTHING,
                                    PGY_PRECISION_TRY_ROUNDING, PGY_PRECISION_TRY_BIAS_CORRECTION,
                                    PGY_PRECISION_TRY_ALL};
static const char *const COSTS[] = {"bytes", "time", NULL};

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("-o --output", precision_args, output, .meta = "PATH",
                 .help = "file for the typed model; it is written only if the model, in all "
                         "runtimes of --check-with, has the error that the search promises"),
    PGY_OPT_TEXT("--keep-list", precision_args, keep_list, .meta = "PATH",
                 .help = "file for the names of the layers that stay float32, one a line. After an "
                         "interrupt it has those of the best set so far"),
    PGY_OPT_TEXT("--layer-precisions-list", precision_args, layer_list, .meta = "PATH",
                 .help = "file for the words of --layer-precisions, NAME:TYPE, one a line"),
    PGY_OPT_TEXT("--types", precision_args, types, .meta = "TYPE[,TYPE]",
                 .help =
                     "type of the layers that do not stay float32: float16 (default), bfloat16, "
                     "int8 or fp8, which is E4M3. Or a mix of an 8-bit and a 16-bit type, such "
                     "as int8,float16: layers that 8 bits do not suit get 16 bits if these "
                     "suit them"),
    PGY_OPT_TEXT("--calibrator", precision_args, calibrator, .choices = CALIBRATORS,
                 .help = "how int8 and fp8 find the range of a tensor: mse: least squared error; "
                         "entropy2, entropy: least divergence, the second without zeros; minmax: "
                         "all values; percentile: the share of --quantile; default: mse"),
    PGY_OPT_TEXT("--quantile", precision_args, quantile, .meta = "Q",
                 .help = "share of the magnitudes that --calibrator percentile keeps; default: "
                         "0.9999"),
    PGY_OPT_TEXT("--quantization", precision_args, quantization, .choices = QUANTIZATIONS,
                 .help = "int8 of tensors. symmetric (default): zero points are 0, as TensorRT "
                         "needs them; asymmetric: 8 bits cover exactly the range of each tensor, "
                         "which is more exact if its values are not around 0"),
    PGY_OPT_TEXT("--smooth", precision_args, smooth, .meta = "STRENGTH",
                 .help =
                     "for int8 and fp8, divide the channels of tensors by factors, and multiply "
                     "the weights behind by them: SmoothQuant. From 0, none, to 1: all of the "
                     "spread moves into the weights; usual: 0.5"),
    PGY_OPT_TEXT("--rounding", precision_args, rounding, .choices = ROUNDINGS,
                 .help = "rounding of int8 and fp8 weights. adaptive: up or down, so that each "
                         "layer computes the least error on the samples, as AdaRound does; "
                         "default: nearest"),
    PGY_OPT_FLAG("--bias-correction", precision_args, bias_correction,
                 .help = "add to the biases of int8 and fp8 layers what they lose on average"),
    PGY_OPT_LIST("--try", precision_args, tries, .nargs = PGY_ONE_OR_MORE, .choices = TRIES,
                 .help = "methods for int8 and fp8 to try with all layers before the search; each "
                         "is kept if it makes the error less. smooth: the strengths 0.25, 0.5 and "
                         "0.75"),
    PGY_OPT_TEXT(
        "--criterion", precision_args, criterion, .meta = "KIND:LIMIT",
        .help = "when a set of layers is good. tolerance:X (default: tolerance:0.001): no element "
                "of an output differs by more than X. snr:X: the ratio of signal to noise of each "
                "output is at least X dB. topK:X, such as top1:0.99: in a share of at least X of "
                "all rows the largest element is among the K largest. floor:X: the error is at "
                "most X times what the type must cost if all layers have it. "
                "script:X:FILE.py[:FUNCTION]: FUNCTION (default: measure_error) of the script "
                "gives at most X; it gets a list of samples, each with index, inputs, reference "
                "and result, and gives their error as a number"),
    PGY_OPT_TEXT("--cost", precision_args, cost, .choices = COSTS,
                 .help = "what the search makes small. bytes (default): weights and outputs of the "
                         "layers. time: the times of the layers, and of the Casts or Q/DQ between "
                         "them, in the built-in engine, which is built and measured once with all "
                         "layers in each type"),
    PGY_OPT_TEXT("--load-layer-times", precision_args, load_times, .meta = "PATH",
                 .help = "file of --save-layer-times, for example of another machine, instead of "
                         "measuring; implies --cost time"),
    PGY_OPT_TEXT("--save-layer-times", precision_args, save_times, .meta = "PATH",
                 .help = "file for the times of the layers, as JSON; needs --cost time"),
    PGY_OPT_INT("--samples", precision_args, samples, .meta = "N",
                .help = "largest number of samples to read; default: 16. A quarter of them is held "
                        "out, to check what was found"),
    PGY_OPT_TEXT("--max-memory", precision_args, max_memory, .meta = "BYTES",
                 .help = "memory for values that trials reuse, with a suffix K, M or G; default: "
                         "1G. Less memory makes trials slower"),
    PGY_OPT_LIST("--check-with", precision_args, check_with, .nargs = PGY_ONE_OR_MORE,
                 .meta = "RUNTIME",
                 .help = "runtimes that run the typed model before it is written; default: onnxrt "
                         "trt"),
    PGY_OPT_END,
};

static void defaults(void *settings)
{
    precision_args *s = settings;
    s->options = pgy_precision_options_default();
    s->samples = s->options.samples;
}

/* ---- The criterion -------------------------------------------------------------------------- */

/* The kinds that have only a limit; topK and script are read apart. */
static const struct {
    const char *name;
    pgy_precision_criterion criterion;
} KINDS[] = {
    {"tolerance", PGY_PRECISION_TOLERANCE},
    {"snr", PGY_PRECISION_SNR},
    {"floor", PGY_PRECISION_FLOOR},
    {"script", PGY_PRECISION_SCRIPT},
};

/* Reads the K of "topK"; 0: there is none. */
static int64_t read_top(const char *text, size_t size)
{
    int64_t k = 0;
    if (size < 4 || size > 9 || memcmp(text, "top", 3) != 0) return 0;
    for (size_t i = 3; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') return 0;
        k = 10 * k + (text[i] - '0');
    }
    return k;
}

static bool read_kind(pgy_precision_options *o, const char *text, size_t size)
{
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (strlen(KINDS[i].name) == size && memcmp(text, KINDS[i].name, size) == 0) {
            o->criterion = KINDS[i].criterion;
            return true;
        }
    o->criterion = PGY_PRECISION_TOP_K;
    o->k = read_top(text, size);
    return o->k > 0;
}

static pgy_status read_criterion(precision_args *s, pgy_error *err)
{
    const char *text = s->criterion, *colon = strchr(text, ':');
    pgy_precision_options *o = &s->options;
    char *end = NULL;
    bool good = colon && read_kind(o, text, (size_t)(colon - text));
    if (good) o->limit = text_to_double(colon + 1, &end);
    good = good && end != colon + 1 && isfinite(o->limit) && o->limit >= 0 &&
           (o->criterion != PGY_PRECISION_TOP_K || o->limit <= 1);
    if (good && o->criterion == PGY_PRECISION_SCRIPT && *end == ':' && end[1]) {
        o->script = end + 1;
        return PGY_OK;
    }
    if (good && o->criterion != PGY_PRECISION_SCRIPT && !*end) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "--criterion: '%s' is not tolerance:X, snr:X, topK:X, floor:X or "
                         "script:X:FILE.py with a number X of at least 0 (topK: at most 1)",
                         text);
}

/* ---- Methods for 8 bits --------------------------------------------------------------------- */

/* Reads a number from 0 to 1; NULL leaves *out. */
static pgy_status read_share(double *out, const char *text, const char *option, bool zero,
                             pgy_error *err)
{
    char *end = NULL;
    if (!text) return PGY_OK;
    const double v = text_to_double(text, &end);
    if (end == text || *end || !(v <= 1) || !(zero ? v >= 0 : v > 0))
        return pgy_error_set(err, PGY_E_ARGUMENT, "%s: '%s' is not a number %s 0 and at most 1",
                             option, text, zero ? "of at least" : "above");
    *out = v;
    return PGY_OK;
}

static pgy_dtype type_named(const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (strlen(TYPES[i].name) == size && memcmp(TYPES[i].name, name, size) == 0)
            return TYPES[i].type;
    return PGY_DTYPE_NONE;
}

static bool is_8_bit(pgy_dtype type)
{
    return type == PGY_I8 || type == PGY_F8E4M3FN;
}

static bool asks_for_methods(const precision_args *s)
{
    return s->calibrator || s->quantile || s->quantization || s->smooth || s->rounding ||
           s->bias_correction || s->tries.count;
}

static pgy_status read_methods(precision_args *s, pgy_error *err)
{
    pgy_precision_options *o = &s->options;
    pgy_status st = read_share(&o->quantile, s->quantile, "--quantile", false, err);
    if (!st) st = read_share(&o->smooth, s->smooth, "--smooth", true, err);
    for (int i = 0; s->calibrator && pgy_precision_calibrator_name((pgy_calibrator)i); i++)
        if (strcmp(pgy_precision_calibrator_name((pgy_calibrator)i), s->calibrator) == 0)
            o->calibrator = (pgy_calibrator)i;
    o->adaptive_rounding = s->rounding && strcmp(s->rounding, ROUNDINGS[1]) == 0;
    o->bias_correction = s->bias_correction;
    o->asymmetric = s->quantization && strcmp(s->quantization, QUANTIZATIONS[1]) == 0;
    if (!st && o->asymmetric && o->type == PGY_F8E4M3FN)
        st =
            pgy_error_set(err, PGY_E_ARGUMENT,
                          "--quantization: asymmetric is for --types int8: fp8 has no zero points");
    for (size_t i = 0; i < s->tries.count; i++)
        for (size_t k = 0; TRIES[k]; k++)
            if (strcmp(s->tries.items[i], TRIES[k]) == 0) o->tries |= TRY_BITS[k];
    if (st || is_8_bit(o->type) || !asks_for_methods(s)) return st;
    return pgy_error_set(
        err, PGY_E_ARGUMENT,
        "--calibrator, --quantile, --quantization, --smooth, --rounding, "
        "--bias-correction and --try are for --types int8 and fp8, but the type is %s",
        pgy_dtype_name(o->type));
}

const char *precision_type_name(pgy_dtype type)
{
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (TYPES[i].type == type) return TYPES[i].name;
    return pgy_dtype_name(type);
}

/* Reads one type, or an 8-bit and a 16-bit one in any order. */
static pgy_status read_types(precision_args *s, pgy_error *err)
{
    if (!s->types) return PGY_OK;
    const char *comma = strchr(s->types, ',');
    const size_t first = comma ? (size_t)(comma - s->types) : strlen(s->types);
    pgy_dtype a = type_named(s->types, first);
    pgy_dtype b = comma ? type_named(comma + 1, strlen(comma + 1)) : PGY_DTYPE_NONE;
    bool good = a && (!comma || (b && is_8_bit(a) != is_8_bit(b)));
    if (!good)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--types: '%s' is not float16, bfloat16, int8 or fp8, or one of 8 and "
                             "one of 16 bits with a comma between them",
                             s->types);
    if (comma && !is_8_bit(a)) {
        const pgy_dtype half = a;
        a = b;
        b = half;
    }
    s->options.type = a;
    s->options.rest_type = b;
    return PGY_OK;
}

/* ---- Settings ------------------------------------------------------------------------------- */

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    precision_args *s = settings;
    (void)line;
    pgy_status st = read_types(s, err);
    if (st) return st;
    if (s->samples < 1)
        return pgy_error_set(err, PGY_E_ARGUMENT, "--samples: %lld is less than 1",
                             (long long)s->samples);
    s->options.samples = s->samples;
    const bool bytes = s->cost ? strcmp(s->cost, "bytes") == 0 : !s->load_times;
    if (bytes && (s->load_times || s->save_times))
        return pgy_error_set(err, PGY_E_ARGUMENT, "--%s-layer-times: needs --cost time",
                             s->load_times ? "load" : "save");
    s->options.cost = bytes ? PGY_PRECISION_BYTES : PGY_PRECISION_TIME;
    s->options.times = s->load_times;
    st = read_methods(s, err);
    if (!st && s->max_memory)
        st = value_bytes(&s->options.max_bytes, s->max_memory, "--max-memory", err);
    for (size_t i = 0; !st && i < s->check_with.count; i++)
        if (!pgy_backend_find(s->check_with.items[i]))
            st = pgy_error_set(err, PGY_E_ARGUMENT, "--check-with: there is no runtime '%s'",
                               s->check_with.items[i]);
    if (!st && s->criterion) st = read_criterion(s, err);
    if (!st && s->options.criterion == PGY_PRECISION_FLOOR && is_8_bit(s->options.type))
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "--criterion: '%s': the noise floor is that of float16 or bfloat16, not "
                           "of --types %s; choose another criterion",
                           s->criterion, s->types);
    return st;
}

const option_group GROUP_PRECISION = {
    .options = OPTIONS, ARGS_TYPE(precision_args), .defaults = defaults, .finish = finish};
