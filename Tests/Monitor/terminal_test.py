"""The monitor in a terminal: tmux, whose screen is read. usage: terminal_test.py WEIR [TEST...]"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from writer import PATIENCE, Writer

WEIR = os.path.abspath(sys.argv[1])


class TerminalTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="weir-terminal-")
        self.directory = os.path.join(self.folder, "events")
        self.writers = []
        # A server of its own, which no configuration of the user's changes.
        self.tmux = ["tmux", "-f", "/dev/null", "-S", os.path.join(self.folder, "tmux")]

    def tearDown(self):
        subprocess.run([*self.tmux, "kill-server"], capture_output=True)
        for writer in self.writers:
            writer.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def writer(self):
        self.writers.append(Writer(WEIR, self.directory))
        return self.writers[-1]

    def start(self, *options, columns=120, lines=24):
        command = [WEIR, "monitor", self.directory, "--terminal", *options]
        environment = dict(os.environ, LC_ALL="C.UTF-8", TERM="xterm-256color")
        subprocess.run(
            [*self.tmux, "new-session", "-d", "-x", str(columns), "-y", str(lines), *command], check=True,
            env=environment)

    def keys(self, *keys):
        subprocess.run([*self.tmux, "send-keys", *keys], check=True)

    def screen(self):
        shown = subprocess.run([*self.tmux, "capture-pane", "-p"], capture_output=True, text=True)
        return shown.stdout

    def wait(self, condition, what):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            screen = self.screen()
            if condition(screen):
                return screen
            time.sleep(0.05)
        raise AssertionError(f"waited {PATIENCE} s for: {what}; the screen:\n{screen}")

    def once(self, *options, **environment):
        command = [WEIR, "monitor", self.directory, "--terminal", "--once", *options]
        done = subprocess.run(
            command, capture_output=True, text=True, env=dict(os.environ, LC_ALL="C.UTF-8", **environment))
        return done.returncode, done.stdout, done.stderr

    def test_events_appear_and_a_filter_chooses(self):
        self.start()
        self.wait(lambda screen: "waiting for a log" in screen, "the terminal to wait for a log")
        writer = self.writer()
        writer.write(*({"event": "odd" if n % 2 else "even", "n": n} for n in range(200)))
        self.wait(lambda screen: "n=199" in screen and "200 events" in screen and "live" in screen, "the events")
        self.keys("/", "name:odd n<20", "Enter")
        screen = self.wait(lambda screen: "10 events" in screen, "the events that match")
        self.assertIn("n=19", screen)
        self.assertNotIn("n=18", screen)
        self.keys("/", "x", "Enter")
        self.wait(lambda screen: "no event matches" in screen, "no event")
        self.keys("/", "BSpace", " is:wrong", "Enter")
        self.wait(lambda screen: "violating" in screen, "the error of a wrong filter")
        self.keys("q")
        self.wait(lambda screen: screen.strip() == "", "the end")

    def test_pause_order_details_sums_and_help(self):
        writer = self.writer()
        writer.write(*({"event": "e", "n": n} for n in range(5)))
        self.start()
        self.wait(lambda screen: "5 events" in screen, "five events")
        self.keys("p")
        writer.write({"event": "late", "n": 99})
        self.wait(lambda screen: "1 new" in screen and "n=99" not in screen, "the list to stand still")
        self.keys("p")
        self.wait(lambda screen: "n=99" in screen and "paused" not in screen, "what came meanwhile")
        self.keys("o")
        self.wait(lambda screen: screen.index("n=0") < screen.index("n=99"), "the newest last")
        self.keys("Home", "Enter")
        screen = self.wait(lambda screen: "Journey" in screen, "the details")
        self.assertIn("n = 0", screen)
        self.assertIn("captured in lane", screen)
        self.keys("Escape")
        self.wait(lambda screen: "n=99" in screen, "the list")
        self.keys("s")
        self.wait(lambda screen: "Ledger by provider" in screen and "segments" in screen, "the sums")
        self.keys("Escape", "?")
        self.wait(lambda screen: "move the selection" in screen, "the help")

    def test_the_window_has_another_size(self):
        writer = self.writer()
        writer.write(*({"event": "a.long.name.of.an.event", "n": n} for n in range(50)))
        self.start(columns=160, lines=40)
        self.wait(lambda screen: "50 events" in screen, "the events")
        for columns, lines in ((60, 10), (20, 4), (2, 1), (200, 50)):
            subprocess.run([*self.tmux, "resize-window", "-x", str(columns), "-y", str(lines)], check=True)
            time.sleep(0.3)
        self.wait(lambda screen: "50 events" in screen and "n=49" in screen, "the list in a large window")

    def test_the_writer_is_killed_and_comes_back(self):
        writer = self.writer()
        writer.write(*({"event": "e", "n": n} for n in range(5)))
        self.start()
        self.wait(lambda screen: "5 events" in screen, "the events")
        writer.kill()
        self.wait(lambda screen: "the writer is gone" in screen and "n=4" in screen, "the writer to be gone")
        again = self.writer()
        again.write({"event": "e", "n": 5})
        self.wait(lambda screen: "live" in screen and "n=5" in screen and "6 events" in screen, "the log to go on")

    def test_control_characters_are_shown_and_never_obeyed(self):
        writer = self.writer()
        writer.write(
            {"event": "evil\u001b[2J\u001b]0;owned\u0007", "a": "\u202etxt.exe \u009b31m \u0000"},
            {"event": "wide", "a": "漢字 👩‍👩‍👧 é\u0301"},
        )
        self.start()
        screen = self.wait(lambda screen: "2 events" in screen, "the events")
        self.assertIn("evil␛[2J␛]0;owned␇", screen)
        self.assertNotIn("\u202e", screen)
        title = subprocess.run([*self.tmux, "display-message", "-p", "#T"], capture_output=True, text=True).stdout
        self.assertNotIn("owned", title)
        code, frame, _ = self.once()
        self.assertEqual(code, 0)
        for character in ("\u001b", "\u0007", "\u0000", "\u202e", "\u009b"):
            self.assertNotIn(character, frame)

    def test_once_prints_a_frame_and_ends(self):
        writer = self.writer()
        writer.write(*({"event": "odd" if n % 2 else "even", "n": n} for n in range(3_000)))
        writer.close()
        code, frame, _ = self.once(COLUMNS="100", LINES="10")
        self.assertEqual(code, 0)
        lines = frame.splitlines()
        self.assertEqual(len(lines), 9)
        self.assertTrue(all(len(line) <= 100 for line in lines))
        self.assertIn("n=2999", lines[3])
        code, frame, _ = self.once("--filter", "name:odd n=1001")
        self.assertEqual(code, 0)
        self.assertIn(" 1 event", frame)
        self.assertIn("n=1001", frame)
        code, _, error = self.once("--filter", "is:wrong")
        self.assertEqual(code, 2)
        self.assertIn("violating", error)

    def test_without_a_terminal_there_is_an_error(self):
        self.writer().write({"event": "e"})
        done = subprocess.run(
            [WEIR, "monitor", self.directory, "--terminal"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--once", done.stderr)


if __name__ == "__main__":
    sys.exit(not unittest.main(argv=[sys.argv[0]] + sys.argv[2:], exit=False, verbosity=2).result.wasSuccessful())
