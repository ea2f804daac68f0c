// Shared by all parts of the page: the model, elements, formatted numbers, one tooltip.
const model = JSON.parse(document.getElementById("model").textContent);

// An element with attributes (functions become listeners) and children (text or elements; null is left out).
function make(namespace, tag, attributes, children) {
  const element = namespace ? document.createElementNS(namespace, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "style") element.style.cssText = value;
    else element.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) element.append(child);
  return element;
}
const h = (tag, attributes, ...children) => make(null, tag, attributes, children);
const svg = (tag, attributes, ...children) => make("http://www.w3.org/2000/svg", tag, attributes, children);

function time(ns) {
  if (ns === null || !(ns > 0)) return "–";
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) if (ns >= size) return significant(ns / size) + "\u00a0" + unit;
  return significant(ns) + "\u00a0ns";
}
const significant = (x) => (x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2));
const times = (ratio, digits = 2) => (ratio > 0 && isFinite(ratio) ? ratio.toFixed(ratio >= 10 ? 1 : digits) + "×" : "–");
const percent = (part) => (part === null ? "–" : (100 * part).toFixed(part < 0.0995 ? 1 : 0) + "\u00a0%");
const seconds = (s) => (s >= 120 ? (s / 60).toFixed(1) + " min" : s >= 10 ? s.toFixed(0) + " s" : s.toFixed(1) + " s");
const counted = (n, one, many) => n.toLocaleString("en") + " " + (n === 1 ? one : many || one + "s");
const outcomes = {
  ok: "", mismatch: "outputs differ", unverified: "outputs could not be verified", compile_failed: "did not compile", crashed: "crashed",
  timed_out: "took too long", run_failed: "did not run",
};
// "2.2× faster", "1.3× slower", "as fast".
function faster(ratio) {
  if (!(ratio > 0)) return "";
  if (ratio >= 1.005) return times(ratio) + " faster";
  return ratio > 0.995 ? "as fast" : times(1 / ratio) + " slower";
}

const tip = h("div", { class: "tip", role: "status", hidden: "" });
function show_tip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const width = document.documentElement.clientWidth;
  tip.style.left = Math.max(8, Math.min(x + 14, width - box.width - 8)) + "px";
  tip.style.top = (y + 18 + box.height > innerHeight ? Math.max(8, y - box.height - 12) : y + 18) + "px";
}
function hide_tip() {
  tip.hidden = true;
}
// Elements with a data-tip show it as a tooltip.
document.addEventListener("pointerover", (event) => {
  const holder = event.target.closest && event.target.closest("[data-tip]");
  if (holder) show_tip(holder.dataset.tip, event.clientX, event.clientY);
  else if (event.target.tagName !== "CANVAS") hide_tip();
});
document.addEventListener("scroll", hide_tip, { passive: true });

function section(id, title, lead, ...children) {
  return h("section", { id }, h("h2", {}, title), lead ? h("p", { class: "lead" }, lead) : null, ...children);
}

// A list that shows its first items and, behind a button, the rest.
function folded(list, items, first) {
  list.append(...items.slice(0, first));
  if (items.length <= first) return [list];
  const button = h("button", { class: "more", type: "button", click: () => { list.append(...items.slice(first)); button.remove(); } },
    "Show all " + items.length);
  return [list, button];
}

// A drawing as wide as its container; drawn again when the width changes.
function fitted(draw) {
  const holder = h("div", { class: "chart" });
  let drawn = 0;
  new ResizeObserver(() => {
    const width = Math.floor(holder.clientWidth);
    if (width > 0 && width !== drawn) holder.replaceChildren(draw((drawn = width)));
  }).observe(holder);
  return holder;
}

// Round numbers between low and high, about `count` of them.
function ticks(low, high, count) {
  const raw = (high - low) / Math.max(1, count), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find((m) => m * power >= raw) * power, list = [];
  for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + step * 1e-9; value += step) list.push(Number(value.toPrecision(12)));
  return list;
}
