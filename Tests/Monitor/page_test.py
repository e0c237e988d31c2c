"""The monitor in a real browser: Chromium, headless. usage: page_test.py WEIR [TEST...]"""

import json
import os
import sys
import unittest

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from stage import Stage, browser, wait, weir_of

WEIR = weir_of(sys.argv)


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.driver = browser()

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()

    def setUp(self):
        self.stage = Stage(WEIR, self.driver)
        self.addCleanup(self.stage.end)

    def tearDown(self):
        self.assertEqual(self.stage.errors(), [])

    def test_events_appear_from_an_empty_directory_on(self):
        stage = self.stage
        stage.open()
        self.assertNotIn("token", self.driver.current_url)
        writer = stage.writer()
        writer.write({"event": "checkout.started", "cart": 7})
        wait(lambda: stage.offsets() == [0], "the first event")
        writer.write(*({"event": "checkout.completed", "order": n} for n in range(300)))
        wait(lambda: "301" in stage.text("count"), "all events to be counted")
        self.assertEqual(stage.text("writer"), "live")

    def test_filter_export_and_a_view_that_can_be_sent(self):
        stage = self.stage
        writer = stage.writer()
        writer.write(*({"event": "odd" if n % 2 else "even", "n": n} for n in range(400)))
        stage.open()
        stage.filter("name:odd n>=301")
        wait(lambda: stage.text("count") == "50 events", "the events that match")
        self.assertEqual(stage.offsets()[0], 399)
        link = self.driver.find_element(By.ID, "export-jsonl").get_attribute("href")
        lines = [json.loads(line) for line in stage.fetch(link).splitlines()]
        self.assertEqual([line["fields"]["n"] for line in lines], list(range(301, 400, 2)))
        address = self.driver.current_url
        stage.visit("")
        self.driver.get(address)
        wait(lambda: stage.text("count") == "50 events", "the view of the address")
        stage.filter("is:wrong")
        wait(lambda: "violating" in stage.text("filter-error"), "the error of a wrong filter")
        stage.filter("n=7")
        wait(lambda: stage.text("count") == "1 event" and stage.is_hidden("filter-error"), "the filter to be mended")

    def test_sort_and_pause(self):
        stage = self.stage
        writer = stage.writer()
        writer.write(*({"event": name} for name in ("b", "c", "a")))
        stage.open()
        wait(lambda: len(stage.offsets()) == 3, "three events")
        self.assertEqual(stage.offsets(), [2, 1, 0])
        self.driver.find_element(By.CSS_SELECTOR, "th[data-sort=name] button").click()
        wait(lambda: stage.offsets() == [2, 0, 1], "the events by name")
        self.driver.find_element(By.CSS_SELECTOR, "th[data-sort=time] button").click()
        wait(lambda: stage.offsets() == [2, 1, 0], "the events by time")
        self.driver.find_element(By.ID, "pause").click()
        writer.write(*({"event": "d"} for _ in range(5)))
        wait(lambda: "5 new" in stage.text("pause"), "the count of new events while the list stands still")
        self.assertEqual(stage.offsets(), [2, 1, 0])
        self.driver.find_element(By.ID, "pause").click()
        wait(lambda: stage.offsets() == list(range(7, -1, -1)), "what came meanwhile")

    def test_details_and_the_way_to_a_provider(self):
        stage = self.stage
        writer = stage.writer()
        writer.write({"event": "checkout.completed", "order": 41, "total": 19.9})
        stage.open()
        wait(lambda: stage.offsets() == [0], "the event")
        stage.run("deliver", stage.directory, "--to", os.path.join(stage.folder, "spool"), "--name", "spool")
        wait(lambda: stage.cell(0, "spool") == "acknowledged", "the provider's state")
        stage.key("j" + Keys.ENTER)
        wait(lambda: not stage.is_hidden("details") and "attempt 1" in stage.text("event"), "the journey")
        shown = stage.text("event")
        for word in ("order", "41", "captured", "drained", "00000000000000000000.weir"):
            self.assertIn(word, shown)
        for word in ("NaN", "undefined", "null"):
            self.assertNotIn(word, shown)
        self.assertIn("event=0", self.driver.current_url)
        stage.key(Keys.ESCAPE)
        wait(lambda: stage.is_hidden("details"), "the details to close")

    def test_the_details_show_what_each_provider_gets(self):
        stage = self.stage
        writer = stage.writer()
        writer.write({"event": "checkout completed", "order": 41})
        plan = os.path.join(stage.folder, "plan.json")
        with open(plan, "w", encoding="utf-8") as file:
            json.dump({"providers": {"shop": {"mapper": ["snake_case"]},
                                     "rest": {"mapper": [{"without": {"events": ["checkout*"]}}]}}}, file)
        self.driver.get(stage.start("--plan", plan))
        wait(lambda: stage.offsets() == [0], "the event")
        stage.key("j" + Keys.ENTER)
        wait(lambda: "checkout_completed" in stage.text("event"), "the event in the provider's form")
        self.assertIn("the plan withholds the event", stage.text("event"))

    def test_a_page_holds_the_log_against_a_control(self):
        stage = self.stage
        writer = stage.writer()
        writer.write(*({"event": "paid", "order": n, "note": "<b>as</b> it is \u202e"} for n in range(5)))
        wait(lambda: stage.run("cat", stage.directory, check=False).stdout.count(b"\n") == 5, "the events")
        lines = stage.run("cat", stage.directory).stdout.decode().splitlines()
        control = os.path.join(stage.folder, "control.jsonl")
        with open(control, "w", encoding="utf-8") as file:
            file.write("\n".join([lines[0].replace("it is", "it was"), *lines[1:4]]) + "\n")
        self.driver.get(stage.start("--against", control))
        self.driver.find_element(By.ID, "differences").click()
        body = lambda: stage.js("return document.body.textContent")
        wait(lambda: "5 events in the log" in body(), "the report")
        self.assertIn("not within the bands: paid", body())
        self.assertEqual(stage.js("return document.querySelector('.differs th').textContent"), "fields.note")
        self.assertEqual(stage.js("return document.querySelectorAll('.differs td')[1].textContent"),
                         '"<b>as</b> it was \\u202e"')
        self.assertEqual(stage.js("return getComputedStyle(document.querySelector('table')).borderCollapse"), "collapse")
        self.assertEqual(stage.errors(), [])

    def test_a_filter_by_state_follows_the_deliveries(self):
        stage = self.stage
        writer = stage.writer()
        writer.write(*({"event": "e", "n": n} for n in range(5)))
        stage.open()
        stage.run("deliver", stage.directory, "--to", os.path.join(stage.folder, "spool"), "--name", "spool")
        stage.filter("at:spool=pending")
        wait(lambda: stage.text("looked") == "" and stage.text("count") == "0 events", "the filter to find nothing")
        writer.write(*({"event": "late", "n": n} for n in range(3)))
        wait(lambda: stage.offsets() == [7, 6, 5], "the events that are pending")
        stage.run("deliver", stage.directory, "--to", os.path.join(stage.folder, "spool"), "--name", "spool")
        wait(lambda: stage.offsets() == [] and stage.text("count") == "0 events", "the events to leave the list")
        stage.filter("at:spool=acknowledged")
        wait(lambda: stage.offsets() == list(range(7, -1, -1)), "all events")
        # A paused list keeps a row that matches no more, and the row says what is true.
        self.driver.find_element(By.ID, "pause").click()
        stage.run("rewind", stage.directory, "spool", "--to", "offset:7")
        wait(lambda: stage.cell(7, "spool") == "pending", "the row's state")
        self.assertEqual(len(stage.offsets()), 8)
        self.driver.find_element(By.ID, "pause").click()
        wait(lambda: stage.offsets() == list(range(6, -1, -1)), "the row to leave the list")
        stage.run("rewind", stage.directory, "spool", "--to", "offset:6")
        wait(lambda: stage.offsets() == list(range(5, -1, -1)), "the events before the rewind")
        stage.run("deliver", stage.directory, "--to", os.path.join(stage.folder, "spool"), "--name", "spool")
        wait(lambda: stage.offsets() == list(range(7, -1, -1)), "the events to come back, at their place")

    def test_hostile_values_are_shown_and_never_obeyed(self):
        stage = self.stage
        writer = stage.writer()
        long = "x" * (60 << 10)
        writer.write(
            {"event": "<img src=x onerror=alert(1)>", "a": "<script>window.owned = 1</script>", "b": "&lt;b>"},
            {"event": "bidi\u202e\u2066", "a": "\u202etxt.exe\u0007\u001b[2J\u0000"},
            {"event": "emoji", "a": "👩‍👩‍👧‍👦 é\u0301 \ufeff"},
            {"event": "long", "a": long},
            b'{"event":"bytes","fields":{"a":"\xff\xfe not UTF-8"}}',
            {"event": "__proto__", "constructor": "x", "__proto__": "y"},
        )
        stage.open()
        wait(lambda: len(stage.offsets()) == 6, "all events")
        for offset in range(6):
            stage.visit(f"?event={offset}")
            wait(lambda: not stage.is_hidden("details") and "Raw bytes" in stage.text("event"), "the details")
        self.assertIsNone(stage.js("return window.owned ?? null"))
        self.assertEqual(stage.js("return document.querySelectorAll('main img, main script, main b').length"), 0)
        raw = stage.js("return /[\\u202a-\\u202e\\u2066-\\u2069\\0\\x07\\x1b]/.test(document.body.innerText)")
        self.assertFalse(raw)

    def test_a_million_events_behind(self):
        stage = self.stage
        lines = os.path.join(stage.folder, "lines")
        with open(lines, "w", encoding="utf-8") as file:
            file.writelines(f'{{"event":"e{n % 5}","fields":{{"n":{n}}}}}\n' for n in range(1_000_000))
        stage.run("record", stage.directory, lines, "--format", "jsonl")
        stage.open()
        wait(lambda: 999_999 in stage.offsets(), "the last event")
        stage.filter("n=123456")
        wait(lambda: stage.offsets() == [123_456], "one event of a million")
        wait(lambda: stage.text("looked") == "", "the filter to come to the end")
        self.assertEqual(stage.text("count"), "1 event")

    def test_the_writer_is_killed_and_comes_back(self):
        stage = self.stage
        writer = stage.writer()
        writer.write(*({"event": "before", "n": n} for n in range(20)))
        stage.open()
        wait(lambda: len(stage.offsets()) == 20, "what was captured")
        writer.kill()
        wait(lambda: not stage.is_hidden("banner"), "the page to say that the writer is gone")
        self.assertEqual(len(stage.offsets()), 20)
        again = stage.writer()
        again.write({"event": "after"})
        wait(lambda: len(stage.offsets()) == 21 and stage.is_hidden("banner"), "the page to go on")
        self.assertEqual(stage.offsets(), list(range(20, -1, -1)))

    def test_the_monitor_is_killed_and_started_again(self):
        stage = self.stage
        writer = stage.writer()
        writer.write(*({"event": "e", "n": n} for n in range(10)))
        stage.open()
        wait(lambda: len(stage.offsets()) == 10, "ten events")
        stage.kill_monitor()
        wait(lambda: stage.text("connection") != "connected", "the page to notice")
        writer.write(*({"event": "e", "n": n} for n in range(10, 15)))
        stage.start()
        wait(lambda: stage.text("connection") == "connected" and len(stage.offsets()) == 15, "the page to come back")
        self.assertEqual(stage.offsets(), list(range(14, -1, -1)))


if __name__ == "__main__":
    sys.exit(not unittest.main(argv=[sys.argv[0]] + sys.argv[2:], exit=False, verbosity=2).result.wasSuccessful())
