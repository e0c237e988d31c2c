// example.cpp: Weir from C++17. Captures a few readings, closes the log and reads them back. No Swift:
//
//     c++ -std=c++17 -I include example.cpp libweir.a -pthread -o example && ./example /tmp/readings
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weir.h"

namespace {

struct FreeLog {
  void operator()(weir_log *log) const { weir_free(log); }
};
struct CloseReader {
  void operator()(weir_reader *reader) const { weir_reader_close(reader); }
};

struct Reading {
  std::string_view sensor;
  double value;
};

constexpr Reading readings[] = {{"inlet", 4.5}, {"outlet", -0.25}, {"", 0.0}, {"übergang", 1e300}};
constexpr int readingCount = sizeof readings / sizeof *readings;

std::optional<std::string> capture(const char *directory) {
  weir_options options;
  weir_options_init(&options);
  weir_error error{};
  weir_log *opened = nullptr;
  if (weir_open(directory, &options, &opened, nullptr, &error) != WEIR_OK) return error.message;
  std::unique_ptr<weir_log, FreeLog> log(opened);

  const weir_field fields[] = {{"sensor", WEIR_KIND_STRING, 0}, {"value", WEIR_KIND_F64, 0}};
  weir_definition definition{};
  definition.name = "reading";
  definition.fields = fields;
  definition.field_count = 2;
  uint32_t type = 0;
  if (weir_define(log.get(), 0, &definition, 1, &type, &error) != WEIR_OK) return error.message;

  for (const Reading &reading : readings) {
    weir_record record;
    int32_t drop = weir_begin(log.get(), &record);
    if (drop == WEIR_ACCEPTED) {
      weir_put_string(&record, reading.sensor.data(), reading.sensor.size());
      weir_put_f64(&record, reading.value);
      drop = weir_commit(&record, type, nullptr);
    }
    if (drop != WEIR_ACCEPTED) return std::string("refused: ") + weir_drop_name(drop);
  }
  if (weir_close(log.get(), &error) != WEIR_OK) return error.message;
  return std::nullopt;
}

bool equals(const weir_event &event, const Reading &reading) {
  uint32_t bytes = static_cast<uint32_t>(reading.sensor.size());
  if (event.payload_bytes != sizeof bytes + bytes + sizeof reading.value) return false;
  return std::memcmp(event.payload, &bytes, sizeof bytes) == 0 &&
         std::memcmp(event.payload + sizeof bytes, reading.sensor.data(), bytes) == 0 &&
         std::memcmp(event.payload + sizeof bytes + bytes, &reading.value, sizeof reading.value) == 0;
}

std::optional<std::string> readBack(const char *directory) {
  weir_reader_options options;
  weir_reader_options_init(&options);
  weir_error error{};
  weir_reader *opened = nullptr;
  if (weir_reader_open(directory, &options, &opened, &error) != WEIR_OK) return error.message;
  std::unique_ptr<weir_reader, CloseReader> reader(opened);

  weir_event event{};
  weir_skip skip{};
  int found = 0;
  weir_status status;
  while ((status = weir_reader_next(reader.get(), &event, &skip, &error)) == WEIR_OK) {
    if (found == readingCount || !equals(event, readings[found])) return "an event differs from what was captured";
    found++;
  }
  if (status == WEIR_SKIPPED) return std::string(skip.file) + ": " + skip.reason;
  if (status != WEIR_END) return error.message;
  if (found != readingCount) return "an event is missing";
  return std::nullopt;
}

}  // namespace

int main(int count, char **arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY\n", arguments[0]);
    return 2;
  }
  auto problem = capture(arguments[1]);
  if (!problem) problem = readBack(arguments[1]);
  if (problem) {
    std::fprintf(stderr, "%s\n", problem->c_str());
    return 1;
  }
  std::printf("%d readings captured and read back\n", readingCount);
  return 0;
}
