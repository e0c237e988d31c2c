/*
 * format.h: the structures on disk. FileFormat.md in the documentation is the specification; the assertions below prove
 * that this file agrees with it. All numbers are little endian, as both supported processors are. No structure has
 * padding of its own; reserved bytes are named, written as zero and checked.
 */
#ifndef WEIR_FORMAT_H
#define WEIR_FORMAT_H

#include "system/names.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "weir.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Weir supports little-endian processors"
#endif

enum { FORMAT_MAJOR = 1, FORMAT_MINOR = 0 };

/* Names in the directory. A segment's name is its base offset in 20 decimal digits and one of the two suffixes. */
#define LOCK_NAME "lock"
#define RING_NAME "ring"
#define RING_NEW_NAME "ring.new"
#define LOCATOR_NAME "ring.at"
#define LOCATOR_NEW_NAME "ring.at.new"
#define START_NAME "start"
#define START_NEW_NAME "start.new"
#define RECOVERY_NAME "recovery"
#define RECOVERY_NEW_NAME "recovery.new"
#define QUARANTINE_NAME "quarantine"
#define PREPARED_PREFIX "prepared-"
#define SEALED_SUFFIX ".weir"
#define ACTIVE_SUFFIX ".weir.active"
#define BATCH_SUFFIX ".weir.lz4"
#define BATCH_PREFIX "batch-" /* and the 20 digits: a batch segment in the making */

#define LOCK_MAGIC UINT64_C(0x4b434f4c52494557)    /* "WEIRLOCK" */
#define RING_MAGIC UINT64_C(0x474e495252494557)    /* "WEIRRING" */
#define LOCATOR_MAGIC UINT64_C(0x41434f4c52494557) /* "WEIRLOCA" */
#define START_MAGIC UINT64_C(0x5452545352494557)   /* "WEIRSTRT" */
#define RECOVERY_MAGIC UINT64_C(0x4f43455252494557) /* "WEIRRECO" */
#define SEGMENT_MAGIC UINT64_C(0x4d47455352494557) /* "WEIRSEGM" */
#define BLOCK_MAGIC UINT32_C(0x4b4c4257)           /* "WBLK" */
#define BATCH_MAGIC UINT64_C(0x4843544252494557)   /* "WEIRBTCH" */

/* ---- Lock ------------------------------------------------------------------------------------------------------ */

/* What the lock file holds. Its other purpose needs no bytes. */
typedef struct lock_content {
  uint64_t magic;
  uint16_t major;
  uint16_t minor;
  uint32_t crc;    /* CRC32C of bytes 0 to 11 and 16 to 63 */
  uint64_t log_id; /* random, never 0: names the log, in each of its files */
  uint64_t reserved[5];
} lock_content;

static_assert(offsetof(lock_content, log_id) == 16, "lock");
static_assert(sizeof(lock_content) == 64, "lock");

/* ---- Ring ------------------------------------------------------------------------------------------------------ */

/*
 * Ticks to time: time_ns = wall_ns + ((ticks - base_ticks) * multiplier >> 32), in 128 bits, signed; and in the same
 * way from monotonic_ns to the monotonic clock of the boot in which they were counted.
 */
typedef struct calibration {
  uint64_t base_ticks;
  int64_t wall_ns;
  uint64_t multiplier; /* nanoseconds a tick, times 2^32; 0: no clock was read, so monotonic_ns says nothing */
  int64_t monotonic_ns; /* CLOCK_MONOTONIC at base_ticks, of the machine: without a time namespace's offset */
} calibration;

/*
 * A calibration that can be replaced while the process may die: two slots, the higher sequence with a good CRC counts.
 */
typedef struct calibration_slot {
  calibration value;
  uint32_t sequence;
  uint32_t crc; /* CRC32C of the 36 bytes before it */
} calibration_slot;

/* Room for what later versions will write: zero, and checked. See FileFormat.md, Room for later versions. */
typedef struct name_room {
  uint8_t utf8[64];
} name_room;

