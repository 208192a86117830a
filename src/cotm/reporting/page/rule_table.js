// All rules in a table that sorts, filters and searches. Only the rows in sight are elements.

import { byId, el, percent, short, signed, table, votesBar, whole } from "./dom.js";

/** Rows beyond the edge that are there already, so that the keyboard finds them. */
const SPARE_ROWS = 8;

/** The rules of a model as {member, clause, number, texts, weights, most, evidence, search}. */
export function rulesOf(model, words, evidence) {
  return model.members.flatMap((member, k) =>
    member.clauses.map(({ weights, most }, clause) => ({
      member: k,
      clause,
      name: model.members.length > 1 ? `${member.data.name} ${words[k].numbers[clause]}` : `${words[k].numbers[clause]}`,
      conditions: words[k].conditions[clause],
      texts: words[k].texts,
      weights,
      most,
      scale: model.divisors ? 1 / Number(model.divisors[k]) : 1,
      evidence: evidence && evidenceOf(evidence, k, clause),
    })),
  );
}

/** What a rule does on the examples of a report, from counts. */
function evidenceOf({ rows, totals, votes, members }, k, clause) {
  const [count, counts, own] = members[k][clause];
  return {
    coverage: count / rows,
    precision: counts && counts.map((n) => (count ? n / count : null)),
    lift: counts && counts.map((n, i) => (count && totals[i] ? n / count / (totals[i] / rows) : null)),
    share: votes ? own / votes : 0,
  };
}

/** A rule's conditions in words. */
export const told = (rule) => rule.conditions.map((k) => rule.texts[k]);

/** A rule in a line. */
export function line(rule) {
  if (rule.most === 1) return told(rule).join(" and ");
  const count = rule.conditions.length;
  return `more than ${count - rule.most} of ${count}: ${told(rule).join("; ")}`;
}

/** The output that a rule says most about. */
export function loudest(weights) {
  let best = 0;
  weights.forEach((weight, i) => {
    if (Math.abs(weight) > Math.abs(weights[best])) best = i;
  });
  return best;
}

const votesFor = (rule, output) => rule.weights[output] * rule.most;

/** The table of a model's rules, with what there is to choose them by. */
export class RuleTable {
  constructor(model, classes, rules) {
    Object.assign(this, { model, classes, rules: rules.filter(({ conditions }) => conditions) });
    this.output = null; // the label that votes are shown for; null: the one a rule says most about
    this.sorted = { column: "votes", down: true };
    this.columns = this.makeColumns();
    this.rows = new Map();
    this.build();
    this.choose();
  }

  of(rule) {
    return this.output ?? loudest(rule.weights);
  }

  makeColumns() {
    const evidence = (name) => (rule) => {
      const found = rule.evidence?.[name] ?? null;
      return Array.isArray(found) ? found[this.of(rule)] : found;
    };
    const place = new Map(this.rules.map((rule, k) => [rule, k]));
    const columns = [
      { id: "number", title: "Rule", value: (rule) => place.get(rule), text: (rule) => rule.name, up: true },
      { id: "conditions", title: "If", value: (rule) => line(rule), text: line, up: true },
      {
        id: "votes",
        title: "Votes",
        value: (rule) => Math.abs(votesFor(rule, this.of(rule)) * rule.scale),
        text: (rule) => signed(votesFor(rule, this.of(rule))),
        extra: (rule) => `${this.classes[this.of(rule)]} `,
      },
      { id: "length", title: "Conditions", value: (rule) => rule.conditions.length, text: (rule) => whole(rule.conditions.length), up: true },
    ];
    if (this.rules.some((rule) => rule.evidence)) {
      const number = (name, show) => ({ value: evidence(name), text: (rule) => (evidence(name)(rule) === null ? "–" : show(evidence(name)(rule))) });
      columns.push({ id: "coverage", title: "Coverage", hint: "on how many of the examples it holds", ...number("coverage", percent) });
      if (this.rules.some((rule) => rule.evidence?.precision)) {
        columns.push({ id: "precision", title: "Precision", hint: "how many of those are of the label", ...number("precision", percent) });
        columns.push({ id: "lift", title: "Lift", hint: "precision beside the label’s share of all", ...number("lift", (x) => x.toFixed(2)) });
      }
      columns.push({ id: "share", title: "Share", hint: "of all votes on the examples", ...number("share", (x) => percent(x, 2)) });
    }
    return columns;
  }

