/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow in a network: a loop with two recurrences computes Fibonacci numbers, and a branch
 * returns the last one or its negative.
 *
 *     loops_and_branches
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

static pgy_status add_one(pgy_value **out, pgy_network *net, float number, pgy_error *err)
{
    pgy_tensor *t = NULL;
    pgy_layer *constant = NULL;
    pgy_status st = pgy_tensor_create(&t, PGY_F32, 0, NULL, err);
    if (!st) *(float *)pgy_tensor_data(t) = number;
    if (!st) st = pgy_network_add_constant(&constant, net, t, err);
    pgy_tensor_release(t);
    if (!st) *out = constant->outputs[0];
    return st;
}

/* Computes a, b = b, a + b `count` times. *all has every b, *last the last one. */
static pgy_status add_fibonacci(pgy_value **all, pgy_value **last, pgy_network *net, pgy_value *count, pgy_error *err)
{
    pgy_loop *loop = NULL;
    pgy_layer *a = NULL, *b = NULL, *sum = NULL, *numbers = NULL, *final = NULL;
    pgy_value *zero = NULL, *one = NULL;
    pgy_status st = add_one(&zero, net, 0, err);
    if (!st) st = add_one(&one, net, 1, err);
    if (!st) st = pgy_network_add_loop(&loop, net, err);
    if (!st) st = pgy_loop_add_trip_count(NULL, loop, count, err);
    if (!st) st = pgy_loop_add_recurrence(&a, loop, zero, err);
    if (!st) st = pgy_loop_add_recurrence(&b, loop, one, err);
    if (!st) st = pgy_network_add_elementwise(&sum, pgy_loop_body(loop), a->outputs[0], b->outputs[0], PGY_ELEMENTWISE_SUM, err);
    if (!st) st = pgy_loop_set_next(a, b->outputs[0], err);
    if (!st) st = pgy_loop_set_next(b, sum->outputs[0], err);
    if (!st) st = pgy_loop_add_output(&numbers, loop, b->outputs[0], PGY_LOOP_CONCATENATE, 0, err);
    if (!st) st = pgy_loop_add_output(&final, loop, b->outputs[0], PGY_LOOP_LAST_VALUE, 0, err);
    if (!st) st = pgy_loop_close(loop, err);
    if (st) return st;
    *all = numbers->outputs[0];
    *last = final->outputs[0];
    return PGY_OK;
}

static pgy_status add_choice(pgy_value **out, pgy_network *net, pgy_value *negate, pgy_value *v, pgy_error *err)
{
    pgy_conditional *choice = NULL;
    pgy_layer *input = NULL, *negative = NULL, *output = NULL;
    pgy_status st = pgy_network_add_conditional(&choice, net, negate, err);
    if (!st) st = pgy_conditional_add_input(&input, choice, v, err);
    if (!st) st = pgy_network_add_unary(&negative, pgy_conditional_branch(choice, true), input->outputs[0], PGY_UNARY_NEG, err);
    if (!st) st = pgy_conditional_add_output(&output, choice, negative->outputs[0], input->outputs[0], err);
    if (!st) st = pgy_conditional_close(choice, err);
    if (!st) *out = output->outputs[0];
    return st;
}

static pgy_status make_model(pgy_model **out, pgy_error *err)
{
    pgy_network *net = NULL;
    pgy_value *count = NULL, *negate = NULL, *all = NULL, *last = NULL, *chosen = NULL;
    pgy_status st = pgy_network_create(&net, "fibonacci", err);
    if (!st) st = pgy_network_add_input(&count, net, "count", PGY_I64, 0, NULL, err);
    if (!st) st = pgy_network_add_input(&negate, net, "negate", PGY_BOOL, 0, NULL, err);
    if (!st) st = add_fibonacci(&all, &last, net, count, err);
    if (!st) st = add_choice(&chosen, net, negate, last, err);
    if (!st) st = pgy_network_rename_tensor(net, all, "numbers", err);
    if (!st) st = pgy_network_rename_tensor(net, chosen, "last", err);
    if (!st) st = pgy_network_mark_output(net, all, err);
    if (!st) st = pgy_network_mark_output(net, chosen, err);
    if (!st) st = pgy_network_to_model(out, net, err);
    pgy_network_destroy(net);
    return st;
}

static pgy_status run(bool *right, pgy_context *context, pgy_error *err)
{
    pgy_tensor *count = NULL, *negate = NULL;
    pgy_tensor_map *feed = NULL, *outputs = NULL;
    pgy_status st = pgy_tensor_create(&count, PGY_I64, 0, NULL, err);
    if (!st) st = pgy_tensor_create(&negate, PGY_BOOL, 0, NULL, err);
    if (!st) *(int64_t *)pgy_tensor_data(count) = 7;
    if (!st) *(bool *)pgy_tensor_data(negate) = true;
    if (!st) st = pgy_tensor_map_create(&feed, err);
    if (!st) st = pgy_tensor_map_create(&outputs, err);
    if (!st) st = pgy_tensor_map_set(feed, "count", count, err);
    if (!st) st = pgy_tensor_map_set(feed, "negate", negate, err);
    if (!st) st = pgy_context_run(context, feed, outputs, err);
    if (!st) {
        const pgy_tensor *numbers = pgy_tensor_map_find(outputs, "numbers");
        const float *x = pgy_tensor_data(numbers), *last = pgy_tensor_data(pgy_tensor_map_find(outputs, "last"));
        for (size_t i = 0; i < pgy_tensor_count(numbers); i++) printf("%g ", (double)x[i]);
        printf("and then %g\n", (double)*last);
        *right = pgy_tensor_count(numbers) == 7 && x[0] == 1 && x[1] == 1 && x[2] == 2 && x[6] == 13 && *last == -21;
    }
    pgy_tensor_map_destroy(outputs);
    pgy_tensor_map_destroy(feed);
    pgy_tensor_release(negate);
    pgy_tensor_release(count);
    return st;
}

int main(void)
{
    pgy_error err = {0};
    pgy_model *model = NULL;
    pgy_engine *engine = NULL;
    pgy_context *context = NULL;
    bool right = false;
    pgy_status st = make_model(&model, &err);
    if (!st) st = pgy_engine_build(&engine, model, NULL, &err);
    if (!st) st = pgy_context_create(&context, engine, NULL, &err);
    if (!st) st = run(&right, context, &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    pgy_context_destroy(context);
    pgy_engine_release(engine);
    pgy_model_destroy(model);
    return st || !right;
}
