/* SPDX-License-Identifier: Apache-2.0 */
/* The host as a device. */
#ifndef DEVICE_HOST_H
#define DEVICE_HOST_H

#include "device/device.h"

/* For devices that compute in the host's memory under another name: their streams and events are
 * the host's. */
extern const device_functions DEVICE_HOST_FUNCTIONS;
extern device DEVICE_HOST;

#endif
