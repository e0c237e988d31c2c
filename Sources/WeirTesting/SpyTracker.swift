// SpyTracker: a tracker for tests.

import Weir
