// Heat maps of tiles, the search over time, predicted against measured.

// The colour of a ratio over the default, by its logarithm: accent for faster, the other colour for slower.
function heat(ratio) {
  const strength = Math.min(1, Math.abs(Math.log2(ratio)) / 1.2);
  return `color-mix(in oklab, var(${ratio >= 1 ? "--accent" : "--slow"}) ${Math.round(8 + 92 * strength)}%, var(--surface))`;
}

// The two dimensions of a kernel's tiles with most sizes are rows and columns; a cell shows the best over the others.
function tile_grid(k) {
  const rank = Math.max(...k.tiles.map((t) => t.tile.length));
  const all = [...k.tiles.map((t) => t.tile), k.default_tile, k.chosen_tile].filter((t) => t && t.length === rank);
  const sizes = [];
  for (let d = 0; d < rank; ++d) sizes.push([...new Set(all.map((t) => t[d]))].sort((a, b) => a - b));
  const order = [...sizes.keys()].sort((a, b) => sizes[b].length - sizes[a].length || b - a);
  const [row, column] = rank > 1 ? order.slice(0, 2).sort((a, b) => a - b) : [null, 0];
  const key = (tile) => (row === null ? "" : tile[row]) + "/" + tile[column];
  const cells = new Map();
  for (const t of k.tiles) {
    if (t.tile.length !== rank) continue;
    const ratio = t.outcome === "ok" ? t.ratio : 0, old = cells.get(key(t.tile));
    if (!old || ratio > old.ratio) cells.set(key(t.tile), { ...t, ratio, count: (old ? old.count : 0) + 1 });
    else ++old.count;
  }
  if (k.default_tile && k.default_tile.length === rank) {
    const old = cells.get(key(k.default_tile));
    if (!old || old.ratio < 1) cells.set(key(k.default_tile), { tile: k.default_tile, ratio: 1, outcome: "ok", count: 1, own: true });
  }
  return { rank, row, column, rows: row === null ? [null] : sizes[row], columns: sizes[column], cells, key };
}

function heat_map(k) {
  const grid = tile_grid(k), size = 26, left = grid.row === null ? 4 : 46, top = 22;
  const width = left + grid.columns.length * size + 6, height = top + grid.rows.length * size + 4;
  const parts = grid.columns.map((c, i) => svg("text", { x: left + i * size + size / 2, y: 14, "text-anchor": "middle" }, short(c)));
  const rings = [];
  grid.rows.forEach((r, j) => {
    const y = top + j * size;
    if (r !== null) parts.push(svg("text", { x: left - 7, y: y + size / 2 + 4, "text-anchor": "end" }, short(r)));
    grid.columns.forEach((c, i) => {
      const x = left + i * size, key = (r === null ? "" : r) + "/" + c, cell = grid.cells.get(key);
      const box = { x: x + 1, y: y + 1, width: size - 2, height: size - 2, rx: 2 };
      if (!cell) return parts.push(svg("rect", { ...box, style: "fill:none;stroke:var(--line)" }));
      const what = "tile " + cell.tile.join("×") + (cell.count > 1 ? `, best of ${cell.count}` : "");
      const says = cell.own ? "XLA’s own choice" : cell.ratio > 0 ? faster(cell.ratio) : outcomes[cell.outcome] || cell.outcome;
      parts.push(svg("rect", { ...box, "data-tip": `${what}: ${says}`,
        style: cell.ratio > 0 ? `fill:${heat(cell.ratio)};stroke:var(--line)` : "fill:var(--surface);stroke:var(--line)" }));
      if (!(cell.ratio > 0)) parts.push(svg("text", { x: x + size / 2, y: y + size / 2 + 4, "text-anchor": "middle", style: "fill:var(--bad);pointer-events:none" }, "×"));
      const ring = (style) => rings.push(svg("rect", { x: x + 0.5, y: y + 0.5, width: size - 1, height: size - 1, rx: 3, style: "fill:none;pointer-events:none;" + style }));
      if (k.default_tile && grid.key(k.default_tile) === key) ring("stroke:var(--ink);stroke-width:2;stroke-dasharray:2 3");
      if (k.chosen_tile && grid.key(k.chosen_tile) === key) ring("stroke:var(--ink);stroke-width:2.5");
    });
  });
  const others = [];
  for (let d = 0; d < grid.rank; ++d) if (d !== grid.row && d !== grid.column) others.push(d);
  const axes = grid.row === null ? "Columns: size of the only dimension."
    : `Rows: dimension ${grid.row}, columns: dimension ${grid.column}` + (others.length ? `; best over dimension${others.length > 1 ? "s" : ""} ${others.join(", ")}.` : ".");
  const chips = k.others.filter((o) => o.outcome === "ok" && o.ratio > 0).map((o) => `${o.words} ${times(o.ratio)}`);
  return h("figure", { class: "map", style: "margin:0", "data-kernel": k.fingerprint },
    h("h3", {}, k.words, " ", h("span", { class: "mono faint" }, k.name)),
    h("div", { class: "scroll" }, svg("svg", { width, height, role: "img", "aria-label": `measured tiles of ${k.name}` }, parts, rings)),
    h("figcaption", { class: "chips" }, axes, ` Default: ${k.default}.`,
      k.chosen ? [" Best: ", h("b", { class: "accent" }, k.chosen), `, ${faster(k.gain)}.`] : " Nothing was surely faster.",
      chips.length ? ` Also measured: ${chips.join(", ")}.` : ""));
}
const short = (n) => (n >= 10000 ? Math.round(n / 1000) + "k" : String(n));

