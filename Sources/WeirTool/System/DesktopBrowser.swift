// DesktopBrowser: opens an address in the browser of the desktop, where there is one.

#if Tool
  import Foundation

  enum DesktopBrowser {
    /// Opens an address, and waits for nothing. Does nothing without a desktop.
    ///
    /// Other users of the machine can see the address among the processes: let it be one that works once.
    static func open(_ address: String) {
      let environment = ProcessInfo.processInfo.environment
      guard environment["DISPLAY"] != nil || environment["WAYLAND_DISPLAY"] != nil else { return }
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = ["xdg-open", address]
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try? process.run()
    }
  }
#endif
