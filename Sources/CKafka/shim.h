/* The system's librdkafka: a client of Kafka, with its cluster in memory for tests. */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
