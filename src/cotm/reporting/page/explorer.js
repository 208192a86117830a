// An example, chosen or made, and what the model says of it and why.

import { byId, el, percent, signed, table, votesBar, whole } from "./dom.js";
import { bestPatches } from "./heat.js";
import { BitFields, TableFields, cellText, columnsOf } from "./inputs.js";
import { ImageFields, rangeOf, thumbnail } from "./image_input.js";
import { Units, near, predictionTable } from "./quantities.js";
import { Reasons, inVotes } from "./reasons.js";
import { speakingRules } from "./speaking.js";
import { waterfall } from "./waterfall.js";

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
  return {
    image,
    table: tableInput,
    width: image ? image.shape.reduce((a, b) => a * b) : tableInput.columns.length,
  };
}

export class Explorer {
  constructor(model, summary, details, rules) {
    Object.assign(this, { model, summary, rules, examples: details.examples });
    this.reader = readerOf(model);
    this.rows = this.examples ? rowsOf(this.examples, this.reader.width) : [];
    this.units = model.quantities && new Units(model.quantities); // where it predicts quantities
    this.asked = details.reasons; // who the votes are divided among
    if (this.asked) {
      const { players, names } = this.asked;
      const background = this.examples ? this.examples.background.map((k) => this.rows[k]) : [];
      this.reasons = new Reasons(model, players, names.length, background);
    }
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
    this.reset = el(
      "button",
      { type: "button", class: "quiet", id: "reset", click: () => this.select(this.chosen) },
      "As it was",
    );
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
        el(
          "div",
          { class: "result" },
          el("h3", {}, "What the model says"),
          this.verdict,
          this.votes,
          this.why,
        ),
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
    if (labels && !this.units) kinds.push(["wrong", "wrong predictions"], ["right", "right predictions"]);
    if (!this.units) this.summary.classes.forEach((name, k) => kinds.push([k, `predicted ${name}`]));
    this.kind = el(
      "select",
      { id: "kind", change: () => this.list() },
      kinds.map(([value, text]) => el("option", { value }, text)),
    );
    this.chooser = this.reader.image
      ? el("div", { class: "thumbnails", role: "group", "aria-label": "Examples" })
      : el("select", { id: "chosen", change: () => this.select(Number(this.chooser.value)) });
    const step = (by) => () => {
      const place = this.listed.indexOf(this.chosen) + by;
      this.select(this.listed[Math.min(this.listed.length - 1, Math.max(0, place))]);
    };
    const button = (text, by, id) =>
      el("button", { type: "button", class: "quiet", id, click: step(by) }, text);
    this.picker.append(
      el("label", { for: "kind" }, `Of ${whole(this.rows.length)} examples `, this.kind),
      this.reader.image ? this.chooser : el("label", { for: "chosen" }, "Example ", this.chooser),
      el(
        "div",
        { class: "buttons" },
        button("Previous", -1, "previous"),
        button("Next", 1, "next"),
        this.reset,
      ),
    );
    this.list();
  }

  wrong(k) {
    return `${[this.examples.labels[k]].flat()}` !== `${this.answers[k]}`;
  }

  nameOf(k) {
    const { labels, numbers } = this.examples;
    if (this.units) {
      const truth = labels ? `${this.truth(k)}, predicted ` : "";
      return `row ${numbers[k]}: ${truth}${this.answers[k].map(near).join(", ")}`;
    }
    const said = this.answers[k].map((i) => this.summary.classes[i]).join(", ") || "none";
    if (!labels) return `row ${numbers[k]}: ${said}`;
    return `row ${numbers[k]}: ${this.truth(k)}${this.wrong(k) ? `, predicted ${said}` : ""}`;
  }

  truth(k) {
    const { classes } = this.summary;
    const known = [this.examples.labels[k]].flat();
    if (this.units) return known.map(near).join(", ");
    return known.map((i) => classes[i] ?? "an unknown label").join(", ") || "none";
  }