function tiles() {
  const shown = model.kernels.filter((k) => k.tiles.length > 1).sort((a, b) => (b.share || 0) - (a.share || 0));
  if (!shown.length)
    return section("tiles", "Tiles", "Neither this package nor the database has measured tiles for its kernels.");
  const swatch = (style, text) => h("span", {}, h("span", { class: "swatch", style }), text);
  return section("tiles", "Tiles",
    "How fast each measured tile made its kernel, against the kernel’s default.",
    h("div", { class: "legend" },
      h("span", {}, "2.3× slower", h("span", { class: "ramp", style: "background:linear-gradient(90deg,var(--slow),var(--surface),var(--accent))" }), "2.3× faster"),
      swatch("border:2px solid var(--ink)", "chosen"), swatch("width:14px;height:14px;border:2px dotted var(--ink)", "XLA’s default"),
      swatch("border-color:var(--line)", "not measured"), h("span", {}, h("span", { class: "bad" }, "×"), "failed")),
    folded(h("div", { class: "maps" }), shown.map(heat_map), 6));
}

// ---- search over time

function search_chart(width) {
  const trials = model.search.trials, narrow = width < 520;
  const timed = trials.length > 0;
  const programs = timed ? trials.filter((t) => t.scope === "program") : model.search.steps.map((s, i) => ({ ...s, end: i + 1, scope: "program" }));
  const pieces = timed ? trials.filter((t) => t.scope === "kernel") : [];
  const last = timed ? Math.max(...trials.map((t) => t.end)) : programs.length + 0.5;
  const left = 54, right = 14, top = 14, plot = narrow ? 200 : 240, lane = pieces.length ? 54 : 0, height = top + plot + lane + 30;
  const known = programs.filter((t) => t.outcome === "ok" && t.gain > 0).map((t) => t.gain);
  const high = Math.max(1.05, model.speedup, ...known) * 1.02, low = Math.max(0.5, Math.min(0.97, ...known) - 0.02);
  const x = (t) => left + ((width - left - right) * t) / last, y = (g) => top + plot * (1 - (Math.max(low, g) - low) / (high - low));
  const parts = [];
  for (const g of ticks(low, high, 5))
    parts.push(svg("line", { class: "axis", x1: left, x2: width - right, y1: y(g), y2: y(g), style: g === 1 ? "stroke:var(--faint)" : null }),
      svg("text", { x: left - 7, y: y(g) + 4, "text-anchor": "end" }, g.toFixed(2) + "×"));
  for (const t of ticks(0, last, narrow ? 4 : 8))
    parts.push(svg("text", { x: x(t), y: height - 10, "text-anchor": "middle" }, timed ? (t === 0 ? "0" : last > 240 ? (t / 60).toFixed(t % 60 ? 1 : 0) + " min" : t + " s") : String(t)));
  let path = `M${x(0)},${y(1)}`, best = 1;
  for (const t of programs) if (t.adopted && t.gain > 0) path += `H${x(t.end)}V${y((best = t.gain))}`;
  parts.push(svg("path", { d: path + `H${x(last)}`, style: "fill:none;stroke:var(--accent);stroke-width:2" }));
  for (const t of programs) {
    const failed = t.outcome !== "ok", says = failed ? outcomes[t.outcome] || t.outcome : `${times(t.gain, 3)} of default XLA’s speed`;
    const about = `${t.what}\n${t.confirms ? "confirmation, " : ""}${says}${t.adopted ? ", adopted" : ""}`;
    if (failed) parts.push(svg("text", { x: x(t.end), y: top + plot - 3, "text-anchor": "middle", style: "fill:var(--bad)", "data-tip": about }, "×"));
    else if (t.gain > 0)
      parts.push(svg("circle", { cx: x(t.end), cy: y(t.gain), r: t.adopted ? 4.5 : 3.5, "data-tip": about,
        style: t.confirms ? "fill:var(--ink)" : t.adopted ? "fill:var(--accent)" : "fill:var(--surface);stroke:var(--faint);stroke-width:1.3" }));
  }
  if (lane) {
    const base = top + plot + lane - 8, reach = 30;
    parts.push(svg("line", { class: "axis", x1: left, x2: width - right, y1: base, y2: base }), svg("text", { x: left - 7, y: base - 9, "text-anchor": "end" }, "kernels"));
    for (const t of pieces) {
      const ok = t.outcome === "ok" && t.ratio > 0, tall = ok ? Math.max(3, reach * Math.min(1, 0.3 + 0.7 * Math.log2(Math.max(1, t.ratio)))) : 12;
      parts.push(svg("rect", { x: x(t.start), y: base - tall, width: Math.max(1.2, x(t.end) - x(t.start) - 0.6), height: tall,
        "data-tip": `${t.kernel || "kernel"}: ${t.what}\n${ok ? faster(t.ratio) : outcomes[t.outcome] || t.outcome}`,
        style: `fill:var(${!ok ? "--bad" : t.ratio > 1.02 ? "--accent" : "--bar"})` }));
    }
  }
  return svg("svg", { width, height, role: "img", "aria-label": "gain over default XLA during the search" }, parts);
}

