#!/usr/bin/env python3
"""mutate.py: damages the golden logs by a seed, and holds against one another what several readers find in them.

    mutate.py [--count N] [--seed S] [--first I] [--keep FOLDER] READER READER ...

Each READER is the command of a program that reads names of directories and prints what it finds: README.md has the
form. The number of a log and the seed (or WEIR_SEED) make the log, so `--first I --count 1` makes the Ith one again.
Logs that are read differently are kept in FOLDER, and exit is 1.
"""
import argparse, os, random, re, shutil, shlex, struct, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../../Languages/Python'))
from weir._batch import Batch  # noqa: E402
from weir._checksums import crc32c, u32, u64, xxh32  # noqa: E402

GOLDEN = ['v1-closed', 'v1-killed', 'v1-damaged', 'v1-batched']
AHEAD = 16  # logs that are made before the first of them is compared
MOST_FAULTS = 10
PAGE = 4096


def boot_id():
  with open('/proc/sys/kernel/random/boot_id') as file: return bytes.fromhex(file.read().strip().replace('-', ''))


# ---- The files of a log ----------------------------------------------------------------------------------------------

def load(folder):
  return {name: open(os.path.join(folder, name), 'rb').read() for name in sorted(os.listdir(folder))}


def store(folder, files):
  """What is zero is left as a hole, as a writer leaves it."""
  os.makedirs(folder, 0o700)
  for name, data in files.items():
    with open(os.path.join(folder, name), 'wb') as file:
      for at in range(0, len(data), PAGE):
        page = data[at:at + PAGE]
        if page.count(0) == len(page): continue
        file.seek(at)
        file.write(page)
      file.truncate(len(data))


def put(data, at, piece): return data[:at] + piece + data[at + len(piece):]


def with_crc(data, at, start, end, first=b''):
  """With the checksum at `at` right for the bytes [start, end), and for those before as well."""
  return put(data, at, struct.pack('<I', crc32c(first + data[start:end])))


def segments(files): return [name for name in files if name[0].isdigit()]


def blocks(data):
  return [found.start() for found in re.finditer(b'WBLK', data)
          if found.start() % 8 == 0 and found.start() + 160 <= len(data)]


# ---- What is made of a log before the damage -------------------------------------------------------------------------

def same_boot(random, files):
  """The ring is of this boot: the lanes' heads and tails count."""
  if 'ring' not in files: return
  files['ring'] = with_crc(put(files['ring'], 112, boot_id()), 12, 16, 512)


def retained(random, files):
  """Retention removed the first segment, or is about to. Or another log's did."""
  names = segments(files)
  if len(names) < 2: return
  first = int(names[1][:20])
  slot = bytearray(512)
  slot[:12] = b'WEIRSTRT\1\0\0\0'
  struct.pack_into('<8Q', slot, 16, 2, first, u64(files[names[0]], 24), 0, 0, 1, first, 0)
  log_id = u64(files['lock'], 16) + (random.random() < 0.1)
  struct.pack_into('<2Q', slot, 96, 0, log_id)
  for at in (0, 1):
    struct.pack_into('<Q', slot, 16, 1 + at)
    struct.pack_into('<I', slot, 12, crc32c(bytes(slot[:12] + slot[16:])))
    files['start'] = bytes(slot) + bytes(PAGE - 512) if at == 0 else files['start'] + bytes(slot) + bytes(PAGE - 512)
  if random.random() < 0.7: del files[names[0]]


def located(random, files):
  """A locator that is closed, or of another directory, whose ring has vanished."""
  if 'ring' not in files: return
  ring, closed = files['ring'], random.random() < 0.5
  page = bytearray(PAGE)
  page[:12] = b'WEIRLOCA\1\0\0\0'
  after = max([int(name[:20]) for name in segments(files)] or [0]) + random.choice([0, 0, 1, 100])
  struct.pack_into('<6Q2I16sQ', page, 16, u64(ring, 16), 7, 1, 1, after if closed else u64(ring, 88), 0, 1 + closed, 8,
                   ring[112:128], u64(ring, 136))
  page[96:104] = b'/nowhere'
  struct.pack_into('<I', page, 12, crc32c(bytes(page[:12] + page[16:])))
  files['ring.at'] = bytes(page)
  if random.random() < 0.7: del files['ring']


def unpacked(random, files):
  """A batch segment by hand made raw again."""
  for name in segments(files):
    if name.endswith('.lz4'):
      content = Batch(files[name]).content
      if random.random() < 0.8: del files[name]
      files[name[:-4]] = content


