/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DATA_LOADER_H
#define DATA_LOADER_H

#include <polygraphy/data.h>

/* Marks a loader that can generate the data again for another runner's inputs. */
void loader_set_can_regenerate(pgy_data_loader *l);

#endif
