// Checks: the checks themselves, in the order of ProviderConformance.Check, which documents them.

import Weir
import WeirDelivery

extension Trial {
  /// Runs the check. Returns the provider if it still must be shut down; a check of the shutdown returns `nil`.
  func run() async -> P? {
    guard let provider = await provider() else { return nil }
    switch check {
    case .name: await name(of: provider)
    case .setup: break
    case .delivery: await delivery(to: provider)
    case .verdictCount: await verdictCount(of: provider)
    case .verdictOrder: await verdictOrder(of: provider)
    case .verdictValues: break  // looked at in every call
    case .emptyBatch: await emptyBatch(to: provider)
    case .order: await order(of: provider)
    case .contents: await contents(of: provider)
    case .repetition: await repetition(to: provider)
    case .restart: await restart(of: provider)
    case .extremeValues: await extremeValues(to: provider)
    case .largeBatch: await largeBatch(to: provider)
    case .associations: await associations(of: provider)
    case .cancellation: await cancellation(of: provider)
    case .shutdown: await shutdown(of: provider)
    }
    return check == .restart || check == .shutdown ? nil : provider
  }

  private func name(of provider: P) async {
    let name = provider.name
    let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_".utf8)
    if name.isEmpty || !allowed.isSuperset(of: name.utf8) {
      found("the name \(name.debugDescription) must consist of letters, digits, - and _, and must not be empty")
    }
    guard let other = try? await make() else { return }
    if other.name != name {
      found("two providers of one kind have two names: \(name.debugDescription) and \(other.name.debugDescription)")
    }
  }

  private func delivery(to provider: P) async {
    let single = sample.ordinary(1)
    guard await accept(single, by: provider, "single events") else { return }
    let several = sample.ordinary(20)
    guard await accept(several, by: provider) else { return }
    await lookFor(single + several, in: provider)
  }

  private func verdictCount(of provider: P) async {
    for count in [1, 2, 7, 100] { _ = try? await deliver(sample.ordinary(count), to: provider) }
  }

  private func verdictOrder(of provider: P) async {
    guard let unacceptable else { return }
    for place in [0, 2, 4] {
      var events = sample.ordinary(4)
      events.insert(sample.event(unacceptable.name, unacceptable.fields), at: place)
      guard let verdicts = await decide(events, by: provider) else { return }
      let rejected = events.indices.filter { verdicts[events[$0].stored.id] != .accepted }
      if rejected != [place] {
        found("of 5 events, only the one at \(place) must be rejected, but those at \(rejected) were")
      }
      await lookFor(events.filter { verdicts[$0.stored.id] == .accepted }, in: provider)
      if let ids = await ids(in: provider), ids.contains(events[place].stored.id) {
        found("the provider has the rejected event")
      }
    }
  }

  private func emptyBatch(to provider: P) async {
    do {
      let verdicts = try await provider.deliver([])
      if !verdicts.isEmpty { found("\(verdicts.count) verdicts for no events") }
    } catch {
      found("a call without events throws: \(error)")
    }
  }

  private func order(of provider: P) async {
    var given: [PreparedEvent] = []
    for _ in 0..<3 {
      let batch = sample.ordinary(20)
      guard await accept(batch, by: provider) else { return }
      given += batch
    }
    guard claims.contains(.keepsOrder), let ids = await ids(in: provider) else { return }
    // Repetitions are checked elsewhere.
    var seen = Set<EventID>()
    let first = ids.filter { seen.insert($0).inserted }
    let wanted = given.map(\.stored.id).filter { seen.contains($0) }
    if let (is_, should) = zip(first, wanted).first(where: { $0 != $1 }) {
      found("events are not in the given order: \(is_) is in the place of \(should)")
    }
  }

  private func contents(of provider: P) async {
    let given = sample.ordinary(20)
    guard await accept(given, by: provider), let entries = await entries(of: provider) else { return }
    let fields = Dictionary(given.map { ($0.stored.id, $0.fields) }) { first, _ in first }
    for case .event(let id, let there?) in entries where fields[id] != there {
      return found("the provider has an event as \(there) that was given as \(fields[id].map { "\($0)" } ?? "none")")
    }
  }

  private func repetition(to provider: P) async {
    let events = sample.ordinary(20)
    guard await accept(events, by: provider) else { return }
    await accept(events, by: provider, "events that came again")
    // A repeated batch is rarely cut at the same places.
    await accept(Array(events[5..<15]), by: provider, "events that came again")
    await lookFor(events, in: provider)
    await lookForRepetitions(in: provider)
  }

