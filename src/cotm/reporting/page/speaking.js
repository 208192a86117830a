// The rules that speak on an example, strongest first.

import { el, signed, table, votesBar, whole } from "./dom.js";
import { briefly, outputOf, patchPicture, showRule } from "./rule.js";

const MOST_RULES = 12;
const LONGEST = 600;

/**
 * What stands under an example: how many rules vote on it, and which say most for a label or
 * against it. `before` are the outputs of the example before it was changed; `point` is told which
 * rule is looked at, and null when none is any more.
 */
export function speakingRules({ model, classes, rules, outputs, before, label, all, flip, point }) {
  const found = [];
  let [begun, ended] = [0, 0];
  for (const rule of rules) {
    const [output, earlier] = [outputOf(rule, outputs), outputOf(rule, before)];
    begun += output > 0 && earlier === 0;
    ended += output === 0 && earlier > 0;
    if (output) found.push({ rule, output, votes: rule.weights[label] * output, fresh: earlier === 0 });
  }
  const size = ({ votes, rule }) => Math.abs(votes) * rule.scale;
  found.sort((a, b) => size(b) - size(a)); // of equals the first stays first
  const shown = all ? found : found.slice(0, MOST_RULES);
  const span = shown.length ? size(shown[0]) || 1 : 1;
  const graded = rules.some(({ most }) => most > 1);
  const changes =
    begun || ended
      ? ` Since the example was changed, ${begun} began to speak and ${ended} fell silent.`
      : "";
  const open = (rule) =>
    el(
      "button",
      { type: "button", class: "open", click: () => showRule(model, classes, rule) },
      rule.name,
    );
  const rows = shown.map(({ rule, output, votes, fresh }) => [
    open(rule),
    words(model.members[rule.member], rule, fresh),
    ...(graded ? [whole(output)] : []),
    signed(votes),
    votesBar(votes * rule.scale, span),
  ]);
  const list = table(
    `The strongest for ${classes[label]} or against it`,
    ["Rule", "If", ...(graded ? ["Times"] : []), "Votes", ""],
    rows,
    { numeric: graded ? [0, 2, 3] : [0, 2], kind: "speaking" },
  );
  list.querySelectorAll("tbody tr").forEach((row, k) => {
    for (const event of ["mouseenter", "focusin"]) row.addEventListener(event, () => point(shown[k]));
    for (const event of ["mouseleave", "focusout"]) row.addEventListener(event, () => point(null));
  });
  return [
    el("h3", {}, "Rules that speak"),
    el(
      "p",
      { class: "note", id: "speaking-count" },
      `${whole(found.length)} of ${whole(rules.length)} rules vote on it.${changes}`,
    ),
    list,
    found.length > MOST_RULES
      ? el(
          "button",
          { type: "button", class: "quiet", id: "all-rules", click: flip },
          all ? "Only the strongest" : `All ${whole(found.length)}`,
        )
      : "",
  ];
}

function words(member, rule, fresh) {
  const text = briefly(member, rule);
  const isImage = member.data.input.kind === "image";
  return el(
    "div",
    { class: isImage ? "words pictured" : "words" },
    isImage ? patchPicture(member, rule, 40) : null,
    el(
      "span",
      {},
      fresh ? [el("mark", {}, "new"), " "] : null,
      text.length > LONGEST ? `${text.slice(0, LONGEST)} …` : text,
    ),
  );
}
