// Looks at pages in Chromium, at three widths, in light and in dark: what the console says, what is asked of other hosts, what is wider than the
// screen, labels and boxes that cover one another, cells beside their headings, decades without names, what axe-core finds, and, printed, what does not
// fit on A4. Prints the findings as JSON, one list of sentences for each page that has any.
//
// node look.cjs CHROMIUM FOLDER SCHEMES ADDRESS...   FOLDER: where screenshots go, or "-"; SCHEMES: "light", "dark" or "light,dark"
"use strict";
const path = require("node:path");
const puppeteer = require("puppeteer-core");
const axe = require("axe-core");
const { drawn } = require("./drawn.cjs");

const WIDTHS = [360, 800, 1440];
const HEIGHT = 900;
// Boxes of letters have some air: labels that share less than this do not touch.
const AIR = 2;

const [chromium, folder, schemes, ...addresses] = process.argv.slice(2);

// What is drawn over something else, or beyond the screen. Runs in the page.
const layout = (air) => {
  const found = [];
  const root = document.scrollingElement;
  if (root.scrollWidth > innerWidth) {
    const wide = [...document.querySelectorAll("body *")].filter(
      (it) => it.getBoundingClientRect().right > innerWidth + 1 && !it.closest(".scroll, nav, svg, pre"),
    );
    found.push(`the page is ${root.scrollWidth} px wide: ${wide.slice(0, 3).map((it) => it.outerHTML.slice(0, 80))}`);
  }
  const shown = (it) => it.textContent.trim() && it.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  for (const group of document.querySelectorAll(".chart, .strip")) {
    const labels = [...group.querySelectorAll("text, .tick")].filter(shown);
    // Names in a flame graph lie in boxes of their own, which cut them.
    const boxes = labels.filter((it) => !it.closest(".icicle")).map((it) => [it.textContent.trim(), it.getBoundingClientRect()]);
    const frame = group.getBoundingClientRect();
    boxes.forEach(([text, box], n) => {
      if (!box.width || !box.height) return;
      if (group.matches(".chart") && (box.left < frame.left - air || box.right > frame.right + air)) {
        found.push(`${group.dataset.figure ?? "strip"}: "${text}" leaves its chart`);
      }
      for (const [other, of] of boxes.slice(n + 1)) {
        const x = Math.min(box.right, of.right) - Math.max(box.left, of.left);
        const y = Math.min(box.bottom, of.bottom) - Math.max(box.top, of.top);
        if (x > air && y > air) found.push(`${group.dataset.figure ?? "strip"}: "${text}" covers "${other}"`);
      }
    });
  }
  return found;
};

// Boxes that cover one another, tables that are cut or whose cells stand beside their headings, and logarithmic axes without decades. Runs in the page.
const arranged = (air) => {
  const found = [];
  const shown = (it) => it.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && it.getBoundingClientRect().height > 0;
  for (const parent of document.querySelectorAll("main, main section, main section > div, main div.sides, figure, header.page")) {
    const boxes = [...parent.children].filter((it) => shown(it) && !["absolute", "fixed", "sticky"].includes(getComputedStyle(it).position));
    const blocks = boxes.filter((it) => !getComputedStyle(it).display.startsWith("inline"));
    blocks.forEach((box, n) => {
      const a = box.getBoundingClientRect();
      for (const other of blocks.slice(n + 1)) {
        const b = other.getBoundingClientRect();
        const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (x > air && y > air) found.push(`${box.outerHTML.slice(0, 60)} covers ${other.outerHTML.slice(0, 60)}`);
      }
    });
  }
  for (const box of document.querySelectorAll(".scroll")) {
    const table = box.querySelector("table");
    if (!shown(table)) continue;
    const name = box.getAttribute("aria-label");
    if (box.scrollWidth > box.clientWidth + 1) found.push(`${name}: ${box.scrollWidth} px wide in a box of ${box.clientWidth}`);
    const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
    const folded = getComputedStyle(table).display === "block";
    const titles = table.tHead ? [...table.tHead.rows[0].cells] : [];
    for (const cell of rows.flatMap((row) => [...row.cells]).filter((cell) => shown(cell))) {
      const title = titles[cell.cellIndex];
      if (!title) continue;
      if (folded && cell.tagName === "TD" && cell.dataset.title !== title.textContent) found.push(`${name}: a folded cell has no title: ${cell.textContent.slice(0, 40)}`);
      if (folded) continue;
      const [column, own] = [title.getBoundingClientRect(), cell.getBoundingClientRect()];
      if (Math.abs(column.left - own.left) > 1 || Math.abs(column.right - own.right) > 1) found.push(`${name}: "${cell.textContent.slice(0, 40)}" is not under its heading`);
      if (title.classList.contains("num") !== cell.classList.contains("num")) found.push(`${name}: "${cell.textContent.slice(0, 40)}" is not aligned as its heading`);
    }
  }
  for (const chart of document.querySelectorAll(".chart")) {
    for (const [name, axis] of Object.entries(chart._fullLayout ?? {})) {
      if (!/^[xy]axis\d*$/.test(name) || axis.type !== "log" || axis.range[1] - axis.range[0] < 2) continue;
      const decades = (axis.tickvals ?? []).filter((value) => Number.isInteger(+Math.log10(value).toFixed(9)));
      if (decades.length < 2) found.push(`${chart.dataset.figure}: ${name} names fewer than two decades`);
    }
  }
  return found;
};