typedef struct chain_room {
  uint8_t value[32];
} chain_room;

typedef struct ring_header {
  uint64_t magic;
  uint16_t major;
  uint16_t minor;
  uint32_t header_crc; /* CRC32C of bytes 16 to 511 */
  uint64_t opening;
  uint64_t file_bytes;
  uint32_t lane_count;
  uint32_t spare_lanes; /* the last ones, overflow lanes included */
  uint64_t lane_bytes;
  uint64_t record_bytes; /* the largest record; an event's payload is at most 24 less */
  uint64_t lanes_at;     /* position of the first lane's control page */
  uint64_t lane_stride;
  uint64_t types_at;
  uint64_t types_bytes;
  uint64_t base_offset; /* the first offset of this opening */
  uint64_t incompatible;
  uint64_t compatible;
  uint8_t boot_id[16];
  uint32_t clock;
  uint32_t overflow_lanes; /* how many of the spare lanes, the last ones, are overflow lanes */
  uint64_t log_id;
  name_room host;
  name_room fleet;
  uint8_t reserved1[240];

  /* From byte 512: changes while the log is open. */
  uint64_t log_end;   /* the offset after the last block appended */
  uint64_t types_end; /* bytes of the type region that hold definitions */
  uint64_t closed;    /* 1: all that was captured is in synced segments, and nothing will be any more */
  uint64_t sync_failed; /* 1: the disk failed to sync a segment of this opening */
  uint64_t lanes_in_play; /* see lanes_word: in this boot later lanes, which are overflow lanes, were never used */
  uint8_t reserved2[8];
  calibration_slot calibration[2];              /* 560 */
  uint64_t unlaned_dropped[WEIR_DROP_REASONS];  /* 640: refusals of captures that had no lane */
  uint64_t unlaned_reported[WEIR_DROP_REASONS]; /* of them, in gap records of the log */
  uint8_t reserved3[3200];
} ring_header;

/* A number of lanes, and in the upper half its complement: a flipped bit hides no lane. */
static inline uint64_t lanes_word(uint32_t lanes) { return (uint64_t)~lanes << 32 | lanes; }

/* A lane's control page, followed by lane_bytes of records and record_bytes + 8, rounded up to 4096, of overhang. */
typedef struct lane_control {
  uint64_t tail; /* the producer's: position after the last committed record */
  uint64_t dropped[WEIR_DROP_REASONS - 1]; /* [reason - 1] */
  uint64_t head;  /* 128: position after the last record drained into the log, or evicted; and the HEAD_ flags */
  uint8_t reserved0[56];
  uint64_t reported[WEIR_DROP_REASONS - 1]; /* of `dropped` and of the evicted, in gap records of the log */
  uint64_t opening;        /* of an overflow lane that was made: see orphan.c. 0 for other lanes */
  uint64_t evicting_to;    /* 320, the producer's: how far the eviction in progress goes */
  uint64_t evicting_total; /* and what evicted_total will be after it */
  uint64_t evicted_to;     /* position after the last record ever evicted */
  uint64_t evicted_total;  /* events ever evicted */
  uint8_t reserved2[3744];
} lane_control;

/*
 * Flags in `head`, whose positions are multiples of eight. CLAIMED: the drainer copies from there, nothing may be
 * evicted. EVICTED: the head came here by the eviction that evicting_to and evicting_total describe, which evicted_to
 * and evicted_total may not show yet.
 */
enum { HEAD_CLAIMED = 1, HEAD_EVICTED = 2, HEAD_FLAGS = 7 };
static inline uint64_t head_position(uint64_t head) { return head & ~(uint64_t)HEAD_FLAGS; }

enum { RING_HEADER_BYTES = 4096, LANE_CONTROL_BYTES = 4096, RING_FIXED_BYTES = 512, RECORD_SLACK_BYTES = 8 };

