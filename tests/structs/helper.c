/* SPDX-License-Identifier: Apache-2.0 */
/* A library of operators that gives whatever list its user puts here. */
#include <polygraphy/operator.h>

extern const pgy_operator_definition *helper_list[2];
extern size_t helper_host_size;
__attribute__((visibility("default"))) const pgy_operator_definition *helper_list[2];
__attribute__((visibility("default"))) size_t helper_host_size;

const pgy_operator_definition *const *pgy_operators_v1(const pgy_operator_host *host);
__attribute__((visibility("default"))) const pgy_operator_definition *const *pgy_operators_v1(
    const pgy_operator_host *host)
{
    helper_host_size = host->size;
    return helper_list;
}
