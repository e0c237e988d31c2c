// PlanTree: builds the tree of a plan from a configuration, over the tree of a file. The reader of plan files reads the
// result, so a plan means the same wherever it is from.
//
// The line of a value says where the value is from. A line from 1 on is one of the file. A line below 0 stands for a
// key of the configuration: -1 for the first key that had a value, and so on.

#if Configuration
  import Configuration
  import Weir
  import WeirDelivery
  import WeirJSON

  struct PlanTree {
    /// The values that can't be read, each with its key.
    private(set) var problems: [String] = []
    private let config: ConfigReader
    private var path = ""
    private var keys: [String] = []

    init(_ config: ConfigReader) {
      self.config = config
    }

    /// Names the place that a line stands for.
    func place(of line: Int) -> String { line < 0 ? keys[-line - 1] : "\(path): line \(line)" }

    /// Reads the file that the configuration names; `nil` if it names none.
    mutating func readFile(in directory: String) async throws(WeirError) -> (path: String, plan: DocumentNode)? {
      guard case .text(let name)? = await value(.text, ["file"])?.content else { return nil }
      path = PlanPaths.resolved(name, in: directory)
      let bytes = try SystemCalls().contents(of: path, atMost: DocumentNode.maximumBytes + 1)
      do throws(DocumentSyntaxError) {
        return (path, try DocumentJSON.read(bytes))
      } catch {
        throw WeirError(.invalid, "\(path): line \(error.line): \(error.message)", path: path)
      }
    }

    /// Returns the plan of the configuration and the file. If the plan is `nil`, there are problems.
    mutating func plan(over file: DocumentNode?) async -> DocumentNode? {
      let plan = await value(PlanForm(.map(PlanKeys.plan)), [], over: file)
      if file == nil, plan?["providers"] == nil, problems.isEmpty {
        problems.append("there are no providers; give their names in provider_names, or a plan's file in file")
      }
      return plan
    }

    // MARK: Maps

    /// Returns the value of a key: the configuration's, or else the file's.
    private mutating func value(_ form: PlanForm, _ key: [String], over file: DocumentNode?) async -> DocumentNode? {
      switch form {
      case .map(let keys): await map(keys, key, over: file)
      case .maps(let keys): await maps(keys, key, over: file)
      default: await value(form, key) ?? file
      }
    }

    private mutating func map(
      _ keys: PlanForm.Keys, _ key: [String], over file: DocumentNode?
    ) async -> DocumentNode? {
      let whole = await whole(key, over: file)
      var entries = whole?.entries ?? []
      var isWhole = true
      for (name, form) in keys {
        if name == "contract" { await refuseMap(key + [name]) }
        let index = entries.firstIndex { $0.key == name }
        let value = await value(form, key + [name], over: index.map { entries[$0].value })
        guard let value, value.line < 0 else { continue }
        isWhole = false
        let entry = DocumentNode.Entry(key: name, line: value.line, value: value)
        if let index { entries[index] = entry } else { entries.append(entry) }
        let other = Self.alternative(to: name)
        entries.removeAll { $0.key == other && $0.value.line > 0 }
      }
      return isWhole ? whole : DocumentNode(.map(entries), line: line(of: key))
    }

    private mutating func maps(
      _ keys: PlanForm.Keys, _ key: [String], over file: DocumentNode?
    ) async -> DocumentNode? {
      let whole = await whole(key, over: file)
      var entries = whole?.entries ?? []
      if case .list(let names)? = await value(.texts, ["provider_names"])?.content {
        for case .text(let name) in names.map(\.content) where !entries.contains(where: { $0.key == name }) {
          let line = line(of: key + [name])
          entries.append(.init(key: name, line: line, value: DocumentNode(.map([]), line: line)))
        }
      }
      for index in entries.indices {
        let entry = entries[index]
        guard let value = await map(keys, key + [entry.key], over: entry.value), value.line < 0 else { continue }
        entries[index] = .init(key: entry.key, line: value.line, value: value)
      }
      return entries.contains { $0.line < 0 } ? DocumentNode(.map(entries), line: line(of: key)) : whole
    }

    /// Returns the map before its keys are read one by one.
    private mutating func whole(_ key: [String], over file: DocumentNode?) async -> DocumentNode? {
      key.isEmpty ? file : await value(.json, key) ?? file
    }

    /// Refuses a contract that is written key by key, as in a file with structure: nobody asks for keys of a contract,
    /// so the contract would have no effect, and no error would say so.
    private mutating func refuseMap(_ key: [String]) async {
      for part in ["contract", "version"] {
        guard (try? await config.fetchString(forKey: ConfigKey(key + [part]))) != nil else { continue }
        problems.append(
          "\(key.joined(separator: ".")) is a map; give the path of a contract, or the contract's JSON as a text")
        return
      }
    }

    /// A key is kept in one place: the configuration's `key_env` takes the place of the file's `key_file` too.
    private static func alternative(to key: String) -> String? {
      if key.hasSuffix("_env") { return key.dropLast("_env".count) + "_file" }
      return key.hasSuffix("_file") ? key.dropLast("_file".count) + "_env" : nil
    }

    private mutating func line(of key: [String]) -> Int {
      keys.append(key.joined(separator: "."))
      return -keys.count
    }

    // MARK: Values

    /// Returns the configuration's value of a key; `nil` if there is none, or if there is a problem with it.
    private mutating func value(_ form: PlanForm, _ key: [String]) async -> DocumentNode? {
      let name = key.joined(separator: ".")
      do {
        return try await content(form, ConfigKey(key))?.at(line(of: key))
      } catch let error as DocumentSyntaxError {
        problems.append("\(name): line \(error.line) of the text: \(error.message)")
      } catch {
        problems.append("\(name) can't be read as \(form.name): \(error)")
      }
      return nil
    }

    // The values are fetched: the synchronous calls return nil also for a value that can't be read.
    private func content(_ form: PlanForm, _ key: ConfigKey) async throws -> DocumentNode? {
      switch form {
      case .text: return try await config.fetchString(forKey: key).map { .text($0) }
      case .flag: return try await config.fetchBool(forKey: key).map { .bool($0) }
      case .whole: return try await config.fetchInt(forKey: key).map { .number($0) }
      case .number: return try await number(key).map { DocumentNode(.number(.double($0))) }
      case .texts:
        // An empty text of the environment is a list with an empty text.
        return try await config.fetchStringArray(forKey: key).map { .texts($0 == [""] ? [] : $0) }
      case .textOrJSON:
        guard let text = try await config.fetchString(forKey: key) else { return nil }
        return text.first == "{" || text == "null" ? try DocumentJSON.read(Array(text.utf8)) : .text(text)
      case .json, .map, .maps:
        return try await config.fetchString(forKey: key).map { try DocumentJSON.read(Array($0.utf8)) }
      }
    }

    private func number(_ key: ConfigKey) async throws -> Double? {
      do {
        return try await config.fetchDouble(forKey: key)
      } catch {
        // Some providers keep whole numbers apart from others.
        guard let whole = try? await config.fetchInt(forKey: key) else { throw error }
        return Double(whole)
      }
    }
  }

  extension DocumentNode {
    /// The entries of a map; `nil` of anything else.
    fileprivate var entries: [Entry]? { if case .map(let entries) = content { entries } else { nil } }

    /// The value of a map's first such key.
    fileprivate subscript(key: String) -> DocumentNode? { entries?.first { $0.key == key }?.value }

    /// The value with all that is in it, on another line.
    fileprivate func at(_ line: Int) -> DocumentNode {
      switch content {
      case .list(let values): DocumentNode(.list(values.map { $0.at(line) }), line: line)
      case .map(let entries):
        DocumentNode(.map(entries.map { .init(key: $0.key, line: line, value: $0.value.at(line)) }), line: line)
      default: DocumentNode(content, line: line)
      }
    }
  }
#endif