  build() {
    this.search = el("input", { type: "search", id: "rule-search", autocomplete: "off", spellcheck: "false", input: () => this.later() });
    this.label = el(
      "select",
      { id: "rule-label", change: () => ((this.output = this.label.value === "" ? null : Number(this.label.value)), this.choose()) },
      el("option", { value: "" }, "the label they say most about"),
      this.classes.map((name, k) => el("option", { value: k }, name)),
    );
    this.side = el(
      "select",
      { id: "rule-side", change: () => this.choose() },
      [["", "for and against"], ["1", "for it"], ["-1", "against it"]].map(([value, text]) => el("option", { value }, text)),
    );
    this.count = el("p", { class: "note", role: "status", id: "rule-count" });
    this.head = el("tr", { "aria-rowindex": 1 }, this.columns.map((column) => this.heading(column)));
    this.above = el("tr", { "aria-hidden": "true" }, el("td", { colspan: this.columns.length }));
    this.below = this.above.cloneNode(true);
    this.body = el("tbody", {}, this.above, this.below);
    this.table = el(
      "table",
      { class: "rules", "aria-describedby": "rule-count" },
      el("caption", {}, "Rules. A row’s number opens all of it; arrow keys go from rule to rule."),
      el("thead", {}, this.head),
      this.body,
    );
    this.scroller = el("div", { class: "scroller", role: "region", "aria-label": "Table of rules", tabindex: 0, scroll: () => this.draw() }, this.table);
    const field = (input, text) => el("label", { for: input.id }, text, input);
    byId("rules").append(
      el("div", { class: "fields" }, field(this.search, "Search"), field(this.label, "Votes for"), field(this.side, "Which")),
      this.count,
      this.scroller,
    );
    this.body.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.scroller);
  }

  heading(column) {
    const press = () => {
      const same = this.sorted.column === column.id;
      this.sorted = { column: column.id, down: same ? !this.sorted.down : !column.up };
      this.choose();
    };
    const kind = column.id === "conditions" ? "wide" : "number";
    return el(
      "th",
      { scope: "col", class: `${kind} ${column.id}`, "data-column": column.id, title: column.hint },
      el("button", { type: "button", class: "sort", click: press }, column.title),
    );
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.choose(), 60);
  }

  /** Find the rules that are asked for, in order. */
  choose() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const side = Number(this.side.value);
    const column = this.columns.find(({ id }) => id === this.sorted.column);
    const found = this.rules.filter((rule) => {
      const votes = votesFor(rule, this.of(rule));
      if (this.output !== null && votes === 0) return false;
      if (side && Math.sign(votes) !== side) return false;
      if (!words.length) return true;
      rule.search ??= `${rule.name} ${line(rule)}`.toLowerCase();
      return words.every((word) => rule.search.includes(word));
    });
    const keyed = found.map((rule) => [column.value(rule), rule]);
    const sign = this.sorted.down ? -1 : 1;
    keyed.sort(([a], [b]) => (a === b ? 0 : a === null ? 1 : b === null ? -1 : a < b ? -sign : sign));
    this.shown = keyed.map(([, rule]) => rule);
    for (const cell of this.head.children) {
      const here = cell.dataset.column === this.sorted.column;
      if (here) cell.setAttribute("aria-sort", this.sorted.down ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
    this.table.setAttribute("aria-rowcount", this.shown.length + 1);
    this.count.textContent =
      found.length === this.rules.length
        ? `${whole(found.length)} rules`
        : `${whole(found.length)} of ${whole(this.rules.length)} rules`;
    for (const row of this.rows.values()) row.remove();
    this.rows.clear();
    this.scroller.scrollTop = 0;
    this.draw();
  }

  /** Make the rows that are in sight, and let go of the others. */
  draw() {
    const height = parseFloat(getComputedStyle(this.scroller).getPropertyValue("--row")) || 40;
    const top = Math.max(0, this.scroller.scrollTop - this.head.offsetHeight);
    const first = Math.max(0, Math.floor(top / height) - SPARE_ROWS);
    const last = Math.min(this.shown.length, Math.ceil((top + this.scroller.clientHeight) / height) + SPARE_ROWS);
    for (let k = first, after = this.above; k < last; ++k) {
      if (!this.rows.has(k)) {
        const row = this.row(k);
        this.rows.set(k, row);
        after.after(row);
      }
      after = this.rows.get(k);
    }
    this.above.firstChild.style.height = `${first * height}px`;
    this.below.firstChild.style.height = `${(this.shown.length - last) * height}px`;
    this.above.hidden = first === 0;
    this.below.hidden = last === this.shown.length;
    // Last of all, so that the table is never too short for where it is scrolled to.
    for (const [k, row] of this.rows) {
      if (k >= first && k < last) continue;
      row.remove();
      this.rows.delete(k);
    }
  }

  row(k) {
    const rule = this.shown[k];
    const cells = this.columns.map((column) => {
      const text = column.text(rule);
      if (column.id === "number") {
        const open = el("button", { type: "button", class: "open", "data-row": k, click: () => showRule(this.model, this.classes, rule) }, text);
        return el("th", { scope: "row", class: "number" }, open);
      }
      if (column.id === "conditions") return el("td", { class: "wide", title: text.slice(0, 2000) }, el("div", { class: "clip" }, text.slice(0, 400)));
      const extra = column.extra ? el("span", { class: "label" }, column.extra(rule)) : null;
      const side = column.id === "votes" ? (votesFor(rule, this.of(rule)) < 0 ? " against" : " for") : "";
      return el("td", { class: `number ${column.id}${side}`, "data-title": column.title }, extra, text);
    });
    return el("tr", { "aria-rowindex": k + 2 }, cells);
  }

  key(event) {
    const here = Number(event.target.dataset?.row);
    const last = this.shown.length - 1;
    const page = Math.max(1, this.rows.size - 2 * SPARE_ROWS - 1);
    const steps = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: last, PageDown: here + page, PageUp: here - page };
    if (!(event.key in steps) || Number.isNaN(here)) return;
    event.preventDefault();
    this.focus(Math.min(last, Math.max(0, steps[event.key])));
  }

  focus(k) {
    const height = parseFloat(getComputedStyle(this.scroller).getPropertyValue("--row")) || 40;
    const head = this.head.offsetHeight;
    const room = this.scroller.clientHeight - head;
    const { scrollTop } = this.scroller;
    if (k * height < scrollTop) this.scroller.scrollTop = k * height;
    else if ((k + 1) * height > scrollTop + room) this.scroller.scrollTop = (k + 1) * height - room;
    this.draw();
    this.rows.get(k)?.querySelector("button").focus({ preventScroll: true });
  }
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
      el("p", {}, graded ? `Votes if more than ${rule.conditions.length - rule.most} of these ${rule.conditions.length} hold, once for each above that:` : "Votes if all of these hold:"),
      el("ul", { class: "conditions" }, told(rule).map((text) => el("li", {}, text))),
      member.data.input.kind === "image" ? picture(member, rule) : null,
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
        ? el("p", { class: "note" }, `It holds on ${percent(evidence.coverage)} of the examples of this report, and makes ${percent(evidence.share, 2)} of the votes there.`)
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
    el("figcaption", {}, key("set", "must be set "), key("unset", "must not be "), key("open", "may be either")),
  );
}

/** A patch, as wide as that: what must be set in blue, what must not be in orange, both in gray. */
export function patchPicture(member, rule, side) {
  const { patch_height, patch_width, channels, width } = member.data.patches;
  const { places } = member.clauses[rule.clause];
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
  const colours = ["--panel", "--for", "--against", "--soft"].map((name) => style.getPropertyValue(name));
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
  const { window } = member.clauses[rule.clause];
  const [rows, columns] = [member.rows, member.columns];
  const where = [];
  const range = (name, low, high, count) => {
    if (low > 0 || high < count - 1) where.push(low === high ? `${name} ${low}` : `${name}s ${low} to ${high}`);
  };
  range("row", window[0], window[1], rows);
  range("column", window[2], window[3], columns);
  return where.length ? `a patch that begins in ${where.join(" and ")}` : "a patch anywhere";
}
