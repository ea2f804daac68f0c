// The page from top to bottom.
function about() {
  const rows = [
    ["Program", model.file ? `${model.program} (${model.file})` : model.program],
    ["Host", model.host],
    ["Compiler", model.xla],
    ["Threads of a run", model.threads],
    ["Inputs", model.inputs === "generated" ? `generated from seed ${model.seed}` : model.inputs],
    ["Fast math", model.fast_math ? "allowed" : "not allowed"],
    ["Budget", model.budget_s > 0 ? `${seconds(model.budget_s)}, used ${seconds(model.seconds)}` : seconds(model.seconds)],
    ["Fingerprint", h("span", { class: "mono" }, model.fingerprint)],
    ["Tuned module", h("span", { class: "mono" }, model.tuned_fingerprint)],
    ["Written by", model.hone],
  ];
  return section("about", "About this run", "", h("dl", {}, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
}

document.getElementById("page").append(
  ...[overview(), decisions(), profile(), kernels(), tiles(), graphs(), search(), predictions(), about()].flat().filter((part) => part !== null));
document.body.append(tip);
