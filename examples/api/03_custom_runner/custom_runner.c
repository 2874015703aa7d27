/* SPDX-License-Identifier: Apache-2.0 */
/* A runner that consists of one function, y = x squared. It is compared with itself and with a
 * wrong runner.
 *
 *     custom_runner
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

/* The runner: any code that turns named inputs into named outputs. */
static pgy_status square(const pgy_tensor_map *feed, pgy_tensor_map *out, void *user, pgy_error *err)
{
    (void)user;
    pgy_tensor *x = pgy_tensor_map_find(feed, "x"), *y = NULL;
    pgy_status st = pgy_tensor_create(&y, PGY_F32, pgy_tensor_rank(x), pgy_tensor_shape(x), err);
    if (st) return st;
    const float *from = pgy_tensor_data(x);
    float *to = pgy_tensor_data(y);
    for (size_t i = 0; i < pgy_tensor_count(x); i++) to[i] = from[i] * from[i];
    return pgy_tensor_map_adopt(out, "y", y, err);
}

/* The wrong runner: its first element is off by a thousandth. */
static pgy_status square_wrong(const pgy_tensor_map *feed, pgy_tensor_map *out, void *user, pgy_error *err)
{
    pgy_status st = square(feed, out, user, err);
    if (!st) ((float *)pgy_tensor_data(pgy_tensor_map_find(out, "y")))[0] += 1e-3f;
    return st;
}

static pgy_status describe_input(pgy_metadata **out, pgy_error *err)
{
    static const int64_t SHAPE[] = {2, 3};
    const pgy_tensor_info info = {.name = "x", .dtype = PGY_F32, .rank = 2, .shape = SHAPE};
    pgy_status st = pgy_metadata_create(out, err);
    return st ? st : pgy_metadata_set(*out, &info, err);
}

/* Runs both runners and reports whether they agree. */
static pgy_status compare(bool *agree, pgy_infer_callback a, pgy_infer_callback b, const pgy_metadata *inputs, pgy_error *err)
{
    pgy_runner *runners[2] = {NULL, NULL};
    pgy_run_report *report = NULL;
    pgy_run_options options = pgy_run_options_default();
    pgy_status st = pgy_runner_create_callback(&runners[0], "first", inputs, a, NULL, err);
    if (!st) st = pgy_runner_create_callback(&runners[1], "second", inputs, b, NULL, err);
    if (!st) st = pgy_run(&report, runners, 2, &options, err);
    if (!st) *agree = pgy_run_report_passed(report);
    pgy_run_report_destroy(report);
    pgy_runner_destroy(runners[0]);
    pgy_runner_destroy(runners[1]);
    return st;
}

int main(void)
{
    pgy_error err = {0};
    pgy_metadata *inputs = NULL;
    bool same = false, wrong = true;
    pgy_status st = describe_input(&inputs, &err);
    if (!st) st = compare(&same, square, square, inputs, &err);
    if (!st) st = compare(&wrong, square, square_wrong, inputs, &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    else printf("square against itself: %s; against the wrong one: %s\n", same ? "agrees" : "disagrees", wrong ? "agrees" : "disagrees");
    pgy_metadata_destroy(inputs);
    return st || !same || wrong;
}
