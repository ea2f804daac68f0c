// The fusion graphs on canvases, with positions from the model: drawing, moving and searching. Only visible boxes are
// drawn, and labels only where they can be read, so that graphs with thousands of boxes are fast.
const views = [];
const smallest_label = 5; // pixels

class GraphView {
  constructor(graph, other, title) {
    this.graph = graph;
    this.title = title;
    this.known = new Set(other.nodes.map((n) => n.kernel).filter(Boolean));
    this.kernels = new Map(model.kernels.map((k) => [k.fingerprint, k]));
    const profile = model.profile && (graph === model.before ? model.profile.before : graph === model.after ? model.profile.after : null);
    this.times = profile ? profile.parts : {};
    this.whole = profile ? time_by_class(graph, profile).inside : 0;
    this.canvas = h("canvas", { tabindex: "0", role: "img", "aria-label": `${title}: ${counted(graph.nodes.length, "box", "boxes")}` });
    this.selected = this.hover = null;
    this.pointers = new Map();
    for (const e of graph.edges) e.box = this.bounds_of(e);
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  bounds_of(edge) {
    const [from, to] = [this.graph.nodes[edge[0]], this.graph.nodes[edge[1]]];
    let left = Math.min(from.x + from.w / 2, to.x + to.w / 2), right = Math.max(from.x + from.w / 2, to.x + to.w / 2);
    for (let i = 2; i < edge.length; i += 2) {
      left = Math.min(left, edge[i]);
      right = Math.max(right, edge[i]);
    }
    return [left, from.y, right, to.y + this.graph.box_height];
  }

  resize() {
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight, dense = devicePixelRatio || 1;
    if (!width) return;
    const first = !this.width;
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * dense);
    this.canvas.height = Math.round(height * dense);
    if (first) this.start();
    this.draw();
  }