static_assert(sizeof(calibration_slot) == 40, "calibration slot");
static_assert(offsetof(ring_header, header_crc) == 12, "ring header");
static_assert(offsetof(ring_header, opening) == 16, "ring header");
static_assert(offsetof(ring_header, boot_id) == 112, "ring header");
static_assert(offsetof(ring_header, overflow_lanes) == 132, "ring header");
static_assert(offsetof(ring_header, log_id) == 136, "ring header");
static_assert(offsetof(ring_header, fleet) == 208, "ring header");
static_assert(offsetof(ring_header, log_end) == RING_FIXED_BYTES, "ring header");
static_assert(offsetof(ring_header, closed) == 528, "ring header");
static_assert(offsetof(ring_header, lanes_in_play) == 544, "ring header");
static_assert(offsetof(ring_header, calibration) == 560, "ring header");
static_assert(offsetof(ring_header, unlaned_dropped) == 640, "ring header");
static_assert(sizeof(ring_header) == RING_HEADER_BYTES, "ring header");
static_assert(offsetof(lane_control, head) == 128, "lane control");
static_assert(offsetof(lane_control, reported) == 192, "lane control");
static_assert(offsetof(lane_control, opening) == 312, "lane control");
static_assert(offsetof(lane_control, evicting_to) == 320, "lane control");
static_assert(sizeof(lane_control) == LANE_CONTROL_BYTES, "lane control");

/* Where a ring lies that is not in the log's directory. */
typedef struct ring_locator {
  uint64_t magic;
  uint16_t major;
  uint16_t minor;
  uint32_t crc;         /* CRC32C of bytes 0 to 11 and 16 to 4095 */
  uint64_t opening;     /* of the ring */
  uint64_t number;      /* random; the file's name is weir-<16 hex digits>.ring */
  uint64_t home_inode;  /* of the log's directory: in a copy of it the locator is not to be followed */
  int64_t home_born_ns; /* when that was made; 0 where the file system does not know */
  uint64_t next_offset; /* in use: the ring's base offset. Closed: the offset after the last event */
  uint64_t incompatible;
  uint32_t state;       /* LOCATOR_IN_USE, LOCATOR_CLOSED */
  uint32_t path_bytes;
  uint8_t boot_id[16];  /* of the kernel's boot that the ring is of */
  uint64_t log_id;
  char path[4000];      /* of the directory, absolute, then zeros */
} ring_locator;

enum { LOCATOR_IN_USE = 1, LOCATOR_CLOSED = 2 };

static_assert(offsetof(ring_locator, opening) == 16, "ring locator");
static_assert(offsetof(ring_locator, state) == 64, "ring locator");
static_assert(offsetof(ring_locator, path) == 96, "ring locator");
static_assert(sizeof(ring_locator) == 4096, "ring locator");

/* ---- Start ----------------------------------------------------------------------------------------------------- */

/* Where the log begins after retention. Two of them, the higher sequence with a good crc counts. */
typedef struct log_start_slot {
  uint64_t magic;
  uint16_t major;
  uint16_t minor;
  uint32_t crc;          /* CRC32C of bytes 0 to 11 and 16 to 511 */
  uint64_t sequence;     /* from 1 */
  uint64_t first_offset; /* every offset below it is removed */
  uint64_t salt;         /* of the last segment removed; 0: none was */
  uint64_t end;          /* position after its seal */
  uint64_t base;         /* its base offset */
  uint64_t segments;     /* removed so far, and the events and notices in them */
  uint64_t events;
  uint64_t notices;
  uint64_t incompatible;
  int64_t changed_ns;    /* wall clock, when this was written */
  uint64_t missing;      /* offsets below first_offset that damage had taken before: neither events nor notices */
  uint64_t log_id;
  uint64_t reserved0[2];
  uint64_t lost[WEIR_DROP_REASONS];    /* of the events, those removed before they were delivered, by reason */
  uint64_t dropped[WEIR_DROP_REASONS]; /* refusals that gap records in the removed segments report */
  uint8_t reserved1[128];
} log_start_slot;

