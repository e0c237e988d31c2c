// WireID: the id of an event to which the source gives no id.

/// The 32-bit FNV-1a hash of a name's UTF-8. The hash is stored in logs, so it must never change.
/// The plugin runs in the compiler and can't share the function with the library.
func wireID(ofName name: String) -> UInt32 {
  name.utf8.reduce(2_166_136_261) { hash, byte in (hash ^ UInt32(byte)) &* 16_777_619 }
}
