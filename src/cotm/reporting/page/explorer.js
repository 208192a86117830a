// An example, chosen or made, and what the model says of it and why.

import { bar, byId, el, percent, signed, table, votesBar, whole } from "./dom.js";
import { BitFields, TableFields, cellText, columnsOf } from "./inputs.js";
import { ImageFields, rangeOf, thumbnail } from "./image_input.js";
import { Reasons, inVotes } from "./reasons.js";
import { briefly, patchPicture, showRule } from "./rule_table.js";

const MOST_RULES = 12;
const MOST_REASONS = 12;
const MOST_LABELS = 40;

/** Rows of numbers and other cells, from how a page holds them. */
export function rowsOf({ zeros, rows }, width) {
  if (!zeros) return rows;
  return rows.map(([places, values]) => {
    const row = new Array(width).fill(0);
    places.forEach((place, k) => (row[place] = values[k]));
    return row;
  });
}

/** What reads an example of a model: its columns, or how its images are shown. */
export function readerOf(model) {
  const inputs = model.members.map((member) => member.data.input);
  const image = inputs.find(({ kind }) => kind === "image");
  const tableInput = inputs.find(({ kind }) => kind === "table");
  return { image, table: tableInput, width: image ? image.shape.reduce((a, b) => a * b) : tableInput.columns.length };
}

export class Explorer {
  constructor(model, summary, details, rules) {
    Object.assign(this, { model, summary, rules, examples: details.examples });
    this.reader = readerOf(model);
    this.rows = this.examples ? rowsOf(this.examples, this.reader.width) : [];
    this.asked = details.reasons; // who the votes are divided among
    if (this.asked) {
      const { players, names } = this.asked;
      const background = this.examples ? this.examples.background.map((k) => this.rows[k]) : [];
      this.reasons = new Reasons(model, players, names.length, background);
    }
    this.offsets = [0];
    for (const member of model.members) this.offsets.push(this.offsets.at(-1) + member.clauses.length);
    this.turn = 0;
    this.build();
    this.select(this.rows.length ? 0 : null);
  }

  build() {
    const { image, table: tableInput } = this.reader;
    const changed = () => this.later();
    if (image) this.fields = new ImageFields(image.shape, rangeOf(this.rows), changed);
    else {
      const columns = columnsOf(tableInput, this.rows);
      this.columns = columns;
      const bits = columns.length > 20 && columns.every(({ type }) => type === "bit");
      this.fields = bits ? new BitFields(columns, changed) : new TableFields(columns, changed);
    }
    this.picker = el("div", { class: "picker" });
    this.reset = el("button", { type: "button", class: "quiet", id: "reset", click: () => this.select(this.chosen) }, "As it was");
    this.verdict = el("p", { class: "verdict", role: "status", id: "verdict" });
    this.votes = el("div", { class: "scroll", id: "votes" });
    this.why = el("div", { class: "scroll", id: "why" });
    this.speaking = el("div", { class: "scroll", id: "speaking" });
    const place = byId("explorer");
    place.querySelector(".waiting").remove();
    place.append(
      el(
        "div",
        { class: "explorer" },
        el("div", { class: "example" }, el("h3", {}, "Example"), this.picker, this.fields.element),
        el("div", { class: "result" }, el("h3", {}, "What the model says"), this.verdict, this.votes, this.why),
      ),
      this.speaking,
    );
    if (this.rows.length) this.buildPicker();
  }

  // Choosing --------------------------------------------------------------------------

