// The declarations of the macros.

import Weir