def repacked(random, files):
  """A sealed segment as another LZ4 frame: stored blocks of some size, without an index."""
  for name in segments(files):
    if name.endswith('.active') or random.random() < 0.3: continue
    content = Batch(files[name]).content if name.endswith('.lz4') else files[name]
    linked, sums, sized, whole = (random.random() < 0.5 for _ in range(4))
    header = bytes([0x40 | (0 if linked else 32) | sums << 4 | sized << 3, random.choice([0x40, 0x50, 0x60])])
    if sized: header += struct.pack('<Q', len(content))
    frame = b'\x04\x22\x4d\x18' + header + bytes([xxh32(header) >> 8 & 255])
    size = 65536 if whole else random.randrange(100, 4000)
    for at in range(0, len(content), size):
      piece = content[at:at + size]
      frame += struct.pack('<I', len(piece) | 1 << 31) + piece + (struct.pack('<I', xxh32(piece)) if sums else b'')
    del files[name]
    files[name.replace('.lz4', '') + '.lz4'] = frame + bytes(4)


def collected(random, files):
  """A segment whose events come from another log, as far as its header says."""
  for name in segments(files):
    data = files[name]
    if name.endswith('.lz4') or len(data) < 512 or random.random() < 0.5: continue
    data = put(put(data, 80, struct.pack('<Q', 1)), 184, b'host'.ljust(64, b'\0'))
    data = put(data, 312, struct.pack('<3Q', u64(data, 144) + 1, 0, 27))
    files[name] = with_crc(data, 16, 20, 512 + 16 * u32(data, 104))


SHAPES = [same_boot, retained, located, unpacked, repacked, collected]


# ---- Damage ----------------------------------------------------------------------------------------------------------

def a_file(random, files):
  """Mostly a segment or the ring."""
  names = [name for name in files if files[name]]
  likely = [name for name in names if name[0].isdigit() or name == 'ring']
  return random.choice(likely if likely and random.random() < 0.85 else names) if names else None


def a_place(random, data):
  """Mostly where something is: in a header of a block, behind one, or near the file's beginning."""
  found = blocks(data)
  choice = random.random()
  if found and choice < 0.5: return min(len(data) - 1, random.choice(found) + random.randrange(176))
  if choice < 0.7: return random.randrange(min(len(data), 700))
  for _ in range(8):
    at = random.randrange(len(data))
    if data[at]: return at
  return at


def flip(random, name, data, files):
  at = a_place(random, data)
  return put(data, at, bytes([data[at] ^ 1 << random.randrange(8)]))


def change(random, name, data, files):
  at = a_place(random, data)
  return put(data, at, random.randbytes(min(len(data) - at, random.choice([1, 2, 4, 8, 16, 100]))))


def zero(random, name, data, files):
  at = a_place(random, data) & random.choice([~0, ~7, ~511, ~4095])
  return put(data, at, bytes(min(len(data) - at, random.choice([1, 8, 24, 160, 512, 4096]))))


def cut(random, name, data, files):
  return data[:a_place(random, data) & random.choice([~0, ~7])]


def extend(random, name, data, files):
  return data + (bytes if random.random() < 0.5 else random.randbytes)(random.choice([1, 7, 8, 160, 600]))


def copy_piece(random, name, data, files):
  """A block, or some bytes, to another place of the same file or of another one."""
  source = files[a_file(random, files)]
  at, to = (a_place(random, each) & ~7 for each in (source, data))
  found = blocks(source)
  if found and random.random() < 0.7:
    at = random.choice(found)
    size = 160 + u32(source, at + 36) if u32(source, at + 36) < 1 << 16 else 160
  else: size = random.choice([8, 24, 64, 512])
  if random.random() < 0.5 and blocks(data): to = random.choice(blocks(data))
  piece = source[at:at + size]
  return data[:to] + piece + data[to:] if random.random() < 0.3 else put(data, to, piece)


def remove_piece(random, name, data, files):
  at = a_place(random, data) & ~7
  found = blocks(data)
  size = random.choice([8, 160, 512])
  if found and random.random() < 0.7:
    at = random.choice(found)
    size = 160 + u32(data, at + 36)
  return data[:at] + data[at + size:]