enum { START_SLOTS = 2, START_SLOT_STRIDE = 4096 };

static_assert(offsetof(log_start_slot, sequence) == 16, "start slot");
static_assert(offsetof(log_start_slot, missing) == 96, "start slot");
static_assert(offsetof(log_start_slot, lost) == 128, "start slot");
static_assert(offsetof(log_start_slot, reserved1) == 384, "start slot");
static_assert(sizeof(log_start_slot) == 512, "start slot");

/* ---- Recovery -------------------------------------------------------------------------------------------------- */

/* What a recovery found that has not ended, or whose report nobody got. */
typedef struct unreported {
  uint64_t magic;
  uint16_t major;
  uint16_t minor;
  uint32_t crc;            /* CRC32C of bytes 0 to 11 and 16 to 127 */
  uint64_t log_id;
  uint64_t opening;        /* of the ring that was recovered; 0: there was none */
  uint64_t counted_to;     /* segments and offsets below this offset are in the counts */
  uint64_t incompatible;
  uint64_t missing_events; /* as in weir_recovery, like the next four */
  uint64_t damaged_blocks;
  uint64_t damaged_bytes;
  uint64_t damaged_records;
  uint64_t unkept_bytes;
  uint32_t flags;
  uint8_t reserved[36];
} unreported;

/* Flags of `unreported`. UNREPORTED_TAIL: the machine went down, and events without a trace may be missing. */
enum { UNREPORTED_TAIL = 1 };

static_assert(offsetof(unreported, counted_to) == 32, "recovery");
static_assert(sizeof(unreported) == 128, "recovery");

/* ---- Record ---------------------------------------------------------------------------------------------------- */

typedef struct record_header {
  uint32_t checksum; /* CRC32C of opening, lane (8 bytes each), position, payload, and bytes 4 to 23 of this header */
  uint32_t length;   /* of the payload, without the zero padding to a multiple of eight */
  uint32_t type;  /* a type word: see record_type */
  uint32_t index; /* how many records its lane committed in this opening before it: the low 32 bits */
  uint64_t ticks;
} record_header;

static_assert(sizeof(record_header) == WEIR_RECORD_HEADER_BYTES, "record header");

/*
 * The parts of a type word: the type, the number of the global context in force (0: none), and WEIR_SCOPED. Types and
 * contexts are numbered together. A notice has its type alone.
 */
static inline uint32_t record_type(uint32_t word) { return word & 0xffff; }
static inline uint32_t record_context(uint32_t word) { return word >> 16 & 0x7fff; }

/* The lane number in the block of notices, and in their ids. */
enum { NOTICE_LANE = 0xffff };

/*
 * The definition of a type, or of a global context, in the ring's type region and in blocks: this header, the name, the
 * fields, the attributes, zeros to 8 bytes. A context has neither name nor fields; its bytes are its attributes.
 */
typedef struct definition_header {
  uint32_t bytes; /* of the whole entry, a multiple of eight */
  uint32_t crc;   /* CRC32C of the opening and of the entry from byte 8 on */
  uint32_t type;
  uint32_t flags; /* DEFINITION_TAGGED, DEFINITION_CONTEXT */
  uint32_t fields_bytes;
  uint16_t name_bytes;
  uint16_t field_count;
  uint32_t attributes_bytes; /* a tagged object, or nothing */
  uint32_t reserved;
} definition_header;

enum { DEFINITION_TAGGED = 1, DEFINITION_CONTEXT = 2 };

/*
 * Numbers are below MAX_TYPES: of types from WEIR_TYPE_FIRST up, of contexts from MAX_TYPES - 1 down, so that what is
 * below the first type not yet defined is a type. No entry is larger than MAX_DEFINITION_BYTES.
 */
enum { MAX_TYPES = 8192, MAX_DEFINITION_BYTES = 32768 };

