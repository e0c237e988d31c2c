#!/usr/bin/env python3
"""ways_test.py [WAY...]: each way in of the page Installing, on a clean machine: a fresh root made by debootstrap.

The commands are those of the page, as printed: a block of them below each heading. Whatever a way needs, its commands
install. A way passes if its commands end well and leave a log with an event.
"""

import argparse
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parents[2]
PAGE = HERE / "Sources/Weir/Weir.docc/Guides/Installing.md"
SUITE = "bookworm"
# What a stranger has to have waited by then: apt's downloads are most of it.
MOST_SECONDS = 60


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


class Root:
    """A copy of the clean root, which ends with the block that uses it."""

    def __init__(self, clean, folder):
        self.clean, self.path, self.mounts = clean, folder / "root", []

    def __enter__(self):
        run("cp", "-a", "--reflink=auto", self.clean, self.path)
        self._mount("proc", "-t", "proc", "proc")
        self._mount("dev", "--rbind", "/dev")
        shutil.copy("/etc/resolv.conf", self.path / "etc/resolv.conf")
        return self

    def _mount(self, place, *options):
        target = self.path / place
        target.mkdir(parents=True, exist_ok=True)
        run("mount", *options, target)
        self.mounts.append(target)
        if "--rbind" in options:
            run("mount", "--make-rslave", target)

    def share(self, path):
        """Shows a folder of this machine at the same place, where there is one."""
        path = pathlib.Path(path)
        if path.is_dir():
            self._mount(str(path)[1:], "--rbind", path)

    def __exit__(self, *_):
        for target in reversed(self.mounts):
            subprocess.run(["umount", "-R", "-l", target], check=False)


class Machine:
    def __init__(self, folder, debs):
        self.folder, self.debs = folder, debs
        self.clean = folder / "clean"

    def make(self):
        run("debootstrap", "--variant=minbase", "--include=ca-certificates", SUITE, self.clean, mirror(),
            stdout=subprocess.DEVNULL)
        shutil.rmtree(self.clean / "etc/apt")
        shutil.copytree("/etc/apt", self.clean / "etc/apt", symlinks=True)
        run("chroot", self.clean, "apt-get", "update", "-qq")
        source = self.clean / "root/weir"
        source.mkdir()
        archive = run("git", "-C", HERE, "archive", "HEAD", stdout=subprocess.PIPE).stdout
        run("tar", "-x", "-C", source, input=archive)
        for deb in self.debs:
            shutil.copy(deb, self.clean / "root")

    def follow(self, way, commands):
        """Runs the commands of a way. (Whether all is well, seconds, what was printed.)"""
        with tempfile.TemporaryDirectory(prefix="weir-way-", dir=self.folder) as folder:
            with Root(self.clean, pathlib.Path(folder)) as root:
                environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
                               "DEBIAN_FRONTEND": "noninteractive", "PS4": "$ "}
                if "swift" in commands:
                    swift = pathlib.Path(shutil.which("swift")).resolve().parents[2]
                    root.share(swift)
                    for name in (".swiftpm", ".config"):
                        root.share(pathlib.Path.home() / name)
                    environment["PATH"] += f":{swift}/usr/bin"
                environment |= {name: os.environ[name] for name in os.environ if name.lower().endswith("_proxy")}
                start = time.monotonic()
                done = subprocess.run(
                    ["chroot", root.path, "/bin/sh", "-exc", f"cd /root\n{commands}"], env=environment,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, errors="replace")
                seconds = time.monotonic() - start
                events = list((root.path / "root").glob("**/events/*.weir*"))
                if done.returncode != 0 or not events:
                    return False, seconds, done.stdout
                if ".deb" in commands and (left := self._purge(root, environment)):
                    return False, seconds, f"the removed packages leave {left}"
                return True, seconds, done.stdout

    @staticmethod
    def _purge(root, environment):
        """What is left of the packages after their removal."""
        run("chroot", root.path, "/bin/sh", "-c", "apt-get purge -y -qq $(dpkg-query -f '${Package}\\n' -W '*weir*')",
            env=environment, stdout=subprocess.DEVNULL)
        places = [root.path / name for name in ("usr", "lib", "etc", "var/lib/dpkg/info")]
        return [str(path) for place in places for path in place.rglob("*weir*")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--debs", type=pathlib.Path, default=HERE / ".build/deb", help="where the packages are")
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
    with tempfile.TemporaryDirectory(prefix="weir-ways-", dir=HERE / ".build") as folder:
        machine = Machine(pathlib.Path(folder), sorted(options.debs.glob("*.deb")))
        machine.make()
        for way, commands in chosen:
            passed, seconds, output = machine.follow(way, commands)
            failed |= not passed
            rows.append(f"| {way} | {seconds:.0f} s |")
            print(f"{'ok' if passed else 'FAILED'}: {way}, in {seconds:.0f} s", flush=True)
            if not passed:
                print(output)
    if options.write and not failed:
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
