/* SPDX-License-Identifier: Apache-2.0 */
/* Bags of embeddings: Gather with a reduction, and the loops that exporters of torch write, become
 * EmbeddingBag of pgy. Near misses stay as they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "harness/pass_case.h"

static const int64_t INDICES[8] = {1, -1, 5, 3, 0, 2, 2, -6}, FIRST[1] = {0}, ONE[1] = {1};

/* A model of opset 18, where all reductions have axes as an input; x is the table. */
static model_builder start_table(void)
{
    model_builder b = builder_start(18);
    builder_input(&b, "x", PGY_F32, "6, 4");
    return b;
}

/* ---- A matrix of indices -------------------------------------------------------------------- */

static void matrix(const char *reduce, const char *shape, int64_t axis, bool keep, const char *w,
                   const char *nodes)
{
    model_builder b = start_table();
    ints(&b, "i", shape, INDICES);
    ints(&b, "axis", "1", &axis);
    builder_node(&b, "Gather", "x i", "g");
    if (w) weights(&b, "w", w, 8);
    if (w) builder_node(&b, "Mul", "w g", "m");
    pgy_onnx_node *n = builder_node(&b, reduce, w ? "m axis" : "g axis", "y");
    builder_attr_int(&b, n, "keepdims", keep);
    expect_y(&b, nodes);
}

static void test_fuse_bags__rows_of_a_matrix(void **state)
{
    (void)state;
    matrix("ReduceSum", "2, 4", 1, false, NULL, "EmbeddingBag");
    matrix("ReduceMean", "2, 4", -2, true, NULL, "EmbeddingBag");
    matrix("ReduceMax", "2, 2, 2", 2, false, NULL, "EmbeddingBag");
    matrix("ReduceSum", "4, 2", 1, true, "4, 2, 1", "EmbeddingBag");
    matrix("ReduceMax", "4, 2", 1, false, "4, 2, 1", "EmbeddingBag");
    /* Another axis, another reduction, weights of columns, a single bag. */
    matrix("ReduceSum", "2, 4", 0, false, NULL, "Gather ReduceSum");
    matrix("ReduceSum", "2, 4", 2, false, NULL, "Gather ReduceSum");
    matrix("ReduceMin", "2, 4", 1, false, NULL, "Gather ReduceMin");
    matrix("ReduceSum", "4, 2", 1, false, "2, 4", "Gather Mul ReduceSum");
    matrix("ReduceSum", "8", 0, false, NULL, "Gather ReduceSum");
}

static void test_fuse_bags__rows_that_others_read_stay(void **state)
{
    (void)state;
    model_builder b = start_table();
    ints(&b, "i", "2, 4", INDICES);
    ints(&b, "axis", "1", ONE);
    builder_node(&b, "Gather", "x i", "g");
    builder_attr_int(&b, builder_node(&b, "ReduceSum", "g axis", "s"), "keepdims", 1);
    builder_node(&b, "Sub", "g s", "y");
    expect_y(&b, "Gather ReduceSum Sub");
}

static void test_fuse_bags__cuda_devices_gather_and_reduce(void **state)
{
    (void)state;
    model_builder b = start_table();
    ints(&b, "i", "2, 4", INDICES);
    ints(&b, "axis", "1", ONE);
    builder_node(&b, "Gather", "x i", "g");
    builder_node(&b, "ReduceSum", "g axis", "y");
    expect_y_on(&b, "cuda", "Gather ReduceSum");
}

/* ---- Loops ---------------------------------------------------------------------------------- */

/* What differs between loops; 0 and NULL: as exporters write them. */
typedef struct loop_case {
    const char *reduce;
    bool weighted, computed; /* computed: offsets are no constants */
    int64_t offsets[5];
    const char *count;             /* of iterations */
    bool last, counts_twice, ones; /* near misses: see below */
} loop_case;

