#!/usr/bin/env python3
"""ways_test.py [WAY...]: each way in of the page Installing, on a clean machine: a fresh root made by debootstrap.

The commands are those of the page, as printed: a block of them below each heading. Whatever a way needs, its commands
install. A way passes if its commands end well and leave a log in which the reader in Python finds an event.
"""

import argparse
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE / "Languages/Python"))

import weir  # noqa: E402

PAGE = HERE / "Sources/Weir/Weir.docc/Guides/Installing.md"
SUITE = "bookworm"
# A way that takes longer stands still. Nothing is measured by it.
DEADLINE = 1800

# Mounts and processes in namespaces of their own, which end with the commands, however they end.
IN_ROOT = """root=$1 commands=$2; shift 2
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
for folder; do mkdir -p "$root$folder"; mount --rbind "$folder" "$root$folder"; done
exec chroot "$root" /bin/sh -exc "$commands"
"""


def run(*command, **settings):
    return subprocess.run([str(word) for word in command], check=True, **settings)


def mirror():
    """Where this machine has the suite's packages from."""
    sources = [pathlib.Path("/etc/apt/sources.list"), *sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*"))]
    for stanza in re.split(r"\n\s*\n", "\n\n".join(source.read_text() for source in sources if source.is_file())):
        if found := re.search(rf"^deb\s+(?:\[.*?\]\s+)?(\S+)\s+{SUITE}\s", stanza, re.M):
            return found[1]
        found = re.search(r"^URIs:\s*(\S+)", stanza, re.M)
        if found and re.search(rf"^Suites:.*\b{SUITE}(\s|$)", stanza, re.M):
            return found[1]
    return "http://deb.debian.org/debian"


def ways():
    """The blocks of commands of the page: (heading, commands)."""
    text = PAGE.read_text()
    return re.findall(r"^### (.*)\n(?:(?!#).*\n)*?```sh\n((?:.*\n)*?)```", text, re.M)


def run_in(root, commands, environment, shared=()):
    """Runs commands in a root, which sees the folders `shared` of this machine at the same places."""
    return subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "/bin/sh", "-ec", IN_ROOT,
         "sh", root, f"cd /root\n{commands}", *shared],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
        errors="replace", timeout=DEADLINE)


def toolchain():
    """The folder of the Swift toolchain, which clean machines see."""
    folder = pathlib.Path(shutil.which("swift")).resolve().parents[2]
    if folder == pathlib.Path("/"):
        sys.exit("ways_test.py: the Swift toolchain has to lie in a folder of its own, not in /usr")
    return folder


def package_places():
    """The folders that this machine has Swift packages in, or says where they are: mirrors of SwiftPM and of git."""
    urls = subprocess.run(["git", "config", "--system", "--get-regexp", r"^url\..*\.insteadof$"], stdout=subprocess.PIPE,
                          text=True, check=False).stdout
    places = [pathlib.Path.home() / ".swiftpm/configuration",
              *map(pathlib.Path, re.findall(r"^url\.(/.*)\.insteadof ", urls, re.M))]
    return [place for place in dict.fromkeys(places) if place.is_dir()]


class Machine:
    def __init__(self, folder, debs):
        self.folder, self.debs = folder, debs
        self.clean = folder / "clean"

    def make(self):
        run("debootstrap", "--variant=minbase", "--include=ca-certificates", SUITE, self.clean, mirror(),
            stdout=subprocess.DEVNULL)
        # How this machine reaches the packages, but not which packages it has.
        shutil.copytree("/etc/apt/apt.conf.d", self.clean / "etc/apt/apt.conf.d", symlinks=True, dirs_exist_ok=True)
        run("chroot", self.clean, "apt-get", "update", "-qq")
        run("git", "clone", "-q", "--no-hardlinks", HERE, self.clean / "root/weir")
        for deb in self.debs:
            shutil.copy(deb, self.clean / "root")

    def follow(self, commands):
        """Runs the commands of a way in a copy of the clean root. (Whether all is well, seconds, what was printed.)"""
        with tempfile.TemporaryDirectory(prefix="weir-way-", dir=self.folder) as folder:
            root = pathlib.Path(folder) / "root"
            run("cp", "-a", "--reflink=auto", self.clean, root)
            shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
            environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
                           "DEBIAN_FRONTEND": "noninteractive", "PS4": "$ "}
            environment |= {name: os.environ[name] for name in os.environ if name.lower().endswith("_proxy")}
            shared = []
            if "swift" in commands:
                swift = toolchain()
                environment["PATH"] += f":{swift}/usr/bin"
                shared = [swift, *package_places()]
                if pathlib.Path("/etc/gitconfig").exists():
                    shutil.copy("/etc/gitconfig", root / "etc/gitconfig")
            start = time.monotonic()
            try:
                done = run_in(root, commands, environment, shared)
            except subprocess.TimeoutExpired as expired:
                return False, DEADLINE, f"{(expired.output or b'').decode(errors='replace')}\nstands still"
            seconds = time.monotonic() - start
            if done.returncode != 0:
                return False, seconds, done.stdout
            if not sum(1 for _ in weir.open(root / "root/events")):
                return False, seconds, f"{done.stdout}\nthe log has no event"
            if "weircat" in commands and '"event":' not in done.stdout:
                return False, seconds, f"{done.stdout}\nno event was printed"
            if ".deb" in commands and (left := self._purge(root, environment)):
                return False, seconds, f"the removed packages leave {left}"
            return True, seconds, done.stdout

    @staticmethod
    def _purge(root, environment):
        """What is left of the packages after their removal."""
        purged = run_in(root, "apt-get purge -y -qq $(dpkg-query -f '${Package}\\n' -W '*weir*')", environment)
        if purged.returncode != 0:
            return purged.stdout
        places = [root / name for name in ("usr", "lib", "etc", "var/lib/dpkg/info")]
        return [str(path) for place in places for path in place.rglob("*weir*")]


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--debs", type=pathlib.Path, default=HERE / ".build/deb", help="where the packages are")
    parser.add_argument("--folder", type=pathlib.Path, default=HERE / ".build", help="where the roots are made")
    parser.add_argument("way", nargs="*", help="headings of the page, or parts of them")
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("SKIPPED: clean machines, because they take root")
        return 0
    chosen = [each for each in ways() if not options.way or any(word in each[0] for word in options.way)]
    if not chosen:
        sys.exit(f"ways_test.py: {PAGE} has no heading with {' or '.join(options.way)}")
    failed, rows = False, []
    with tempfile.TemporaryDirectory(prefix="weir-ways-", dir=options.folder) as folder:
        machine = Machine(pathlib.Path(folder), sorted(options.debs.glob("*.deb")))
        machine.make()
        for way, commands in chosen:
            passed, seconds, output = machine.follow(commands)
            failed |= not passed
            rows.append(f"| {way} | {seconds:.0f} s |")
            print(f"{'ok' if passed else 'FAILED'}: {way}, in {seconds:.0f} s", flush=True)
            if not passed:
                print(output)
    if options.write and not options.way and not failed:
        write(rows)
    return int(failed)


def write(rows):
    """Puts the table into the page, with the machine that it was measured on."""
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    table = ["| way | all its commands, downloads included |", "|---|---|", *rows, "",
             f"`make test-ways WAYS=--write`: {model[1] if model else platform.machine()}, {os.cpu_count()} processors."]
    text = PAGE.read_text()
    PAGE.write_text(re.sub(r"(<!-- ways -->\n)[\s\S]*?(<!-- end -->)", lambda at: at[1] + "\n".join(table) + "\n" + at[2], text))


if __name__ == "__main__":
    sys.exit(main())
