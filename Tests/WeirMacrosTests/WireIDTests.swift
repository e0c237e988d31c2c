// The ids that events have by their names. They are in logs, so these numbers may never change.

#if Macros
  import Testing

  import Weir

  @Suite struct WireIDTests {
    /// From the list of test vectors of the hash's authors.
    @Test(arguments: [("", 0x811c_9dc5), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968)] as [(String, UInt32)])
    func `an id is the hash of the name`(name: String, id: UInt32) {
      #expect(wireID(ofName: name) == id)
    }

    @Event("stable") enum Stable {
      case one(a: Int)
      case two
    }

    @Event("stable") enum Reordered {
      case two
      @Case("uno", formerly: ["one"]) case one(a: Int)
      case three
    }

    @Test func `ids depend neither on the order of cases nor on new names`() {
      #expect(Stable.eventTypes.map(\.wireID) == [0x3c2d_0abc, 0x34e1_1bc2])
      #expect(Reordered.eventTypes.prefix(2).map(\.wireID) == [0x34e1_1bc2, 0x3c2d_0abc])
      #expect(Reordered.eventTypes[1].name == "stable.uno")
    }

    // MARK: What the plugin has copies of, because it can't import Weir

    @Test func `the kinds are those of EventKind`() {
      #expect(eventKindNames == EventKind.allCases.map { "\($0)" })
    }

    @Test func `the limits are those of a log`() {
      #expect(maximumNameBytes == EventType.maximumNameBytes)
      #expect(reservedPrefix == EventType.reservedPrefix)
    }

    @Test func `retired events are written as literals`() {
      let retired: [RetiredEvent] = [3, "gone"]
      #expect(retired == [.id(3), .name("gone")])
    }
  }
#endif
