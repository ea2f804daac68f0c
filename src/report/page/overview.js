// The result at a glance, the decisions in words, and the table of kernels.
function overview() {
  const [low, high] = model.interval, changed = model.decisions.length > 0;
  // Bar lengths show the ratio of paired runs and its interval; times are the minimum of each program.
  const spread = changed && low > 0 && high > 0 ? [1 / low, 1 / high] : null, tuned = changed ? 1 / model.speedup : 1;
  const longest = Math.max(1, tuned, spread ? spread[0] : 0), left = (length) => (100 * length) / longest;
  const bar = (name, length, ns, kind, whisker) => [
    h("span", { class: "soft" }, name),
    h("div", { class: "track" }, h("div", { class: "fill " + kind, style: `width:${left(length)}%` }), whisker),
    h("b", {}, time(ns)),
  ];
  const whisker = spread
    ? h("div", { class: "whisker", "data-tip": `${percent(spread[1])} to ${percent(spread[0])} of default XLA’s time`,
        style: `left:${left(spread[1])}%;width:max(3px,${left(spread[0]) - left(spread[1])}%)` })
    : null;
  const outputs = !model.verified ? "Outputs not verified."
    : "Outputs verified" + (model.max_error === 0 ? ", equal to default XLA’s" : `, largest difference ${Number(model.max_error).toPrecision(2)} of the tolerance`) +
      (model.interpreted ? "; XLA’s interpreter agrees." : ".");
  const factor = changed
    ? [h("div", { class: "factor accent" }, times(model.speedup)),
       h("div", {}, `as fast as default XLA; between ${low.toFixed(3)} and ${high.toFixed(3)} in ${counted(model.rounds, "round")} of interleaved duels.`)]
    : [h("div", { class: "factor" }, "1.00×"), h("div", {}, "No candidate was faster than default XLA: nothing is changed.")];
  const weights = model.weights ? `, ${counted(model.weights, "parameter")} constant` : "";
  return [
    h("div", { class: "eyebrow" }, "Hone report"),
    h("h1", {}, model.program),
    h("p", { class: "where" }, `${model.host} · ${counted(model.threads, "thread")}${weights} · ${model.xla}`),
    h("div", { class: "headline" },
      h("div", {}, factor),
      h("div", { role: "img", "aria-label": `default XLA ${time(model.default_ns)}, tuned ${time(model.tuned_ns)}` },
        h("div", { class: "bars" }, bar("default XLA", 1, model.default_ns, "", null), bar("tuned", tuned, model.tuned_ns, "tuned", whisker)),
        h("div", { class: "verdict " + (model.verified ? "soft" : "bad") }, outputs))),
    model.note ? h("p", { class: "notice" }, model.note) : null,
    model.known ? h("p", { class: "notice" }, "The decisions were known from the database and confirmed by a short duel; the search that found them is not in this package.") : null,
    model.stopped ? h("p", { class: "notice" }, "The search was stopped before it was complete.") : null,
  ];
}

function decisions() {
  if (!model.decisions.length)
    return section("decisions", "Decisions", "None: no other way of compiling this program was surely faster.");
  const words = new Map(model.kinds.map((k) => [k.kind, k.words]));
  const items = model.decisions.map((d) =>
    h("li", {}, h("span", {}, d.text, d.gain ? [", ", h("b", { class: d.gain < 1 ? "slow" : "accent" }, faster(d.gain))] : null),
      d.kernel ? h("span", { class: "mono faint" }, d.kernel, shape_of(d.kernel)) : h("span", { class: "faint" }, d.gain ? "whole program" : words.get(d.kind))));
  const alone = model.decisions.some((d) => !d.gain);
  return section("decisions", "Decisions",
    `What was decided otherwise than XLA does by itself: ${model.kinds.map((k) => `${k.words} (${k.count})`).join("; ")}. Gains of kernels are of the kernel alone, measured against its default.` +
    (alone ? " Decisions without a gain were tried together with others." : ""),
    folded(h("ol", { class: "decisions" }), items, 12));
}

// The shape of an instruction of the tuned program, if there is a graph.
function shape_of(name) {
  const node = model.after && model.after.nodes.find((n) => n.name === name);
  return node ? " " + node.shape : "";
}