  list() {
    const { value } = this.kind;
    this.listed = this.rows
      .map((_, k) => k)
      .filter((k) => {
        if (value === "all") return true;
        if (value === "wrong" || value === "right") return this.wrong(k) === (value === "wrong");
        return this.answers[k].includes(Number(value));
      });
    if (this.reader.image) {
      const { range } = this.fields;
      this.chooser.replaceChildren(
        ...this.listed.map((k) =>
          thumbnail(this.reader.image.shape, range, this.rows[k], {
            "data-k": k,
            title: this.nameOf(k),
            "aria-label": this.nameOf(k),
            click: () => this.select(k),
          }),
        ),
      );
    } else
      this.chooser.replaceChildren(
        ...this.listed.map((k) => el("option", { value: k }, this.nameOf(k))),
      );
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
        for (const button of this.chooser.children)
          button.setAttribute("aria-pressed", button.dataset.k === `${k}`);
      } else this.chooser.value = k;
    }
    this.fields.show(this.row);
    this.update();
  }

  /** What there is to begin with where there are no examples. */
  blank() {
    if (!this.columns) return new Array(this.reader.width).fill(0);
    return this.columns.map(({ type, categories, low, high, step }) =>
      type === "bit"
        ? 0
        : type === "category"
          ? (categories[0] ?? null)
          : Number((Math.round((low + high) / 2 / step) * step).toPrecision(12)),
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
    this.now = { outputs, votes: said, chances: this.units ? null : model.probabilitiesOf(votes) };
    this.before ??= this.now;
    const labels = this.units ? [] : [model.labelOf(votes)].flat();
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
    const { units, now } = this;
    const names = units
      ? now.votes.map((votes, i) => near(units.value(votes, i))).join(", ")
      : this.predicted.map((i) => classes[i]).join(", ") || "none";
    const isSure = multilabel || units;
    const chance = isSure ? "" : ` (probability ${percent(now.chances[this.predicted[0]])})`;
    const truth =
      this.examples?.labels && this.chosen !== null ? ` True: ${this.truth(this.chosen)}.` : "";
    const edited = this.isChanged;
    this.reset.disabled = !edited;
    this.verdict.replaceChildren(
      "Predicted: ",
      el("b", {}, names),
      `${chance}.`,
      edited ? " The example was changed." : truth,
    );
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
    if (this.units) {
      const { units, before } = this;
      const shown = { names: classes, units, votes, before: before.votes, edited, choice };
      this.votes.replaceChildren(predictionTable(shown));
      if (focused !== null) this.votes.querySelector(`input[value="${focused}"]`)?.focus();
      return;
    }
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
    const { model, rules, now, before, label, all } = this;
    const { classes } = this.summary;
    const flip = () => {
      this.all = !this.all;
      this.showSpeaking();
      byId("all-rules")?.focus();
    };
    const point = (one) => this.point(one);
    this.speaking.replaceChildren(
      ...speakingRules({
        model,
        classes,
        rules,
        outputs: now.outputs,
        before: before.outputs,
        label,
        all,
        flip,
        point,
      }),
    );
  }

  /** Shows in the heat map where a rule speaks, or no longer. */
  point(one) {
    const { image_shape: shape } = this.asked ?? {};
    if (!shape || !this.reason) return;
    this.fields.showHeat(this.reason.values, shape, this.summary.classes[this.reason.label]);
    const member = one && this.model.members[one.rule.member];
    if (member?.data.input.kind !== "image") return;
    const { stride_rows, stride_columns, patch_height, patch_width } = member.data.patches;
    const patches = bestPatches(member, member.bits(this.row), one.rule.clauses[0][1], one.output);
    const corners = patches.map(([row, column]) => [row * stride_rows, column * stride_columns]);
    this.fields.showPatches(corners, [patch_height, patch_width], shape);
  }

  /** Whether the reasons on the page are those of the example. */
  get isSettled() {
    return this.known?.outputs === this.now.outputs;
  }

  async showReasons() {
    const turn = ++this.turn;
    const { row, label } = this;
    if (!this.reasons?.possible) {
      this.why.replaceChildren(
        el(
          "p",
          { class: "note" },
          "What the votes are due to is told beside other examples, and this report has none.",
        ),
      );
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
    if (this.asked.image_shape)
      this.fields.showHeat(values, this.asked.image_shape, this.summary.classes[label]);
    if (this.reader.image && !this.reasons.needed) return;
    this.showWaterfall(base, values, votes[label]);
  }

  showWaterfall(base, values, total) {
    const { units, label } = this;
    const { classes } = this.summary;
    const count = whole(this.examples.background.length);
    const digits = this.model.divisors ? 3 : 0;
    const counted = units
      ? {
          title: `Why${classes.length > 1 ? ` ${classes[label]}` : ""}: from the average of ${count} examples to the prediction for this one`,
          base: units.value(base, label),
          values: values.map((votes) => units.step(votes, label)),
          total: units.value(total, label),
          start: units.value(base, label),
          levelText: near,
          what: "Prediction",
        }
      : {
          title: `Why ${classes[label]}: from the average of ${count} examples to the votes of this one`,
          base,
          values,
          total,
          levelText: (votes) => signed(votes, digits),
        };
    const kind = this.reader.image ? "Pixel" : "Column";
    this.why.replaceChildren(waterfall({ ...counted, kind, nameOf: (k) => this.valueName(k) }));
  }

  valueName(k) {
    const name = this.asked.names[k];
    if (this.reader.image || !this.columns?.[k] || this.columns.length !== this.reasons.count)
      return name;
    return `${name} = ${cellText(this.columns[k], this.row[k])}`;
  }
}
