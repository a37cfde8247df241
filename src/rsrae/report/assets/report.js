// Draws the report from the JSON block beside it.
//
// One state (where the line lies, what is searched, what is selected on the map, which page); `update` brings counts
// and list in line with it, `moveLine` the charts as well. Users' text enters the page through `textContent` only.

"use strict";

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const items = data.names.map((name, index) => ({ index, name, rank: data.ranks[index], score: data.scores[index] }));
  const pageSize = { table: 50, images: 24, documents: 20, embeddings: 50 }[data.kind];
  const bins = 60;
  const shownReasons = 5;
  const markedShare = 0.05; // cells and words with a smaller part in the score stay plain
  const cellLength = 100;

  const state = { line: data.threshold, verdict: "all", query: "", picked: null, page: 0 };

  // ---- Numbers and text ------------------------------------------------------------------------

  const formatCount = (n) => n.toLocaleString("en");
  const formatPercent = (share) =>
    (share > 0 && share < 0.001 ? "< 0.1" : Number((100 * share).toPrecision(3))) + "\u00a0%";
  const formatShare = (share) => (share < 0.01 ? "< 1" : Math.round(100 * share)) + "\u00a0%";
  const formatScore = (x) => {
    const size = Math.abs(x);
    if (size !== 0 && (size >= 1e6 || size < 1e-3)) return x.toExponential(2);
    return x.toLocaleString("en", { maximumSignificantDigits: 4 });
  };
  const looksNumeric = (text) => text.trim() !== "" && Number.isFinite(Number(text.replace(/[,\s]/g, "")));

  function element(tag, className, ...children) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    node.append(...children.filter((child) => child !== null));
    return node;
  }

  function picture(source, description) {
    const image = new Image();
    image.alt = description;
    image.onload = () => image.classList.toggle("is-tiny", image.naturalWidth <= 48);
    image.src = source;
    return image;
  }

  // ---- The axis of scores: logarithmic where a few scores dwarf the others -----------------------

  const unlisted = data.unlisted ?? { scores: [], counts: [] };
  const weighted = [
    ...items.map((item) => [item.score, 1]),
    ...unlisted.scores.map((score, index) => [score, unlisted.counts[index]]),
  ];
  const total = weighted.reduce((sum, [, weight]) => sum + weight, 0);
  const axis = makeAxis();

  function makeAxis() {
    const sorted = weighted.map(([score]) => score).sort((a, b) => a - b);
    const low = Math.min(sorted[0] ?? 0, data.threshold);
    const high = Math.max(sorted[sorted.length - 1] ?? 1, data.threshold);
    const isLog = low > 0 && high > 25 * sorted[Math.floor(sorted.length / 2)];
    const place = isLog ? Math.log10 : (score) => score;
    const score = isLog ? (x) => 10 ** x : (x) => x;
    const margin = 0.02 * (place(high) - place(low)) || 0.1 * Math.abs(place(high)) || 1;
    return { isLog, place, score, min: place(low) - margin, max: place(high) + margin };
  }

  // ---- What the state selects --------------------------------------------------------------------

  const isFlagged = (item) => item.score > state.line;
  const countFlagged = () => weighted.reduce((sum, [score, weight]) => sum + (score > state.line ? weight : 0), 0);

  const searchable = new Map();
  function textOf(item) {
    if (!searchable.has(item.index)) {
      const parts = [item.name, ...(data.cells?.[item.index] ?? []), data.texts?.[item.index] ?? ""];
      searchable.set(item.index, parts.join("\n").toLowerCase());
    }
    return searchable.get(item.index);
  }

  function matching() {
    const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
    return items.filter(
      (item) =>
        (state.picked === null || state.picked.has(item.index)) && words.every((word) => textOf(item).includes(word)),
    );
  }

  const inVerdict = {
    all: () => true,
    anomaly: isFlagged,
    normal: (item) => !isFlagged(item),
  };

  // ---- The list ----------------------------------------------------------------------------------

  function verdictBadge(item) {
    return isFlagged(item) ? element("span", "badge is-anomaly", "anomaly") : element("span", "badge", "normal");
  }

  function labelBadge(item) {
    return data.labels?.[item.index] ? element("span", "badge is-label", "known anomaly") : null;
  }

  function sureness(item) {
    const probability = data.probabilities[item.index];
    const bar = element("b");
    bar.style.width = 100 * probability + "%";
    const node = element("span", "sure", element("i", "", bar), Math.round(100 * probability) + "\u00a0%");
    node.title = "How sure: the calibrated score";
    return node;
  }

  function mark(node, share) {
    node.classList.toggle("marked", share >= markedShare);
    node.style.setProperty("--share", Math.min(1, share));
    return node;
  }

  function reasonsOf(item) {
    return data.reasons[item.index].map(([feature, value, expected, share]) => ({
      feature: data.features[feature],
      value,
      expected,
      share,
    }));
  }

  function whyList(item) {
    const reasons = reasonsOf(item).slice(0, shownReasons);
    if (reasons.length === 0) return null;
    const entries = reasons.map(({ feature, value, expected, share }) => {
      const found = value === "" ? null : element("span", "found", ` ${value}`);
      const instead = expected === "" ? "" : ` (expected ${expected})`;
      return mark(element("li", "", element("b", "", feature), found, `${instead} ${formatShare(share)}`), share);
    });
    return element("ul", "why", ...entries);
  }

  function titleLine(item) {
    return element(
      "div",
      "title",
      element("span", "rank", `${formatCount(item.rank)}.`),
      element("span", "name", item.name),
      verdictBadge(item),
      labelBadge(item),
      element("span", "muted", `score ${formatScore(item.score)}`),
      sureness(item),
    );
  }

  const isNumeric = data.columns.map((_, column) =>
    items
      .slice(0, 200)
      .every(({ index }) => data.cells[index][column] === "" || looksNumeric(data.cells[index][column])),
  );
  const hasReasons = data.reasons.some((reasons) => reasons.length > 0);

  function tableOf(shown) {
    const heading = (text, className = "") => {
      const cell = element("th", className, text);
      cell.scope = "col";
      return cell;
    };
    const head = element(
      "tr",
      "",
      heading("Rank", "number"),
      heading("Item", "item"),
      heading("Score", "number"),
      heading("How sure"),
      hasReasons ? heading("Why") : null,
      ...data.columns.map((column, index) => heading(column, isNumeric[index] ? "cell number" : "cell")),
    );
    const rows = shown.map((item) => {
      const shares = new Map(reasonsOf(item).map((reason) => [reason.feature, reason]));
      const cells = data.columns.map((column, index) => {
        const value = data.cells[item.index][index];
        const isLong = value.length > cellLength;
        const cell = element(
          "td",
          isNumeric[index] ? "cell number" : "cell",
          isLong ? value.slice(0, cellLength) + "…" : value,
        );
        cell.classList.toggle("is-long", value.length > 30 && !isNumeric[index]);
        const reason = shares.get(column);
        if (reason) {
          mark(cell, reason.share);
          cell.title = `expected ${reason.expected}; ${formatShare(reason.share)} of the score`;
        }
        return cell;
      });
      const row = element(
        "tr",
        "",
        element("td", "rank number", formatCount(item.rank)),
        element("td", "item", element("span", "name", item.name), verdictBadge(item), " ", labelBadge(item)),
        element("td", "score number", formatScore(item.score)),
        element("td", "", sureness(item)),
        hasReasons ? element("td", data.cells ? "reasons is-short" : "reasons", whyList(item)) : null,
        ...cells,
      );
      return row;
    });
    const table = element("table", "", element("thead", "", head), element("tbody", "", ...rows));
    table.classList.toggle("is-wide", data.columns.length > 6);
    return element("div", "scroll", table);
  }

  function cardsOf(shown) {
    const cards = shown.map((item) => {
      const pictures = [
        data.thumbnails?.[item.index] && picture(data.thumbnails[item.index], item.name),
        data.heatmaps?.[item.index] && picture(data.heatmaps[item.index], `${item.name}: what is strange`),
      ].filter(Boolean);
      const card = element("article", "card", element("div", "pictures", ...pictures), titleLine(item), whyList(item));
      card.classList.toggle("is-anomaly", isFlagged(item));
      return card;
    });
    return element("div", "cards", ...cards);
  }

  function documentsOf(shown) {
    return element(
      "div",
      "",
      ...shown.map((item) => {
        const text = element("p", "text is-folded", ...markedWords(item));
        const fold = element("button", "fold no-print", "Show all");
        fold.type = "button";
        fold.addEventListener("click", () => {
          fold.textContent = text.classList.toggle("is-folded") ? "Show all" : "Show less";
        });
        return element(
          "article",
          "document",
          element("div", "", titleLine(item), whyList(item)),
          element("div", "", text, fold),
        );
      }),
    );
  }

  // The text in pieces, the words that made it strange wrapped in <mark>.
  function markedWords(item) {
    const text = data.texts?.[item.index] ?? "";
    const shares = new Map(reasonsOf(item).map(({ feature, share }) => [feature.toLowerCase(), share]));
    if (shares.size === 0) return [text];
    const patterns = [...shares.keys()]
      .sort((a, b) => b.length - a.length)
      .map((word) => word.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&").replace(/\s+/g, "\\s+"));
    const words = new RegExp(`(?<![\\p{L}\\p{N}_])(${patterns.join("|")})(?![\\p{L}\\p{N}_])`, "giu");
    return text
      .split(words)
      .map((piece, index) =>
        index % 2 === 0
          ? piece
          : mark(element("mark", "", piece), shares.get(piece.toLowerCase().replace(/\s+/g, " ")) ?? 0),
      );
  }

  const listOf = { table: tableOf, embeddings: tableOf, images: cardsOf, documents: documentsOf }[data.kind];

  function drawList(listed) {
    const pages = Math.max(1, Math.ceil(listed.length / pageSize));
    state.page = Math.min(state.page, pages - 1);
    const first = state.page * pageSize;
    const shown = listed.slice(first, first + pageSize);
    $("list").replaceChildren(
      shown.length ? listOf(shown) : element("p", "empty", "Nothing to show with this line, search and selection."),
    );
    // A text that fits needs no button; only the browser knows which ones do.
    for (const fold of $("list").querySelectorAll(".fold")) {
      fold.hidden = fold.previousSibling.scrollHeight <= fold.previousSibling.clientHeight + 1;
    }
    const range = `${formatCount(first + 1)}–${formatCount(first + shown.length)} of ${formatCount(listed.length)}`;
    $("page").textContent = shown.length ? range : "";
    $("previous").disabled = state.page === 0;
    $("next").disabled = state.page >= pages - 1;
    $("previous").hidden = $("next").hidden = pages === 1;
  }

  // ---- Counts and controls -----------------------------------------------------------------------

  function drawCounts(found, listed) {
    const flagged = countFlagged();
    $("flagged").textContent = formatCount(flagged);
    $("flagged-share").textContent = `${formatPercent(total ? flagged / total : 0)} of ${formatCount(total)}`;
    $("line").textContent = formatScore(state.line);
    $("line-origin").textContent =
      state.line === data.threshold ? "drawn by the model" : `moved from ${formatScore(data.threshold)}`;
    $("reset").disabled = state.line === data.threshold;
    $("slider").value = Math.round((1000 * (axis.place(state.line) - axis.min)) / (axis.max - axis.min));
    $("slider").setAttribute("aria-valuetext", `score ${formatScore(state.line)}, ${formatCount(flagged)} flagged`);
    for (const button of document.querySelectorAll("[data-verdict]")) {
      button.setAttribute("aria-pressed", button.dataset.verdict === state.verdict);
      button.querySelector("span").textContent = formatCount(found.filter(inVerdict[button.dataset.verdict]).length);
    }
    $("selection").hidden = state.picked === null;
    $("selection").textContent = `On the map: ${formatCount(state.picked?.size ?? 0)} ×`;
    $("clear-map").disabled = state.picked === null;
    $("download").disabled = listed.length === 0;
  }

  // ---- Charts ------------------------------------------------------------------------------------

  const charts = [];
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  function makeChart(node) {
    // Twice the pixels even on plain screens: the page may be printed.
    const chart = echarts.init(node, null, { devicePixelRatio: Math.max(2, window.devicePixelRatio) });
    charts.push(chart);
    return chart;
  }

  const axisStyle = () => ({
    axisLine: { lineStyle: { color: colour("rule") } },
    axisTick: { show: false },
    axisLabel: { color: colour("muted"), hideOverlap: true },
    splitLine: { lineStyle: { color: colour("rule") } },
  });
  const tooltipStyle = () => ({
    confine: true,
    backgroundColor: colour("panel"),
    borderColor: colour("rule"),
    textStyle: { color: colour("ink"), fontSize: 13 },
  });

  const histogram = makeChart($("histogram"));

  function drawHistogram() {
    const width = (axis.max - axis.min) / bins;
    const normal = new Array(bins).fill(0);
    const flagged = new Array(bins).fill(0);
    for (const [score, weight] of weighted) {
      const bin = Math.min(bins - 1, Math.floor((axis.place(score) - axis.min) / width));
      (score > state.line ? flagged : normal)[bin] += weight;
    }
    const bars = (name, counts, fill) => ({
      name,
      type: "bar",
      stack: "scores",
      barCategoryGap: "8%",
      barMinHeight: 2,
      data: counts.map((count) => count || null), // nothing is drawn for null; zero would get the minimal height
      itemStyle: { color: fill },
    });
    const style = axisStyle();
    histogram.setOption({
      animation: false,
      grid: { left: 44, right: 16, top: 24, bottom: 24, outerBoundsMode: "none" }, // the slider relies on the margins
      tooltip: {
        ...tooltipStyle(),
        trigger: "axis",
        axisPointer: { type: "shadow" },
        formatter: ([{ dataIndex }]) => {
          const from = formatScore(axis.score(axis.min + dataIndex * width));
          const to = formatScore(axis.score(axis.min + (dataIndex + 1) * width));
          const counts = `${formatCount(normal[dataIndex])} normal, ${formatCount(flagged[dataIndex])} flagged`;
          return `Score ${from} to ${to}<br>${counts}`;
        },
      },
      xAxis: [
        { type: "category", data: normal.map((_, bin) => bin), show: false },
        {
          ...style,
          type: "value",
          min: axis.min,
          max: axis.max,
          position: "bottom",
          splitLine: { show: false },
          axisPointer: { show: false },
          axisLabel: {
            ...style.axisLabel,
            showMinLabel: false,
            showMaxLabel: false,
            formatter: (x) => formatScore(axis.score(x)),
          },
        },
      ],
      yAxis: {
        ...style,
        type: "value",
        minInterval: 1,
        splitNumber: 4,
        axisLine: { show: false },
        axisLabel: { ...style.axisLabel, formatter: (count) => count.toLocaleString("en", { notation: "compact" }) },
      },
      series: [
        bars("normal", normal, colour("normal")),
        bars("flagged", flagged, colour("anomaly")),
        {
          type: "line",
          xAxisIndex: 1,
          data: [],
          markLine: {
            silent: true,
            symbol: "none",
            lineStyle: { color: colour("ink"), width: 1.5, type: "solid" },
            label: { formatter: formatScore(state.line), color: colour("ink"), fontSize: 12, distance: 4 },
            data: [{ xAxis: axis.place(state.line) }],
          },
        },
      ],
    });
  }

  const map = data.positions ? makeChart($("map")) : null;
  $("map-panel").hidden = map === null;

  function tipOf(item) {
    const image = data.thumbnails?.[item.index];
    const verdict = isFlagged(item) ? "anomaly" : "normal";
    const [first] = reasonsOf(item);
    return element(
      "div",
      "tip",
      image ? picture(image, item.name) : null,
      element("strong", "", item.name),
      element("span", "", `rank ${formatCount(item.rank)}, score ${formatScore(item.score)}, ${verdict}`),
      first ? element("span", "muted", `mostly ${first.feature}`) : null,
    );
  }

  function drawMap() {
    const placed = items.filter((item) => data.positions[item.index] !== null).reverse(); // the strangest on top
    const places = placed.map((item) => axis.place(item.score)).sort((a, b) => a - b);
    const point = (item) => [...data.positions[item.index], axis.place(item.score), item.index];
    const points = (name, chosen, size, border) => ({
      name,
      type: "scatter",
      data: chosen.map(point),
      symbolSize: size,
      itemStyle: { opacity: 0.85, borderColor: border, borderWidth: border ? 1 : 0 },
    });
    const hidden = { show: false };
    const plain = {
      type: "value",
      scale: true,
      boundaryGap: ["4%", "4%"],
      axisLabel: hidden,
      axisLine: hidden,
      axisTick: hidden,
      splitLine: hidden,
    };
    const size = placed.length > 1500 ? 5 : 7;
    map.setOption({
      animation: false,
      grid: { left: 1, right: 1, top: 12, bottom: 44, show: true, borderColor: colour("rule") },
      xAxis: plain,
      yAxis: plain,
      tooltip: { ...tooltipStyle(), trigger: "item", formatter: ({ value }) => tipOf(items[value[3]]) },
      visualMap: {
        type: "continuous",
        dimension: 2,
        min: places[0],
        max: places[places.length - 1],
        orient: "horizontal",
        left: "center",
        bottom: 0,
        itemWidth: 10,
        itemHeight: 150,
        text: ["stranger", "usual"],
        textStyle: { color: colour("muted") },
        inRange: { color: [colour("low"), colour("middle"), colour("high")] },
      },
      brush: {
        toolbox: [],
        xAxisIndex: 0,
        brushMode: "single",
        transformable: false,
        throttleType: "debounce",
        throttleDelay: 60,
        brushStyle: { color: `rgb(${colour("anomaly-rgb")} / 8%)`, borderColor: colour("anomaly"), borderWidth: 1 },
        outOfBrush: { colorAlpha: 0.15 },
      },
      series: [
        points(
          "normal",
          placed.filter((item) => !isFlagged(item)),
          size,
          null,
        ),
        points("flagged", placed.filter(isFlagged), size + 2, colour("panel")),
      ],
    });
  }

  function onBrush({ batch }) {
    const { areas, selected } = batch[0];
    const series = map.getOption().series;
    const picked = areas.length
      ? new Set(selected.flatMap(({ seriesIndex, dataIndex }) => dataIndex.map((i) => series[seriesIndex].data[i][3])))
      : null;
    const same = (a, b) => a === b || (a !== null && b !== null && a.size === b.size && [...a].every((i) => b.has(i)));
    if (same(picked, state.picked)) return; // a moved line redraws the points, which reports the old selection again
    state.picked = picked;
    state.page = 0;
    update();
  }

  function brushWith(type) {
    for (const button of document.querySelectorAll("[data-brush]")) {
      button.setAttribute("aria-pressed", button.dataset.brush === type);
    }
    // Not transformable: an area that can be moved would keep the pointer from the items under it.
    const brushOption = { brushType: type ?? false, brushMode: "single", transformable: false };
    map.dispatchAction({ type: "takeGlobalCursor", key: "brush", brushOption });
  }

  const curves = Object.entries(data.history).map(([name, values]) => {
    const last = values.findLast((value) => value !== null);
    const box = element("div", "chart");
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", `Learning curve: ${name}`);
    const caption = element("p", "", element("strong", "", name), " ");
    if (last !== undefined) caption.append(element("span", "muted", `ends at ${formatScore(last)}`));
    $("curves").append(element("div", "", caption, box));
    return { chart: makeChart(box), values };
  });

  function drawCurves() {
    for (const { chart, values } of curves) {
      const finite = values.filter((value) => value !== null);
      const isLog = finite.length > 0 && Math.min(...finite) > 0 && Math.max(...finite) > 50 * Math.min(...finite);
      const style = axisStyle();
      chart.setOption({
        animation: false,
        grid: { left: 48, right: 12, top: 10, bottom: 22 },
        tooltip: {
          ...tooltipStyle(),
          trigger: "axis",
          formatter: ([{ dataIndex }]) =>
            `Epoch ${dataIndex + 1}: ${values[dataIndex] === null ? "–" : formatScore(values[dataIndex])}`,
        },
        xAxis: {
          ...style,
          type: "value",
          min: 1,
          max: Math.max(2, values.length),
          minInterval: 1,
          splitNumber: 4,
          splitLine: { show: false },
        },
        yAxis: {
          ...style,
          type: isLog ? "log" : "value",
          scale: true,
          splitNumber: 3,
          axisLine: { show: false },
          axisLabel: { ...style.axisLabel, formatter: formatScore },
        },
        series: [
          {
            type: "line",
            data: values.map((value, epoch) => [epoch + 1, value]),
            showSymbol: values.length === 1,
            lineStyle: { width: 2 },
            itemStyle: { color: colour("anomaly") },
          },
        ],
      });
    }
  }

  // ---- CSV ---------------------------------------------------------------------------------------

  // A spreadsheet runs text that starts like a formula; an apostrophe in front keeps it text. Numbers keep their sign.
  function csvField(value) {
    const text = String(value);
    const safe = /^[=+\-@\t\r]/.test(text) && !looksNumeric(text) ? "'" + text : text;
    return /[",\r\n]/.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe;
  }

  function csvOf(listed) {
    const header = [
      "rank",
      "item",
      "score",
      "probability",
      "verdict",
      ...(data.labels ? ["label"] : []),
      "reasons",
      ...data.columns,
    ];
    const rows = listed.map((item) => [
      item.rank,
      item.name,
      item.score,
      data.probabilities[item.index],
      isFlagged(item) ? "anomaly" : "normal",
      ...(data.labels ? [{ true: "anomaly", false: "normal" }[data.labels[item.index]] ?? ""] : []),
      reasonsOf(item)
        .slice(0, shownReasons)
        .map(({ feature, share }) => `${feature} (${formatShare(share)})`)
        .join("; "),
      ...(data.cells?.[item.index] ?? []),
    ]);
    // The mark at the front tells spreadsheets that the text is UTF-8.
    return "\ufeff" + [header, ...rows].map((row) => row.map(csvField).join(",") + "\r\n").join("");
  }

  function download() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csvOf(currentList())], { type: "text/csv" }));
    link.download = (data.title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "") || "items") + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  // ---- Everything together -----------------------------------------------------------------------

  const currentList = () => matching().filter(inVerdict[state.verdict]);

  function update() {
    const found = matching();
    const listed = found.filter(inVerdict[state.verdict]);
    drawCounts(found, listed);
    drawList(listed);
  }

  let frame = 0;
  let mapTimer = 0;
  function moveLine(line) {
    state.line = line;
    // A slider reports faster than a screen refreshes, and thousands of points take longer than one refresh.
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      update();
      drawHistogram();
    });
    clearTimeout(mapTimer);
    if (map) mapTimer = setTimeout(drawMap, 120);
  }

  function show(changes) {
    Object.assign(state, { page: 0 }, changes);
    update();
  }

  function turnPage(step) {
    show({ page: state.page + step });
    $("items-title").scrollIntoView();
  }

  const systemTheme = matchMedia("(prefers-color-scheme: dark)");
  const themes = ["auto", "light", "dark"];
  let theme = "auto";

  function applyTheme(chosen = theme) {
    const isDark = chosen === "dark" || (chosen === "auto" && systemTheme.matches);
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
    $("theme").textContent = `Theme: ${theme}`;
    drawHistogram();
    if (map) drawMap();
    drawCurves();
  }

  $("slider").addEventListener("input", (event) => {
    moveLine(axis.score(axis.min + (event.target.value / 1000) * (axis.max - axis.min)));
  });
  $("reset").addEventListener("click", () => moveLine(data.threshold));
  $("search").addEventListener("input", (event) => show({ query: event.target.value }));
  $("download").addEventListener("click", download);
  $("previous").addEventListener("click", () => turnPage(-1));
  $("next").addEventListener("click", () => turnPage(1));
  for (const button of document.querySelectorAll("[data-verdict]")) {
    button.addEventListener("click", () => show({ verdict: button.dataset.verdict }));
  }
  if (map) {
    map.on("brushSelected", onBrush);
    for (const button of document.querySelectorAll("[data-brush]")) {
      button.addEventListener("click", () => {
        brushWith(button.getAttribute("aria-pressed") === "true" ? null : button.dataset.brush);
      });
    }
    for (const id of ["clear-map", "selection"]) {
      $(id).addEventListener("click", () => map.dispatchAction({ type: "brush", areas: [] }));
    }
  }
  $("theme").addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    applyTheme();
  });
  systemTheme.addEventListener("change", () => applyTheme());
  addEventListener("resize", () => charts.forEach((chart) => chart.resize()));
  addEventListener("beforeprint", () => applyTheme("light")); // paper is white
  addEventListener("afterprint", () => applyTheme());

  applyTheme();
  update();
  // With a finger, dragging scrolls the page until a way of selecting is chosen.
  if (map && !matchMedia("(pointer: coarse)").matches) brushWith("rect");
})();
