// A rule: in words, as a picture of its patch, and with all it says in a window of its own.

import { byId, el, percent, short, signed, table, votesBar } from "./dom.js";

/**
 * The rules of a model as {name, member, clauses, conditions, weights, most, scale, evidence}.
 * Clauses that accept the same are one rule.
 */
export function rulesOf(model, { texts, rules }, { of, totals }) {
  return rules.map(([number, clauses, conditions, evidence]) => {
    const parts = clauses.map(([member, clause]) => model.members[member].clauses[clause]);
    const member = clauses[0][0];
    const several = model.members.length > 1;
    return {
      number,
      name: several ? `${model.members[member].data.name} ${number}` : `${number}`,
      member,
      clauses,
      conditions: conditions.map((k) => texts[k]),
      weights: model.classes.map((_, i) => parts.reduce((sum, { weights }) => sum + weights[i], 0)),
      most: parts[0].most,
      scale: model.divisors ? 1 / Number(model.divisors[member]) : 1,
      evidence: evidence && evidenceOf(evidence, of, totals),
    };
  });
}

/** What a rule does on the examples of a report, from counts: a number, or one for each label. */
function evidenceOf([count, counts, share], rows, totals) {
  const lift = (n, i) => (count && totals[i] ? n / count / (totals[i] / rows) : null);
  return {
    coverage: count / rows,
    precision: counts && counts.map((n) => (count ? n / count : null)),
    lift: counts && counts.map(lift),
    share,
  };
}

/** How often a rule's weights count, from the outputs of all clauses. */
export const outputOf = ({ clauses: [[member, clause]] }, outputs) => outputs[member][clause];

/** A rule in a line. */
export function line(rule) {
  if (rule.most === 1) return rule.conditions.join(" and ");
  const count = rule.conditions.length;
  return `more than ${count - rule.most} of ${count}: ${rule.conditions.join("; ")}`;
}

/** The output that a rule says most about. */
export function loudest(weights) {
  let best = 0;
  weights.forEach((weight, i) => {
    if (Math.abs(weight) > Math.abs(weights[best])) best = i;
  });
  return best;
}

/** A rule with all it says, in a window of its own. */
export function showRule(model, classes, rule) {
  const dialog = byId("rule");
  const member = model.members[rule.member];
  const span = Math.max(...rule.weights.map(Math.abs));
  const order = rule.weights.map((_, i) => i).sort((a, b) => rule.weights[b] - rule.weights[a]);
  const graded = rule.most > 1;
  const { evidence } = rule;
  dialog.replaceChildren(
    el(
      "div",
      { class: "dialog" },
      el("h3", { id: "rule-title" }, `Rule ${rule.name}`),
      el(
        "p",
        {},
        graded
          ? `Votes if more than ${rule.conditions.length - rule.most} of these ${rule.conditions.length} hold, once for each above that:`
          : "Votes if all of these hold:",
      ),
      member.data.input.kind === "image" ? picture(member, rule) : null,
      el(
        "ul",
        { class: "conditions" },
        rule.conditions.map((text) => el("li", {}, text)),
      ),
      el(
        "div",
        { class: "scroll" },
        table(
          graded ? `Votes each time, up to ${rule.most} times` : "Votes",
          [model.multilabel ? "Label" : "Class", "Votes", ""],
          order.map((i) => [classes[i], signed(rule.weights[i]), votesBar(rule.weights[i], span)]),
          { numeric: [1] },
        ),
      ),
      evidence
        ? el(
            "p",
            { class: "note" },
            `It holds on ${percent(evidence.coverage)} of the examples of this report, and makes ${percent(evidence.share, 2)} of the votes there.`,
          )
        : null,
      el("button", { type: "button", class: "close", click: () => dialog.close() }, "Close"),
    ),
  );
  dialog.showModal();
}

/** What a clause asks of the pixels of a patch, in a figure that says what it shows. */
function picture(member, rule) {
  const key = (kind, text) => [el("span", { class: `key ${kind}` }), text];
  return el(
    "figure",
    { class: "patch" },
    patchPicture(member, rule, 200),
    el(
      "figcaption",
      {},
      key("set", "must be set "),
      key("unset", "must not be "),
      key("open", "may be either"),
    ),
  );
}

/** A patch, as wide as that: what must be set in blue, what must not be in orange, both in gray. */
export function patchPicture(member, rule, side) {
  const { patch_height, patch_width, channels, width } = member.data.patches;
  const { places } = member.clauses[rule.clauses[0][1]];
  const asked = new Uint8Array(patch_height * patch_width);
  for (let i = 0; i < places.length; i += 2) {
    const pixel = Math.floor(places[i] / channels);
    asked[Math.floor(pixel / width) * patch_width + (pixel % width)] |= places[i + 1] ? 2 : 1;
  }
  const count = (kind) => asked.reduce((sum, value) => sum + (value === kind), 0);
  const both = count(3) ? `, ${short(count(3))} set in some channels and not in others` : "";
  const size = Math.max(2, Math.floor(side / Math.max(patch_height, patch_width)));
  const canvas = el("canvas", {
    width: patch_width * size,
    height: patch_height * size,
    role: "img",
    "aria-label": `A patch of ${patch_height} by ${patch_width}: ${short(count(1))} pixels must be set, ${short(count(2))} must not be${both}`,
  });
  const context = canvas.getContext("2d");
  const style = getComputedStyle(document.documentElement);
  const colours = ["--panel", "--for", "--against", "--soft"].map((name) =>
    style.getPropertyValue(name),
  );
  const gap = size > 4 ? 1 : 0;
  asked.forEach((kind, k) => {
    context.fillStyle = colours[kind];
    const [y, x] = [Math.floor(k / patch_width), k % patch_width];
    context.fillRect(x * size, y * size, size - gap, size - gap);
  });
  return canvas;
}

/** A rule in a line, of images without the pixels, which a picture shows. */
export function briefly(member, rule) {
  if (member.data.input.kind !== "image" || rule.most > 1) return line(rule);
  const { window } = member.clauses[rule.clauses[0][1]];
  const [rows, columns] = [member.rows, member.columns];
  const where = [];
  const range = (name, low, high, count) => {
    if (low > 0 || high < count - 1)
      where.push(low === high ? `${name} ${low}` : `${name}s ${low} to ${high}`);
  };
  range("row", window[0], window[1], rows);
  range("column", window[2], window[3], columns);
  return where.length ? `a patch that begins in ${where.join(" and ")}` : "a patch anywhere";
}
