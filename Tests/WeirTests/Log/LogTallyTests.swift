// LogTally: what is counted below an offset while the log is being removed from.

import TestSupport
import Testing
import Weir

struct LogTallyTests {
  /// A provider begins at 100, because all below was removed; before the tally was taken another 20 events went.
  @Test func `events removed above a beginning are not below it`() {
    var tally = LogTally()
    tally.removed = 120
    #expect(tally.acceptedBelow == 120)
    #expect(tally.acceptedBelow(noMoreThan: 100) == 100)
    #expect(tally.acceptedBelow(noMoreThan: 130) == 120)
  }
}
