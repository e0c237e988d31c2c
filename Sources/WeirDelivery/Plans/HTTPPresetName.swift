// HTTPPresetName: the forms in which endpoints take events, for plans and for the tool. WeirHTTP makes the presets.

import Weir

/// The names of the presets of the module WeirHTTP.
public enum HTTPPresetName: String, CaseIterable, Hashable, Sendable {
  /// `JSONPreset` with an array.
  case json
  /// `JSONPreset` with one event on each line.
  case jsonl
  /// `SegmentPreset`.
  case segment
  /// `MixpanelPreset`.
  case mixpanel
  /// `AmplitudePreset`.
  case amplitude
  /// `PostHogPreset`.
  case posthog
  /// `GA4Preset`.
  case ga4
  /// `ClickHousePreset`.
  case clickhouse
  /// `OTLPLogsPreset`.
  case otlp
}
