// Dates of headers: the three forms, and what is none.

#if HTTP
  import Testing

  @testable import WeirHTTP

  @Suite struct HTTPDateTests {
    @Test(arguments: [
      "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ])
    func `the three forms of one moment are read alike`(_ text: String) {
      #expect(HTTPDate.secondsSince1970(text) == 784_111_777)
    }

    @Test func `two digits of a year are of this century up to 70`() {
      #expect(HTTPDate.secondsSince1970("Saturday, 21-Nov-26 00:00:00 GMT") == 1_795_219_200)
    }

    @Test(arguments: [
      "", "soon", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 31 Feb 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:61:37 GMT", "Sun, 06 Nov 99999 08:49:37 GMT",
      "Sun, 6 November 1994 08:49:37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, -6 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 08:49:37 GMT again", "١٢٣",
    ])
    func `any other text is no date`(_ text: String) {
      #expect(HTTPDate.secondsSince1970(text) == nil)
    }
  }
#endif
