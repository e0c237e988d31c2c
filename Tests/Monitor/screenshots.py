"""The pictures of the monitor in the guide. usage: screenshots.py WEIR FOLDER"""

import os
import sys

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from stage import Stage, browser, wait, weir_of


def shop(stage):
    """Events of a small shop, delivered to one provider, and some that are still pending."""
    writer = stage.writer()
    names = ("page.viewed", "cart.filled", "checkout.started", "checkout.completed")
    for n in range(160):
        name = names[(n * 7) % 4]
        coupon = {"coupon": "SPRING"} if n % 5 == 0 else {}
        writer.write({"event": name, "order": 4000 + n, "total": round(9.9 + n * 1.7, 2), **coupon})
    wait(lambda: len(stage.offsets()) > 20, "the events")
    stage.run("deliver", stage.directory, "--to", os.path.join(stage.folder, "spool"), "--name", "spool")
    writer.write(*({"event": "page.viewed", "order": 5000 + n} for n in range(6)))


def compare(stage):
    """A control that truncates some texts and lacks some events."""
    lines = stage.run("cat", stage.directory).stdout.decode().splitlines()
    control = os.path.join(stage.folder, "control.jsonl")
    with open(control, "w", encoding="utf-8") as file:
        for number, line in enumerate(lines):
            if number % 40 == 7:
                line = line[:-1] + ', "outcome": "400"}'
            if number % 50 != 9:
                file.write(line.replace('"SPRING"', '"SPR"') + "\n")
    stage.kill_monitor()
    stage.driver.get(stage.start("--against", control))
    stage.driver.find_element(By.ID, "differences").click()
    wait(lambda: "events in the log" in stage.js("return document.body.textContent"), "the report")
    stage.js("document.querySelector('.tables').nextElementSibling.scrollIntoView()")


def picture(driver, folder, name):
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
        driver.save_screenshot(os.path.join(folder, f"monitor-{name}{'' if scheme == 'light' else '~dark'}.png"))


def main():
    weir, folder = weir_of(sys.argv), sys.argv[2]
    driver = browser(1280, 760)
    stage = Stage(weir, driver)
    try:
        stage.open()
        shop(stage)
        wait(lambda: stage.cell(165, "spool") == "pending", "the states")
        if stage.is_hidden("sums"):
            stage.key("s")
        wait(lambda: "page.viewed" in stage.text("sums"), "the rates")
        picture(driver, folder, "list")
        stage.filter("name:checkout.completed total>=100")
        wait(lambda: "page.viewed" not in stage.text("rows"), "the filter")
        driver.find_element(By.ID, "table").click()
        stage.key("j" + Keys.ENTER)
        wait(lambda: "attempt 1" in stage.text("event"), "the details")
        stage.key("s")
        wait(lambda: stage.is_hidden("sums"), "the room of the sums")
        picture(driver, folder, "details")
        compare(stage)
        picture(driver, folder, "differences")
    finally:
        stage.end()
        driver.quit()


if __name__ == "__main__":
    main()