static_assert(sizeof(definition_header) == 32, "definition header");

/* ---- Segment --------------------------------------------------------------------------------------------------- */

/* A place in a lane: a position, and how many records come before it. */
typedef struct lane_mark {
  uint64_t position;
  uint64_t records; /* RECORDS_UNKNOWN: what was damaged left no trace of their number */
} lane_mark;

#define RECORDS_UNKNOWN UINT64_MAX
#define INDEX_UNKNOWN UINT32_MAX

typedef struct segment_header {
  uint64_t magic;
  uint16_t major;
  uint16_t minor;
  uint32_t header_bytes; /* 512 + 16 * lane_count */
  uint32_t header_crc;   /* CRC32C of bytes 20 to header_bytes */
  uint32_t flags;        /* SEGMENT_RECOVERED, SEGMENT_AFTER_CUT */
  uint64_t salt;         /* random, never 0 */
  uint64_t opening;
  uint64_t base_offset;
  int64_t created_ns;
  uint64_t previous_salt; /* of the segment before; 0 where there is none */
  uint64_t previous_end;  /* position after its last block, in bytes */
  uint64_t previous_base;
  uint64_t incompatible;
  uint64_t compatible;
  uint64_t capacity;
  uint32_t lane_count;
  uint8_t boot_id[16]; /* of the kernel's boot that wrote it */
  uint8_t captured_boot_id[16]; /* of the one in which its events were captured: another where recovery wrote it */
  uint32_t reserved0;
  uint64_t log_id;
  chain_room previous_chain; /* of the segment before */
  name_room host;
  name_room fleet;
  uint64_t collected_log_id; /* the next three of SEGMENT_COLLECTED: the log that its events come from, */
  uint64_t collected_from;   /* and the offsets that they had there */
  uint64_t collected_to;
  uint8_t reserved1[176];
  /* Behind it a lane_mark for each lane: how far it had been drained when this segment began. */
} segment_header;

/*
 * RECOVERED: holds what recovery drained. AFTER_CUT: the offsets between the segment before and this one were left out,
 * because a power cut may have taken events that had some of them.
 */
enum { SEGMENT_RECOVERED = 1, SEGMENT_AFTER_CUT = 2, SEGMENT_HEADER_BYTES = 512 };

/*
 * In `incompatible`. COLLECTED: its events come from another log, which host and collected_log_id name. Its lanes are
 * that log's; a mark with a position of LANE_UNKNOWN says nothing.
 */
enum { SEGMENT_COLLECTED = 1 };
#define LANE_UNKNOWN UINT64_MAX

/* Where the events of a collected segment come from. Zeros: they are the log's own. */
typedef struct collected_room {
  uint64_t log_id;
  uint64_t from, to;
  name_room host;
} collected_room;

#define OFFSETS_LEFT_OUT (UINT64_C(1) << 32)

static_assert(offsetof(segment_header, header_crc) == 16, "segment header");
static_assert(offsetof(segment_header, salt) == 24, "segment header");
static_assert(offsetof(segment_header, previous_salt) == 56, "segment header");
static_assert(offsetof(segment_header, lane_count) == 104, "segment header");
static_assert(offsetof(segment_header, boot_id) == 108, "segment header");
static_assert(offsetof(segment_header, captured_boot_id) == 124, "segment header");
static_assert(offsetof(segment_header, log_id) == 144, "segment header");
static_assert(offsetof(segment_header, host) == 184, "segment header");
static_assert(offsetof(segment_header, collected_log_id) == 312, "segment header");
static_assert(sizeof(segment_header) == SEGMENT_HEADER_BYTES, "segment header");

