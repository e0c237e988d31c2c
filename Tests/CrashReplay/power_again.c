/* power_again.c: a recovery that the power is cut in, too. See power_run.h. */
#include "check.h"
#include "power_run.h"
#include "replay.h"

#include <dirent.h>

#include "system/system.h"

static const uint8_t cut_boot_id[16] = "one in between.";

/* Gives the files of `directory`, which are on the disk, the contents that they have in the page cache. */
static void overlay(const power_run *run, const image_plan *disk, const char *directory, const char *beside) {
  image_plan cached = *disk;
  cached.contents = CONTENTS_NEW;
  image_build(run->recording, &cached, beside);
  DIR *stream = opendir(beside);
  REQUIRE(stream);
  for (struct dirent *entry; (entry = readdir(stream));) {
    if (entry->d_type == DT_DIR) continue;
    int from = open(join(beside, entry->d_name), O_RDONLY | O_CLOEXEC);
    int to = open(join(directory, entry->d_name), O_WRONLY | O_CLOEXEC);
    REQUIRE(from >= 0 && to >= 0);
    uint8_t page[PAGE_BYTES];
    ssize_t count;
    for (off_t at = 0; (count = pread(from, page, sizeof page, at)) > 0; at += count) {
      REQUIRE(pwrite(to, page, (size_t)count, at) == count);
    }
    close(from);
    close(to);
  }
  closedir(stream);
  remove_tree(beside);
}

int power_cut_recovery(power_run *run, const image_plan *image, power_again again, const char *directory, uint64_t seed,
                       const char *to) {
  victim_plan plan = run->plan;
  plan.directory = directory;
  image_plan disk = *image;
  if (again == AGAIN_KILLED) {
    disk = (image_plan){.moment = image->moment, .contents = CONTENTS_OLD, .seed = image->seed};
  }
  image_build(run->recording, &disk, directory);
  if (again == AGAIN_CUT) weir_fault_boot_id(cut_boot_id);
  recording *recording = recording_start(directory, seed, NULL, NULL);
  if (again == AGAIN_KILLED) overlay(run, &disk, directory, to);
  uint32_t overlaid = recording_look(recording), closed = UINT32_MAX;
  for (int i = 0; i < 2; i++) {
    weir_log *log;
    weir_error error;
    weir_recovery found;
    if (victim_open(&plan, NULL, &log, &found, &error) != WEIR_OK) continue;
    int well = weir_close(log, &error) == WEIR_OK;
    weir_free(log);
    if (well && closed == UINT32_MAX) closed = recording_look(recording);
  }
  recording_stop(recording);
  weir_fault_boot_id(NULL);
  image_plan cut = image_plan_random(recording, seed);
  if (seed % 4 == 0) cut.moment = recording->moments - 1;
  if (cut.moment < overlaid) cut.moment = overlaid;
  image_build(recording, &cut, to);
  recording_free(recording);
  return cut.moment >= closed;
}
