// The page: what is known at once is shown at once, the rest when the model is unpacked.

import { Model } from "../../exporting/js/evaluator.js";
import { byId, el } from "./dom.js";
import { Explorer } from "./explorer.js";
import { rulesOf } from "./rule.js";
import { RuleTable } from "./rule_table.js";
import { hidePart, showImportance, showSummary } from "./summary.js";
import { unpacked } from "./unpack.js";

function followTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const button = byId("theme");
  const isDark = () => (root.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const name = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
  };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    name();
    document.dispatchEvent(new Event("colours"));
  });
  dark.addEventListener("change", name);
  name();
}

async function start() {
  followTheme();
  const summary = JSON.parse(byId("summary").textContent);
  showSummary(summary);
  await new Promise((resume) => requestAnimationFrame(() => setTimeout(resume)));
  const details = await unpacked(byId("details").textContent);
  const model = new Model(details.export);
  showImportance(details.importance, summary);
  const rules = rulesOf(model, details.rules, { of: details.rows, totals: details.totals });
  byId("rules").querySelector(".waiting").remove();
  const table = new RuleTable(model, summary.classes, rules);
  let explorer = null;
  if (details.explorer) explorer = new Explorer(model, summary, details, rules);
  else hidePart("explorer");
  document.addEventListener("colours", () => explorer?.update());
  // For those who look at the page with a program.
  window.report = { model, summary, details, table, explorer };
  performance.mark("ready");
  document.documentElement.dataset.ready = "true";
}

start().catch((error) => {
  for (const place of document.querySelectorAll(".waiting")) {
    place.replaceChildren(el("strong", {}, "This part cannot be shown: "), `${error.message}`);
  }
  console.error(error);
});