typedef struct block_header {
  uint32_t magic;
  uint32_t header_crc; /* CRC32C of bytes 8 to 159 */
  uint64_t salt;       /* the segment's */
  uint64_t position;   /* of this header in the file */
  uint64_t opening;
  uint32_t kind;
  uint32_t payload_bytes; /* a multiple of eight */
  uint32_t payload_crc;   /* CRC32C of the payload */
  uint32_t count;         /* events: offsets base_offset to base_offset + count - 1 */
  uint64_t base_offset;
  uint32_t lane;
  uint32_t index; /* of notices that drain positions: how many records come before lane_from, the low 32 bits */
  uint64_t lane_from; /* positions in the lane that this block drains */
  uint64_t lane_to;
  int64_t first_ns;
  int64_t last_ns;
  struct calibration calibration;
  uint64_t log_id;
  uint32_t layout; /* of the payload; 0: in rows, or in columns as the batch segment says */
  uint32_t key_id; /* of what the payload is encrypted with; 0: it is not */
  uint8_t tag[16]; /* that authenticates header and payload */
} block_header;

enum {
  BLOCK_EVENTS = 1,      /* records of one lane */
  BLOCK_DEFINITIONS = 2, /* definitions that records further on need */
  BLOCK_NOTICES = 3,     /* records of Weir itself: gaps and holes */
  BLOCK_SEAL = 4         /* the last block of a segment */
};

static_assert(sizeof(block_header) == 160, "block header");
static_assert(offsetof(block_header, kind) == 32, "block header");
static_assert(offsetof(block_header, base_offset) == 48, "block header");
static_assert(offsetof(block_header, calibration) == 96, "block header");
static_assert(offsetof(block_header, log_id) == 128, "block header");
static_assert(offsetof(block_header, tag) == 144, "block header");

/*
 * A seal's payload: this, every definition that the segment's records need, the highest totals in gap records of the
 * opening so far, and the position of the seal (8 bytes).
 */
typedef struct seal_summary {
  uint64_t next_offset; /* the offset after the segment's last event */
  uint64_t events;      /* without notices */
  uint64_t notices;
  uint64_t blocks;      /* without the seal */
  int64_t first_ns;     /* of events; 0 where there is none */
  int64_t last_ns;
  uint64_t dropped[WEIR_DROP_REASONS]; /* refusals that this segment's gap records report */
  uint32_t flags;                      /* SEAL_RECOVERED: sealed by a later opening */
  uint32_t definition_bytes;
  uint32_t totals; /* how many gap_total follow the definitions */
  uint32_t reserved;
  chain_room chain; /* over the segments up to this one */
} seal_summary;

/* What the log says was lost of a lane (NOTICE_LANE: without one) for a reason, in all. */
typedef struct gap_total {
  uint32_t lane;
  uint32_t reason;
  uint64_t total;
} gap_total;

enum { SEAL_RECOVERED = 1, SEAL_POSITION_BYTES = 8 };

/* In `dropped` of a seal, and of `start`, where no reason has this number: events that hole records tell of. */
enum { LOST_IN_HOLES = 0 };

static_assert(sizeof(seal_summary) == 224, "seal summary");
static_assert(sizeof(gap_total) == 16, "gap total");

/* ---- Batch segment --------------------------------------------------------------------------------------------- */

/*
 * A sealed segment as one LZ4 frame, and after it an empty legacy frame and a skippable one, whose user data is this,
 * block_count batch_blocks and a batch_end. FileFormat.md has the frame's own layout, which is lz4's.
 */
typedef struct batch_index {
  uint64_t magic;
  uint16_t major;
  uint16_t minor;
  uint32_t crc;           /* CRC32C of the user data but these four bytes */
  uint32_t flags;         /* BATCH_COLUMNS */
  uint32_t block_bytes;   /* of content in each LZ4 block but the last */
  uint64_t salt;          /* the segment's, as the next three */
  uint64_t opening;
  uint64_t base_offset;
  uint64_t next_offset;
  uint64_t content_bytes; /* of the segment */
  uint64_t frame_bytes;   /* of the LZ4 frame */
  uint64_t events;        /* in the segment, without notices */
  uint32_t block_count;
  uint32_t reserved;
  uint64_t log_id;      /* the segment's */
} batch_index;

