package weir

// XXH32 is the checksum that a test needs to make an LZ4 frame.
var XXH32 = xxh32
