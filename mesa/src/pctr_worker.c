// SPDX-License-Identifier: MIT
/* No GPU with a driver in Mesa executes work that Mesa has already done. */
#include "pctr_worker.h"

const struct pctr_worker_ops *const pctr_worker_ops;
