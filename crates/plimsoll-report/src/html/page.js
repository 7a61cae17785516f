// Folds tables that do not fit, and draws every chart of the page from the JSON beside it; colours come from the style sheet, so that both schemes and
// print fit.
(() => {
  "use strict";
  const PRINT_WIDTH = 680;
  const NARROW = 600;
  // What a time with its date takes of an axis, with the air around it, in px.
  const DATED = 130;
  const FRAME = 80;
  const LINE = 12;
  const CHARACTER = 5.6;
  const config = {
    displaylogo: false,
    responsive: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "toImage"],
  };

  // Replaces "var(--name)" by its value, wherever it stands.
  const painted = (value, style) => {
    if (typeof value === "string") {
      return value.startsWith("var(--") ? style.getPropertyValue(value.slice(4, -1)).trim() : value;
    }
    if (Array.isArray(value)) {
      // Lists of numbers are long and have no colours; a place on a scale of colours is a number with its colour.
      return typeof value[0] === "number" && typeof value[1] !== "string" ? value : value.map((item) => painted(item, style));
    }
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, painted(item, style)]));
    }
    return value;
  };

  const figureOf = (chart) => {
    const picker = chart.dataset.picker && document.getElementById(chart.dataset.picker);
    const id = chart.dataset.figure + (picker ? "-" + picker.value : "");
    return JSON.parse(document.getElementById(id).textContent);
  };

  // Names that would touch the one before are left out.
  const apart = (layout) => {
    // Charts without names need not say where their axis begins and ends.
    if (!layout.annotations) return [];
    const [start, end] = layout.xaxis.range;
    // Phases are named above the plot, what was done in them inside it.
    const free = {};
    return layout.annotations.filter((name) => {
      const at = ((name.x - start) / (end - start)) * (layout.width - FRAME);
      const half = (name.textangle ? LINE : name.text.length * CHARACTER) / 2;
      if (at - half < (free[name.yanchor] ?? -Infinity)) return false;
      free[name.yanchor] = at + half;
      return true;
    });
  };

  const named = (value) => {
    const [size, unit] = value >= 1e9 ? [1e9, "B"] : value >= 1e6 ? [1e6, "M"] : value >= 1e4 ? [1e3, "k"] : [1, ""];
    return +(value / size).toPrecision(3) + unit;
  };

  // Plotly names single digits of a logarithmic axis. Here its decades have names, 1, 10, 100; where it has fewer than two of them, 2 and 5 as well. What
  // the axis spans is known once it is drawn.
  const DECADES = 7;
  // The room that a label takes on an axis (px).
  const LABEL = 70;
  const decades = (chart) => {
    const changes = {};
    for (const [name, axis] of Object.entries(chart._fullLayout)) {
      if (!/^[xy]axis\d*$/.test(name) || axis.type !== "log") continue;
      const [low, high] = axis.range;
      const digits = high - low >= 2 ? [1] : [1, 2, 5];
      const every = Math.ceil((high - low) / DECADES);
      const values = [];
      for (let power = Math.floor(low); power <= high; power++) {
        if (power % every === 0) values.push(...digits.map((digit) => digit * 10 ** power));
      }
      const seen = values.filter((value) => Math.log10(value) >= low && Math.log10(value) <= high);
      // Within less than a factor of two Plotly names every hundredth, however narrow the chart is.
      const few = { tickmode: "auto", nticks: Math.max(2, Math.floor(axis._length / LABEL)) };
      changes[name] = seen.length > 1 ? { tickvals: seen, ticktext: seen.map(named), tickmode: "array" } : few;
    }
    const flat = Object.entries(changes).flatMap(([name, ticks]) => Object.entries(ticks).map(([key, value]) => [`${name}.${key}`, value]));
    if (flat.length) Plotly.relayout(chart, Object.fromEntries(flat));
  };

  const draw = (chart, width) => {
    const style = getComputedStyle(document.documentElement);
    const { data, layout } = painted(figureOf(chart), style);
    layout.width = width || chart.clientWidth;
    const narrow = layout.width < NARROW;
    if (narrow) {
      layout.margin = { ...layout.margin, l: 8, r: 8 };
      layout.font = { ...layout.font, size: 11 };
      if (layout.xaxis?.ticktext) layout.xaxis.tickangle = -90;
    }
    layout.annotations = apart(layout);
    // Plotly does not see that a time with its date, as there is one at midnight, is wider than a time alone.
    if (layout.xaxis?.type === "date") layout.xaxis.nticks = Math.max(2, Math.floor(layout.width / DATED));
    // On a touch screen a finger scrolls the page; the buttons still zoom.
    if (matchMedia("(pointer: coarse)").matches) layout.dragmode = false;
    Plotly.react(chart, data, layout, { ...config, displayModeBar: narrow ? false : "hover" });
    decades(chart);
    if (!chart.dataset.watched) {
      chart.dataset.watched = "yes";
      chart.on("plotly_relayout", (changed) => Object.keys(changed).some((key) => /range/.test(key)) && decades(chart));
    }
  };

  // A table that is wider than its box, or squeezed until a row is this tall (px), is folded: each row becomes a block of titles and values.
  const TALL = 160;
  const foldAll = (folded = true) => {
    for (const box of document.querySelectorAll(".scroll")) {
      const table = box.querySelector("table");
      table.classList.remove("fold");
      if (!folded) continue;
      const titles = [...(table.tHead?.rows[0].cells ?? [])].map((title) => title.textContent);
      const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
      for (const row of rows) [...row.cells].forEach((cell, n) => (cell.dataset.title = titles[n] ?? ""));
      const tall = rows.some((row) => row.offsetHeight > TALL);
      table.classList.toggle("fold", tall || box.scrollWidth > box.clientWidth);
    }
  };

  const charts = [...document.querySelectorAll(".chart")];
  const drawAll = (width) => window.Plotly && charts.forEach((chart) => draw(chart, width));

  // Resolves when Plotly is there: it stands beside the page, or packed in it.
  const plotly = async () => {
    if (window.Plotly) return;
    const packed = document.getElementById("bundle");
    const bytes = Uint8Array.from(atob(packed.textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  };

  // What a reader sees where no chart can be drawn.
  const missing = () => {
    const needed = document.querySelector("script[src]")?.getAttribute("src");
    const why = needed
      ? `The charts are drawn by ${needed}, which must stand beside this page. "plimsoll show RUN --format html" makes a page of one file.`
      : "This browser cannot unpack what draws the charts: it is too old. All figures also stand in the tables.";
    charts.forEach((chart) => {
      chart.textContent = why;
    });
  };

  let pending = 0;
  let drawnAt = innerWidth;
  const watch = () => {
    addEventListener("resize", () => {
      if (innerWidth === drawnAt) return;
      drawnAt = innerWidth;
      clearTimeout(pending);
      pending = setTimeout(() => (foldAll(), drawAll()), 150);
    });
    // What is in a closed box has no size.
    document.addEventListener("toggle", () => foldAll(), true);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll());
    addEventListener("beforeprint", () => {
      document.documentElement.dataset.theme = "light";
      foldAll(false);
      drawAll(PRINT_WIDTH);
    });
    addEventListener("afterprint", () => {
      delete document.documentElement.dataset.theme;
      foldAll();
      drawAll();
    });
    document.querySelectorAll("select.picker").forEach((picker) => {
      picker.addEventListener("change", () => {
        charts.filter((chart) => chart.dataset.picker === picker.id).forEach((chart) => draw(chart));
      });
    });
  };

  foldAll();
  watch();
  if (!charts.length) return;
  plotly().then(() => {
    drawAll();
    document.documentElement.dataset.drawn = "yes";
  }, missing);
})();