# Where fields are, from which numbers are chosen; those twice that say the most.
BLOCK_FIELDS = [8, 16, 24, 32, 36, 44, 44, 48, 48, 48, 56, 56, 60, 64, 64, 72, 72, 96, 104, 112, 120, 128, 136]
SEGMENT_FIELDS = [8, 12, 20, 24, 32, 40, 40, 56, 64, 72, 80, 88, 96, 104, 108, 124, 140, 144, 200, 512, 512, 520, 528]
LANE_FIELDS = [0, 0, 8, 32, 72, 128, 128, 128, 192, 248, 312, 320, 328, 336, 344]


def forge_block(random, name, data, files):
  """A field of a block's header is another one, and its checksum is right. Or one of the payload's, and both are."""
  found = blocks(data)
  if not found: return data
  at = random.choice(found)
  end = at + 160 + u32(data, at + 36)
  if random.random() < 0.3 and at + 160 < end <= len(data):
    place = random.randrange(at + 160, end)
    data = with_crc(put(data, place, forged(random, data[place:min(end, place + 4)])), at + 40, at + 160, end)
  else:
    place = at + random.choice(BLOCK_FIELDS)
    data = put(data, place, forged(random, data[place:place + random.choice([1, 4, 8])]))
  return with_crc(data, at + 4, at + 8, at + 160)


def forged(random, piece):
  """Another number, mostly near the one that was; none where the file has been cut before it."""
  if not piece: return piece
  number, count = int.from_bytes(piece, 'little'), len(piece)
  other = random.choice([number + 1, number - 1, number + 8, number - 8, number + 27, 0, 2**(8 * count) - 1,
                         number ^ 1 << random.randrange(8 * count), random.randrange(256), number * 2, 65535])
  return (other % 2**(8 * count)).to_bytes(count, 'little')


def forge_header(random, name, data, files):
  """The same of a file's header."""
  ends = {b'WEIRRING': 512, b'WEIRLOCK': 64, b'WEIRLOCA': 4096, b'WEIRSTRT': 512}
  if data[:8] == b'WEIRSEGM' and len(data) >= 512:
    at = random.choice(SEGMENT_FIELDS)
    data = put(data, at, forged(random, data[at:at + random.choice([1, 4, 8])]))
    return with_crc(data, 16, 20, 512 + 16 * u32(data, 104)) if len(data) >= 108 else data
  end = ends.get(data[:8])
  if not end or len(data) < end: return data
  at = random.choice([8, 10, *range(16, min(end, 144), 4)])
  data = put(data, at, forged(random, data[at:at + random.choice([1, 4, 8])]))
  return with_crc(data, 12, 16, end, b'' if data[:8] == b'WEIRRING' else data[:12])


def forge_ring(random, name, data, files):
  """What no checksum covers: the ring's end and flags, and the lanes' control pages."""
  if data[:8] != b'WEIRRING' or len(data) < PAGE: return data
  lanes_at, stride = u64(data, 56), u64(data, 64)
  places = [512, 520, 528, 544, 548, *range(560, 640, 4), *range(640, 896, 8)]
  for lane in range(min(u32(data, 32), 4)):
    control = lanes_at + lane * stride
    if control + 352 < len(data): places += 3 * [control + at for at in LANE_FIELDS]
  at = random.choice(places)
  return put(data, at, forged(random, data[at:at + random.choice([1, 4, 8])]))


CHANGES = [flip, flip, flip, change, change, zero, zero, cut, extend, copy_piece, copy_piece, remove_piece, forge_block,
           forge_block, forge_header, forge_ring]


def rename(random, files):
  """A segment gets another name, or is there twice."""
  names = segments(files)
  if not names: return
  name = random.choice(names)
  base = random.choice([int(name[:20]), int(name[:20]) + random.choice([-1, 1, 5, 27, 1000]),
                        *(int(each[:20]) for each in names)])
  suffix = random.choice([name[20:], name[20:], '.weir', '.weir.active'])
  if not 0 <= base < 10**20: return
  files[f'{base:020}{suffix}'] = files[name] if random.random() < 0.6 else files.pop(name)


def remove(random, files): del files[random.choice(sorted(files))]


def swap(random, files):
  """Two files of the log change their contents."""
  one, other = random.choice(sorted(files)), random.choice(sorted(files))
  files[one], files[other] = files[other], files[one]


def bring(random, files, logs):
  """A file of another log."""
  other = random.choice(logs)
  name = random.choice(sorted(other))
  files[name] = other[name]


