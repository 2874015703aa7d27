/* SPDX-License-Identifier: Apache-2.0 */
/* Axis 0 of values before and behind an Attention: operands of three and five axes get four. */
#include "transform/fuse/attention.h"

pgy_value *attention_axis(pattern *p, pgy_node *n, const char *op, pgy_value *v)
{
    static const int64_t FIRST[] = {0};
    pgy_value *const inputs[] = {v, pattern_list(p, n, NULL, FIRST, 1)};
    return pattern_make(p, n, NULL, op, inputs, 2);
}
