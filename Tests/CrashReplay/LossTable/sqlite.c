/*
 * sqlite.c: rows of a SQLite table in WAL mode with synchronous=NORMAL, which its documentation recommends for it. One
 * connection and one prepared statement under a lock, for a database has one writer at a time anyway. Three rows of the
 * table: a transaction an event; 1,000 events a transaction and acknowledged when the insert returned; the same, and
 * acknowledged when the commit did.
 */
#include "subject.h"

#if __has_include(<sqlite3.h>)
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct store {
  sqlite3 *database;
  sqlite3_stmt *insert, *begin, *commit;
  pthread_mutex_t mutex;
  uint32_t batch;    /* events a transaction */
  uint32_t pending;  /* of them, in the open one */
  int at_commit;     /* they are acknowledged then */
  uint64_t inserted[LOSS_THREADS];
  ledger *ledger;
} store;

static int failed(sqlite3 *database, char *message) {
  snprintf(message, MESSAGE_BYTES, "%s", database ? sqlite3_errmsg(database) : "out of memory");
  return -1;
}

static int step(sqlite3_stmt *statement) {
  int result = sqlite3_step(statement);
  sqlite3_reset(statement);
  return result == SQLITE_DONE;
}

static sqlite3 *open_database(const char *directory, char *message) {
  char path[4096];
  snprintf(path, sizeof path, "%s/events.sqlite", directory);
  sqlite3 *database = NULL;
  const char *setup =
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
      "CREATE TABLE IF NOT EXISTS event(thread INTEGER, number INTEGER, total REAL, items INTEGER, coupon TEXT)";
  if (sqlite3_open(path, &database) == SQLITE_OK && sqlite3_exec(database, setup, NULL, NULL, NULL) == SQLITE_OK) {
    return database;
  }
  failed(database, message);
  sqlite3_close(database);
  return NULL;
}

static void close_store(void *handle) {
  store *store = handle;
  if (store->pending > 0) step(store->commit);
  sqlite3_finalize(store->insert);
  sqlite3_finalize(store->begin);
  sqlite3_finalize(store->commit);
  sqlite3_close(store->database);
  free(store);
}

static void *open_store(const char *directory, ledger *ledger, char *message, uint32_t batch, int at_commit) {
  store *made = calloc(1, sizeof *made);
  if (!made) abort();
  made->batch = batch;
  made->at_commit = at_commit;
  made->ledger = ledger;
  pthread_mutex_init(&made->mutex, NULL);
  made->database = open_database(directory, message);
  if (made->database &&
      sqlite3_prepare_v2(made->database, "INSERT INTO event VALUES(?,?,?,?,?)", -1, &made->insert, NULL) == SQLITE_OK &&
      sqlite3_prepare_v2(made->database, "BEGIN", -1, &made->begin, NULL) == SQLITE_OK &&
      sqlite3_prepare_v2(made->database, "COMMIT", -1, &made->commit, NULL) == SQLITE_OK) {
    return made;
  }
  if (made->database) failed(made->database, message);
  close_store(made);
  return NULL;
}

static void *open_one(const char *directory, ledger *ledger, char *message) {
  return open_store(directory, ledger, message, 1, 0);
}

static void *open_at_insert(const char *directory, ledger *ledger, char *message) {
  return open_store(directory, ledger, message, 1000, 0);
}

static void *open_at_commit(const char *directory, ledger *ledger, char *message) {
  return open_store(directory, ledger, message, 1000, 1);
}

static int insert(store *store, const order *order) {
  if (store->batch > 1 && store->pending == 0 && !step(store->begin)) return 0;
  sqlite3_bind_int(store->insert, 1, (int)order->thread);
  sqlite3_bind_int64(store->insert, 2, (sqlite3_int64)order->number);
  sqlite3_bind_double(store->insert, 3, order->total);
  sqlite3_bind_int(store->insert, 4, order->items);
  sqlite3_bind_text(store->insert, 5, order->coupon, COUPON_BYTES, SQLITE_STATIC);
  if (!step(store->insert)) return 0;
  store->inserted[order->thread] = order->number + 1;
  if (store->batch == 1 || ++store->pending < store->batch) return 1;
  if (!step(store->commit)) abort(); /* no disk is full here, and nobody else has the database */
  store->pending = 0;
  for (uint32_t i = 0; store->at_commit && i < LOSS_THREADS; i++) {
    __atomic_store_n(&store->ledger->threads[i].acknowledged, store->inserted[i], __ATOMIC_RELEASE);
  }
  return 1;
}

static answer append(void *handle, const order *order) {
  store *store = handle;
  pthread_mutex_lock(&store->mutex);
  int good = insert(store, order);
  pthread_mutex_unlock(&store->mutex);
  return !good ? REFUSED : store->at_commit ? LATER : ACKNOWLEDGED;
}

static int read_back(const char *directory, judge *judge, char *message) {
  sqlite3 *database = open_database(directory, message);
  sqlite3_stmt *rows = NULL;
  if (!database) return -1;
  int result = sqlite3_prepare_v2(database, "SELECT thread, number, total, items, coupon FROM event ORDER BY rowid", -1,
                                  &rows, NULL);
  while (result == SQLITE_OK || result == SQLITE_ROW) {
    result = sqlite3_step(rows);
    if (result != SQLITE_ROW) break;
    order order = {.thread = (uint32_t)sqlite3_column_int64(rows, 0),
                   .number = (uint64_t)sqlite3_column_int64(rows, 1),
                   .total = sqlite3_column_double(rows, 2),
                   .items = sqlite3_column_int(rows, 3)};
    const unsigned char *coupon = sqlite3_column_text(rows, 4);
    if (coupon) memcpy(order.coupon, coupon, strnlen((const char *)coupon, COUPON_BYTES));
    judge_order(judge, &order);
  }
  if (result != SQLITE_DONE) failed(database, message);
  sqlite3_finalize(rows);
  sqlite3_close(database);
  return result == SQLITE_DONE ? 0 : -1;
}

#define OPENS(function) .open = function, .append = append, .close = close_store, .read = read_back
#else
#define OPENS(function) .open = 0 /* no header to compile it against */
#endif

const subject sqlite_one = {
    .name = "sqlite-1",
    .title = "SQLite, a commit an event",
    .settings = "the same, a transaction an event",
    .as_safe = "nothing more",
    OPENS(open_one)};

const subject sqlite_insert = {
    .name = "sqlite-1000",
    .title = "SQLite, 1,000 a commit, told at insert",
    .settings = "journal_mode=WAL, synchronous=NORMAL, a prepared insert, 1,000 events a transaction; "
                "acknowledged when the insert returned",
    .as_safe = "an acknowledgement at the commit, as in the next row: callers keep their events until there are 1,000",
    .loses = 1,
    OPENS(open_at_insert)};

const subject sqlite_commit = {
    .name = "sqlite-1000-commit",
    .title = "SQLite, 1,000 a commit, told at commit",
    .settings = "the same; acknowledged when the commit returned",
    .as_safe = "nothing more",
    OPENS(open_at_commit)};
