/* SPDX-License-Identifier: Apache-2.0 */
/* Would the model work in float16? Shows the error that rounding must cause in each tensor, the
 * operation that would make the first infinity or NaN, and the tensors closest to overflow.
 *
 *     rounding_and_range model.onnx
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s model.onnx\n", argv[0]);
        return 2;
    }
    const pgy_floor_options half = {.size = sizeof half, .assume = PGY_F16};
    const pgy_nan_options rounded = {.size = sizeof rounded, .model_precision = true, .assume = PGY_F16};
    pgy_noise_reports reports = {.size = sizeof reports};
    pgy_error err = {0};
    pgy_model *model = NULL;
    pgy_tensor_map *feed = NULL;
    pgy_floor *noise = NULL;
    pgy_nan_search *nan = NULL;
    pgy_headroom *headroom = NULL;
    char *text = NULL;
    pgy_status st = pgy_model_load(&model, argv[1], NULL, &err);
    if (!st) st = pgy_record_feed(&feed, model, NULL, &err);
    if (!st) st = pgy_floor_create(&noise, model, &half, &err);
    if (!st) st = pgy_floor_add(noise, feed, &err);
    if (!st) st = pgy_nan_create(&nan, model, &rounded, &err);
    if (!st) st = pgy_nan_add(nan, feed, &err);
    if (!st) st = pgy_headroom_create(&headroom, model, &err);
    if (!st) st = pgy_headroom_add(headroom, feed, &err);
    reports.floor = noise;
    reports.nan = nan;
    reports.headroom = headroom;
    if (!st) st = pgy_noise_text(&text, &reports, NULL, &err);
    if (!st) printf("%s", text);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    pgy_text_free(text);
    pgy_headroom_destroy(headroom);
    pgy_nan_destroy(nan);
    pgy_floor_destroy(noise);
    pgy_tensor_map_destroy(feed);
    pgy_model_destroy(model);
    return st != PGY_OK;
}
