// ClickHouseCodes: what the codes of ClickHouse's exceptions mean for an insert.

#if HTTP
  /// The meaning of an exception for the events of an insert.
  enum ClickHouseMeaning: Hashable, Sendable {
    /// Some of the events can't be stored as they are.
    case refused
    /// Somebody must fix the table, the user or the settings.
    case stops
    /// The problem is temporary: the server has no memory, space or time, or lost a replica, a disk or a connection.
    case passes

    /// Returns the meaning of a code, by the list of ClickHouse 26.9 (`src/Common/ErrorCodes.cpp`).
    ///
    /// A value can cause any error: defaults, materialized columns and views apply any function to it. Therefore the
    /// codes that data can't cause are listed. All other codes refuse the batch, and its halves show which event is at
    /// fault. If a server's problem has a code that is not listed, events become dead letters, which can be delivered
    /// again. If a data problem had a listed code, its retries would block all later events forever.
    init(code: Int, status: Int) {
      if Self.stopping.contains(code) {
        self = .stops
      } else if Self.passing.contains(code) || code >= Self.firstOfInfrastructure {
        self = .passes
      } else {
        self = Self.passingStatuses.contains(status) ? .passes : .refused
      }
    }

    /// Codes from here on belong to caches, Keeper, underlying libraries and reservations.
    private static let firstOfInfrastructure = 900

    private static let passingStatuses: Set<Int> = [408, 429, 502, 503, 504]

    /// THERE_IS_NO_COLUMN (8), NOT_FOUND_COLUMN_IN_BLOCK (10), NO_SUCH_COLUMN_IN_TABLE (16),
    /// TOO_MANY_ARGUMENTS_FOR_FUNCTION (34), TOO_FEW_ARGUMENTS_FOR_FUNCTION (35), NUMBER_OF_ARGUMENTS_DOESNT_MATCH
    /// (42), UNKNOWN_FUNCTION (46), UNKNOWN_IDENTIFIER (47), NOT_IMPLEMENTED (48), UNKNOWN_TYPE (50), UNKNOWN_TABLE
    /// (60), SYNTAX_ERROR (62), UNKNOWN_AGGREGATE_FUNCTION (63), UNKNOWN_FORMAT (73), UNKNOWN_TYPE_OF_QUERY (78),
    /// UNKNOWN_DATABASE (81), UNKNOWN_COMPRESSION_METHOD (89), UNKNOWN_SETTING (115), READONLY (164),
    /// THERE_IS_NO_PROFILE (180), UNKNOWN_USER (192), WRONG_PASSWORD (193), REQUIRED_PASSWORD (194),
    /// IP_ADDRESS_NOT_ALLOWED (195), DATABASE_ACCESS_DENIED (291), SUPPORT_IS_DISABLED (344), QUERY_IS_PROHIBITED
    /// (392), QUERY_IS_NOT_SUPPORTED_IN_MATERIALIZED_VIEW (397), FUNCTION_NOT_ALLOWED (446),
    /// SETTING_CONSTRAINT_VIOLATION (452), INVALID_SETTING_VALUE (471), READONLY_SETTING (472),
    /// DICTIONARY_ACCESS_DENIED (482), ACCESS_STORAGE_READONLY (495), QUOTA_REQUIRES_CLIENT_KEY (496), ACCESS_DENIED
    /// (497), UNKNOWN_ROLE (511), SET_NON_GRANTED_ROLE (512), AUTHENTICATION_FAILED (516), QUERY_NOT_ALLOWED (620),
    /// USER_EXPIRED (720), LICENSING_EXCEPTION (759), DEDUPLICATION_IS_NOT_POSSIBLE (764), REQUIRED_SECOND_FACTOR
    /// (767), TABLE_IS_PERMANENTLY_READ_ONLY (774), UNSUPPORTED_MEDIA_TYPE (779).
    private static let stopping: Set<Int> = [
      8, 10, 16, 34, 35, 42, 46, 47, 48, 50, 60, 62, 63, 73, 78, 81, 89, 115, 164, 180, 192, 193, 194, 195, 291, 344,
      392, 397, 446, 452, 471, 472, 482, 495, 496, 497, 511, 512, 516, 620, 720, 759, 764, 767, 774, 779,
    ]

    private static let passing = streams.union(load).union(replicas)

    /// Streams, files and sockets: UNEXPECTED_END_OF_FILE (3), CHECKSUM_DOESNT_MATCH (40), CANNOT_OPEN_FILE (76),
    /// NETWORK_ERROR (210), CANNOT_WRITE_TO_FILE (294) and others.
    private static let streams: Set<Int> = [
      3, 23, 24, 39, 40, 71, 74, 75, 76, 77, 79, 82, 83, 84, 86, 87, 88, 91, 95, 96, 99, 100, 101, 102, 104, 107, 109,
      110, 111, 112, 113, 114, 198, 204, 209, 210, 214, 217, 220, 221, 270, 271, 272, 273, 274, 275, 294, 295, 354,
      355, 362, 363, 400, 402, 424, 448, 449, 458, 463, 466, 481, 483, 504, 531, 553, 554, 560, 561, 566, 573,
      586, 590, 594, 595, 615, 617, 618, 625, 635, 638, 639, 641, 661, 662, 678, 679, 771,
    ]

    /// Memory, time, load, limits and faults of the server: LOGICAL_ERROR (49), TIMEOUT_EXCEEDED (159), QUOTA_EXCEEDED
    /// (201), TOO_MANY_SIMULTANEOUS_QUERIES (202), MEMORY_LIMIT_EXCEEDED (241), NOT_ENOUGH_SPACE (243),
    /// QUERY_WAS_CANCELLED (394), CANNOT_SCHEDULE_TASK (439), SERVER_OVERLOADED (745) and others.
    private static let load: Set<Int> = [
      49, 156, 159, 160, 172, 173, 199, 201, 202, 203, 216, 236, 239, 240, 241, 243, 263, 279, 280, 281, 297, 298,
      299, 300, 301, 302, 303, 304, 305, 364, 372, 373, 374, 375, 380, 393, 394, 410, 411, 412, 413, 423, 425, 429,
      430, 439, 445, 454, 459, 460, 461, 464, 465, 468, 473, 502, 574, 667, 668, 672, 673, 674, 677, 693, 694, 695,
      696, 700, 706, 707, 710, 711, 722, 734, 735, 736, 737, 745, 747, 749, 757, 761, 762, 763, 775, 776, 777, 778,
      780, 783,
    ]

    /// Replicas, Keeper, parts and disks: NO_ZOOKEEPER (225), TABLE_IS_READ_ONLY (242), TOO_MANY_PARTS (252),
    /// TOO_FEW_LIVE_REPLICAS (285), UNKNOWN_STATUS_OF_INSERT (319), S3_ERROR (499) and others.
    private static let replicas: Set<Int> = [
      218, 224, 225, 226, 227, 228, 230, 231, 232, 233, 234, 235, 237, 238, 242, 244, 246, 251, 252, 253, 254, 255,
      256, 257, 265, 266, 285, 286, 287, 289, 308, 318, 319, 341, 342, 345, 347, 359, 369, 371, 384, 388, 389, 390,
      391, 415, 416, 451, 478, 479, 484, 499, 500, 501, 510, 517, 518, 519, 521, 525, 528, 529, 530, 532, 539, 540,
      541, 542, 555, 556, 564, 567, 568, 571, 572, 575, 576, 577, 579, 581, 587, 588, 589, 591, 593, 614, 619, 640,
      649, 650, 659, 660, 665, 692, 709, 713, 714, 730, 733, 738, 740, 741, 742, 743,
    ]
  }
#endif
