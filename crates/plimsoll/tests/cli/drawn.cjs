// What look.cjs and xtask/picture.cjs share.
"use strict";

// Waiting by a script of its own is what the policy of the page forbids.
const drawn = async (page) => {
  for (let tries = 0; tries < 200; tries++) {
    if (await page.evaluate(() => document.documentElement.dataset.drawn)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${page.url()} has not drawn its charts after 20 seconds`);
};

module.exports = { drawn };