function search() {
  const { trials, steps, kernels_s, programs_s, lowering_s, compile_s } = model.search;
  if (!trials.length && !steps.length) return section("search", "Search", "The package has no record of the search.");
  const lead = trials.length
    ? `${counted(model.candidates, "candidate")} in ${seconds(model.seconds)}, ${model.rejected} rejected for their outputs, ${model.failed} failed: ` +
      `${seconds(kernels_s)} on kernels alone, ${seconds(programs_s)} on the whole program, ${seconds(lowering_s)} lowering; ${seconds(compile_s)} of it compiling candidates.`
    : "This package was written by a version that did not store times: the candidates are in the order in which they were tried.";
  const dot = (style, text) => h("span", {}, h("span", { class: "swatch", style: "border-radius:50%;" + style }), text);
  return section("search", "Search", lead,
    h("div", { class: "legend" },
      dot("background:var(--accent)", "adopted"), dot("border-color:var(--faint)", "tried, not adopted"),
      trials.some((t) => t.confirms) ? dot("background:var(--ink)", "final confirmation") : null,
      trials.some((t) => t.scope === "kernel") ? h("span", {}, h("span", { class: "swatch", style: "background:var(--bar)" }), "one kernel measured; green: faster than its default") : null),
    fitted(search_chart));
}

// ---- predictions

function prediction_chart(width) {
  const points = model.predictions, size = Math.min(width, 460), left = 62, bottom = 44;
  const all = points.flatMap((p) => [p.predicted_ns, p.measured_ns]).map(Math.log10);
  const low = Math.min(...all) - 0.1, high = Math.max(...all) + 0.1;
  const x = (ns) => left + ((size - left - 12) * (Math.log10(ns) - low)) / (high - low);
  const y = (ns) => 10 + (size - bottom - 10) * (1 - (Math.log10(ns) - low) / (high - low));
  const parts = [], ends = [10 ** low, 10 ** high];
  const marks = [];
  for (let p = Math.floor(low); p <= high; ++p) for (const m of high - low > 2.5 ? [1] : [1, 2, 5]) marks.push(m * 10 ** p);
  for (const ns of marks.filter((ns) => ns >= ends[0] && ns <= ends[1]))
    parts.push(svg("line", { class: "axis", x1: x(ns), x2: x(ns), y1: y(ends[0]), y2: y(ends[1]) }),
      svg("line", { class: "axis", x1: x(ends[0]), x2: x(ends[1]), y1: y(ns), y2: y(ns) }),
      svg("text", { x: x(ns), y: size - bottom + 17, "text-anchor": "middle" }, time(ns).replace(/\.0+\u00a0/, "\u00a0")),
      svg("text", { x: left - 7, y: y(ns) + 4, "text-anchor": "end" }, time(ns).replace(/\.0+\u00a0/, "\u00a0")));
  parts.push(svg("line", { x1: x(ends[0]), x2: x(ends[1]), y1: y(ends[0]), y2: y(ends[1]), style: "stroke:var(--faint);stroke-dasharray:4 4" }));
  for (const p of points)
    parts.push(svg("circle", { cx: x(p.measured_ns), cy: y(p.predicted_ns), r: 4, style: "fill:var(--accent);fill-opacity:.55;stroke:var(--accent)",
      "data-tip": `${p.kernel}: ${p.choice}\npredicted ${time(p.predicted_ns)}, measured ${time(p.measured_ns)}` }));
  parts.push(svg("text", { x: size - 12, y: size - 6, "text-anchor": "end" }, "measured"), svg("text", { x: left, y: size - 6 }, "up: predicted"));
  return svg("svg", { width: size, height: size, role: "img", "aria-label": "predicted against measured run times" }, parts);
}

function predictions() {
  const points = model.predictions.filter((p) => p.predicted_ns > 0 && p.measured_ns > 0);
  if (!points.length)
    return section("predictions", "Predicted and measured",
      "Left out: no model was asked for run times. Use hone report --model-file or --analytical.");
  model.predictions = points;
  const worst = points.reduce((a, b) => (Math.abs(Math.log(a.predicted_ns / a.measured_ns)) > Math.abs(Math.log(b.predicted_ns / b.measured_ns)) ? a : b));
  const errors = points.map((p) => Math.abs(p.predicted_ns / p.measured_ns - 1)).sort((a, b) => a - b);
  return section("predictions", "Predicted and measured",
    `${counted(points.length, "run time")} of kernels predicted by ${model.predicted_by || "a model"}; half of them within ${percent(errors[errors.length >> 1])} of the measured ones; the largest error is that of ${worst.kernel} (${worst.choice}).`,
    fitted(prediction_chart));
}