  buildPicker() {
    const { labels, predicted } = this.examples;
    this.answers = predicted.map((answer) => [answer].flat());
    const kinds = [["all", "all"]];
    if (labels) kinds.push(["wrong", "wrong predictions"], ["right", "right predictions"]);
    this.summary.classes.forEach((name, k) => kinds.push([k, `predicted ${name}`]));
    this.kind = el("select", { id: "kind", change: () => this.list() }, kinds.map(([value, text]) => el("option", { value }, text)));
    this.chooser = this.reader.image
      ? el("div", { class: "thumbnails", role: "group", "aria-label": "Examples" })
      : el("select", { id: "chosen", change: () => this.select(Number(this.chooser.value)) });
    const step = (by) => () => {
      const place = this.listed.indexOf(this.chosen) + by;
      this.select(this.listed[Math.min(this.listed.length - 1, Math.max(0, place))]);
    };
    const button = (text, by, id) => el("button", { type: "button", class: "quiet", id, click: step(by) }, text);
    this.picker.append(
      el("label", { for: "kind" }, `Of ${whole(this.rows.length)} examples `, this.kind),
      this.reader.image ? this.chooser : el("label", { for: "chosen" }, "Example ", this.chooser),
      el("div", { class: "buttons" }, button("Previous", -1, "previous"), button("Next", 1, "next"), this.reset),
    );
    this.list();
  }

  wrong(k) {
    return `${[this.examples.labels[k]].flat()}` !== `${this.answers[k]}`;
  }

  nameOf(k) {
    const { labels, numbers } = this.examples;
    const said = this.answers[k].map((i) => this.summary.classes[i]).join(", ") || "none";
    if (!labels) return `row ${numbers[k]}: ${said}`;
    return `row ${numbers[k]}: ${this.truth(k)}${this.wrong(k) ? `, predicted ${said}` : ""}`;
  }

  truth(k) {
    const { classes } = this.summary;
    const known = [this.examples.labels[k]].flat();
    return known.map((i) => classes[i] ?? "an unknown label").join(", ") || "none";
  }

  list() {
    const { value } = this.kind;
    this.listed = this.rows.map((_, k) => k).filter((k) => {
      if (value === "all") return true;
      if (value === "wrong" || value === "right") return this.wrong(k) === (value === "wrong");
      return this.answers[k].includes(Number(value));
    });
    if (this.reader.image) {
      const { range } = this.fields;
      this.chooser.replaceChildren(
        ...this.listed.map((k) =>
          thumbnail(this.reader.image.shape, range, this.rows[k], { "data-k": k, title: this.nameOf(k), "aria-label": this.nameOf(k), click: () => this.select(k) }),
        ),
      );
    } else this.chooser.replaceChildren(...this.listed.map((k) => el("option", { value: k }, this.nameOf(k))));
    if (this.listed.length && !this.listed.includes(this.chosen)) this.select(this.listed[0]);
  }

  select(k) {
    this.chosen = k;
    const original = k === null ? this.blank() : this.rows[k];
    this.row = [...original];
    this.row.original = original;
    this.before = null;
    this.label = null;
    if (k !== null && this.chooser) {
      if (this.reader.image) {
        for (const button of this.chooser.children) button.setAttribute("aria-pressed", button.dataset.k === `${k}`);
      } else this.chooser.value = k;
    }
    this.fields.show(this.row);
    this.update();
  }

  /** What there is to begin with where there are no examples. */
  blank() {
    if (!this.columns) return new Array(this.reader.width).fill(0);
    return this.columns.map(({ type, categories, low, high, step }) =>
      type === "bit" ? 0 : type === "category" ? (categories[0] ?? null) : Number((Math.round((low + high) / 2 / step) * step).toPrecision(12)),
    );
  }

  // What the model says ---------------------------------------------------------------

