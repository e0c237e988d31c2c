// Version: the version of this library.

/// The version of this library and of the tool: Semantic Versioning 2.0.
package let weirVersion = "0.1.0"
