// HTTPPresetName: presets by name, for plans and for the tool.

#if HTTP
  public import Weir
  public import WeirDelivery

  extension HTTPPresetName {
    /// Creates the preset.
    ///
    /// - Parameters:
    ///   - endpoint: The address; `nil` for the vendor's default.
    ///   - key: The vendor's key, token or password; `nil` for none.
    ///   - user: ClickHouse's user or Mixpanel's service account; empty for the default.
    ///   - project: Mixpanel's project, for a service account.
    ///   - table: ClickHouse's table.
    ///
    /// Throws `invalid` if a required value is missing.
    public func preset(
      endpoint: String? = nil, key: Secret? = nil, user: String = "", project: String = "", table: String = "events"
    ) throws(WeirError) -> any HTTPPreset {
      let secret = key ?? Secret("")
      switch self {
      case .json, .jsonl:
        guard let endpoint else { throw WeirError(.invalid, "the preset \(rawValue) needs an address") }
        return JSONPreset(
          endpoint: endpoint, form: self == .json ? .array : .lines, authorization: key.map { .bearer($0) } ?? .none)
      case .segment:
        return endpoint.map { SegmentPreset(writeKey: secret, endpoint: $0) } ?? SegmentPreset(writeKey: secret)
      case .mixpanel:
        guard user.isEmpty || !project.isEmpty else {
          throw WeirError(.invalid, "the preset mixpanel needs a project for its service account")
        }
        let account: MixpanelPreset.Account =
          user.isEmpty ? .project(token: secret) : .service(user: user, secret: secret, project: project)
        return endpoint.map { MixpanelPreset(account: account, endpoint: $0) } ?? MixpanelPreset(account: account)
      case .amplitude:
        return endpoint.map { AmplitudePreset(apiKey: secret, endpoint: $0) } ?? AmplitudePreset(apiKey: secret)
      case .posthog:
        return endpoint.map { PostHogPreset(apiKey: secret, endpoint: $0) } ?? PostHogPreset(apiKey: secret)
      case .clickhouse:
        return ClickHousePreset(
          table: table, endpoint: endpoint ?? "http://127.0.0.1:8123", user: user.isEmpty ? "default" : user,
          password: secret)
      case .otlp:
        return OTLPLogsPreset(
          endpoint: endpoint ?? "http://127.0.0.1:4318", authorization: key.map { .bearer($0) })
      }
    }
  }
#endif
