// ControlForm: what vendors document of their exports is read as the event that it is, and what is hostile is read
// exactly or counted as unreadable.

import Foundation
import TestSupport
import Testing

@testable import Weir
@testable import WeirReconcile

@Suite struct ControlFormTests {
  private func read(_ line: String) -> FieldObject? {
    let bytes = Array(line.utf8)
    return JSONObject.read(bytes.span)
  }

  /// The event of a line whose keys tell its form.
  private func event(_ line: String, _ form: ControlForm) throws -> ComparedEvent {
    let object = try #require(read(line))
    #expect(ControlForm.of(object) == form)
    return try #require(form.event(of: object))
  }

  // MARK: Vendors

  @Test func `Segment: the calls of the spec, as the S3 destination stores them`() throws {
    // https://segment.com/docs/connections/spec/track
    let track = try event(
      #"{"anonymousId":"23adfd82-aa0f-45a7-a756-24f2a7a4c895","context":{"library":{"name":"analytics.js"}},"#
        + #""event":"Course Clicked","integrations":{},"messageId":"ajs-f8ca1e4de5024d9430b3928bd8ac6b96","#
        + #""properties":{"title":"Intro to Analytics"},"receivedAt":"2015-12-12T19:11:01.266Z","#
        + #""sentAt":"2015-12-12T19:11:01.169Z","timestamp":"2015-12-12T19:11:01.249Z","type":"track","#
        + #""userId":"AiUGstSDIg","originalTimestamp":"2015-12-12T19:11:01.152Z"}"#, .segment)
    #expect(track.name == "Course Clicked")
    #expect(track.user == "AiUGstSDIg")
    #expect(track.time == 1_449_947_461_249_000_000)
    #expect(track.arrival == 1_449_947_461_266_000_000)
    #expect(track.id == nil)
    #expect(track.foreignID == "ajs-f8ca1e4de5024d9430b3928bd8ac6b96")
    #expect(track.fields == ["title": "Intro to Analytics"])

    // https://segment.com/docs/connections/spec/screen
    let screen = try event(
      #"{"anonymousId":"3a12eab0-bca7-11e4-8dfc-aa07a5b093db","messageId":"022bb90c-bbac-11e4-8dfc-aa07a5b093db","#
        + #""name":"Home","properties":{"variation":"blue signup button"},"receivedAt":"2015-02-23T22:28:55.387Z","#
        + #""sentAt":"2015-02-23T22:28:55.111Z","timestamp":"2015-02-23T22:28:55.111Z","type":"screen","#
        + #""userId":null,"version":"1.1"}"#, .segment)
    #expect(screen.name == "Home")
    #expect(screen.user == "3a12eab0-bca7-11e4-8dfc-aa07a5b093db")
    #expect(screen.id == nil)
    #expect(screen.foreignID == "022bb90c-bbac-11e4-8dfc-aa07a5b093db")
    #expect(screen.fields == ["variation": "blue signup button"])

    // https://segment.com/docs/connections/spec/group
    let group = try event(
      #"{"messageId":"022bb90c-bbac-11e4-8dfc-aa07a5b093db","timestamp":null,"#
        + #""originalTimestamp":"2015-02-23T22:28:55.111Z","traits":{"name":"Initech","employees":329},"#
        + #""type":"group","userId":"97980cfea0067","groupId":"0e8c78ea9d97a7b8185e8632"}"#, .segment)
    #expect(group.name == "group")
    #expect(group.time == 1_424_730_535_111_000_000)
    #expect(group.arrival == nil)
    #expect(group.fields == ["name": "Initech", "employees": 329])

    // https://segment.com/docs/connections/spec/alias
    let alias = try event(
      #"{"messageId":"m","previousId":"39239-239239","type":"alias","userId":"507f191e81"}"#, .segment)
    #expect(alias.name == "alias")
    #expect(alias.user == "507f191e81")
    #expect(alias.time == .min)
    #expect(alias.fields.isEmpty)
  }

  @Test func `Mixpanel: the raw export, in seconds and in milliseconds`() throws {
    // https://docs.mixpanel.com/reference/raw-event-export
    let sample = try event(
      #"{"event":"Signed up","properties":{"time":1602611311,"#
        + #""$insert_id":"hpuDqcvpltpCjBsebtxwadtEBDnFAdycabFb","mp_processing_time_ms":1602625711874}}"#, .mixpanel)
    #expect(sample.name == "Signed up")
    #expect(sample.user == nil)
    #expect(sample.time == 1_602_611_311_000_000_000)
    #expect(sample.arrival == 1_602_625_711_874_000_000)
    #expect(sample.foreignID == "hpuDqcvpltpCjBsebtxwadtEBDnFAdycabFb")
    #expect(sample.fields.isEmpty)

    // https://docs.mixpanel.com/reference/import-events, as time_in_ms=true exports it
    let imported = try event(
      #"{"event":"Purchase","properties":{"time":1618716477000,"#
        + #""distinct_id":"91304156-cafc-4673-a237-623d1129c801","$import":true,"$mp_api_timestamp_ms":1618716478000,"#
        + #""$insert_id":"935d87b1-00cd-41b7-be34-b9d98dd08b42","Item":"Coffee","Amount":5.0}}"#, .mixpanel)
    #expect(imported.user == "91304156-cafc-4673-a237-623d1129c801")
    #expect(imported.time == 1_618_716_477_000_000_000)
    #expect(imported.arrival == 1_618_716_478_000_000_000)
    #expect(imported.fields == ["Item": "Coffee", "Amount": 5.0])

    let nobody = try event(#"{"event":"e","properties":{"distinct_id":"","$insert_id":"","n":1}}"#, .mixpanel)
    #expect(nobody.user == nil)
    #expect(nobody.foreignID == nil)
  }

  @Test func `Amplitude: the export API, whose times have no zone`() throws {
    // https://amplitude.com/docs/apis/analytics/export: the schema, in the form of time that exports have
    let sample = try event(
      #"{"server_received_time":"2015-08-10 12:00:05.000000","app":123456,"$schema":12,"city":"San Francisco","#
        + #""user_id":"datamonster@gmail.com","uuid":"ec132044-055a-11ea-9afc-0a13de2cb11e","#
        + #""event_time":"2015-08-10 12:00:00.000000","amplitude_id":2234540891,"paying":null,"#
        + #""server_upload_time":"2015-08-10T12:00:09.000000","#
        + #""$insert_id":"f47ac10b-58cc-4372-a567-0e02b2c3d479","event_type":"Add Friend","#
        + #""amplitude_event_type":null,"event_properties":{"friend":"Bob","count":1},"#
        + #""device_id":"C8F9E604-F01A-4BD9-95C6-8E5357DF265D","sample_rate":null}"#, .amplitude)
    #expect(sample.name == "Add Friend")
    #expect(sample.user == "datamonster@gmail.com")
    #expect(sample.time == 1_439_208_000_000_000_000)
    #expect(sample.arrival == 1_439_208_005_000_000_000)
    #expect(sample.id == nil)
    #expect(sample.foreignID == "f47ac10b-58cc-4372-a567-0e02b2c3d479")
    #expect(sample.fields == ["friend": "Bob", "count": 1])

    let nobody = try event(
      #"{"event_type":"e","user_id":null,"device_id":"d","event_time":null,"#
        + #""client_event_time":"2015-02-05 14:12:16.123456","event_properties":{}}"#, .amplitude)
    #expect(nobody.user == "d")
    #expect(nobody.time == 1_423_145_536_123_456_000)
  }

  @Test func `PostHog: batch exports and the events API`() throws {
    // https://posthog.com/docs/cdp/batch-exports/s3: the schema of JSONLines
    let line = try event(
      #"{"uuid":"018a8f9c-4c3e-7e3a-9d2f-3b6f1c2d4e5f","event":"user signed up","distinct_id":"user-1","#
        + #""person_id":"p","properties":{"$lib":"web","token":"phc_x","distinct_id":"user-1","plan":"pro"},"#
        + #""person_properties":{"email":"a@b.c"},"elements_chain":"","timestamp":"2023-01-01T00:00:00.000000+00:00","#
        + #""created_at":"2023-01-01T00:00:01.000000+00:00","_inserted_at":"2023-01-01T00:00:09+00:00"}"#, .posthog)
    #expect(line.name == "user signed up")
    #expect(line.user == "user-1")
    #expect(line.time == 1_672_531_200_000_000_000)
    #expect(line.arrival == 1_672_531_201_000_000_000)
    #expect(line.foreignID == "018a8f9c-4c3e-7e3a-9d2f-3b6f1c2d4e5f")
    #expect(line.fields == ["plan": "pro"])

    // The same page: in other formats, properties are a text.
    let text = try event(
      #"{"uuid":"u","event":"e","distinct_id":7,"properties":"{\"$lib\":\"web\",\"n\":9007199254740993}","#
        + #""timestamp":"2023-01-01 00:00:00.000000"}"#, .posthog)
    #expect(text.user == "7")
    #expect(text.time == 1_672_531_200_000_000_000)
    #expect(text.fields == ["n": .int(9_007_199_254_740_993)])

    // https://posthog.com/docs/api/events
    let api = try event(
      #"{"id":"018a8f9c","distinct_id":"d","properties":{"n":1},"event":"e","timestamp":"2023-01-01T00:00:00Z","#
        + #""person":{"distinct_ids":["d"]},"elements":[],"elements_chain":""}"#, .posthog)
    #expect(api.foreignID == "018a8f9c")
    #expect(api.fields == ["n": 1])
  }

  @Test func `ClickHouse: rows as they are delivered, and with a column for each field`() throws {
    let id = "00000000000000070000000000000009"
    // https://clickhouse.com/docs/interfaces/formats/JSON: 64-bit integers and slashes, as the settings' defaults
    let row = try event(
      #"{"id":"\#(id)","offset":"9","time":"2024-01-01 00:00:00.123456789","name":"e","kind":"","#
        + #""fields":"{\"n\":9007199254740993,\"path\":\"\\\/a\"}","#
        + #""context":"{\"user\":{\"id\":\"u\"}}","flags":"{}"}"#, .clickhouse)
    #expect(row.name == "e")
    #expect(row.user == "u")
    #expect(row.time == 1_704_067_200_123_456_789)
    #expect(row.id == EventID(opening: 7, sequence: 9))
    #expect(row.foreignID == nil)
    #expect(row.fields == ["n": .int(9_007_199_254_740_993), "path": "/a"])

    let columns = try event(
      #"{"id":"\#(id)","offset":"9","time":"2024-01-01 00:00:00.123456789","event":"e","user_id":null,"#
        + #""name":"a field","n":"9007199254740993","ratio":null,"weir_kind":"","weir_violations":[]}"#, .clickhouse)
    #expect(columns.name == "e")
    #expect(columns.user == nil)
    #expect(columns.id == EventID(opening: 7, sequence: 9))
    #expect(columns.fields == ["name": "a field", "n": "9007199254740993", "ratio": .null])

    // The type JSON in the place of String.
    let objects = try event(
      #"{"id":"\#(id)","name":"e","time":"2024-01-01 00:00:00","fields":{"n":1},"context":{"user":{"id":""}}}"#,
      .weir)
    #expect(objects.user == "")
    #expect(objects.fields == ["n": 1])
  }

  @Test func `a plain line has the rest as fields, or its properties, which may be none`() throws {
    let rest = try event(#"{"name":"e","timestamp":1704067200,"user_id":5,"n":1,"outcome":"400"}"#, .plain)
    #expect(rest.user == "5")
    #expect(rest.time == 1_704_067_200_000_000_000)
    #expect(rest.outcome == "400")
    #expect(rest.fields == ["n": 1])
    #expect(try event(#"{"event":"e","properties":{}}"#, .plain).fields.isEmpty)
  }

  @Test func `Weir's stand-in for a user that a vendor asks for is no user`() throws {
    for line in [
      #"{"messageId":"m","event":"e","anonymousId":"weir-0123456789abcdef"}"#,
      #"{"event_type":"e","device_id":"weir-0123456789abcdef"}"#,
      #"{"event":"e","distinct_id":"weir-0123456789abcdef"}"#,
    ] {
      let object = try #require(read(line))
      #expect(try #require(ControlForm.of(object).event(of: object)).user == nil)
    }
    let other = try #require(read(#"{"event":"e","distinct_id":"weir-0123456789abcdeg"}"#))
    #expect(ControlForm.posthog.event(of: other)?.user == "weir-0123456789abcdeg")
  }

  // MARK: Hostile values

  @Test func `numbers keep what they say, and equal numbers are equal`() throws {
    func value(_ text: String) throws -> FieldValue { try #require(read(#"{"n":\#(text)}"#)?["n"]) }
    #expect(try value("9007199254740993") == .int(9_007_199_254_740_993))
    #expect(try value("9223372036854775807") == .int(.max))
    #expect(try value("-9223372036854775808") == .int(.min))
    #expect(try value("18446744073709551615") == .uint(.max))
    #expect(try value("18446744073709551616") == .double(0x1p64))
    let same = [("1.0", "1"), ("-0.0", "0"), ("1e3", "1000"), ("18446744073709551615", "18446744073709551615")]
    for (one, other) in same {
      let (left, right) = (try value(one), try value(other))
      #expect(ValueHash.of(left) == ValueHash.of(right), "\(one)")
    }
    let different = [
      ("9007199254740993", "9007199254740992"), ("9007199254740993", "9007199254740993.0"),
      ("9223372036854775807", "9223372036854775808"), ("18446744073709551615", "18446744073709551616"), ("1", "\"1\""),
    ]
    for (one, other) in different {
      let (left, right) = (try value(one), try value(other))
      #expect(ValueHash.of(left) != ValueHash.of(right), "\(one)")
    }
  }

  @Test(arguments: [
    "", " ", "{}", "[]", "7", "null", "\"e\"", "{\"event\":\"e\"", "{\"event\":\"e\",}", "{\"event\":\"e\"} {}",
    "{\"event\":\"\"}", "{\"event\":null}", "{\"event\":[\"e\"]}", "{\"event\":\"e\",\"n\":1e400}",
    "{\"event\":\"e\",\"n\":NaN}", "{\"event\":\"e\",\"n\":01}", "{\"event\":\"a\u{0}b\"}", "{\"event\":\"\\ud8\"}",
    "{'event':'e'}",
  ])
  func `what is no event is no event`(line: String) {
    let event = read(line).flatMap { ControlForm.of($0).event(of: $0) }
    #expect(event?.name == nil)
  }

  @Test func `nesting has a limit`() throws {
    func line(_ depth: Int) -> String {
      #"{"event":"e","a":"# + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "}"
    }
    #expect(try event(line(64), .plain).fields.count == 1)
    #expect(read(line(65)) == nil)
    #expect(read(line(1 << 20)) == nil)
  }

  @Test func `of several members with one name the last one counts`() throws {
    let twice = try event(#"{"event":"a","event":"b","n":1,"n":2}"#, .plain)
    #expect(twice.name == "b")
    let once = ComparedEvent(name: "b", time: 0, fields: ["n": 2])
    var comparison = EventComparison(ComparisonRules())
    let differences = comparison.differences(once, twice)
    #expect(differences.isEmpty)
  }

  @Test func `what is no character becomes U+FFFD, and the rest stays`() throws {
    let line = try event(
      #"{"event":"e","cut":"x\ud83d","low":"\ude00\ud83dy","pair":"\ud83d\ude00","text":"\\ud83d"}"#, .plain)
    #expect(
      line.fields == ["cut": "x\u{FFFD}", "low": "\u{FFFD}\u{FFFD}y", "pair": "\u{1F600}", "text": #"\ud83d"#])
    let bytes = Array(#"{"event":"e","a":"x"#.utf8) + [0xFF] + Array(#"y","n":1}"#.utf8)
    let found = JSONObject.read(bytes.span)
    let object = try #require(found)
    #expect(object["a"] == "x\u{FFFD}y")
    #expect(object["n"] == 1)
  }

  @Test func `escapes, long texts and a byte-order mark do no harm`() throws {
    #expect(try event(#"{"event":"a\u0000b","t":"\/\u2028"}"#, .plain).name == "a\u{0}b")
    let long = String(repeating: "x", count: 1 << 20)
    #expect(try event(#"{"event":"e","t":"\#(long)"}"#, .plain).fields["t"] == .string(long))
    #expect(try event("\u{FEFF}{\"event\":\"e\"}\r", .plain).name == "e")
  }

  // MARK: Times

  @Test func `a time is read to the nanosecond`() {
    let times: [(String, Int64)] = [
      ("2024-01-01T00:00:00Z", 1_704_067_200_000_000_000), ("2024-01-01t00:00:00z", 1_704_067_200_000_000_000),
      ("2024-01-01T05:30:00+05:30", 1_704_067_200_000_000_000), ("2024-01-01 05:30:00+0530", 1_704_067_200_000_000_000),
      ("2023-12-31 16:00:00-08", 1_704_067_200_000_000_000), ("2024-01-01 00:00:00 +00:00", 1_704_067_200_000_000_000),
      ("2024-01-01 00:00:00 UTC", 1_704_067_200_000_000_000), ("2024-01-01", 1_704_067_200_000_000_000),
      ("2024-01-01 00:00:00.123456789", 1_704_067_200_123_456_789),
      ("2024-01-01T00:00:00.1234567891Z", 1_704_067_200_123_456_789),
      ("2016-12-31T23:59:60Z", 1_483_228_800_000_000_000), ("1969-12-31T23:59:59Z", -1_000_000_000),
      ("2262-04-11T23:47:16.854775807Z", Int64.max), ("1704067200", 1_704_067_200_000_000_000),
      ("1704067200123", 1_704_067_200_123_000_000), ("1704067200123456", 1_704_067_200_123_456_000),
      ("1704067200123456789", 1_704_067_200_123_456_789), ("1704067200.123456789", 1_704_067_200_123_456_789),
      ("1704067200123.456789", 1_704_067_200_123_456_789), ("-1", -1_000_000_000), ("-1.5", -1_500_000_000),
    ]
    for (text, time) in times { #expect(ControlTime.nanoseconds(.string(text)) == time, "\(text)") }
  }

  @Test func `a number is a time in the unit of this century`() {
    #expect(ControlTime.nanoseconds(.int(1_704_067_200)) == 1_704_067_200_000_000_000)
    #expect(ControlTime.nanoseconds(.int(1_704_067_200_123)) == 1_704_067_200_123_000_000)
    #expect(ControlTime.nanoseconds(.uint(1_704_067_200_123_456)) == 1_704_067_200_123_456_000)
    #expect(ControlTime.nanoseconds(.int(1_704_067_200_123_456_789)) == 1_704_067_200_123_456_789)
    #expect(ControlTime.nanoseconds(.int(-1)) == -1_000_000_000)
    #expect(ControlTime.nanoseconds(.int(.max)) == .max)
    #expect(ControlTime.nanoseconds(.double(-0.0)) == 0)
    #expect(ControlTime.nanoseconds(.double(1_602_611_311.5)) == 1_602_611_311_500_000_000)
    // A Double of so many nanoseconds is a multiple of 256.
    let milliseconds = ControlTime.nanoseconds(.double(1_602_611_311_500.5)) ?? 0
    #expect((milliseconds - 1_602_611_311_500_500_000).magnitude <= 256)
  }

  @Test(arguments: [
    "", " ", "yesterday", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2024-01-01T24:00:00Z",
    "2023-02-29T00:00:00Z", "2024-13-01T00:00:00Z", "2024-01-01T00:60:00Z", "2024-01-01T00:00:00+24:00",
    "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00ZZ", "20240101", "202401010000", "20240101000000",
    "20240101T000000Z", "1.7e9", "1704067200.", "1704067200.12x", "99999999999999999999", "NaN", "2024.01.01",
    "99999999999",
  ])
  func `what is no time is none`(text: String) {
    #expect(ControlTime.nanoseconds(.string(text)) == nil)
  }

  @Test func `what is no number of a time is none`() {
    for value in [
      FieldValue.null, .bool(true), .double(.nan), .double(.infinity), .double(1e300), .uint(.max), .array([]),
      .int(99_999_999_999),
    ] {
      #expect(ControlTime.nanoseconds(value) == nil, "\(value)")
    }
  }

  @Test func `an event whose time can't be read has none, and matches by its key alone`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      tracker.track("e", fields: ["n": 1])
      try tracker.close()
      let file = directory + "/control.jsonl"
      try Data(#"{"event":"e","time":"9999-12-31T23:59:59Z","n":1}"#.utf8).write(to: URL(fileURLWithPath: file))
      let report = try Reconciliation(log: directory, against: file, options: .init()).run()
      #expect(report.all[.identical] == 1)
      var options = Reconciliation.Options()
      options.rules.keyFields = ["n"]
      try Data(#"{"event":"e","time":"9999-12-31T23:59:59Z","n":2}"#.utf8).write(to: URL(fileURLWithPath: file))
      let other = try Reconciliation(log: directory, against: file, options: options).run()
      #expect(other.all[.onlyHere] == 1 && other.all[.onlyThere] == 1)
    }
  }

  // MARK: Tables

  /// The events of a table, and how many rows are none.
  private func table(_ bytes: [UInt8]) throws -> (events: [ComparedEvent], unreadable: UInt64) {
    try withDirectory { directory in
      let path = directory + "/control.csv"
      try Data(bytes).write(to: URL(fileURLWithPath: path))
      let source = try CSVSource(ControlFile(path))
      var events: [ComparedEvent] = []
      var unreadable: UInt64 = 0
      for part in source.parts(1) { unreadable += try source.read(part) { event, _ in events.append(event) } }
      return (events, unreadable)
    }
  }

  private func table(_ lines: [String]) throws -> (events: [ComparedEvent], unreadable: UInt64) {
    try table(Array(lines.joined(separator: "\r\n").utf8))
  }

  @Test func `a table may have a byte-order mark, line ends in cells, and nulls`() throws {
    // https://clickhouse.com/docs/interfaces/formats/CSV: quoted names, and \N for null
    let (events, unreadable) = try table([
      "\u{FEFF}\"event\",\"time\",\"text\",\"n\"", "\"a\r\nb\",\"2024-01-01 00:00:00\",\"\"\"x\"\",\",\\N",
      "c,1704067200,\"\\N\",18446744073709551615", "d,1,2", "", "\\N,1,2,3", "\"e\",,,",
    ])
    #expect(unreadable == 2)
    #expect(events.map(\.name) == ["a\r\nb", "c", "e"])
    #expect(events.map(\.time) == [1_704_067_200_000_000_000, 1_704_067_200_000_000_000, .min])
    #expect(events[0].fields == ["text": "\"x\","])
    #expect(events[1].fields == ["text": #"\N"#, "n": "18446744073709551615"])
    #expect(events[2].fields.isEmpty)
    var rules = FieldRules(CSVSource.rules(ComparisonRules()))
    let number = rules.compared("18446744073709551615", at: "n")
    #expect(number == .uint(.max))
  }

  @Test func `a table's columns have their meaning from their names, and may have none`() throws {
    // https://segment.com/docs/connections/storage/warehouses/schema: the table of a track call
    let segment = try table([
      ",id,received_at,event,event_text,name,timestamp,user_id,anonymous_id",
      "0,ajs-1,2015-12-12 19:11:01.266+00,course_clicked,Course Clicked,Intro,2015-12-12 19:11:01.249+00,,anon",
    ])
    let event = try #require(segment.events.first)
    #expect(event.name == "Course Clicked")
    #expect(event.user == "anon")
    #expect(event.time == 1_449_947_461_249_000_000)
    #expect(event.arrival == 1_449_947_461_266_000_000)
    #expect(event.foreignID == "ajs-1")
    #expect(event.fields == ["name": "Intro"])

    let posthog = try table(["uuid,event,properties,distinct_id", #"u,e,"{""n"":1,""a"":{""b"":2}}",d"#])
    #expect(posthog.events.first?.user == "d")
    #expect(posthog.events.first?.fields == ["n": 1, "a": ["b": 2]])
  }

  @Test func `fields of an export are fields, whatever their names`() throws {
    let ours = try table([
      #"offset,id,time,name,kind,event,user,fields.name,a\.b,c\\d,inner.x,empty,context.user.id"#,
      "0,00000000000000070000000000000009,2024-01-01T00:00:00Z,e,,f,g,h,1,2,3,{},\"\"",
    ])
    let event = try #require(ours.events.first)
    #expect(event.name == "e")
    #expect(event.user == "")
    #expect(event.id == EventID(opening: 7, sequence: 9))
    #expect(
      event.fields == [
        "event": "f", "user": "g", "name": "h", "a.b": "1", #"c\d"#: "2", "inner.x": "3", "empty": [:],
      ])
  }

  @Test func `a cell that is not UTF-8 is read`() throws {
    let (events, unreadable) = try table(Array("event,t\ne,x".utf8) + [0xFF, 0x00, 0x0A])
    #expect(unreadable == 0)
    #expect(events.first?.fields == ["t": "x\u{FFFD}\u{0}"])
  }

  // MARK: Packed files

  @Test func `a packed file is refused with what unpacks it`() throws {
    try withDirectory { directory in
      let path = directory + "/export"
      let packings: [([UInt8], String)] = [
        ([0x1F, 0x8B, 0x08, 0x00], "gunzip"), ([0x50, 0x4B, 0x03, 0x04], "unzip"),
        ([0x28, 0xB5, 0x2F, 0xFD], "unzstd"),
        ([0x50, 0x41, 0x52, 0x31], "JSON Lines"),
      ]
      for (start, remedy) in packings {
        try Data(start + [0, 0, 0]).write(to: URL(fileURLWithPath: path))
        #expect {
          try ControlFile(path)
        } throws: { error in
          (error as? WeirError)?.code == .invalid && "\(error)".contains(remedy)
        }
      }
      try Data().write(to: URL(fileURLWithPath: path))
      #expect(try ControlFile(path).byteCount == 0)
    }
  }
}

@Suite struct ControlZoneTests {
  private func time(_ line: String, _ form: ControlForm, in zone: String) throws -> Int64 {
    let bytes = Array(line.utf8)
    let found = JSONObject.read(bytes.span)
    let object = try #require(found)
    var event = try #require(form.event(of: object))
    try ControlZone(zone).apply(to: &event)
    return event.time / 1_000_000_000
  }

  @Test func `a time without a zone is one of the zone, in summer and in winter`() throws {
    let zone = "America/Los_Angeles"
    #expect(try time(#"{"event":"e","time":"2024-01-15 12:00:00"}"#, .plain, in: zone) == 1_705_348_800)
    #expect(try time(#"{"event":"e","time":"2024-07-15 12:00:00"}"#, .plain, in: zone) == 1_721_070_000)
    #expect(try time(#"{"event":"e","time":"2024-07-15 12:00:00"}"#, .plain, in: "GMT+2") == 1_721_037_600)
    // When the clock was set forward, and when it was set back.
    #expect(try time(#"{"event":"e","time":"2024-03-10 03:30:00"}"#, .plain, in: zone) == 1_710_066_600)
    #expect(try time(#"{"event":"e","time":"2024-11-03 02:30:00"}"#, .plain, in: zone) == 1_730_629_800)
  }

  @Test func `a time with a zone stays, and so does a number, but for Mixpanel's`() throws {
    for text in [
      "2024-07-15T12:00:00Z", "2024-07-15 12:00:00 UTC", "2024-07-15 14:00:00+02", "2024-07-15 14:00:00 +0200",
    ] {
      #expect(try time(#"{"event":"e","time":"\#(text)"}"#, .plain, in: "Asia/Tokyo") == 1_721_044_800, "\(text)")
    }
    #expect(try time(#"{"event":"e","time":1721044800}"#, .plain, in: "Asia/Tokyo") == 1_721_044_800)
    let line = #"{"event":"e","properties":{"time":1721044800,"distinct_id":"u"}}"#
    #expect(try time(line, .mixpanel, in: "Asia/Tokyo") == 1_721_044_800 - 9 * 3_600)
  }

  @Test func `a zone that does not exist is refused`() {
    #expect(throws: WeirError.self) { try ControlZone("Mars/Olympus") }
  }
}
