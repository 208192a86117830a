// All rules in a table that sorts, filters and searches. Only the rows in sight are elements.

import { byId, el, percent, signed, whole } from "./dom.js";
import { line, loudest, showRule } from "./rule.js";

/** Rows beyond the edge that are there already, so that the keyboard finds them. */
const SPARE_ROWS = 8;

const votesFor = (rule, output) => rule.weights[output] * rule.most;

/** The table of a model's rules, with what there is to choose them by. */
export class RuleTable {
  constructor(model, classes, rules) {
    Object.assign(this, { model, classes, rules });
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
    const columns = [
      {
        id: "number",
        title: "Rule",
        value: (rule) => rule.member * 1e9 + rule.number,
        text: (rule) => rule.name,
        up: true,
      },
      { id: "conditions", title: "If", value: (rule) => line(rule), text: line, up: true },
      {
        id: "votes",
        title: "Votes",
        value: (rule) => Math.abs(votesFor(rule, this.of(rule)) * rule.scale),
        text: (rule) => signed(votesFor(rule, this.of(rule))),
        extra: (rule) => `${this.classes[this.of(rule)]} `,
      },
      {
        id: "length",
        title: "Length",
        hint: "how many conditions it has",
        value: (rule) => rule.conditions.length,
        text: (rule) => whole(rule.conditions.length),
        up: true,
      },
    ];
    if (!this.rules.some((rule) => rule.evidence)) return columns;
    const measured = (id, title, hint, show) => {
      const text = (rule) => (evidence(id)(rule) === null ? "–" : show(evidence(id)(rule)));
      columns.push({ id, title, hint, value: evidence(id), text });
    };
    measured("coverage", "Coverage", "on how many of the examples it holds", percent);
    if (this.rules.some((rule) => rule.evidence?.precision)) {
      measured("precision", "Precision", "how many of those are of the label", percent);
      measured("lift", "Lift", "precision beside the label’s share of all", (x) => x.toFixed(2));
    }
    measured("share", "Share", "of all votes on the examples", (x) => percent(x, 2));
    return columns;
  }

  build() {
    this.search = el("input", {
      type: "search",
      id: "rule-search",
      autocomplete: "off",
      spellcheck: "false",
      input: () => this.later(),
    });
    this.label = el(
      "select",
      {
        id: "rule-label",
        change: () => (
          (this.output = this.label.value === "" ? null : Number(this.label.value)),
          this.choose()
        ),
      },
      el("option", { value: "" }, "the label they say most about"),
      this.classes.map((name, k) => el("option", { value: k }, name)),
    );
    this.side = el(
      "select",
      { id: "rule-side", change: () => this.choose() },
      [
        ["", "for and against"],
        ["1", "for it"],
        ["-1", "against it"],
      ].map(([value, text]) => el("option", { value }, text)),
    );
    this.count = el("p", { class: "note", role: "status", id: "rule-count" });
    this.head = el(
      "tr",
      { "aria-rowindex": 1 },
      this.columns.map((column) => this.heading(column)),
    );
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
    this.scroller = el(
      "div",
      {
        class: "scroller",
        role: "region",
        "aria-label": "Table of rules",
        tabindex: 0,
        scroll: () => this.draw(),
      },
      this.table,
    );
    const field = (input, text) => el("label", { for: input.id }, text, input);
    byId("rules").append(
      el(
        "div",
        { class: "fields" },
        field(this.search, "Search"),
        field(this.label, "Votes for"),
        field(this.side, "Which"),
      ),
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
    const height = parseFloat(getComputedStyle(this.scroller).getPropertyValue("--row")) || 54;
    const top = Math.max(0, this.scroller.scrollTop - this.head.offsetHeight);
    const first = Math.max(0, Math.floor(top / height) - SPARE_ROWS);
    const last = Math.min(
      this.shown.length,
      Math.ceil((top + this.scroller.clientHeight) / height) + SPARE_ROWS,
    );
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
        const open = el(
          "button",
          {
            type: "button",
            class: "open",
            "data-row": k,
            click: () => showRule(this.model, this.classes, rule),
          },
          text,
        );
        return el("th", { scope: "row", class: "number" }, open);
      }
      if (column.id === "conditions")
        return el(
          "td",
          { class: "wide", title: text.slice(0, 2000) },
          el("div", { class: "clip" }, text.slice(0, 400)),
        );
      const extra = column.extra ? el("span", { class: "label" }, column.extra(rule)) : null;
      const side =
        column.id === "votes" ? (votesFor(rule, this.of(rule)) < 0 ? " against" : " for") : "";
      return el("td", { class: `number ${column.id}${side}`, "data-title": column.title }, extra, text);
    });
    return el("tr", { "aria-rowindex": k + 2 }, cells);
  }

  key(event) {
    const here = Number(event.target.dataset?.row);
    const last = this.shown.length - 1;
    const page = Math.max(1, this.rows.size - 2 * SPARE_ROWS - 1);
    const steps = {
      ArrowDown: here + 1,
      ArrowUp: here - 1,
      Home: 0,
      End: last,
      PageDown: here + page,
      PageUp: here - page,
    };
    if (!(event.key in steps) || Number.isNaN(here)) return;
    event.preventDefault();
    this.focus(Math.min(last, Math.max(0, steps[event.key])));
  }

  focus(k) {
    const height = parseFloat(getComputedStyle(this.scroller).getPropertyValue("--row")) || 54;
    const head = this.head.offsetHeight;
    const room = this.scroller.clientHeight - head;
    const { scrollTop } = this.scroller;
    if (k * height < scrollTop) this.scroller.scrollTop = k * height;
    else if ((k + 1) * height > scrollTop + room) this.scroller.scrollTop = (k + 1) * height - room;
    this.draw();
    this.rows.get(k)?.querySelector("button").focus({ preventScroll: true });
  }
}
