// KeyedHash: pseudonyms of users as keyed hashes of their ids.

#if HTTP
  import Crypto
  public import WeirDelivery

  extension Pseudonym {
    /// The keyed hash of an id: HMAC-SHA-256 (RFC 2104) of the id's UTF-8 bytes, its first 16 bytes as 32 hexadecimal
    /// digits. Without the key, nobody can compute the pseudonym of an id, or the id of a pseudonym.
    ///
    /// ```swift
    /// options.pseudonym = Pseudonym(key: try Secret(…))
    /// ```
    ///
    /// A key has at least 16 random bytes, as of `openssl rand -hex 32`. Whoever changes the key changes all users.
    public init(key: Secret) {
      let hash: @Sendable (String) -> String = { text in
        let secret = key.withValue { SymmetricKey(data: Array($0.utf8)) }
        return HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: secret).prefix(16)
          .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      }
      self.init(fingerprint: "hmac-sha256 " + hash("weir pseudonym").prefix(8), hash)
    }
  }
#endif
