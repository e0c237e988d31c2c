/* The system's zlib: gzip. */
#include <zlib.h>
