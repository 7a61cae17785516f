// Draws one chart of a report in Chromium, and keeps it as a picture.
//
// node picture.cjs CHROMIUM REPORT.html FIGURE PICTURE.png [CHOICE]
//
// CHOICE is part of the text of an option on the page, such as one of several connections.
"use strict";
const { pathToFileURL } = require("node:url");
const puppeteer = require("puppeteer-core");
const { drawn } = require("../crates/plimsoll/tests/cli/drawn.cjs");

// As wide as the text of the site.
const WIDTH = 800;
const HEIGHT = 900;

const [chromium, report, figure, picture, choice] = process.argv.slice(2);

const choose = async (page, wanted) => {
  const options = await page.$$eval("select[id] option", (all) => all.map((it) => [it.closest("select").id, it.value, it.textContent]));
  const found = options.find(([, , text]) => text.includes(wanted));
  if (!found) throw new Error(`${report} has no choice ${wanted}, but ${options.map(([, , text]) => text).join("; ")}`);
  await page.select(`#${found[0]}`, found[1]);
  // The chart is redrawn meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 1000));
};

(async () => {
  const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu"] });
  try {
    const page = await browser.newPage();
    await page.setViewport({ width: WIDTH, height: HEIGHT });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
    await page.goto(pathToFileURL(report).href, { waitUntil: "load" });
    await drawn(page);
    if (choice) await choose(page, choice);
    const chart = await page.$(`.chart[data-figure="${figure}-data"]`);
    if (!chart) {
      const names = await page.$$eval(".chart", (charts) => charts.map((it) => it.dataset.figure.replace(/-data$/, "")));
      throw new Error(`${report} has no chart ${figure}, but ${names.join(", ")}`);
    }
    // Buttons say nothing in a picture.
    await page.evaluate(() => document.querySelectorAll(".modebar").forEach((it) => it.remove()));
    await chart.screenshot({ path: picture });
  } finally {
    await browser.close();
  }
})().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