/* Offsets o, five of them; `computed` adds a 0 that no pass knows. */
static void add_offsets(model_builder *b, const loop_case *l)
{
    const float large = 100;
    ints(b, l->computed ? "known" : "o", "5", l->offsets);
    if (!l->computed) return;
    scalar(b, "large", large);
    builder_attr_int(b, builder_node(b, "ReduceMax", "x", "most"), "keepdims", 0);
    builder_node(b, "Greater", "most large", "is_large");
    builder_attr_int(b, builder_node(b, "Cast", "is_large", "zero"), "to", 7);
    builder_node(b, "Add", "known zero", "o");
}

static void scan(const loop_case *l, const char *nodes)
{
    static const int64_t MOST[1] = {INT64_MAX};
    model_builder b = start_table(), body = builder_subgraph(&b, "body");
    ints(&b, "i", "8", INDICES);
    ints(&b, "zero_axis", "1", FIRST);
    ints(&b, "one_axis", "1", ONE);
    ints(&b, "most_end", "1", MOST);
    ints(&b, "four", "", (const int64_t[]){4});
    ints(&b, "three", "", (const int64_t[]){3});
    if (l->weighted) weights(&b, "w", "8", 8);
    add_offsets(&b, l);
    builder_attr_int(&b, builder_node(&b, "Cast", "one_axis", "yes1"), "to", 9);
    builder_node(&b, "Squeeze", "yes1", "yes");
    builder_node(&b, "Slice", "o one_axis most_end zero_axis one_axis", "ends");
    builder_input(&body, "n", PGY_I64, "");
    builder_input(&body, "c", PGY_BOOL, "");
    builder_node(&body, "Gather", "o n", "s0");
    builder_node(&body, "Gather", "ends n", "e0");
    builder_node(&body, "Unsqueeze", "s0 zero_axis", "s");
    builder_node(&body, "Unsqueeze", "e0 zero_axis", "e");
    builder_node(&body, "Slice", "i s e zero_axis", "part");
    builder_node(&body, "Gather", "x part", "g");
    if (l->weighted) builder_node(&body, "Slice", "w s e zero_axis", "ws");
    if (l->weighted) builder_node(&body, "Unsqueeze", "ws one_axis", "wu");
    if (l->weighted) builder_node(&body, "Mul", "g wu", "m");
    pgy_onnx_node *n =
        builder_node(&body, l->reduce, l->weighted ? "m zero_axis" : "g zero_axis", "r");
    builder_attr_int(&body, n, "keepdims", 0);
    builder_node(&body, "Identity", "c", "go");
    builder_node(&body, "Cast", "yes", "again");
    builder_attr_int(&body, body.graph->nodes[body.graph->node_count - 1], "to", 9);
    builder_output(&body, l->last ? "go" : "again", PGY_BOOL, "");
    builder_output(&body, "r", PGY_F32, NULL);
    char inputs[32];
    snprintf(inputs, sizeof inputs, "%s yes", l->count ? l->count : "four");
    builder_attr_graph(&b, builder_node(&b, "Loop", inputs, "y"), "body", &body);
    expect_y(&b, nodes);
}

static void test_fuse_bags__a_loop_that_stacks_results(void **state)
{
    (void)state;
    scan(&(loop_case){.reduce = "ReduceSum", .offsets = {0, 3, 3, 7, 8}}, "EmbeddingBag");
    scan(&(loop_case){.reduce = "ReduceMax", .offsets = {0, 3, 4, 7, 8}}, "EmbeddingBag");
    scan(&(loop_case){.reduce = "ReduceMean", .offsets = {0, 3, 4, 7, 8}, .computed = true},
         "ReduceMax Greater Cast Add EmbeddingBag");
    scan(&(loop_case){.reduce = "ReduceSum", .offsets = {1, 3, -1, 2, 77}, .weighted = true},
         "EmbeddingBag");
    /* Bags of the same size are a matrix. */
    scan(&(loop_case){.reduce = "ReduceSum", .offsets = {0, 2, 4, 6, 8}}, "EmbeddingBag");
    /* Fewer bags than offsets say, another reduction, an end that depends on the loop. */
    scan(&(loop_case){.reduce = "ReduceSum", .offsets = {0, 3, 3, 7, 8}, .count = "three"}, "Loop");
    scan(&(loop_case){.reduce = "ReduceMin", .offsets = {0, 3, 4, 7, 8}}, "Loop");
    scan(&(loop_case){.reduce = "ReduceSum", .offsets = {0, 3, 4, 7, 8}, .last = true}, "Loop");
}

