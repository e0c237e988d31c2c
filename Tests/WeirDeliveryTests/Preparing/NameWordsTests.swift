// Names taken apart and put together in other styles, as a table, and what holds for any name.

import Foundation
import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct NameWordsTests {
  static let snake: [(String, String)] = [
    ("userID", "user_id"), ("userIDs", "user_ids"), ("userId", "user_id"), ("UserID", "user_id"), ("ID", "id"),
    ("IDs", "ids"), ("HTTPStatus", "http_status"), ("HTTP", "http"), ("httpStatus", "http_status"),
    ("getHTTPResponseCode", "get_http_response_code"), ("parseURLPath2", "parse_url_path2"),
    ("parseURLsFast", "parse_urls_fast"), ("URLs", "urls"), ("eventsV2", "events_v2"), ("v2Events", "v2_events"),
    ("UTF8", "utf8"), ("UTF8String", "utf8_string"), ("utf8String", "utf8_string"), ("HTTP2Server", "http2_server"),
    ("sha256", "sha256"), ("SHA256Sum", "sha256_sum"), ("2faCode", "2fa_code"), ("x86Arch", "x86_arch"),
    ("S3Bucket", "s3_bucket"), ("iPhone", "i_phone"), ("OAuth2Token", "o_auth2_token"), ("aB", "a_b"), ("AB", "ab"),
    ("ABc", "a_bc"), ("a", "a"), ("A", "a"), ("isAClass", "is_a_class"), ("already_snake", "already_snake"),
    ("SCREAMING_CASE", "screaming_case"), ("Mixed_CaseName", "mixed_case_name"), ("_id", "_id"), ("__v", "__v"),
    ("user__id", "user__id"), ("name_", "name_"), ("_", "_"), ("", ""), ("page-view", "page_view"),
    ("Page View", "page_view"), ("a/b:c", "a_b_c"), ("größeÄndern", "größe_ändern"), ("ÄÖÜ", "äöü"),
    ("имяПользователя", "имя_пользователя"), ("名前Name", "名前_name"), ("userの名前", "userの名前"),
    ("emoji😀Name", "emoji😀_name"),
    ("Checkout.completed", "checkout_completed"), ("checkout.itemAdded", "checkout_item_added"), (".", "_"),
    ("a..b", "a__b"),
  ]

  @Test(arguments: snake) func `a name has its snake case`(name: String, expected: String) {
    #expect(EventMapper.snakeCase().name(name) == expected)
    // Twice is once, and the separator of dots is the only other thing that differs.
    #expect(EventMapper.snakeCase().name(expected) == expected)
    if !name.contains(".") { #expect(EventMapper.snakeCase(separator: ".").name(name) == expected) }
  }

  @Test func `dots may stay, and words may be given`() {
    let dotted = EventMapper.snakeCase(separator: ".")
    #expect(dotted.name("Checkout.itemAdded") == "checkout.item_added")
    #expect(dotted.name(dotted.name("Checkout.itemAdded")) == "checkout.item_added")
    let told = EventMapper.snakeCase(words: ["iPhone", "OAuth", "GraphQL", "IPv4", "", "B2B", "iP"])
    let names = [
      "iPhone": "iphone", "iPhoneModel": "iphone_model", "myOAuth2Token": "my_oauth2_token", "OAuthURL": "oauth_url",
      "GraphQLQuery": "graphql_query", "GraphQL": "graphql", "IPv4Address": "ipv4_address",
      "B2BCustomer": "b2b_customer",
      "iPhones": "i_phones", "OAUTH": "oauth", "hasiPhone": "hasi_phone", "iPad": "i_pad",
    ]
    for (name, expected) in names { #expect(told.name(name) == expected) }
  }

  @Test(arguments: [
    ("user_id", "userId"), ("UserID", "userId"), ("HTTPStatus", "httpStatus"), ("already", "already"),
    ("_id", "_id"), ("a__b", "aB"), ("name_", "name_"), ("page-view", "pageView"), ("events_v2", "eventsV2"),
    ("Checkout.itemAdded", "checkout.itemAdded"), ("größe_ändern", "größeÄndern"), ("", ""), ("_", "_"),
  ]) func `a name has its camel case`(name: String, expected: String) {
    #expect(EventMapper.camelCase().name(name) == expected)
    #expect(EventMapper.camelCase().name(expected) == expected)
  }

  @Test func `random names keep their letters and digits`() {
    let seed = UInt64(ProcessInfo.processInfo.environment["WEIR_SEED"] ?? "") ?? 11
    var random = Seeded(seed: seed)
    let letters = Array("aabbcIDURLsé_A1.2- Ж名ßİ\u{301}")
    let (snake, camel) = (EventMapper.snakeCase(separator: "."), EventMapper.camelCase())
    for _ in 0..<20_000 {
      let length = Int.random(in: 0...12, using: &random)
      let name = String((0..<length).map { _ in letters.randomElement(using: &random)! })
      let mapped = snake.name(name)
      #expect(snake.name(mapped) == mapped, "\(name), seed \(seed)")
      #expect(!mapped.contains { $0.isUppercase && $0.isASCII })
      // No letter and no digit is lost, whatever its case.
      func bare(_ text: String) -> String { text.lowercased().filter { $0.isLetter || $0.isNumber } }
      #expect(bare(mapped) == bare(name), "\(name), seed \(seed)")
      #expect(bare(camel.name(name)) == bare(name), "\(name), seed \(seed)")
    }
  }
}

extension EventMapper {
  /// What it makes of an event's name.
  func name(_ name: String) -> String { self(prepared(name))?.name ?? "" }
}

func stored(
  _ name: String, _ fields: FieldObject = [:], at nanoseconds: Int64 = 0,
  id: EventID = EventID(opening: 1, sequence: 1),
  declaration: EventType? = nil, context: EventContext = EventContext()
) -> StoredEvent {
  StoredEvent(
    offset: 0, id: id, time: Timestamp(nanosecondsSince1970: nanoseconds), name: name, fields: fields,
    declaration: declaration, context: context)
}

func prepared(_ name: String, _ fields: FieldObject = [:], context: EventContext = EventContext()) -> PreparedEvent {
  PreparedEvent(stored(name, fields, context: context))
}