  private func restart(of provider: P) async {
    let events = sample.ordinary(20)
    let isAccepted = await accept(events, by: provider)
    await provider.shutdown()
    guard isAccepted, let next = await self.provider() else { return }
    await accept(events, by: next, "events that came again after a restart")
    await lookFor(events, in: next)
    await lookForRepetitions(in: next)
    await next.shutdown()
  }

  private func extremeValues(to provider: P) async {
    let events = sample.extremes()
    for event in events {
      guard let verdicts = await decide([event], by: provider, "event (\(event.name))") else { continue }
      if verdicts[event.stored.id] == .accepted { await lookFor([event], in: provider) }
    }
    // Within a batch, extreme events must not affect the others.
    for event in sample.extremes() {
      let batch = [sample.ordinary(1)[0], event, sample.ordinary(1)[0]]
      guard let verdicts = await decide(batch, by: provider, "events, one of them \(event.name),") else { continue }
      for ordinary in [batch[0], batch[2]] {
        if case .rejected(let reason) = verdicts[ordinary.stored.id] {
          found("an ordinary event is rejected in a batch with \(event.name): \(reason)")
        }
      }
    }
  }

  private func largeBatch(to provider: P) async {
    let events = sample.ordinary(10_000)
    guard await accept(events, by: provider) else { return }
    await lookFor(events, in: provider)
  }

  private func associations(of provider: P) async {
    let users = ["conformance-1-\(sample.opening)", "conformance-2-\(sample.opening)"]
    let batches = [sample.ordinary(2), sample.ordinary(2), sample.ordinary(2)]
    do {
      await accept(batches[0], by: provider)
      try await provider.associate(EventUser(id: users[0], traits: ["plan": "pro"]))
      try await provider.identify(EventUser(id: users[0], traits: ["plan": "pro"]))
      await accept(batches[1], by: provider)
      // The same user again is allowed, and a user may replace another without a disassociation in between.
      try await provider.associate(EventUser(id: users[0]))
      try await provider.associate(EventUser(id: users[1]))
      try await provider.disassociate()
      try await provider.disassociate()
      await accept(batches[2], by: provider)
    } catch {
      return found("an association throws: \(error)")
    }
    await lookFor(batches.flatMap { $0 }, in: provider)
    guard let entries = await entries(of: provider),
      let start = entries.firstIndex(of: .associated(users[0]))
    else { return }
    func place(_ entry: Entry) -> Int? { entries[start...].firstIndex(of: entry) }
    func place(_ event: PreparedEvent) -> Int? {
      entries.firstIndex { if case .event(event.stored.id, _) = $0 { true } else { false } }
    }
    let places = [
      place(batches[0][1]), start, place(batches[1][0]), place(batches[1][1]), place(.associated(users[1])),
      place(.disassociated), place(batches[2][0]),
    ].compactMap { $0 }
    if places != places.sorted() { found("associations are not in order with the events around them") }
  }

  private func cancellation(of provider: P) async {
    for pause in [nil, Duration.zero, .milliseconds(1), .milliseconds(10)] {
      let events = sample.ordinary(200)
      let task = Task {
        // The first call starts cancelled on any machine. How far the other calls get is chance.
        if pause == nil { withUnsafeCurrentTask { $0?.cancel() } }
        return try await deliver(events, to: provider)
      }
      if let pause {
        try? await Task.sleep(for: pause)
        task.cancel()
      }
      guard let verdicts = try? await task.value else { continue }
      let accepted = zip(events, verdicts).filter { $0.1 == .accepted }.map(\.0)
      await lookFor(accepted, in: provider, " after their task was cancelled")
    }
    let next = sample.ordinary(5)
    if await accept(next, by: provider, "events after a cancelled call") { await lookFor(next, in: provider) }
  }

  private func shutdown(of provider: P) async {
    let events = sample.ordinary(20)
    guard await accept(events, by: provider) else { return await provider.shutdown() }
    await provider.shutdown()
    guard let look, let entries = try? await look(provider) else { return }
    // Some providers can't be queried after the shutdown. One that answers must have all events.
    let ids = Set(entries.compactMap { entry in if case .event(let id, _) = entry { id } else { nil } })
    let missing = events.filter { !ids.contains($0.stored.id) }
    if !missing.isEmpty { found("\(missing.count) of \(events.count) accepted events are gone after the shutdown") }
  }
}
