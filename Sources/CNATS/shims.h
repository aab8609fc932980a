#ifndef CNATS_SHIMS_H
#define CNATS_SHIMS_H

#include <nats/nats.h>

#endif
