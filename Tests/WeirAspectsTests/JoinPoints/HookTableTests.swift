// Which hook hears which call: each class of a family, each way to listen, each kind of method, in one table.

import TestSupport
import Testing
import Weir
import WeirAspects
import WeirScopes

extension AspectTests {
  @Suite struct Table {
    // A column is a way to listen; a row is the class that is called on. 1: heard, once; a dot: not heard. The same for
    // before and after, and for synchronous, asynchronous and class methods ("one" not there: there are no objects).
    //
    // e…: exactly that class. i…: that class and its subclasses. one: one object of the class that is called.
    // other: another object of it.
    static let table = """
                    every eParent iParent ePlain iPlain eCalling iCalling eReplacing iReplacing eOfCalling one other
      Parent        1     1       1       .      .      .        .        .          .          .          1   .
      Plain         1     .       1       1      1      .        .        .          .          .          1   .
      Sibling       1     .       1       .      .      .        .        .          .          .          1   .
      Calling       1     .       1       .      .      1        1        .          .          .          1   .
      Replacing     1     .       1       .      .      .        .        1          1          .          1   .
      OfPlain       1     .       1       .      1      .        .        .          .          .          1   .
      OfCalling     1     .       1       .      .      .        1        .          .          1          1   .
      OfReplacing   1     .       1       .      .      .        .        .          1          .          1   .
      CallingTwice  1     .       1       .      .      .        1        .          .          .          1   .
      """

    /// The bodies that run in a call on each: more than one where `super` is called.
    static let bodiesOf: [String: [String]] = [
      "Calling": ["Calling", "Parent"], "OfCalling": ["Calling", "Parent"],
      "CallingTwice": ["CallingTwice", "Calling", "Parent"],
      "Replacing": ["Replacing"], "OfReplacing": ["Replacing"],
    ]

    static let classes: [String: Parent.Type] = [
      "Parent": Parent.self, "Plain": Plain.self, "Sibling": Sibling.self, "Calling": Calling.self,
      "Replacing": Replacing.self, "OfPlain": OfPlain.self, "OfCalling": OfCalling.self,
      "OfReplacing": OfReplacing.self, "CallingTwice": CallingTwice.self,
    ]

    static let columns = table.split(separator: "\n")[0].split(separator: " ").map(String.init)

    /// By class and column.
    static let expected: [(String, [String: Int])] = table.split(separator: "\n").dropFirst().map { line in
      let cells = line.split(separator: " ").map(String.init)
      let row = Dictionary(uniqueKeysWithValues: zip(columns, cells.dropFirst().map { $0 == "1" ? 1 : 0 }))
      return (cells[0], row)
    }

    enum Kind: CaseIterable { case synchronous, asynchronous, ofClass }

    @Test(arguments: Kind.allCases) func `each hook hears the calls that the table says`(_ kind: Kind) async {
      #expect(Self.expected.count == 9)
      #expect(Self.columns.count == 12)
      // All at once, and each alone: what one hook hears depends on no other.
      for (name, row) in Self.expected {
        await check(kind, name, row, attaching: Self.columns)
        for column in Self.columns { await check(kind, name, row, attaching: [column]) }
      }
    }

    /// Recursion through `self`: each is a call of its own, whichever bodies it goes through.
    @Test(arguments: Kind.allCases) func `each call of a recursion is a call of its own`(_ kind: Kind) async {
      for (name, row) in Self.expected {
        await check(kind, name, row.mapValues { $0 * 4 }, attaching: Self.columns, depth: 3)
      }
    }

    private func check(
      _ kind: Kind, _ name: String, _ row: [String: Int], attaching columns: [String], depth: Int = 0
    ) async {
      let type = Self.classes[name]!
      let object = type.init()
      let other = type.init()
      var hooks: [Hook] = []
      var counts: [(String, Count, Count)] = []
      for column in columns {
        if kind == .ofClass && (column == "one" || column == "other") { continue }
        let before = Count()
        let after = Count()
        counts.append((column, before, after))
        hooks += Listening(kind, column, column == "one" ? object : other).attach(before, after)
      }
      _ = bodies.take()
      switch kind {
      case .synchronous: _ = object.look(depth)
      case .asynchronous: _ = await object.load(depth)
      case .ofClass: _ = type.make(depth)
      }
      let ran = Self.bodiesOf[name] ?? ["Parent"]
      #expect(bodies.take() == (0...depth).flatMap { _ in ran }, "\(kind) on \(name)")
      for (column, before, after) in counts {
        #expect(before.value == row[column], "before, \(column), \(kind) on \(name)")
        #expect(after.value == row[column], "after, \(column), \(kind) on \(name)")
      }
      for hook in hooks { hook.detach() }
    }

