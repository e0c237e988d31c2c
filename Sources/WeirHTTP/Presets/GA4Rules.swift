// The rules of Google Analytics 4 for names and values. Google drops what breaks them, and reports nothing.

#if HTTP
  import WeirDelivery
  import Weir

  /// The names that Google Analytics 4 accepts.
  enum GA4Names {
    /// The maximum length of a user's id, in characters.
    static let userIDLength = 256

    private static let length = 40
    private static let userPropertyLength = 24
    private static let prefixes = ["ga_", "google_", "firebase_"]
    private static let reservedEvents: Set<String> = [
      "ad_activeview", "ad_click", "ad_exposure", "ad_query", "ad_reward", "adunit_exposure", "app_clear_data",
      "app_exception", "app_install", "app_remove", "app_store_refund", "app_update", "app_upgrade",
      "dynamic_link_app_open", "dynamic_link_app_update", "dynamic_link_first_open", "error", "first_open",
      "first_visit", "notification_dismiss", "notification_foreground", "notification_open", "notification_receive",
      "notification_send", "os_update", "session_start", "user_engagement",
    ]
    private static let eventsOfApps: Set<String> = ["ad_impression", "in_app_purchase", "screen_view"]
    private static let reservedUserProperties: Set<String> = [
      "first_open_time", "first_visit_time", "last_deep_link_referrer", "user_id", "first_open_after_install",
    ]

    /// Returns the name of an event in Google's form. Throws ``EventUnfit`` for a name that has none.
    static func event(_ name: String, isApp: Bool) throws -> String {
      let mapped = try checked(name, "the event's name", length)
      let isReserved = reservedEvents.contains(mapped) || !isApp && eventsOfApps.contains(mapped)
      guard !isReserved else { throw reserved(name, "the event's name") }
      return mapped
    }

    /// Returns the name of a parameter in Google's form. Throws ``EventUnfit`` for a name that has none.
    static func parameter(_ name: String) throws -> String {
      try checked(name, "the field's name", length)
    }

    /// Returns the name of a user property in Google's form. Throws ``EventUnfit`` for a name that has none.
    static func userProperty(_ name: String) throws -> String {
      let mapped = try checked(name, "the trait's name", userPropertyLength)
      guard !reservedUserProperties.contains(mapped) else { throw reserved(name, "the trait's name") }
      return mapped
    }

    private static func checked(_ name: String, _ what: String, _ length: Int) throws -> String {
      let mapped = String(name.map { ".-/: ".contains($0) ? "_" : $0 })
      let isPlain = mapped.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
      guard isPlain, mapped.first?.isLetter == true else {
        throw EventUnfit(
          "\(what) \(name.debugDescription) is not a letter followed by letters, digits and _, as Google Analytics "
            + "requires; rename with an EventMapper")
      }
      guard mapped.utf8.count <= length else {
        throw EventUnfit(
          "\(what) \(name.debugDescription) has \(mapped.utf8.count) characters; the limit of Google Analytics is "
            + "\(length)")
      }
      guard !prefixes.contains(where: mapped.hasPrefix), mapped != "firebase_conversion" else {
        throw reserved(name, what)
      }
      return mapped
    }

    private static func reserved(_ name: String, _ what: String) -> EventUnfit {
      EventUnfit("\(what) \(name.debugDescription) is reserved by Google Analytics; rename with an EventMapper")
    }
  }

  /// The values that Google Analytics 4 accepts.
  enum GA4Values {
    /// The maximum number of parameters of an event, and of user properties.
    static let count = 25

    /// The maximum length of a parameter's value, in characters.
    static let length = 100
    private static let userPropertyLength = 36
    /// Parameters with a limit of their own; `nil` for no limit.
    private static let lengths: [String: Int?] = [
      "page_title": 300, "page_referrer": 420, "page_location": 1_000, "session_id": nil, "session_number": nil,
    ]
    private static let items = 200
    private static let ownItemParameters = 10
    private static let itemParameters: Set<String> = [
      "item_id", "item_name", "affiliation", "coupon", "discount", "index", "item_brand", "item_category",
      "item_category2", "item_category3", "item_category4", "item_category5", "item_list_id", "item_list_name",
      "item_variant", "location_id", "price", "quantity", "promotion_id", "promotion_name", "creative_name",
      "creative_slot",
    ]

    /// Returns a parameter's value in Google's form, or `nil` if there is none to send. Throws ``EventUnfit`` for a
    /// value that is too long.
    static func parameter(_ value: FieldValue, _ name: String) throws -> FieldValue? {
      if name == "items", case .array(let values) = value, let items = objects(values) {
        return try Self.items(items)
      }
      return try scalar(value, name, lengths[name] ?? length)
    }

    /// Returns a user property's value in Google's form, and whether it is cut. Returns `nil` for a value that is too
    /// long, and is no text that could be cut.
    static func userProperty(_ value: FieldValue, _ name: String) -> (value: FieldValue, isCut: Bool)? {
      if case .string(let text) = value, text.utf16.count > userPropertyLength {
        let cut = text.cut(toCharacters: userPropertyLength)
        return cut.isEmpty ? nil : (.string(cut), true)
      }
      guard let whole = try? scalar(value, name, userPropertyLength) else { return nil }
      return (whole, false)
    }

    /// Returns the value if its text has at most `length` characters. The count is that of UTF-16, which is never lower
    /// than the count of characters in any other sense.
    private static func checked(_ value: FieldValue, _ name: String, _ length: Int?) throws -> FieldValue {
      guard let length, case .string(let text) = value, text.utf16.count > length else { return value }
      throw EventUnfit(
        "the value of \(name) has \(text.utf16.count) characters, and the limit of Google Analytics is \(length); cut "
          + "with EventMapper.limiting(valueBytes:)")
    }

    private static func scalar(_ value: FieldValue, _ name: String, _ length: Int?) throws -> FieldValue? {
      switch value {
      case .null: return nil
      case .object(let object) where object.isEmpty: return nil
      case .bool(let flag): return .string(flag ? "true" : "false")
      case .int, .uint, .float, .double: return value
      case .string: return try checked(value, name, length)
      case .array, .object:
        var text: [UInt8] = []
        EventJSON.vendor.append(value, to: &text)
        return try checked(.string(String(decoding: text, as: UTF8.self)), name, length)
      case .bytes, .uuid, .date:
        var text: [UInt8] = []
        EventJSON.vendor.append(value, to: &text)
        // These are JSON texts without escapes.
        let plain = text.first == UInt8(ascii: "\"") ? Array(text.dropFirst().dropLast()) : text
        return try checked(.string(String(decoding: plain, as: UTF8.self)), name, length)
      }
    }

    private static func objects(_ values: [FieldValue]) -> [FieldObject]? {
      let objects = values.compactMap { value -> FieldObject? in
        if case .object(let object) = value { object } else { nil }
      }
      return objects.count == values.count && !objects.isEmpty ? objects : nil
    }

    private static func items(_ objects: [FieldObject]) throws -> FieldValue {
      guard objects.count <= items else {
        throw EventUnfit("the event has \(objects.count) items; the limit of Google Analytics is \(items)")
      }
      return .array(
        try objects.map { object in
          var names = UniqueNames([])
          var members: [FieldObject.Member] = []
          for leaf in object.leaves {
            let name = names.unique(try GA4Names.parameter(leaf.name))
            guard let value = try scalar(leaf.value, name, length) else { continue }
            members.append(.init(name: try GA4Names.parameter(name), value: value))
          }
          let own = members.count { !itemParameters.contains($0.name) }
          guard own <= ownItemParameters else {
            throw EventUnfit(
              "an item has \(own) parameters of its own; the limit of Google Analytics is \(ownItemParameters)")
          }
          return .object(FieldObject(members))
        })
    }
  }

  extension FieldValue {
    /// Whether there is nothing to send.
    var isNothing: Bool {
      switch self {
      case .null: true
      case .object(let object): object.isEmpty
      default: false
      }
    }
  }

  extension String {
    /// Returns the longest beginning of at most `limit` characters. The count is that of UTF-16.
    func cut(toCharacters limit: Int) -> String {
      var count = 0
      return String(
        prefix { character in
          count += character.utf16.count
          return count <= limit
        })
    }
  }
#endif
