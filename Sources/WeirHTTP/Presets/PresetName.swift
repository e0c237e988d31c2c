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
    ///   - project: Mixpanel's project, for a service account; or the data stream of Google Analytics 4, which is
    ///     required: a measurement ID (`G-…`) or a Firebase app ID (`1:…:android:…`).
    ///   - table: ClickHouse's table.
    ///   - groups: The traits that are groups of the user, for the presets that know groups.
    ///
    /// Throws `invalid` if a required value is missing or malformed.
    public func preset(
      endpoint: String? = nil, key: Secret? = nil, user: String = "", project: String = "", table: String = "events",
      groups: [String] = []
    ) throws(WeirError) -> any HTTPPreset {
      let secret = key ?? Secret("")
      switch self {
      case .json, .jsonl:
        guard let endpoint else { throw WeirError(.invalid, "the preset \(rawValue) needs an address") }
        return JSONPreset(
          endpoint: endpoint, form: self == .json ? .array : .lines, authorization: key.map { .bearer($0) } ?? .none)
      case .segment:
        return endpoint.map { SegmentPreset(writeKey: secret, endpoint: $0, groups: groups) }
          ?? SegmentPreset(writeKey: secret, groups: groups)
      case .mixpanel:
        guard user.isEmpty || !project.isEmpty else {
          throw WeirError(.invalid, "the preset mixpanel needs a project for its service account")
        }
        let account: MixpanelPreset.Account =
          user.isEmpty ? .project(token: secret) : .service(user: user, secret: secret, project: project)
        return endpoint.map { MixpanelPreset(account: account, endpoint: $0, groups: groups) }
          ?? MixpanelPreset(account: account, groups: groups)
      case .amplitude:
        return endpoint.map { AmplitudePreset(apiKey: secret, endpoint: $0, groups: groups) }
          ?? AmplitudePreset(apiKey: secret, groups: groups)
      case .posthog:
        return endpoint.map { PostHogPreset(apiKey: secret, endpoint: $0, groups: groups) }
          ?? PostHogPreset(apiKey: secret, groups: groups)
      case .ga4:
        let stream = try GA4Preset.Stream(project)
        return endpoint.map { GA4Preset(stream: stream, apiSecret: secret, endpoint: $0) }
          ?? GA4Preset(stream: stream, apiSecret: secret)
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
