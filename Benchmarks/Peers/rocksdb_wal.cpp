/*
 * rocksdb_wal.cpp: a Put an event into RocksDB with its write-ahead log, WriteOptions.sync = false (the default): what
 * was put survives a kill, for the log is with the kernel; a power cut may take the last of it.
 */
#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "peer.h"
#include "weir_capture.h"

namespace {

struct subject {
  std::unique_ptr<rocksdb::DB> database;
};

/* Keys in the order of capture of a thread, most significant byte first. */
struct key {
  uint8_t bytes[12];
  key(uint32_t thread, uint64_t order) {
    for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)(thread >> (24 - 8 * i));
    for (int i = 0; i < 8; i++) bytes[4 + i] = (uint8_t)(order >> (56 - 8 * i));
  }
};

void *open_database(const char *directory, uint32_t, uint32_t, char *message) {
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB *database = nullptr;
  rocksdb::Status status = rocksdb::DB::Open(options, std::string(directory) + "/rocksdb", &database);
  if (!status.ok()) {
    snprintf(message, PEER_MESSAGE_BYTES, "%s", status.ToString().c_str());
    return nullptr;
  }
  auto *peer = new subject;
  peer->database.reset(database);
  return peer;
}

uint64_t burst(void *peer, uint32_t thread, uint64_t first, uint64_t count, const char *text) {
  rocksdb::DB &database = *static_cast<subject *>(peer)->database;
  rocksdb::WriteOptions options;
  options.sync = false;
  uint64_t accepted = 0;
  for (uint64_t order = first; order < first + count; order++) {
    char value[48];
    uint64_t ticks = weir_ticks(WEIR_CLOCK_TSC);
    double total = 19.99;
    int32_t items = 3;
    memcpy(value, &ticks, 8);
    memcpy(value + 8, &order, 8);
    memcpy(value + 16, &total, 8);
    memcpy(value + 24, &items, 4);
    memcpy(value + 28, text, PEER_CHECKOUT_TEXT);
    key at(thread, order);
    accepted += database
                    .Put(options, rocksdb::Slice((const char *)at.bytes, sizeof at.bytes),
                         rocksdb::Slice(value, sizeof value))
                    .ok();
  }
  return accepted;
}

int finish(void *handle, peer_delivery *delivery, char *message) {
  auto *peer = static_cast<subject *>(handle);
  uint64_t count = 0;
  rocksdb::Status status;
  {
    std::unique_ptr<rocksdb::Iterator> iterator(peer->database->NewIterator(rocksdb::ReadOptions()));
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) count++;
    status = iterator->status();
  }
  *delivery = {count, 0};
  if (!status.ok()) snprintf(message, PEER_MESSAGE_BYTES, "%s", status.ToString().c_str());
  delete peer;
  return status.ok() ? 0 : -1;
}

}  // namespace

extern "C" const peer_table peer_subject = {
    PEER_VERSION, 0, open_database, burst, [](void *) { return 0; }, finish};
