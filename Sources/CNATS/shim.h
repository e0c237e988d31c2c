/* The system's nats.c: a client of NATS. */
#include <nats/nats.h>
