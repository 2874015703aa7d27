/* SPDX-License-Identifier: Apache-2.0 */
/* The host as a device. */
#ifndef DEVICE_HOST_H
#define DEVICE_HOST_H

#include "device/device.h"

/* For devices that compute in host memory under another name; they use the host's streams and
 * events. */
extern const device_functions DEVICE_HOST_FUNCTIONS;
extern device DEVICE_HOST;

#endif
