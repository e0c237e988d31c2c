// PlanPreview: what a provider of a plan would get of an event.

#if Tool
  import Weir
  import WeirDelivery
  import WeirJSON

  #if HTTP
    import WeirHTTP
  #endif

  enum PlanPreview {
    /// The event in the provider's form, as it would be a part of a request or a line of a file.
    case gets([UInt8])
    /// The plan withholds the event.
    case withheld
    /// The provider can't accept the event, for this reason.
    case rejected(String)

    /// Prepares an event as a delivery does, but without keys, and without a look at the event's neighbours.
    ///
    /// Throws `ToolError` for a provider whose form this build does not have.
    init(_ entry: DeliveryPlan.Entry, _ stored: StoredEvent) throws {
      var options = entry.options
      if entry.destination?.pseudonymKey != nil {
        options.pseudonym = Pseudonym(fingerprint: "") { _ in "[pseudonym]" }
      }
      var preparation = Preparation(options, mapper: entry.mapper)
      guard let event = preparation.prepare(stored) else {
        self = .withheld
        return
      }
      do {
        self = .gets(try Self.encoded(event, entry))
      } catch let error as WeirError {
        throw error
      } catch let error as ToolError {
        throw error
      } catch {
        self = .rejected("\(error)")
      }
    }

    private static func encoded(_ event: PreparedEvent, _ entry: DeliveryPlan.Entry) throws -> [UInt8] {
      #if HTTP
        if let encoded = try entry.encoded(event) { return encoded }
      #else
        guard entry.destination?.isURL != true else {
          throw ToolError("this build of weir has no presets; build one with --traits HTTP, or show another provider")
        }
      #endif
      return EventJSON.object(event)
    }
  }
#endif
