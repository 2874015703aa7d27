/* SPDX-License-Identifier: Apache-2.0 */
/* A Reshape splits the columns of a Gemm's result, and an Add, Mul, Sub or Div with constants per
 * column follows. Moves that operation in front of the Reshape, where it can merge with the Gemm.
 */
#include <string.h>

#include "transform/fuse/fuse.h"

typedef struct site {
    pgy_node *n, *view, *gemm;
    pgy_value *shown, *constant; /* operands of n; shown: the output of the Reshape */
    int32_t axes; /* how many of the last axes of `shown` together are the columns of the Gemm */
    int64_t columns;
} site;

static const char *const OPS[] = {"Add", "Mul", "Sub", "Div"};

static bool is_operation(const site *s)
{
    for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++)
        if (pattern_is(s->n, OPS[i])) return i < 2 || s->n->inputs[0] == s->shown;
    return false;
}

/* Is this a Gemm whose weight is constant and has no other use, so that it may be changed? */
static bool is_suitable(const pattern *p, const pgy_node *gemm)
{
    const pgy_value *w = gemm ? pattern_input(gemm, 1) : NULL;
    return w && w->initializer && pattern_is_constant(p, w) && w->consumer_count == 1 &&
           !w->is_output && pattern_float(gemm, "alpha", 1) == 1 &&
           pattern_float(gemm, "beta", 1) == 1;
}

/* Finds how many of the view's last axes form exactly the columns. */
static bool read_axes(site *s)
{
    const int32_t rank = pattern_rank(s->shown);
    int64_t size = 1;
    s->columns = pattern_size(s->gemm->outputs[0], 1);
    if (s->columns < 1 || pattern_rank(s->gemm->outputs[0]) != 2) return false;
    for (s->axes = 0; s->axes < rank && size < s->columns; s->axes++) {
        const int64_t next = pattern_size(s->shown, -1 - s->axes);
        if (next < 1 || s->columns % next) return false;
        size *= next;
    }
    return size == s->columns && s->axes > 0;
}

/* True if the constant varies along these axes only and does not broadcast the result. */
static bool fits(const site *s)
{
    const int32_t rank = pattern_rank(s->constant);
    if (rank < 0 || rank > PGY_MAX_RANK || !pattern_same_shape(s->shown, s->n->outputs[0]) ||
        pattern_dtype(s->constant) != pattern_dtype(s->shown))
        return false;
    for (int32_t d = 1; d <= rank; d++) {
        const int64_t size = pattern_size(s->constant, -d);
        if (size != 1 && (d > s->axes || size != pattern_size(s->shown, -d))) return false;
    }
    return true;
}

static bool read_site(site *s, const pattern *p, pgy_node *n)
{
    static const char *const VIEWS[] = {"Reshape", "Flatten", "Unsqueeze", "Squeeze"};
    *s = (site){.n = n};
    if (n->input_count != 2 || !n->inputs[0] || !n->inputs[1]) return false;
    const bool first = pattern_is_constant(p, n->inputs[0]);
    s->constant = n->inputs[!first];
    s->shown = n->inputs[first];
    for (size_t i = 0; !s->view && i < sizeof VIEWS / sizeof *VIEWS; i++)
        s->view = pattern_inner(s->shown, VIEWS[i]);
    s->gemm = s->view ? pattern_inner(s->view->inputs[0], "Gemm") : NULL;
    return s->gemm && is_operation(s) && pattern_is_constant(p, s->constant) &&
           is_suitable(p, s->gemm) && read_axes(s) && fits(s);
}

/* Index in the constant of the element for this column of the Gemm. */
static size_t place(const site *s, size_t column)
{
    size_t at = 0, step = 1;
    for (int32_t d = 1; d <= s->axes && d <= pattern_rank(s->constant); d++) {
        const size_t size = (size_t)pattern_size(s->shown, -d);
        if (pattern_size(s->constant, -d) != 1) {
            at += column % size * step;
            step *= size;
        }
        column /= size;
    }
    return at;
}

/* Makes a constant with one number per column, or a single one. */
static pgy_value *make_columns(pattern *p, const site *s)
{
    pgy_tensor *t = pattern_floats(p, s->constant);
    pgy_value *made = NULL;
    double *values = arena_alloc_array(&p->f.memory, (size_t)s->columns, sizeof *values);
    if (!t || !values) {
        p->status = graph_no_memory(p->err);
    } else {
        const bool one = pgy_tensor_count(t) == 1;
        const size_t count = one ? 1 : (size_t)s->columns;
        for (size_t i = 0; i < count; i++) values[i] = op_f64(t)[place(s, i)];
        made = pattern_weight(p, s->n->graph, s->constant->name, s->constant->dtype, !one,
                              &s->columns, values);
    }
    pgy_tensor_release(t);
    return made;
}

bool fuse_through_view(pattern *p, pgy_node *n)
{
    site s;
    if (!read_site(&s, p, n) || s.view->input_count > 2) return false;
    pgy_value *c = make_columns(p, &s), *g = s.gemm->outputs[0];
    const bool first = n->inputs[0] == s.shown;
    pgy_value *const operands[] = {first ? g : c, first ? c : g};
    pgy_value *y = pattern_make(p, n, s.shown->name, n->op_type, operands, 2);
    if (!y) return true;
    y->producer->name = n->name;
    pgy_value *inputs[] = {y, pattern_input(s.view, 1)};
    pgy_node *view = pattern_put(p, n, s.view->op_type, inputs, s.view->input_count);
    static const char *const KEPT[] = {"allowzero", "axis", "axes", "shape"};
    for (size_t i = 0; i < sizeof KEPT / sizeof *KEPT; i++) pattern_copy(p, view, s.view, KEPT[i]);
    return true;
}
