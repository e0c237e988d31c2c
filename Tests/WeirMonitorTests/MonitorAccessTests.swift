// Monitor: who gets an answer, and how many at once, over HTTP.

#if Monitor
  import Foundation
  import Synchronization
  import TestSupport
  import Testing
  import WeirTesting

  @testable import Weir
  @testable import WeirMonitor

  @Suite struct MonitorAccessTests {
    @Test func `every answer has the headers, and the page runs only its own script`() async throws {
      try await withDirectoryAsync { directory in
        try await MonitorStage.run(directory) { stage in
          for path in ["/", "/logs", "/nowhere"] {
            let answer = try await stage.get(path)
            #expect(answer["x-content-type-options"] == "nosniff")
            #expect(answer["referrer-policy"] == "no-referrer")
            #expect(answer["cross-origin-resource-policy"] == "same-origin")
            #expect(answer["cache-control"] == "no-store")
            #expect(answer["access-control-allow-origin"] == nil)
            let policy = try #require(answer["content-security-policy"])
            #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
            #expect(policy.contains("script-src 'sha256-") && !policy.contains("unsafe"))
          }
          let page = try await stage.get("/").text
          #expect(page.utf8.count <= 64 << 10)
          for word in [
            "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "http://", "https://",
          ] {
            #expect(
              !page.contains(word) || word.hasPrefix("http") && page.contains("http://www.w3.org/2000/svg"), "\(word)")
          }
          #expect(!page.contains(" style=\"") && !page.contains(" onclick"))
        }
      }
    }

    @Test func `the page links to the further pages that are there, and each has its own style alone`() async throws {
      try await withDirectoryAsync { directory in
        let isThere = Mutex(false)
        let asked: @Sendable () -> Bool = { isThere.withLock { $0 } }
        func pages(_ configuration: inout Monitor.Configuration) {
          configuration.pages = [
            LinkedPage("first") { "<style>p { margin: 0 }</style><p>one</p>" },
            LinkedPage("second", if: asked, html: { "<p>two</p>" }),
          ]
        }
        try await MonitorStage.run(directory, pages) { stage in
          #expect(try await stage.get("/").text.contains(#"<a id="first" href="/first">First</a>"#))
          #expect(try await stage.get("/").text.contains("/second") == false)
          #expect(try await stage.get("/second").status == 404)
          let first = try await stage.get("/first")
          #expect(first.text.contains("<p>one</p>"))
          let policy = try #require(first["content-security-policy"])
          #expect(policy.contains("script-src 'none'") && policy.contains("style-src 'sha256-"))
          isThere.withLock { $0 = true }
          #expect(try await stage.get("/").text.contains(#"<a id="second" href="/second">Second</a>"#))
          #expect(try await stage.get("/second").text.contains("two"))
          #expect(try await ask(stage.port, "/second").status == 403)
        }
      }
    }

    @Test func `the gate is before every route`() async throws {
      try await withDirectoryAsync { directory in
        _ = try Tracker(directory: directory, configuration: quiet())
        try await MonitorStage.run(directory) { stage in
          let cookie = "Cookie: \(stage.cookie)"
          for path in ["/", "/logs", "/stream", "/event?offset=0", "/export.jsonl", "/export.csv", "/x"] {
            let answers = [
              try await ask(stage.port, path), try await ask(stage.port, path, host: "evil.example", [cookie]),
              try await ask(stage.port, path, method: "POST", [cookie]),
              try await ask(stage.port, path, [cookie, "Sec-Fetch-Site: cross-site"]),
            ]
            #expect(answers.map(\.status) == [403, 421, 405, 403], "\(path)")
          }
        }
      }
    }

    @Test func `an address works once, and the next one is printed`() async throws {
      try await withDirectoryAsync { directory in
        try await MonitorStage.run(directory) { stage in
          let first = try #require(stage.addresses.all.withLock { $0.first })
          let second = try #require(stage.addresses.last)
          #expect(first != second)
          let query = first.drop { $0 != "?" }
          #expect(try await ask(stage.port, "/" + query).status == 403)
          let other = try await ask(stage.port, "/" + second.drop { $0 != "?" } + "&q=name%3Aa")
          #expect(other.status == 303)
          #expect(other["location"] == "/?q=name%3Aa")
          let cookie = try #require(other["set-cookie"])
          #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"))
        }
      }
    }

    @Test func `a session goes on with a monitor that is started again, if it has a key file`() async throws {
      try await withDirectoryAsync { directory in
        let file = directory + "/state/key"
        let kept = Mutex<(port: Int, cookie: String)?>(nil)
        try await MonitorStage.run(directory + "/log", { $0.keyFile = file }) { stage in
          kept.withLock { $0 = (stage.port, stage.cookie) }
        }
        let (port, cookie) = try #require(kept.withLock { $0 })
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)
        try await MonitorStage.run(
          directory + "/log",
          {
            $0.keyFile = file
            $0.port = port
          }
        ) { stage in
          let answer = try await ask(stage.port, "/logs", ["Cookie: \(cookie)"])
          #expect(answer.status == 200)
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        var configuration = Monitor.Configuration()
        configuration.keyFile = file
        #expect(throws: WeirError.self) { try Monitor(directory: directory, configuration: configuration) }
      }
    }

    @Test func `streams are limited, and one that ends makes room`() async throws {
      try await withDirectoryAsync { directory in
        _ = try Tracker(directory: directory, configuration: quiet())
        try await MonitorStage.run(directory) { stage in
          var streams: [MonitorStream] = []
          for _ in 0..<Monitor.Configuration.mostStreams {
            let stream = try stage.stream()
            #expect(try await stream.read { _, _ in true })
            streams.append(stream)
          }
          #expect(try await stage.stream().status() == 503)
          streams.removeLast()
          var status = 503
          while status == 503 {
            let stream = try stage.stream()
            status = try await stream.status()
          }
          #expect(status == 200)
        }
      }
    }

    @Test func `connections are limited, and further ones wait`() async throws {
      try await withDirectoryAsync { directory in
        _ = try Tracker(directory: directory, configuration: quiet())
        try await MonitorStage.run(directory) { stage in
          // Streams, because a connection that asks for nothing is closed after some seconds.
          var held: [MonitorStream] = []
          var idle: [Connection] = []
          for _ in 0..<Monitor.Configuration.mostStreams {
            held.append(try stage.stream())
            #expect(try await held.last?.read { _, _ in true } == true)
          }
          // More than the limit: the server accepts some at a time.
          while held.count + idle.count < Monitor.Configuration.mostConnections + 64 {
            idle.append(try Connection(port: stage.port))
          }
          let further = try stage.stream()
          // Nothing tells that a connection waits, but that no answer comes while none of the others has ended.
          try await Task.sleep(for: .milliseconds(300))
          let isAnswered = further.hasBytes
          for connection in idle { _ = connection.hasBytes }
          #expect(!isAnswered || idle.contains(where: \.isAtEnd))
          idle = []
          held.removeLast()
          #expect(try await further.status() != 0)
        }
      }
    }

    @Test func `another program at ::1 does not end the monitor`() async throws {
      try await withDirectoryAsync { directory in
        let other = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(other) }
        var place = sockaddr_in6()
        place.sin6_family = sa_family_t(AF_INET6)
        place.sin6_addr = in6addr_loopback
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let isHeld = withUnsafeMutablePointer(to: &place) { place in
          place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(other, $0, length) == 0 && listen(other, 1) == 0 && getsockname(other, $0, &length) == 0
          }
        }
        // A machine without IPv6 is the same case.
        let port = isHeld ? Int(in_port_t(bigEndian: place.sin6_port)) : 0
        try await MonitorStage.run(directory, { $0.port = port }) { stage in
          try await Task.sleep(for: .milliseconds(200))
          let answer = try await stage.get("/logs")
          #expect(answer.status == 200)
        }
      }
    }

    @Test(arguments: ["0.0.0.0", "::", "192.0.2.1", "example.org"])
    func `another address needs a flag`(_ host: String) throws {
      var configuration = Monitor.Configuration()
      configuration.host = host
      let error = #expect(throws: WeirError.self) { try Monitor(directory: "/tmp", configuration: configuration) }
      #expect(error?.message.contains("127.0.0.1") == true)
    }
  }
#endif