/* If of `condition` whose branches are built as `yes` and `no`. */
static void branch(model_builder *b, const char *condition, const char *output, model_builder *yes,
                   const char *from_yes, model_builder *no, const char *from_no)
{
    builder_output(yes, from_yes, PGY_F32, NULL);
    builder_output(no, from_no, PGY_F32, NULL);
    pgy_onnx_node *n = builder_node(b, "If", condition, output);
    builder_attr_graph(b, n, "then_branch", yes);
    builder_attr_graph(b, n, "else_branch", no);
}

/* The rows of one bag, reduced to r, in the branch for bags whose bounds differ. */
static void reduce_bag(model_builder *b, const loop_case *l)
{
    model_builder yes = builder_subgraph(b, "yes"), no = builder_subgraph(b, "no");
    if (strcmp(l->reduce, "ReduceSum") != 0) builder_node(b, "Equal", "n last", "is_last");
    if (strcmp(l->reduce, "ReduceMax") == 0) {
        builder_node(&yes, "Slice", "rows s all", "to_end");
        builder_node(&no, "Slice", "rows s e", "to_next");
        branch(b, "is_last", "part", &yes, "to_end", &no, "to_next");
        builder_node(b, "ReduceMax", "part first", "r");
        return;
    }
    builder_node(b, "Slice", "rows s e", "part");
    if (strcmp(l->reduce, "ReduceMean") != 0) {
        builder_node(b, l->reduce, "part first", "r");
        return;
    }
    model_builder some = builder_subgraph(b, "some"), none = builder_subgraph(b, "none");
    builder_node(&yes, "ReduceSum", "part first", "sum");
    builder_node(&yes, "Sub", "all s", "number");
    builder_node(&yes, "Greater", "number zero_count", "positive");
    builder_attr_int(&some, builder_node(&some, "Cast", "number", "f"), "to", 1);
    builder_node(&some, "Div", "sum f", "divided");
    builder_node(&none, "Identity", "sum", "same");
    branch(&yes, "positive", "last_mean", &some, "divided", &none, "same");
    builder_node(&no, "ReduceMean", "part first", "mean");
    branch(b, "is_last", "r", &yes, "last_mean", &no, "mean");
}

static void loop_body(model_builder *body, const loop_case *l)
{
    model_builder empty = builder_subgraph(body, "empty"), some = builder_subgraph(body, "some");
    static const float ZEROS[4] = {0}, ONES[4] = {1, 1, 1, 1};
    builder_input(body, "iteration", PGY_I64, "");
    builder_input(body, "go", PGY_BOOL, "");
    builder_input(body, "n", PGY_I64, "");
    builder_input(body, "seq", PGY_DTYPE_NONE, NULL);
    builder_node(body, "Reshape", "n minus", "at");
    builder_node(body, "Add", "at one", "next_at");
    builder_node(body, "Add", "at two", "end_at");
    builder_node(body, "Slice", "o at next_at", "s");
    builder_node(body, "Slice", "o next_at end_at", "e");
    builder_node(body, "Equal", "s e", "equal");
    builder_floats(&empty, "zeros", "1, 4", l->ones ? ONES : ZEROS);
    reduce_bag(&some, l);
    branch(body, "equal", "row", &empty, "zeros", &some, "r");
    builder_node(body, "SequenceInsert", "seq row", "longer");
    builder_node(body, "Add", l->counts_twice ? "n two" : "n one", "more");
    builder_node(body, "Less", "more bags", "again");
}

