/* The system's librdkafka: a client of Kafka. */
#include <librdkafka/rdkafka.h>
