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
        event = {"event": name, "order": 4000 + n, "total": round(9.9 + n * 1.7, 2), "coupon": "SPRING" if n % 5 == 0 else None}
        writer.write({key: value for key, value in event.items() if value is not None})
    wait(lambda: len(stage.offsets()) > 20, "the events")
    stage.run("deliver", stage.directory, "--to", os.path.join(stage.folder, "spool"), "--name", "spool")
    writer.write(*({"event": "page.viewed", "order": 5000 + n} for n in range(6)))
    return writer


def picture(driver, folder, name):
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
        driver.save_screenshot(os.path.join(folder, f"monitor-{name}-{scheme}.png"))


def main():
    weir, folder = weir_of(sys.argv), sys.argv[2]
    driver = browser(1180, 660)
    stage = Stage(weir, driver)
    try:
        stage.open()
        writer = shop(stage)
        wait(lambda: stage.cell(165, "spool") == "pending" and stage.cell(140, "spool") in (None, "acknowledged"), "states")
        wait(lambda: "page.viewed" in stage.text("sums"), "the rates")
        picture(driver, folder, "list")
        stage.filter("name:checkout.completed total>=100")
        wait(lambda: "page.viewed" not in stage.text("rows"), "the filter")
        driver.find_element(By.ID, "table").click()
        stage.key("j" + Keys.ENTER)
        wait(lambda: "attempt 1" in stage.text("event"), "the details")
        picture(driver, folder, "details")
        stage.key(Keys.ESCAPE)
        stage.filter("from:0")
        writer.kill()
        wait(lambda: not stage.is_hidden("banner"), "the writer to be gone")
        picture(driver, folder, "gone")
    finally:
        stage.end()
        driver.quit()


if __name__ == "__main__":
    main()