  // Shows the whole graph if it can be read, else the kernels that take most of the time, or the densest part.
  start() {
    this.fit();
    if (this.scale >= 0.45 || !this.graph.nodes.length) return;
    const { nodes } = this.graph, heaviest = nodes.reduce((a, b) => (this.share(b) > this.share(a) ? b : a));
    const middle = (side) => nodes.reduce((sum, n) => sum + n[side], 0) / nodes.length;
    const [x, y] = [middle("x"), middle("y")], far = (n) => Math.hypot(n.x - x, n.y - y);
    this.scale = 0.6;
    this.centre(this.share(heaviest) > 0 ? heaviest : nodes.reduce((a, b) => (far(b) < far(a) ? b : a)), this.scale);
    this.selected = null;
    // Leaves no more than a margin empty beside the graph.
    const inside = (at, room, size) => (size < room ? (room - size) / 2 : Math.max(room - 24 - size, Math.min(24, at)));
    this.x = inside(this.x, this.width, this.graph.width * this.scale);
    this.y = inside(this.y, this.height, this.graph.height * this.scale);
  }
  fit() {
    const g = this.graph;
    this.scale = Math.min(1.1, (this.width - 24) / Math.max(1, g.width), (this.height - 24) / Math.max(1, g.height));
    this.x = (this.width - g.width * this.scale) / 2;
    this.y = (this.height - g.height * this.scale) / 2;
  }
  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const scale = Math.min(3, Math.max(0.01, this.scale * factor));
    this.x = x - ((x - this.x) * scale) / this.scale;
    this.y = y - ((y - this.y) * scale) / this.scale;
    this.scale = scale;
    this.draw();
  }
  centre(node, scale = Math.max(this.scale, 0.8)) {
    this.scale = scale;
    this.x = this.width / 2 - (node.x + node.w / 2) * this.scale;
    this.y = this.height / 2 - (node.y + this.graph.box_height / 2) * this.scale;
    this.selected = node;
    this.draw();
  }

  node_at(x, y) {
    const gx = (x - this.x) / this.scale, gy = (y - this.y) / this.scale, tall = this.graph.box_height;
    return this.graph.nodes.find((n) => gx >= n.x && gx <= n.x + n.w && gy >= n.y && gy <= n.y + tall) || null;
  }

  listen() {
    const canvas = this.canvas, at = (event) => [event.offsetX, event.offsetY];
    canvas.addEventListener("pointerdown", (event) => {
      canvas.focus({ preventScroll: true });
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, at(event));
      this.moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const now = at(event), before = this.pointers.get(event.pointerId);
      if (before) this.drag(event.pointerId, before, now);
      else this.point(event, now);
    });
    const release = (event) => {
      if (this.pointers.delete(event.pointerId) && event.type === "pointerup" && this.moved < 5) this.select(this.node_at(...at(event)));
      canvas.classList.remove("moving");
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", () => { this.hover = null; hide_tip(); this.draw(); });
    canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return; // the page scrolls
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), ...at(event));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
      if (moves[event.key]) { this.x += moves[event.key][0]; this.y += moves[event.key][1]; this.draw(); }
      else if (event.key === "+" || event.key === "=") this.zoom(1.25);
      else if (event.key === "-") this.zoom(0.8);
      else if (event.key === "0") { this.fit(); this.draw(); }
      else return;
      event.preventDefault();
    });
  }
  drag(id, before, now) {
    const others = [...this.pointers].filter(([other]) => other !== id).map(([, place]) => place);
    this.pointers.set(id, now);
    this.moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
    this.canvas.classList.add("moving");
    hide_tip();
    if (!others.length) {
      this.x += now[0] - before[0];
      this.y += now[1] - before[1];
      return this.draw();
    }
    const [other] = others, span = (p) => Math.max(1, Math.hypot(p[0] - other[0], p[1] - other[1]));
    this.zoom(span(now) / span(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
  }
  point(event, place) {
    const node = this.node_at(...place);
    if (node) show_tip(this.about(node), event.clientX, event.clientY);
    else hide_tip();
    if (node === this.hover) return;
    this.hover = node;
    this.draw();
  }
  select(node) {
    this.selected = node;
    this.draw();
    if (node) about_node.replaceChildren(h("b", {}, node.name), h("span", { class: "soft" }, ` in ${this.title}: `), this.about(node).split("\n").slice(1).join(" · "));
    else about_node.replaceChildren(click_hint);
  }

  // "decided": the kernel has another option; "changed": it is not in the other graph; else nothing.
  state(node) {
    const kernel = this.kernels.get(node.kernel);
    if (this.graph === model.after && kernel && kernel.kept) return "decided";
    return node.kernel && !this.known.has(node.kernel) ? "changed" : "";
  }
  about(node) {
    const kernel = this.kernels.get(node.kernel), lines = [node.name, `${node.op} → ${node.shape}`];
    if (node.inside) lines.push("fused: " + node.inside.map(([op, n]) => (n > 1 ? `${n} ${op}` : op)).join(", "));
    if (node.inputs) lines.push("reads " + (node.inputs.length > 6 ? counted(node.inputs.length, "input") : node.inputs.join(", ")));
    if (kernel) lines.push(`${time(kernel.default_ns)} by default, ${percent(kernel.share)} of the program` + (kernel.chosen ? `; ${kernel.chosen}: ${faster(kernel.gain)}` : ""));
    if (this.times[node.name]) lines.push(`${time(this.times[node.name])} in a run, ${percent(this.share(node))}`);
    if (this.state(node) === "changed") lines.push(this.graph === model.after ? "not a kernel of default XLA" : "not a kernel of the tuned program");
    return lines.join("\n");
  }

  // The share of the program's time: from the profiler, else from the kernel's own measurement.
  share(node) {
    if (this.whole) return (this.times[node.name] || 0) / this.whole;
    const kernel = this.kernels.get(node.kernel);
    return kernel ? (kernel.share || 0) / kernel.count : 0;
  }

  draw() {
    if (!this.width || this.waiting) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.paint(); });
  }
  paint() {
    const context = this.canvas.getContext("2d"), dense = this.canvas.width / this.width, style = getComputedStyle(document.documentElement);
    this.colour = (name) => style.getPropertyValue("--" + name).trim();
    this.scene = [-this.x / this.scale, -this.y / this.scale, (this.width - this.x) / this.scale, (this.height - this.y) / this.scale];
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.setTransform(dense * this.scale, 0, 0, dense * this.scale, dense * this.x, dense * this.y);
    if (this.graph.parts.length > 1) this.paint_parts(context);
    this.paint_edges(context);
    for (const node of this.graph.nodes)
      if (node.x < this.scene[2] && node.x + node.w > this.scene[0] && node.y < this.scene[3] && node.y + this.graph.box_height > this.scene[1])
        this.paint_node(context, node);
  }
  paint_parts(context) {
    context.font = "600 13px " + this.colour("sans");
    for (const p of this.graph.parts) {
      context.fillStyle = this.colour("soft");
      if (13 * this.scale >= smallest_label) context.fillText(p.title, p.x, p.y + 16);
      context.fillStyle = this.colour("line");
      context.fillRect(p.x, p.y + 22, p.w, 1.5);
    }
  }
  paint_edges(context) {
    const [left, top, right, bottom] = this.scene, tall = this.graph.box_height, near = [];
    context.lineWidth = Math.max(1, 0.7 / this.scale);
    context.strokeStyle = this.colour("faint");
    context.globalAlpha = 0.65;
    context.beginPath();
    for (const e of this.graph.edges) {
      if (e.box[0] > right || e.box[2] < left || e.box[1] > bottom || e.box[3] < top) continue;
      const focus = this.hover || this.selected;
      if (focus && (this.graph.nodes[e[0]] === focus || this.graph.nodes[e[1]] === focus)) near.push(e);
      else this.trace_edge(context, e, tall);
    }
    context.stroke();
    context.globalAlpha = 1;
    if (!near.length) return;
    context.beginPath();
    for (const e of near) this.trace_edge(context, e, tall);
    context.strokeStyle = this.colour("accent");
    context.lineWidth = Math.max(2, 1.2 / this.scale);
    context.stroke();
  }
  trace_edge(context, e, tall) {
    const from = this.graph.nodes[e[0]], to = this.graph.nodes[e[1]];
    let x = from.x + from.w / 2, y = from.y + tall;
    const step = (nx, ny) => {
      const middle = (y + ny) / 2;
      if (this.scale < 0.15) context.lineTo(nx, ny);
      else context.bezierCurveTo(x, middle, nx, middle, nx, ny);
      [x, y] = [nx, ny];
    };
    context.moveTo(x, y);
    for (let i = 2; i < e.length; i += 2) {
      step(e[i], e[i + 1] - tall / 2);
      context.lineTo(e[i], (y = e[i + 1] + tall / 2));
    }
    step(to.x + to.w / 2, to.y);
  }
  paint_node(context, node) {
    const tall = this.graph.box_height, state = this.state(node);
    const focus = node === this.hover || node === this.selected;
    context.beginPath();
    context.roundRect(node.x, node.y, node.w, tall, 5);
    context.fillStyle = this.colour("surface");
    context.fill();
    if (state === "decided") {
      context.fillStyle = this.colour("tint");
      context.fill();
    }
    context.strokeStyle = this.colour(focus ? "ink" : state === "decided" ? "accent" : state === "changed" ? "change" : "bar");
    context.lineWidth = Math.max(focus || state ? 2 : 1, (state ? 1.4 : 0.7) / this.scale);
    context.stroke();
    const share = this.share(node);
    if (share > 0.002) {
      context.fillStyle = this.colour("faint");
      context.fillRect(node.x + 6, node.y + tall - 4, Math.max(2, (node.w - 12) * Math.min(1, share)), 2.5);
    }
    if (12 * this.scale < smallest_label) return;
    context.font = "12px " + this.colour("sans");
    context.fillStyle = this.colour("ink");
    context.fillText(this.elided(context, node.name, node.w - 12), node.x + 6, node.y + 15);
    context.font = "10px " + this.colour("sans");
    context.fillStyle = this.colour("faint");
    const size = node.inside ? `${node.inside.reduce((sum, [, n]) => sum + n, 0)} in, ` : "";
    context.fillText(this.elided(context, size + node.shape, node.w - 12), node.x + 6, node.y + 28);
  }
  elided(context, text, width) {
    if (context.measureText(text).width <= width) return text;
    let low = 0, high = text.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (context.measureText(text.slice(0, middle) + "…").width <= width) low = middle;
      else high = middle - 1;
    }
    return text.slice(0, low) + "…";
  }

  panel() {
    const g = this.graph, button = (text, label, click) => h("button", { type: "button", "aria-label": `${label} ${this.title}`, click }, text);
    return h("div", { class: "panel" },
      h("header", {}, h("b", {}, this.title),
        h("span", { class: "zoom" }, button("−", "zoom out", () => this.zoom(0.8)), button("+", "zoom in", () => this.zoom(1.25)),
          button("fit", "show all of", () => { this.fit(); this.draw(); }))),
      h("p", { class: "soft" }, `${counted(g.nodes.length, "kernel")}; ${g.fused.toLocaleString("en")} of ${counted(g.instructions, "instruction")} in ${counted(g.fusions, "fusion")}`),
      this.canvas);
  }
}

