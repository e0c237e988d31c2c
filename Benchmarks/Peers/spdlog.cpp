/*
 * spdlog.cpp: spdlog's asynchronous logger to a file. The caller formats and enqueues, spdlog's one thread writes. The
 * overflow policy is to block, so nothing is discarded; a kill loses what is in the queue. The time is spdlog's own.
 */
#include <spdlog/async.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "peer.h"

namespace {

struct subject {
  std::string path;
  std::shared_ptr<spdlog::details::thread_pool> pool;
  std::shared_ptr<spdlog::async_logger> logger;
};

void *open_logger(const char *directory, uint32_t, uint32_t, char *message) {
  try {
    auto peer = std::make_unique<subject>();
    peer->path = std::string(directory) + "/spdlog.log";
    peer->pool = std::make_shared<spdlog::details::thread_pool>(32768, 1);
    auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(peer->path);
    peer->logger = std::make_shared<spdlog::async_logger>("bench", std::move(sink), peer->pool,
                                                          spdlog::async_overflow_policy::block);
    return peer.release();
  } catch (const std::exception &error) {
    snprintf(message, PEER_MESSAGE_BYTES, "%s", error.what());
    return nullptr;
  }
}

uint64_t burst(void *peer, uint32_t, uint64_t first, uint64_t count, const char *text) {
  spdlog::async_logger &logger = *static_cast<subject *>(peer)->logger;
  fmt::string_view coupon(text, PEER_CHECKOUT_TEXT);
  for (uint64_t order = first; order < first + count; order++) {
    logger.info("checkout.completed order={} total={} items={} coupon={}", order, 19.99, 3, coupon);
  }
  return count;
}

int settle(void *peer) {
  while (static_cast<subject *>(peer)->pool->queue_size() > 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return 0;
}

int finish(void *handle, peer_delivery *delivery, char *) {
  auto *peer = static_cast<subject *>(handle);
  peer->logger->flush();
  peer->logger.reset();
  peer->pool.reset(); /* joins its thread, which first writes what is queued */
  std::ifstream file(peer->path, std::ios::binary);
  std::string line;
  uint64_t lines = 0;
  while (std::getline(file, line)) lines += line.find("checkout.completed order=") != std::string::npos;
  *delivery = {lines, 0};
  delete peer;
  return 0;
}

}  // namespace

extern "C" const peer_table peer_subject = {PEER_VERSION, 0, open_logger, burst, settle, finish};
