// Join points and hooks. In turns: hooks that hear every call of a class hear those of other tests, too.

import Foundation
import TestSupport
import Testing

@Suite(.serialized) struct AspectTests {}
