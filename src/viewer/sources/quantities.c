/* SPDX-License-Identifier: Apache-2.0 */
/* The quantities with fixed names (docs/formats/page.md). */
#include "viewer/sources/result_file.h"

static const char *const VERDICTS[] = {"fail", "pass"};
static const char *const STATES[] = {"normal", "nan", "inf", "zero", "saturated", "constant"};

#define TENSOR(ID, LABEL, UNIT, GROUP, SCALE, FOLD, BETTER)                             \
    {                                                                                   \
        .id = ID, .label = LABEL, .unit = UNIT, .group = GROUP, .of = VIEW_OF_TENSOR,   \
        .scale = VIEW_##SCALE, .fold = VIEW_FOLD_##FOLD, .better = VIEW_BETTER_##BETTER \
    }
#define NODE(ID, LABEL, UNIT, GROUP, SCALE, FOLD, BETTER)                               \
    {                                                                                   \
        .id = ID, .label = LABEL, .unit = UNIT, .group = GROUP, .of = VIEW_OF_NODE,     \
        .scale = VIEW_##SCALE, .fold = VIEW_FOLD_##FOLD, .better = VIEW_BETTER_##BETTER \
    }

static const view_quantity KNOWN[] = {
    [Q_MAXABS] = TENSOR("maxabs", "largest absolute error", "", "accuracy", LOG, MAX, LOW),
    [Q_MEANABS] = TENSOR("meanabs", "mean absolute error", "", "accuracy", LOG, MAX, LOW),
    [Q_MAXREL] = TENSOR("maxrel", "largest relative error", "", "accuracy", LOG, MAX, LOW),
    [Q_COSINE] = TENSOR("cosine", "cosine distance", "", "accuracy", LOG, MAX, LOW),
    [Q_SNR] = TENSOR("snr", "signal to noise", "dB", "accuracy", LINEAR, MIN, HIGH),
    [Q_BEYOND] = TENSOR("beyond", "elements beyond tolerance", "%", "accuracy", LINEAR, MAX, LOW),
    [Q_PASSED] = {.id = "passed",
                  .label = "verdict",
                  .group = "accuracy",
                  .of = VIEW_OF_TENSOR,
                  .scale = VIEW_CATEGORY,
                  .fold = VIEW_FOLD_MIN,
                  .better = VIEW_BETTER_HIGH,
                  .names = VERDICTS,
                  .name_count = 2},
    [Q_ERROR] = TENSOR("error", "error, of the largest magnitude", "", "accuracy", LOG, MAX, LOW),
    [Q_FLOOR_TIMES] =
        TENSOR("floor_times", "error, in noise floors", "x", "accuracy", LOG, MAX, LOW),
    [Q_MADE] = NODE("made", "error that the node makes", "", "introduced", LOG, MAX, LOW),
    [Q_HANDED] = NODE("handed", "error that the node is handed", "", "introduced", LOG, MAX, LOW),
    [Q_AMPLIFICATION] =
        NODE("amplification", "amplification of the error", "x", "introduced", DIVERGING, MAX, LOW),
    [Q_TIME] = NODE("time", "time, median", "us", "time", LOG, SUM, LOW),
    [Q_SHARE] = NODE("share", "share of the time", "%", "time", LINEAR, SUM, LOW),
    [Q_SPREAD] = NODE("spread", "spread of the time, p90 - p10", "us", "time", LOG, MAX, LOW),
    [Q_TIME_B] = NODE("time_b", "time of the second run, median", "us", "time", LOG, SUM, LOW),
    [Q_TIME_RATIO] =
        NODE("time_ratio", "time, second run / first", "x", "time", DIVERGING, MAX, LOW),
    [Q_LIVE_BYTES] = NODE("live_bytes", "bytes alive", "bytes", "size", LOG, MAX, LOW),
    [Q_STATE] = {.id = "state",
                 .label = "health",
                 .group = "health",
                 .of = VIEW_OF_TENSOR,
                 .scale = VIEW_CATEGORY,
                 .fold = VIEW_FOLD_SAME,
                 .names = STATES,
                 .name_count = 6},
    [Q_HEADROOM] =
        TENSOR("headroom", "bits to overflow in float16", "bits", "health", LINEAR, MIN, HIGH),
    [Q_FLOOR] = TENSOR("floor", "error that rounding must cause", "", "accuracy", LOG, MAX, NONE),
    [Q_KERNEL] = NODE("kernel", "kernel", "", "type", CATEGORY, SAME, NONE),
    [Q_PRECISION] = NODE("precision", "precision", "", "type", CATEGORY, SAME, NONE),
    [Q_DEVICE] = NODE("device", "device", "", "type", CATEGORY, SAME, NONE),
    [Q_FORMAT] = NODE("format", "format of the output", "", "type", CATEGORY, SAME, NONE),
    [Q_SUPPORT] = NODE("support", "support", "", "type", CATEGORY, SAME, NONE),
};

const view_quantity *known_quantity_like(known_quantity which)
{
    return &KNOWN[which];
}

double worse_value(known_quantity which, double a, double b)
{
    if (isnan(a) || isnan(b)) return NAN;
    return (a < b) == (KNOWN[which].better == VIEW_BETTER_HIGH) ? a : b;
}