const click_hint = "Click a box to see what it contains. Drag to move; after a click the wheel zooms, as do + and −.";
const about_node = h("div", { class: "about-node soft" }, click_hint);

function find_in_graphs(kernel) {
  let found = false;
  for (const view of views) {
    const node = view.graph.nodes.find((n) => n.kernel === kernel.fingerprint);
    if (node) view.centre(node);
    found = found || Boolean(node);
  }
  about_node.textContent = found ? `${kernel.name} is in the middle.` : `${kernel.name} is in neither graph: it existed only during the search.`;
  document.getElementById("fusion").scrollIntoView();
}
function find_text(text) {
  if (!text) return;
  const hits = views.map((view) => view.graph.nodes.filter((n) => n.name.includes(text) || n.op.includes(text) || (n.inside || []).some(([op]) => op === text)));
  views.forEach((view, i) => {
    const at = hits[i].indexOf(view.selected);
    if (hits[i].length) view.centre(hits[i][(at + 1) % hits[i].length]);
  });
  about_node.textContent = `“${text}”: ` + views.map((view, i) => `${hits[i].length} in ${view.title}`).join(", ") + ". Enter goes to the next.";
}

function graphs() {
  if (!model.before) return section("fusion", "Fusion", "There are no fusion graphs. " + model.no_graphs);
  views.push(new GraphView(model.before, model.after, "default XLA"), new GraphView(model.after, model.before, "tuned"));
  const search = h("input", { type: "search", placeholder: "find a kernel or operation", "aria-label": "find a kernel or operation",
    keydown: (event) => event.key === "Enter" && find_text(search.value.trim()) });
  const swatch = (style, text) => h("span", {}, h("span", { class: "swatch", style }), text);
  return section("fusion", "Fusion",
    "Kernels and the data flow between them: each box is one kernel, a fusion with all its operations. Parameters, constants and operations without cost are left out." +
    (model.no_graphs ? " " + model.no_graphs : ""),
    h("div", { class: "legend" }, swatch("border:2px solid var(--accent);background:var(--tint)", "compiled in another way"),
      swatch("border:2px solid var(--change)", "only in this graph"), h("span", {}, h("span", { style: "width:22px;height:3px;background:var(--faint)" }), "share of the program’s time")),
    h("div", { class: "tools" }, search, h("button", { type: "button", click: () => find_text(search.value.trim()) }, "Find")),
    h("div", { class: "panels" }, views.map((v) => v.panel())), about_node);
}
