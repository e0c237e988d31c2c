/*
 * sqlite_wal.cpp: rows of a SQLite table, journal_mode=WAL, synchronous=NORMAL, EVENTS_A_TRANSACTION events a
 * transaction. A committed transaction survives a kill; NORMAL does not wait for the disk, so a power cut may take the
 * last ones. One connection and one prepared statement, under a lock: a database has one writer at a time anyway.
 */
#include <sqlite3.h>

#include <cstdio>
#include <mutex>
#include <string>

#include "peer.h"
#include "weir_capture.h"

#ifndef EVENTS_A_TRANSACTION
#error "compile with -DEVENTS_A_TRANSACTION=1 or 1000"
#endif

namespace {

struct subject {
  sqlite3 *database = nullptr;
  sqlite3_stmt *insert = nullptr;
  sqlite3_stmt *begin = nullptr;
  sqlite3_stmt *commit = nullptr;
  std::mutex lock;
  uint64_t pending = 0; /* events of the transaction that is open */
};

int step(sqlite3_stmt *statement) {
  int status = sqlite3_step(statement);
  sqlite3_reset(statement);
  return status == SQLITE_DONE;
}

void destroy(subject *peer) {
  sqlite3_finalize(peer->insert);
  sqlite3_finalize(peer->begin);
  sqlite3_finalize(peer->commit);
  sqlite3_close(peer->database);
  delete peer;
}

void *open_database(const char *directory, uint32_t, uint32_t, char *message) {
  auto *peer = new subject;
  std::string path = std::string(directory) + "/events.sqlite";
  const char *setup =
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
      "CREATE TABLE event(ticks INTEGER, number INTEGER, total REAL, items INTEGER, coupon TEXT)";
  auto prepare = [peer](const char *text, sqlite3_stmt **statement) {
    return sqlite3_prepare_v2(peer->database, text, -1, statement, nullptr) == SQLITE_OK;
  };
  if (sqlite3_open(path.c_str(), &peer->database) != SQLITE_OK ||
      sqlite3_exec(peer->database, setup, nullptr, nullptr, nullptr) != SQLITE_OK ||
      !prepare("INSERT INTO event VALUES(?,?,?,?,?)", &peer->insert) || !prepare("BEGIN", &peer->begin) ||
      !prepare("COMMIT", &peer->commit)) {
    snprintf(message, PEER_MESSAGE_BYTES, "%s", sqlite3_errmsg(peer->database));
    destroy(peer);
    return nullptr;
  }
  return peer;
}

bool capture(subject *peer, uint64_t order, const char *text) {
  std::lock_guard<std::mutex> guard(peer->lock);
  if (EVENTS_A_TRANSACTION > 1 && peer->pending == 0 && !step(peer->begin)) return false;
  sqlite3_bind_int64(peer->insert, 1, (sqlite3_int64)weir_ticks(WEIR_CLOCK_TSC));
  sqlite3_bind_int64(peer->insert, 2, (sqlite3_int64)order);
  sqlite3_bind_double(peer->insert, 3, 19.99);
  sqlite3_bind_int(peer->insert, 4, 3);
  sqlite3_bind_text(peer->insert, 5, text, PEER_CHECKOUT_TEXT, SQLITE_STATIC);
  bool good = step(peer->insert);
  if (EVENTS_A_TRANSACTION > 1 && ++peer->pending == EVENTS_A_TRANSACTION) {
    peer->pending = 0;
    good = step(peer->commit) && good;
  }
  return good;
}

uint64_t burst(void *peer, uint32_t, uint64_t first, uint64_t count, const char *text) {
  uint64_t accepted = 0;
  for (uint64_t order = first; order < first + count; order++) {
    accepted += capture(static_cast<subject *>(peer), order, text);
  }
  return accepted;
}

int finish(void *handle, peer_delivery *delivery, char *message) {
  auto *peer = static_cast<subject *>(handle);
  if (peer->pending > 0) step(peer->commit);
  sqlite3_stmt *count = nullptr;
  int good = sqlite3_prepare_v2(peer->database, "SELECT count(*) FROM event", -1, &count, nullptr) == SQLITE_OK &&
             sqlite3_step(count) == SQLITE_ROW;
  *delivery = {good ? (uint64_t)sqlite3_column_int64(count, 0) : 0, 0};
  if (!good) snprintf(message, PEER_MESSAGE_BYTES, "%s", sqlite3_errmsg(peer->database));
  sqlite3_finalize(count);
  destroy(peer);
  return good ? 0 : -1;
}

}  // namespace

extern "C" const peer_table peer_subject = {
    PEER_VERSION, 0, open_database, burst, [](void *) { return 0; }, finish};