// What is cut where a page is printed: the paper has no scroll bars. Runs in the page.
const cut = (width) => {
  const shown = (it) => it.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && it.getBoundingClientRect().width > 0;
  const wide = [...document.querySelectorAll("body *")].filter((it) => shown(it) && !it.closest("svg") && it.getBoundingClientRect().right > width + 1);
  return wide.slice(0, 3).map((it) => `printed, it is cut at ${Math.round(it.getBoundingClientRect().right)} of ${width} px: ${it.outerHTML.slice(0, 80)}`);
};

// A4 in points, and what its margins leave of its width in pixels: 180 mm.
const A4 = [595, 842];
const PAPER = 680;

const print = async (browser, address) => {
  const page = await browser.newPage();
  await page.setViewport({ width: PAPER, height: HEIGHT });
  await page.goto(address, { waitUntil: "load" });
  if (await page.$(".chart")) await drawn(page);
  await page.emulateMediaType("print");
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  const found = await page.evaluate(cut, PAPER);
  const pdf = Buffer.from(await page.pdf({ preferCSSPageSize: true })).toString("latin1");
  if (folder !== "-") require("node:fs").writeFileSync(path.join(folder, `${new URL(address).pathname.replace(/\W+/g, "-")}.pdf`), pdf, "latin1");
  const sizes = [...pdf.matchAll(/\/MediaBox\s*\[([^\]]*)\]/g)].map((box) => box[1].trim().split(/\s+/).map(Number));
  if (!sizes.length) found.push("printed, it has no pages");
  for (const [, , width, height] of sizes) {
    if (Math.abs(width - A4[0]) > 1 || Math.abs(height - A4[1]) > 1) found.push(`printed, a page has ${width} by ${height} points`);
  }
  await page.close();
  return [...new Set(found)];
};

const look = async (browser, address, width, scheme) => {
  const page = await browser.newPage();
  const found = [];
  const own = new URL(address);
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) found.push(`the console says: ${message.text()}`);
  });
  page.on("pageerror", (error) => found.push(`a script failed: ${error.message}`));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (!["data:", "blob:"].includes(url.protocol) && (url.host !== own.host || url.protocol !== own.protocol)) {
      found.push(`it asked for ${request.url()}`);
    }
  });
  await page.setViewport({ width, height: HEIGHT });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  const response = await page.goto(address, { waitUntil: "load" });
  if (own.protocol !== "file:" && response.status() !== 200) found.push(`it answered ${response.status()}`);
  if (await page.$(".chart")) await drawn(page);
  found.push(...(await page.evaluate(layout, AIR)), ...(await page.evaluate(arranged, AIR)));
  // Through the protocol: the policy of the page lets no script in.
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => window.axe.run());
  for (const { id, help, nodes } of violations) found.push(`axe: ${id}: ${help}: ${nodes[0].html.slice(0, 160)} (${nodes.length}) ${nodes[0].failureSummary.slice(0, 300)}`);
  if (folder !== "-") {
    const name = `${own.pathname.replace(/\W+/g, "-")}${own.search.replace(/\W+/g, "-")}-${width}-${scheme}.png`;
    await page.screenshot({ path: path.join(folder, name), fullPage: true });
  }
  await page.close();
  return [...new Set(found)];
};

(async () => {
  const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu"] });
  const all = {};
  try {
    for (const address of addresses) {
      for (const width of WIDTHS) {
        for (const scheme of schemes.split(",")) {
          const found = await look(browser, address, width, scheme);
          if (found.length) all[`${address} at ${width} px, ${scheme}`] = found;
        }
      }
      const found = await print(browser, address);
      if (found.length) all[`${address} on paper`] = found;
    }
  } finally {
    await browser.close();
  }
  console.log(JSON.stringify(all, null, 2));
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
