// Version: the version of this library.

import CWeir

/// The version of this library and of the tool: Semantic Versioning 2.0.
package let weirVersion = WEIR_VERSION
