/* The system's liblz4: blocks and frames. */
#include <lz4.h>
#include <lz4frame.h>
