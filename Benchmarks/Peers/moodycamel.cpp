/*
 * moodycamel.cpp: ConcurrentQueue, the fastest of the well-known queues in memory. Nothing in it survives its process.
 *
 * A producer token for each thread, all its blocks allocated beforehand, and try_enqueue, which never allocates: its
 * best case. A consumer thread takes elements out in bulk and pauses when there are none, as Weir's drainer does.
 */
#include <concurrentqueue/concurrentqueue.h>
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "peer.h"
#include "weir_capture.h" /* weir_ticks: the clock that every subject takes which can choose */

namespace {

struct checkout {
  uint64_t ticks;
  uint64_t order;
  double total;
  int32_t items;
  char coupon[PEER_CHECKOUT_TEXT];
};
static_assert(sizeof(checkout) == 48, "the event is 48 bytes");

template <size_t bytes>
struct blob {
  uint64_t ticks;
  char text[bytes];
};

void fill(checkout &event, uint64_t order, const char *text) {
  event.order = order;
  event.total = 19.99;
  event.items = 3;
  memcpy(event.coupon, text, sizeof event.coupon);
}

template <size_t bytes>
void fill(blob<bytes> &event, uint64_t, const char *text) {
  memcpy(event.text, text, bytes);
}

class subject {
 public:
  virtual ~subject() = default;
  virtual uint64_t burst(uint32_t thread, uint64_t first, uint64_t count, const char *text) = 0;
  virtual void settle() = 0;
  virtual uint64_t finish() = 0;
};

template <typename event>
class queue_subject final : public subject {
 public:
  queue_subject(uint32_t threads, size_t room) : queue(room * threads, threads, 0), consumer([this] { consume(); }) {
    for (uint32_t i = 0; i < threads; i++) tokens.push_back(std::make_unique<moodycamel::ProducerToken>(queue));
    sent = std::vector<padded>(threads);
  }

  uint64_t burst(uint32_t thread, uint64_t first, uint64_t count, const char *text) override {
    moodycamel::ProducerToken &token = *tokens[thread];
    uint64_t accepted = 0;
    for (uint64_t order = first; order < first + count; order++) {
      event next;
      next.ticks = weir_ticks(WEIR_CLOCK_TSC);
      fill(next, order, text);
      accepted += queue.try_enqueue(token, next);
    }
    sent[thread].count += accepted;
    return accepted;
  }

  void settle() override {
    uint64_t total = 0;
    for (const padded &one : sent) total += one.count;
    while (taken.load(std::memory_order_acquire) < total) pause();
  }

  uint64_t finish() override {
    settle();
    stopping.store(true, std::memory_order_release);
    consumer.join();
    return taken.load();
  }

 private:
  struct alignas(64) padded {
    uint64_t count = 0;
  };

  static void pause() {
    timespec time = {0, 50000};
    nanosleep(&time, nullptr);
  }

  void consume() {
    moodycamel::ConsumerToken token(queue);
    std::vector<event> events(256);
    while (!stopping.load(std::memory_order_acquire)) {
      size_t count = queue.try_dequeue_bulk(token, events.data(), events.size());
      if (count == 0) pause();
      else taken.fetch_add(count, std::memory_order_release);
    }
  }

  moodycamel::ConcurrentQueue<event> queue;
  std::vector<std::unique_ptr<moodycamel::ProducerToken>> tokens;
  std::vector<padded> sent;
  std::atomic<uint64_t> taken{0};
  std::atomic<bool> stopping{false};
  std::thread consumer; /* last: it uses the others */
};

void *open_queue(const char *, uint32_t threads, uint32_t text_bytes, char *message) {
  switch (text_bytes) {
    case PEER_CHECKOUT_TEXT: return new queue_subject<checkout>(threads, 1 << 15);
    case 16: return new queue_subject<blob<16>>(threads, 1 << 15);
    case 256: return new queue_subject<blob<256>>(threads, 1 << 12);
    case 4096: return new queue_subject<blob<4096>>(threads, 1 << 8);
    default:
      snprintf(message, PEER_MESSAGE_BYTES, "built for events of 16, 48, 256 and 4096 bytes");
      return nullptr;
  }
}

}  // namespace

extern "C" const peer_table peer_subject = {
    PEER_VERSION,
    1,
    open_queue,
    [](void *peer, uint32_t thread, uint64_t first, uint64_t count, const char *text) {
      return static_cast<subject *>(peer)->burst(thread, first, count, text);
    },
    [](void *peer) {
      static_cast<subject *>(peer)->settle();
      return 0;
    },
    [](void *peer, peer_delivery *delivery, char *) {
      *delivery = {static_cast<subject *>(peer)->finish(), 0};
      delete static_cast<subject *>(peer);
      return 0;
    },
};
