// Draws every chart of the page from the JSON beside it; colours come from the style sheet, so that both schemes and print fit.
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

  // Plotly names every digit of a logarithmic axis, and lets the names touch; 1, 2 and 5 are enough. Which axes it names so is known once it has drawn.
  const sparse = (chart) => {
    const axes = ["xaxis", "yaxis"].filter((name) => chart._fullLayout[name]?.dtick === "D1");
    if (axes.length) Plotly.relayout(chart, Object.fromEntries(axes.map((name) => [`${name}.dtick`, "D2"])));
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
    sparse(chart);
  };

  const charts = [...document.querySelectorAll(".chart")];
  const drawAll = (width) => charts.forEach((chart) => draw(chart, width));

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
      pending = setTimeout(drawAll, 150);
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll());
    addEventListener("beforeprint", () => {
      document.documentElement.dataset.theme = "light";
      drawAll(PRINT_WIDTH);
    });
    addEventListener("afterprint", () => {
      delete document.documentElement.dataset.theme;
      drawAll();
    });
    document.querySelectorAll("select.picker").forEach((picker) => {
      picker.addEventListener("change", () => {
        charts.filter((chart) => chart.dataset.picker === picker.id).forEach((chart) => draw(chart));
      });
    });
  };

  plotly().then(() => {
    drawAll();
    watch();
    document.documentElement.dataset.drawn = "yes";
  }, missing);
})();