  /** Update with the next frame: sliders move more often than that. */
  later() {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => {
      this.waits = false;
      this.update();
    });
  }

  update() {
    const { model, row } = this;
    const outputs = model.outputs(row);
    const votes = model.votesOf(outputs);
    const said = inVotes(votes);
    this.now = { outputs, votes: said, chances: model.probabilitiesOf(votes) };
    this.before ??= this.now;
    const labels = [model.labelOf(votes)].flat();
    this.predicted = labels.map((label) => model.classes.indexOf(label));
    const highest = said.indexOf(Math.max(...said));
    this.label ??= this.predicted[0] ?? highest;
    this.showVerdict();
    this.showVotes();
    this.showSpeaking();
    this.showReasons();
  }

  get isChanged() {
    return this.row.some((value, k) => !Object.is(value, this.row.original[k]));
  }

  showVerdict() {
    const { classes, multilabel } = this.summary;
    const names = this.predicted.map((i) => classes[i]).join(", ") || "none";
    const chance = multilabel ? "" : ` (probability ${percent(this.now.chances[this.predicted[0]])})`;
    const truth = this.examples?.labels && this.chosen !== null ? ` True: ${this.truth(this.chosen)}.` : "";
    const edited = this.isChanged;
    this.reset.disabled = !edited;
    this.verdict.replaceChildren("Predicted: ", el("b", {}, names), `${chance}.`, edited ? " The example was changed." : truth);
  }

  showVotes() {
    const { classes, multilabel } = this.summary;
    const { votes, chances } = this.now;
    const digits = this.model.divisors ? 3 : 0;
    const span = Math.max(...votes.map(Math.abs), ...this.before.votes.map(Math.abs)) || 1;
    let order = votes.map((_, i) => i);
    const many = order.length > MOST_LABELS;
    if (many) order = order.sort((a, b) => votes[b] - votes[a]).slice(0, MOST_LABELS);
    const choice = (i) =>
      el(
        "label",
        {},
        el("input", {
          type: "radio",
          name: "label",
          value: i,
          checked: i === this.label,
          change: () => {
            this.label = i;
            this.showSpeaking();
            this.showReasons();
          },
        }),
        ` ${classes[i]}`,
      );
    const focused = document.activeElement?.name === "label" ? document.activeElement.value : null;
    const edited = this.before !== this.now;
    this.votes.replaceChildren(
      table(
        `Votes${many ? `, the ${MOST_LABELS} highest` : ""}. Choose a ${multilabel ? "label" : "class"} to see why.`,
        [multilabel ? "Label" : "Class", "Votes", "", ...(edited ? ["Before"] : []), "Probability"],
        order.map((i) => [
          choice(i),
          signed(votes[i], digits),
          votesBar(votes[i], span),
          ...(edited ? [signed(this.before.votes[i], digits)] : []),
          percent(chances[i]),
        ]),
        { numeric: edited ? [1, 3, 4] : [1, 3], kind: "votes" },
      ),
    );
    if (focused !== null) this.votes.querySelector(`input[value="${focused}"]`)?.focus();
  }

  showSpeaking() {
    const { classes } = this.summary;
    const found = [];
    let [begun, ended] = [0, 0];
    this.now.outputs.forEach((outputs, k) =>
      outputs.forEach((output, clause) => {
        const earlier = this.before.outputs[k][clause];
        begun += output > 0 && earlier === 0;
        ended += output === 0 && earlier > 0;
        if (!output) return;
        const rule = this.rules[this.offsets[k] + clause];
        found.push({ rule, output, votes: rule.weights[this.label] * output, fresh: earlier === 0 });
      }),
    );
    const size = ({ votes, rule }) => Math.abs(votes) * rule.scale;
    found.sort((a, b) => size(b) - size(a) || this.rules.indexOf(a.rule) - this.rules.indexOf(b.rule));
    const shown = this.all ? found : found.slice(0, MOST_RULES);
    const span = shown.length ? size(shown[0]) || 1 : 1;
    const graded = this.rules.some(({ most }) => most > 1);
    const changes = begun || ended ? ` Since the example was changed, ${begun} began to speak and ${ended} fell silent.` : "";
    const more = el(
      "button",
      { type: "button", class: "quiet", id: "all-rules", click: () => ((this.all = !this.all), this.showSpeaking(), byId("all-rules")?.focus()) },
      this.all ? "Only the strongest" : `All ${whole(found.length)}`,
    );
    this.speaking.replaceChildren(
      el("h3", {}, "Rules that speak"),
      el("p", { class: "note", id: "speaking-count" }, `${whole(found.length)} of ${whole(this.rules.length)} rules vote on it.${changes}`),
      table(
        `The strongest for ${classes[this.label]} or against it`,
        ["Rule", "If", ...(graded ? ["Times"] : []), "Votes", ""],
        shown.map(({ rule, output, votes, fresh }) => [
          el("button", { type: "button", class: "open", click: () => showRule(this.model, classes, rule) }, rule.name),
          this.wordsOf(rule, fresh),
          ...(graded ? [whole(output)] : []),
          signed(votes),
          votesBar(votes * rule.scale, span),
        ]),
        { numeric: graded ? [0, 2, 3] : [0, 2], kind: "speaking" },
      ),
      found.length > MOST_RULES ? more : "",
    );
  }

  wordsOf(rule, fresh) {
    const member = this.model.members[rule.member];
    const text = briefly(member, rule);
    const isImage = member.data.input.kind === "image";
    return el(
      "div",
      { class: isImage ? "words pictured" : "words" },
      isImage ? patchPicture(member, rule, 40) : null,
      el("span", {}, fresh ? [el("mark", {}, "new"), " "] : null, text.length > 600 ? `${text.slice(0, 600)} …` : text),
    );
  }

  /** Whether the reasons on the page are those of the example. */
  get isSettled() {
    return this.known?.outputs === this.now.outputs;
  }

  async showReasons() {
    const turn = ++this.turn;
    const { row, label } = this;
    if (!this.reasons?.possible) {
      this.why.replaceChildren(el("p", { class: "note" }, "What the votes are due to is not known here: that is told beside examples that all members read in the same way."));
      return;
    }
    const { outputs, votes } = this.now;
    if (this.known?.outputs !== outputs) {
      const parts = await this.reasons.of([...row], outputs, () => this.turn !== turn);
      if (!parts) return;
      this.known = { outputs, parts };
    }
    const m = this.summary.classes.length;
    const values = Array.from({ length: this.reasons.count }, (_, k) => this.known.parts[k * m + label]);
    const base = votes[label] - values.reduce((a, b) => a + b, 0);
    this.reason = { base, values, label };
    if (this.asked.image_shape) this.fields.showHeat(values, this.asked.image_shape, this.summary.classes[label]);
    if (this.reader.image && !this.reasons.needed) return;
    this.waterfall(base, values, votes[label]);
  }

  waterfall(base, values, total) {
    const order = values.map((_, k) => k).filter((k) => Math.abs(values[k]) > 1e-9);
    order.sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]));
    const shown = order.slice(0, MOST_REASONS);
    const others = order.slice(MOST_REASONS);
    const steps = [
      ["On average", base],
      ...shown.map((k) => [this.valueName(k), values[k]]),
      ...(others.length ? [[`${whole(others.length)} others`, others.reduce((sum, k) => sum + values[k], 0)]] : []),
    ];
    const ends = [0];
    for (const [, value] of steps) ends.push(ends.at(-1) + value);
    const [low, high] = [Math.min(...ends, total), Math.max(...ends, total)];
    const digits = high - low < 10 ? 3 : 1;
    const cells = steps.map(([name, value], k) => [name, signed(value, digits), bar(ends[k], ends[k + 1], low, high)]);
    const sum = signed(total, this.model.divisors ? 3 : 0);
    cells.push([el("b", {}, "Votes"), el("b", {}, sum), bar(0, total, low, high)]);
    this.why.replaceChildren(
      table(
        `Why ${this.summary.classes[this.label]}: from the average of ${whole(this.examples.background.length)} examples to the votes of this one`,
        [this.reader.image ? "Pixel" : "Column", "Votes", ""],
        cells,
        { numeric: [1], kind: "waterfall" },
      ),
    );
  }

  valueName(k) {
    const name = this.asked.names[k];
    if (this.reader.image || !this.columns?.[k] || this.columns.length !== this.reasons.count) return name;
    return `${name} = ${cellText(this.columns[k], this.row[k])}`;
  }
}