// The time of a run by classes of instructions.
const classes = [
  { id: "products", title: "dots and convolutions", colour: "--blue", has: ["dot", "convolution"] },
  { id: "reductions", title: "reductions", colour: "--change", has: ["reduce", "reduce-window", "sort", "scatter", "select-and-scatter"] },
  { id: "fusions", title: "other fusions", colour: "--accent", has: ["fusion"] },
  { id: "moves", title: "copies and other single operations", colour: "--bar", has: [] },
];
function time_by_class(graph, profile) {
  const sums = new Map(classes.map((c) => [c.id, 0]));
  let inside = 0;
  for (const node of graph.nodes) {
    const ns = profile.parts[node.name];
    if (!ns || ["while", "call", "conditional"].includes(node.op)) continue; // their bodies are counted
    const names = [node.op, ...(node.inside || []).map(([op]) => op)];
    const found = classes.find((c) => c.has.some((op) => names.includes(op))) || classes[3];
    sums.set(found.id, sums.get(found.id) + ns);
    inside += ns;
  }
  return { sums, inside };
}
function profile() {
  if (!model.profile || !model.before) return null;
  const rows = [["default XLA", time_by_class(model.before, model.profile.before)], ["tuned", time_by_class(model.after, model.profile.after)]];
  const longest = Math.max(...rows.map(([, row]) => row.inside));
  const bars = rows.map(([name, row]) => [
    h("span", { class: "soft" }, name),
    h("div", { class: "track stack" }, classes.map((c) => h("span", { style: `width:${(100 * row.sums.get(c.id)) / longest}%;background:var(${c.colour})`,
      "data-tip": `${name}, ${c.title}: ${time(row.sums.get(c.id))}, ${percent(row.sums.get(c.id) / row.inside)}` }))),
    h("b", {}, time(row.inside)),
  ]);
  const used = classes.filter((c) => rows.some(([, row]) => row.sums.get(c.id) > 0.002 * longest));
  const products = rows[0][1].sums.get("products") / Math.max(1, rows[0][1].inside);
  return section("profile", "Where the time goes",
    `By XLA’s own profiler, the least of ${counted(model.profile.before.runs, "run")} for each instruction; with it on a run takes longer, so only the parts can be compared. ` +
    (products > 0.005 ? `Dots and convolutions, which mostly run in libraries, take ${percent(products)} of default XLA’s time.` : "No dots or convolutions are among it."),
    h("div", { class: "bars", style: "margin-top:14px" }, bars),
    h("div", { class: "legend" }, used.map((c) => h("span", {}, h("span", { class: "swatch", style: `background:var(${c.colour})` }), c.title))));
}

const columns = [
  { id: "kernel", title: "Kernel", text: true, value: (k) => k.words + "\n" + k.name },
  { id: "kind", title: "Kind", text: true, wide: true, value: (k) => k.kind, show: (k) => k.kind },
  { id: "share", title: "Share", value: (k) => k.share || 0,
    show: (k) => [percent(k.share), h("span", { class: "share wide", style: `--part:${Math.min(100, 100 * (k.share || 0))}%` })] },
  { id: "default_ns", title: "Default", wide: true, value: (k) => k.default_ns || 0, show: (k) => time(k.default_ns) },
  { id: "chosen_ns", title: "Best", wide: true, value: (k) => k.chosen_ns || 0, show: (k) => time(k.chosen_ns) },
  { id: "gain", title: "Gain", value: (k) => k.gain,
    show: (k) => k.chosen ? h("b", { class: "accent", "data-tip": `between ${times(k.interval[0], 3)} and ${times(k.interval[1], 3)}` }, times(k.gain))
      : h("span", { class: "faint" }, "1.00×") },
  { id: "choice", title: "Choice", text: true, value: (k) => (k.chosen ? "0" + k.chosen : "1" + k.default),
    show: (k) => k.chosen ? [k.chosen, h("span", { class: "faint" }, ", not " + k.default)] : h("span", { class: "faint" }, k.default) },
  { id: "tried", title: "Tried", wide: true, value: (k) => k.tried,
    show: (k) => k.known ? "known" : [String(k.tried), h("span", { class: "faint" }, " of " + k.options)] },
];

function kernel_row(k) {
  const name = k.name + (k.count > 1 ? ` ×${k.count}` : "");
  const link = model.before
    ? h("button", { class: "name mono", type: "button", "data-tip": "show it in the fusion graph", click: () => find_in_graphs(k) }, name)
    : h("span", { class: "name mono" }, name);
  const cells = columns.map((c) => h("td", { class: [c.text && "text", c.wide && "wide"].filter(Boolean).join(" ") || null },
    c.id === "kernel" ? [h("b", {}, k.words), link] : c.show(k)));
  return h("tr", { class: k.kept ? "kept" : null, "data-kernel": k.fingerprint }, cells);
}

function kernels() {
  if (!model.kernels.length)
    return section("kernels", "Kernels", "No kernel was tuned by itself: the program has none with more than one option, or the search did not reach them.");
  const body = h("tbody", {});
  const rows = model.kernels.map((k) => ({ kernel: k, row: kernel_row(k) }));
  const sort = (column, descending) => {
    const order = (a, b) => {
      const x = column.value(a.kernel), y = column.value(b.kernel);
      return (x < y ? -1 : x > y ? 1 : 0) * (descending ? -1 : 1);
    };
    body.replaceChildren(...rows.slice().sort(order).map((r) => r.row));
    for (const [c, head] of heads) head.setAttribute("aria-sort", c !== column ? "none" : descending ? "descending" : "ascending");
  };
  const heads = new Map();
  for (const column of columns) {
    const click = () => {
      const now = heads.get(column).getAttribute("aria-sort");
      sort(column, now === "none" ? !column.text : now === "ascending");
    };
    heads.set(column, h("th", { scope: "col", "aria-sort": "none", class: [column.text && "text", column.wide && "wide"].filter(Boolean).join(" ") || null },
      h("button", { type: "button", "data-column": column.id, click }, column.title)));
  }
  sort(columns[2], true);
  const covered = model.kernels.reduce((sum, k) => sum + (k.share || 0), 0);
  return section("kernels", "Kernels",
    `${counted(model.kernels.length, "distinct kernel")} measured alone, together ${percent(Math.min(1, covered))} of default XLA’s time. ` +
    "Green names are part of the result. Other gains were lost in the whole program or were found too late.",
    h("div", { class: "scroll" }, h("table", { id: "kernel-table" }, h("thead", {}, h("tr", {}, [...heads.values()])), body)));
}