    /// A column of the table.
    struct Listening {
      let kind: Kind
      let target: Target
      let object: Parent

      enum Target {
        case every
        case exactly(Parent.Type)
        case kind(Parent.Type)
        case on
      }

      init(_ kind: Kind, _ column: String, _ object: Parent) {
        self.kind = kind
        self.object = object
        let name = String(column.dropFirst())
        switch column {
        case "every": target = .every
        case "one", "other": target = .on
        case _ where column.hasPrefix("e"): target = .exactly(Table.classes[name]!)
        default: target = .kind(Table.classes[name]!)
        }
      }

      func attach(_ before: Count, _ after: Count) -> [Hook] {
        switch kind {
        case .synchronous: attach(Parent.lookPoint, before, after)
        case .asynchronous: attach(Parent.loadPoint, before, after)
        case .ofClass: attachToClass(before, after)
        }
      }

      private func attach(
        _ point: borrowing JoinPoint<Parent, (depth: Int, ()), String>, _ before: Count, _ after: Count
      ) -> [Hook] {
        switch target {
        case .every: attach(point, .everything, before, after)
        case .exactly(let type): attach(point, .exactly(type), before, after)
        case .kind(let type): attach(point, .kind(of: type), before, after)
        case .on: attach(point, .instance(object), before, after)
        }
      }

      private func attachToClass(_ before: Count, _ after: Count) -> [Hook] {
        switch target {
        case .every: attach(Parent.makePoint, .everything, before, after)
        case .exactly(let type): attach(Parent.makePoint, .exactly(type), before, after)
        case .kind(let type): attach(Parent.makePoint, .kind(of: type), before, after)
        case .on: []
        }
      }

      private func attach<Owner, Subject>(
        _ point: borrowing JoinPoint<Owner, (depth: Int, ()), String>, _ target: Hook.Target<Owner, Subject>,
        _ before: Count, _ after: Count
      ) -> [Hook] {
        [point.before(target) { _, _ in before.up() }, point.after(target) { _, _, _ in after.up() }]
      }
    }

    // MARK: What is not in the table

    /// Inside of one call of an override `super` is called twice: that is one call.
    @Test func `two calls of super inside of one override are one call`() {
      let count = Count()
      let hook = Parent.lookPoint.before(.everything) { _, _ in count.up() }
      _ = Calling().within { above in above() + above() }
      #expect(count.value == 1)
      hook.detach()
    }

    /// From a method that is not the override: a call, for no override of it is in progress.
    @Test func `super called from another method is a call`() async {
      let count = Count()
      let hook = Parent.lookPoint.before(.everything) { _, _ in count.up() }
      _ = Calling().lookAbove()
      #expect(count.value == 1)
      hook.detach()
      // Of an asynchronous method it is none, once the override was seen to run: its class tells, not the thread.
      let load = Parent.loadPoint.before(.everything) { _, _ in count.up() }
      _ = await Calling().load(0)
      #expect(count.value == 2)
      _ = await Calling().loadAbove()
      #expect(count.value == 2)
      load.detach()
    }

    /// From a closure that runs on another thread: a call, for that thread knows nothing of the override.
    @Test func `super called on another thread is a call`() {
      let count = Count()
      let hook = Parent.lookPoint.before(.everything) { _, _ in count.up() }
      _ = Calling().within { above in
        onThread { _ = above() }
        return ""
      }
      #expect(count.value == 2)
      hook.detach()
    }

    /// A class method's override in progress hides no call on another class.
    @Test func `a class method's override hides no call on another class`() {
      let heard = Heard()
      let hook = Parent.makePoint.before(.everything) { type, _ in heard.say("\(type)") }
      let outer = Parent.makePoint.before(.exactly(Calling.self)) { _, _ in
        _ = Sibling.make(0)
        _ = Parent.make(0)
      }
      _ = Calling.make(0)
      #expect(heard.all == ["Calling", "Sibling", "Parent"])
      hook.detach()
      outer.detach()
    }

    /// An object's override in progress hides no call on another object.
    @Test func `an object's override hides no call on another object`() {
      let count = Count()
      let hook = Parent.lookPoint.before(.everything) { _, _ in count.up() }
      _ = Calling().within { _ in OfCalling().look(0) + Plain().look(0) + Calling().look(0) }
      #expect(count.value == 4)
      hook.detach()
    }
  }
}
