// Annotations: what is told of an event beside its content, how much of it, and to whom.

import Foundation
import TestSupport
import Testing
import Weir
import WeirContracts
import WeirDelivery

struct AnnotationsTests {
  private static let boot = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))

  private func event(
    _ name: String = "order", _ fields: FieldObject = [:], kind: EventKind? = nil, monotonic: Int64? = nil
  ) -> StoredEvent {
    StoredEvent(
      offset: 1, id: EventID(opening: 1, sequence: 1), time: Timestamp(nanosecondsSince1970: 0), name: name,
      fields: fields, declaration: kind.map { EventType(name, kind: $0) }, monotonicNanoseconds: monotonic,
      bootID: monotonic.map { _ in Self.boot })
  }

  @Test func `the monotonic clock is told to those who ask`() throws {
    let stored = event(monotonic: 9_007_199_254_740_993)
    var usual = PreparedEvent(stored)
    #expect(usual.annotationProperties == [:])
    let bytes = EventJSON.object(usual)
    #expect(!String(decoding: bytes, as: UTF8.self).contains("monotonic"))
    usual.annotations = .all
    let boot = "01020304-0506-0708-090A-0B0C0D0E0F10"
    #expect(
      usual.annotationProperties == [
        "weir_monotonic": .string("9007199254740993"), "weir_boot": .string(boot),
      ])
    let text = String(decoding: EventJSON.object(usual), as: UTF8.self)
    #expect(
      text.contains(
        #""time":"1970-01-01T00:00:00.000000000Z","monotonic":9007199254740993,"boot":"\#(boot)","name":"order""#),
      "\(text)")
    var unknown = PreparedEvent(event())
    unknown.annotations = .all
    #expect(EventJSON.object(unknown) == EventJSON.object(PreparedEvent(event())))
    #expect(prepared(DeliveryOptions(), stored).first?.annotations == .standard)
  }

  private func options(_ annotations: DeliveryOptions.Annotations = .all) throws -> DeliveryOptions {
    var options = DeliveryOptions()
    options.annotations = annotations
    options.contract = try Contract("shop", version: "1") {
      EventRule("order", kind: .systemAction) {
        Mandatory("number", .integer, .range(0...))
        Mandatory("currency", .string, default: "EUR")
        Mandatory("name", .string)
      }
    }.compiled()
    return options
  }

  private func prepared(_ options: DeliveryOptions, _ events: StoredEvent...) -> [PreparedEvent] {
    var preparation = Preparation(options)
    return events.compactMap { preparation.prepare($0) }
  }

  @Test func `an event of which nothing is to be told has no properties`() {
    #expect(PreparedEvent(event()).annotationProperties == [:])
  }

  @Test func `kind, violations, defaults and the original are properties with one prefix`() throws {
    let events = prepared(try options(), event("order", ["number": -1]), event("order", ["number": -1]))
    #expect(
      events.last?.annotationProperties == [
        "weir_kind": "system_action",
        "weir_violations": ["kind system_action", "number: range 0...", "name: mandatory"],
        "weir_defaulted": ["currency"],
        "weir_duplicate_of": .array([.string(events[0].stored.id.description)]),
      ])
  }

  @Test(arguments: DeliveryOptions.Annotations.names.map(\.name))
  func `each annotation can be switched off`(_ name: String) throws {
    let annotation = try #require(DeliveryOptions.Annotations.names.first { $0.name == name }?.annotation)
    let bad = event("order", ["number": -1])
    let all = try #require(prepared(try options(), bad, bad).last).annotationProperties
    let rest = try #require(prepared(try options(.all.subtracting(annotation)), bad, bad).last)
    #expect(rest.annotationProperties == FieldObject(all.filter { $0.name != "weir_" + name }))
    let json = String(decoding: EventJSON.object(rest), as: UTF8.self)
    #expect(!json.contains("\"\(name)\":"))
    let none = try #require(prepared(try options([]), bad, bad).last)
    #expect(none.annotationProperties == [:])
    #expect(String(decoding: EventJSON.object(none), as: UTF8.self).contains("\"flags\":{}"))
    // A mapper sees all of them.
    #expect(none.flags.count == 3)
    #expect(none.kind == .systemAction)
  }

  @Test func `an event without a kind has the contract's, and a declared kind stays`() throws {
    let fields: FieldObject = ["number": 1, "currency": "EUR", "name": "x"]
    let events = prepared(
      try options(), event("order", fields), event("order", fields, kind: .pageView), event("other", fields))
    #expect(events.map(\.kind) == [.systemAction, .pageView, nil])
    #expect(prepared(DeliveryOptions(), event("order", fields)).map(\.kind) == [nil])
  }

  @Test(arguments: [0, 1, 19, 20, 21, 90])
  func `a list of violations is limited, and tells how many there are`(_ count: Int) {
    var event = PreparedEvent(event())
    event.violations = (0..<count).map { Violation(event: "e", field: "f\($0)", rule: "mandatory", value: nil) }
    event.flags = count == 0 ? [] : [.violating]
    guard case .array(let texts)? = event.flagTexts()["violations"] else {
      #expect(count == 0)
      return
    }
    #expect(texts.count == min(count, PreparedEvent.maximumAnnotationTexts))
    #expect(texts.first == "f0: mandatory")
    if count > 20 { #expect(texts.last == .string("and \(count - 19) more")) }
  }

  @Test func `a text is limited`() {
    var event = PreparedEvent(event())
    let room = PreparedEvent.annotationBytes - ": mandatory".utf8.count
    event.violations = [room, room + 1].map { bytes in
      Violation(event: "e", field: String(repeating: "x", count: bytes), rule: "mandatory", value: nil)
    }
    guard case .array(let texts)? = event.flagTexts()["violations"] else {
      Issue.record("there are no violations")
      return
    }
    let whole = FieldValue.string(String(repeating: "x", count: room) + ": mandatory")
    let cut = FieldValue.string(String(repeating: "x", count: room + 1) + ": mandator")
    #expect(texts == [whole, cut])
  }
}