static void sequence(const loop_case *l, const char *nodes)
{
    model_builder b = start_table(), body = builder_subgraph(&b, "body");
    const int64_t bags = l->count ? 3 : 4;
    ints(&b, "i", "8", INDICES);
    ints(&b, "first", "1", FIRST);
    ints(&b, "minus", "1", (const int64_t[]){-1});
    ints(&b, "one", "", ONE);
    ints(&b, "two", "", (const int64_t[]){2});
    ints(&b, "start", "", FIRST);
    ints(&b, "zero_count", "", FIRST);
    ints(&b, "bags", "", &bags);
    ints(&b, "last", "", (const int64_t[]){l->last ? 0 : bags - 1});
    ints(&b, "all", "1", (const int64_t[]){8});
    add_offsets(&b, l);
    if (l->weighted) weights(&b, "w", "8, 1", 8);
    builder_node(&b, "Gather", "x i", l->weighted ? "g" : "rows");
    if (l->weighted) builder_node(&b, "Mul", "g w", "rows");
    builder_node(&b, "SequenceEmpty", "", "none");
    builder_node(&b, "Less", "start bags", "begins");
    loop_body(&body, l);
    builder_output(&body, "again", PGY_BOOL, "");
    builder_output(&body, "more", PGY_I64, "");
    builder_output(&body, "longer", PGY_DTYPE_NONE, NULL);
    builder_attr_graph(&b, builder_node(&b, "Loop", "- begins start none", "counted seq_out"),
                       "body", &body);
    builder_attr_int(&b, builder_node(&b, "ConcatFromSequence", "seq_out", "y"), "axis", 0);
    expect_y(&b, nodes);
}

static void test_fuse_bags__a_loop_that_appends_to_a_sequence(void **state)
{
    (void)state;
    static const char LEFT[] = "Gather SequenceEmpty Loop ConcatFromSequence";
    sequence(&(loop_case){.reduce = "ReduceSum", .offsets = {0, 3, 3, 7, 8}}, "EmbeddingBag");
    sequence(&(loop_case){.reduce = "ReduceMax", .offsets = {0, 3, 3, 5, 6}}, "EmbeddingBag");
    sequence(&(loop_case){.reduce = "ReduceMean", .offsets = {0, 3, 3, 5, 6}}, "EmbeddingBag");
    sequence(&(loop_case){.reduce = "ReduceMean", .offsets = {0, 0, 3, 7, 8}, .computed = true},
             "ReduceMax Greater Cast Add EmbeddingBag");
    sequence(&(loop_case){.reduce = "ReduceSum", .offsets = {0, 3, 3, 7, 8}, .weighted = true},
             "EmbeddingBag");
    sequence(&(loop_case){.reduce = "ReduceMax", .offsets = {0, 2, 4, 6, 8}}, "EmbeddingBag");
    /* Not all bags, not every bag, another last one, ones instead of zeros, another reduction. */
    sequence(&(loop_case){.reduce = "ReduceSum", .offsets = {0, 3, 3, 7, 8}, .count = "3"}, LEFT);
    sequence(&(loop_case){.reduce = "ReduceSum", .offsets = {0, 3, 3, 7, 8}, .counts_twice = true},
             LEFT);
    sequence(&(loop_case){.reduce = "ReduceMax", .offsets = {0, 3, 4, 5, 6}, .last = true}, LEFT);
    sequence(&(loop_case){.reduce = "ReduceSum", .offsets = {0, 3, 3, 7, 8}, .ones = true}, LEFT);
    sequence(&(loop_case){.reduce = "ReduceMin", .offsets = {0, 3, 4, 7, 8}}, LEFT);
}