/* One LZ4 block. */
typedef struct batch_block {
  uint64_t position;    /* in the file, of its size */
  uint64_t segment_at;  /* in the segment, of the first block header that begins in it; BATCH_NO_HEADER: none does */
  uint64_t base_offset; /* of that one; BATCH_NO_HEADER */
} batch_block;

/* The file's last bytes: from the end the user data is found. */
typedef struct batch_end {
  uint64_t index_bytes; /* of the user data, this included */
  uint64_t magic;
} batch_end;

#define BATCH_NO_HEADER UINT64_MAX
#define LZ4_FRAME_MAGIC UINT32_C(0x184d2204)
#define LZ4_SKIPPABLE_MAGIC UINT32_C(0x184d2a57) /* one of the sixteen that lz4 passes over */
/*
 * A frame of the first format; without a block it is these four bytes. The lz4 tool up to 1.9.4 at least swallows four
 * bytes after a frame with checksums of its blocks and none of its content, as ours is: it may have these.
 */
#define LZ4_LEGACY_MAGIC UINT32_C(0x184c2102)

enum {
  BATCH_COLUMNS = 1,            /* payloads of blocks of events are in columns, see columns.h */
  BATCH_BLOCK_BYTES = 1 << 20,  /* as Weir writes them */
  BATCH_FRAME_HEADER_BYTES = 15,
  BATCH_SKIPPABLE_BYTES = 12    /* in front of the user data: an empty legacy frame, magic and size of the skippable */
};

static_assert(offsetof(batch_index, crc) == 12, "batch index");
static_assert(offsetof(batch_index, salt) == 24, "batch index");
static_assert(offsetof(batch_index, content_bytes) == 56, "batch index");
static_assert(offsetof(batch_index, block_count) == 80, "batch index");
static_assert(offsetof(batch_index, log_id) == 88, "batch index");
static_assert(sizeof(batch_index) == 96, "batch index");
static_assert(sizeof(batch_block) == 24, "batch block");
static_assert(sizeof(batch_end) == 16, "batch end");

/* Caps that a reader holds every length from a file against before it believes it. */
enum {
  MAX_BLOCK_PAYLOAD_BYTES = 2 << 20,
  DRAIN_BLOCK_BYTES = 256 << 10,
  MAX_RECORD_BYTES = (1 << 20) + WEIR_RECORD_HEADER_BYTES + 8
};
#define MAX_SEGMENT_BYTES (UINT64_C(1) << 31)
#define MAX_LANE_BYTES (UINT64_C(1) << 32)

/*
 * Offsets are below MAX_OFFSET, so that no sum of an offset and a count wraps. No opening begins in the last 2^48
 * offsets, more than an opening can fill, so that every offset it gives is below MAX_OFFSET.
 */
#define MAX_OFFSET (UINT64_C(1) << 63)
#define LAST_FIRST_OFFSET (MAX_OFFSET - (UINT64_C(1) << 48))

static inline uint64_t align8(uint64_t n) { return (n + 7) & ~UINT64_C(7); }
static inline uint64_t record_size(uint64_t length) { return align8(WEIR_RECORD_HEADER_BYTES + length); }

/* The most that the batch of a segment of so many bytes can have: of content that LZ4 finds nothing in. */
static inline uint64_t batch_most_bytes(uint64_t content_bytes) {
  enum { END_MARK_BYTES = 4, AROUND_BLOCK_BYTES = 8 };
  uint64_t blocks = (content_bytes + BATCH_BLOCK_BYTES - 1) / BATCH_BLOCK_BYTES;
  uint64_t frame = BATCH_FRAME_HEADER_BYTES + content_bytes + blocks * AROUND_BLOCK_BYTES + END_MARK_BYTES;
  return frame + BATCH_SKIPPABLE_BYTES + sizeof(batch_index) + blocks * sizeof(batch_block) + sizeof(batch_end);
}

#endif