def make(seed, number, logs):
  """The files of one log, and what was done to it."""
  chance = random.Random(f'{seed}/{number}')
  which = chance.randrange(len(logs))
  files, done = dict(logs[which]), [GOLDEN[which]]
  for shape in SHAPES:
    if chance.random() < (0.5 if shape is same_boot else 0.15):
      shape(chance, files)
      done.append(shape.__name__)
  for _ in range(chance.choice([0, 1, 1, 1, 2, 2, 3, 5])):
    if not files: break
    if chance.random() < 0.15:
      act = chance.choice([rename, rename, remove, swap, bring])
      act(chance, files, logs) if act is bring else act(chance, files)
      done.append(act.__name__)
      continue
    name, act = a_file(chance, files), chance.choice(CHANGES)
    if not name: break
    files[name] = act(chance, name, files[name], files)
    done.append(f'{act.__name__} {name}')
  return files, done


# ---- The readers -----------------------------------------------------------------------------------------------------

class Reader:
  """A program that reads logs, and is started anew after a crash."""

  def __init__(self, command): self.command, self.process = command, None

  def ask(self, folder):
    if not self.process:
      self.process = subprocess.Popen(shlex.split(self.command), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
      self.process.stdin.write(folder.encode() + b'\n')
      self.process.stdin.flush()
    except BrokenPipeError: pass

  def answer(self):
    """The lines of a log; None after a crash."""
    lines = []
    while (line := self.process.stdout.readline()) != b'.\n':
      if not line: return None
      lines.append(line)
    return lines

  def end(self):
    """Whether the program ended as it should."""
    self.process.stdin.close()
    left, status = self.process.stdout.read(), self.process.wait()
    self.process = None
    return not left and status == 0


def difference(readers, answers):
  """What two readers say differently; None: nothing."""
  for reader, answer in zip(readers, answers):
    if answer is None: return f'  crashed: {reader.command}'
    if answer == answers[0]: continue
    at = next((i for i, (one, other) in enumerate(zip(answers[0], answer)) if one != other),
              min(len(answers[0]), len(answer)))
    return ''.join(f'  {each.command}: line {at}: {lines[at].decode()[:240].rstrip() if at < len(lines) else "none"}\n'
                   for each, lines in ((readers[0], answers[0]), (reader, answer)))
  return None


def compare(arguments, logs, folder):
  """Answers how many logs are read differently."""
  readers, faults, waiting = [Reader(command) for command in arguments.reader], 0, []
  last = arguments.first + arguments.count
  number = arguments.first
  while number < last or waiting:
    while number < last and len(waiting) < AHEAD:
      files, done = make(arguments.seed, number, logs)
      place = os.path.join(folder, str(number))
      store(place, files)
      for reader in readers: reader.ask(place)
      waiting.append((number, place, done))
      number += 1
    each, place, done = waiting.pop(0)
    answers = [reader.answer() for reader in readers]
    found = difference(readers, answers)
    if found:
      faults += 1
      kept = os.path.join(arguments.keep or tempfile.gettempdir(), f'mutated-{arguments.seed}-{each}')
      shutil.rmtree(kept, ignore_errors=True)
      shutil.copytree(place, kept)
      print(f'log {each} ({", ".join(done)}), kept as {kept}, is read differently:\n{found}', flush=True)
      if faults == MOST_FAULTS or None in answers: return faults
    shutil.rmtree(place)
  for reader in readers:
    if not reader.end(): faults += 1
  return faults


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument('reader', nargs='+')
  parser.add_argument('--count', type=int, default=1000)
  parser.add_argument('--first', type=int, default=0)
  parser.add_argument('--seed', default=os.environ.get('WEIR_SEED') or str(random.SystemRandom().randrange(10**9)))
  parser.add_argument('--keep', help='the folder for logs that are read differently')
  arguments = parser.parse_args()
  print(f'mutate.py: WEIR_SEED={arguments.seed}, {arguments.count} logs', flush=True)
  logs = [load(os.path.join(HERE, name, 'log')) for name in GOLDEN]
  memory = '/dev/shm' if os.access('/dev/shm', os.W_OK) and not os.environ.get('TMPDIR') else None
  folder, began = tempfile.mkdtemp(prefix='weir-mutate-', dir=memory), time.monotonic()
  try: faults = compare(arguments, logs, folder)
  finally: shutil.rmtree(folder, ignore_errors=True)
  if faults: sys.exit(f'mutate.py: {faults} of the logs are read differently: WEIR_SEED={arguments.seed}')
  print(f'ok: {len(arguments.reader)} readers find the same in {arguments.count} logs '
        f'({time.monotonic() - began:.0f} s)')


if __name__ == '__main__': main()
