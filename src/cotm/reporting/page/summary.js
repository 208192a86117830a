// What a reader sees first: the model card, how good it is, how it learned, what it looks at.

import { byId, drawn, el, percent, short, table, whole } from "./dom.js";
import { chart } from "./charts.js";
import { showQuantityScores } from "./quantities.js";

/** Classes of a confusion matrix that fit on a page; of more the largest confusions are listed. */
const MOST_CLASSES = 25;
/** Those whose matrix fits under the table of classes. */
const FEW_CLASSES = 6;

/** Everything that needs no model. */
export function showSummary(summary) {
  showCard(summary);
  const show = summary.quantities ? showQuantityScores : showScores;
  showPart("scores", summary.scores && (() => show(summary)));
  const learned = summary.curves.filter(({ epochs }) => epochs.length > 1);
  const names = summary.quantities ? SHARES : SERIES;
  showPart("learning", learned.length && (() => learned.forEach((curve) => showCurve(curve, names, learned))));
}

/** A part of the page, or neither it nor its link. */
export function showPart(id, show) {
  if (show) show();
  else hidePart(id);
}

export function hidePart(id) {
  byId(id).remove();
  document.querySelector(`[data-part="${id}"]`)?.remove();
}

function showCard({ facts, parameters }) {
  const card = el("dl", { class: "card" });
  for (const [name, text] of facts) card.append(el("div", {}, el("dt", {}, name), el("dd", {}, text)));
  byId("model").append(
    card,
    el(
      "details",
      {},
      el("summary", {}, "All parameters"),
      parameters.map(({ member, rows }) =>
        el(
          "div",
          { class: "scroll" },
          table(
            parameters.length > 1 ? `Parameters of ${member}` : "Parameters, and what “auto” came to be",
            ["Parameter", "Set to", "Came to be"],
            rows,
          ),
        ),
      ),
    ),
  );
}

// Accuracy ----------------------------------------------------------------------------

function showScores({ scores, multilabel }) {
  const { calibration } = scores;
  const beside = !multilabel && scores.confusion_matrix.labels.length <= FEW_CLASSES;
  const figures = [
    [percent(scores.accuracy, 2), multilabel ? "of all labels are right" : "accuracy"],
    ...(multilabel ? [[percent(scores.all_labels_right, 2), "of rows have all labels right"]] : []),
    [whole(scores.rows), "examples"],
    [calibration.log_loss.toFixed(3), "log loss"],
    [percent(calibration.error), "calibration error"],
  ];
  const place = el("div", { class: "chart" });
  byId("scores").append(
    el(
      "ul",
      { class: "figures" },
      figures.map(([value, name]) => el("li", {}, el("b", {}, value), name)),
    ),
    el(
      "div",
      { class: "pair" },
      el(
        "div",
        { class: "scroll" },
        multilabel ? labelTable(scores) : classTable(scores),
        beside ? confusion(scores.confusion_matrix) : null,
      ),
      el(
        "figure",
        {},
        el(
          "figcaption",
          {},
          multilabel
            ? "Calibration: how often labels of a probability are there. On the dashed line a model is as often right as it says."
            : "Calibration: how often predictions of a probability are right. On the dashed line a model is as often right as it says.",
        ),
        place,
        el("details", {}, el("summary", {}, "As a table"), calibrationTable(calibration)),
      ),
    ),
    multilabel || beside ? "" : confusion(scores.confusion_matrix),
  );
  drawn(place, (width) => calibrationChart(width, calibration));
}

const share = (value) => value.toFixed(3);

function classTable({ classes }) {
  return table(
    "By class",
    ["Class", "Precision", "Recall", "F1", "Examples"],
    classes.map((c) => [
      `${c.class}`,
      share(c.precision),
      share(c.recall),
      share(c.f1),
      whole(c.support),
    ]),
    { numeric: [1, 2, 3, 4] },
  );
}

function labelTable({ labels }) {
  return table(
    "By label",
    ["Label", "Precision", "Recall", "F1", "Examples", "Missed", "Wrongly given"],
    labels.map((c) => [
      `${c.label}`,
      share(c.precision),
      share(c.recall),
      share(c.f1),
      whole(c.support),
      whole(c.false_negatives),
      whole(c.false_positives),
    ]),
    { numeric: [1, 2, 3, 4, 5, 6] },
  );
}

function calibrationTable({ bins }) {
  return table(
    "Calibration",
    ["Probability from", "Mean", "Share right", "Examples"],
    bins.map((bin) => [percent(bin.low, 0), percent(bin.mean), percent(bin.right), whole(bin.count)]),
    { numeric: [0, 1, 2, 3] },
  );
}

function calibrationChart(width, { bins, error }) {
  const most = Math.max(...bins.map(({ count }) => count));
  return chart(width, {
    title: "Calibration",
    about: `The calibration error is ${percent(error)}.`,
    series: [
      {
        points: bins.map(({ mean, right }) => [mean, right]),
        dots: bins.map(({ count }) => 3 + 6 * Math.sqrt(count / most)),
      },
      {
        points: [
          [0, 0],
          [1, 1],
        ],
        dashed: true,
      },
    ],
    x: [0, 1],
    y: [0, 1],
    xTitle: "Probability (larger dots: more examples)",
    yTitle: "Share right",
    xText: (value) => percent(value, 0),
    yText: (value) => percent(value, 0),
  });
}

function confusion({ labels, true_by_predicted: counts }) {
  const totals = counts.map((row) => row.reduce((a, b) => a + b, 0));
  if (labels.length > MOST_CLASSES) return confusionList(labels, counts, totals);
  const cell = (count, row, column) => {
    const part = totals[row] ? count / totals[row] : 0;
    const kind = `number cell${row === column ? " right" : ""}${part > 0.55 ? " strong" : ""}`;
    return el(
      "td",
      {
        class: kind,
        style: { "--part": `${(100 * part).toFixed(1)}%` },
        title: `${percent(part)} of ${labels[row]}`,
      },
      whole(count),
    );
  };
  return el(
    "div",
    { class: "scroll" },
    el(
      "table",
      { class: "confusion" },
      el(
        "caption",
        {},
        "Confusion matrix: a row is what is true, a column what is predicted. Colours are shares of a row.",
      ),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("td", {}),
          labels.map((label) => el("th", { scope: "col" }, label)),
        ),
      ),
      el(
        "tbody",
        {},
        counts.map((row, k) =>
          el(
            "tr",
            {},
            el("th", { scope: "row" }, labels[k]),
            row.map((count, j) => cell(count, k, j)),
          ),
        ),
      ),
    ),
  );
}

function confusionList(labels, counts, totals) {
  const found = [];
  counts.forEach((row, k) =>
    row.forEach((count, j) => {
      if (k !== j && count) found.push([labels[k], labels[j], count, count / totals[k]]);
    }),
  );
  found.sort((a, b) => b[2] - a[2]);
  return table(
    "The most frequent confusions",
    ["True", "Predicted", "Examples", "Share of the true"],
    found.slice(0, MOST_CLASSES).map(([a, b, count, part]) => [a, b, whole(count), percent(part)]),
    { numeric: [2, 3] },
  );
}

// Learning ----------------------------------------------------------------------------

const SERIES = {
  train_accuracy: "Training (votes before each update)",
  validation_accuracy: "Validation",
  validation_score: "Validation score",
};

/** The same of quantities. */
const SHARES = {
  train_accuracy: "Training (D², votes before each update)",
  validation_accuracy: "Validation (R²)",
  validation_score: "Validation score",
};

function showCurve({ member, epochs, series, seconds }, titles, all) {
  // Where the score is the accuracy it is one line.
  const names = Object.keys(series).filter(
    (name) => name !== "validation_score" || `${series[name]}` !== `${series.validation_accuracy}`,
  );
  const lines = names.map((name) => ({
    points: epochs
      .map((epoch, k) => [epoch, series[name][k]])
      .filter((point) => typeof point[1] === "number"),
  }));
  const values = lines.flatMap(({ points }) => points.map((point) => point[1]));
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const accuracies = titles === SERIES && low >= 0 && high <= 1;
  const place = el("div", { class: "chart" });
  const last = names.map((name, k) => `${titles[name]}: ${short(lines[k].points.at(-1)[1])}`).join("; ");
  byId("learning").append(
    el(
      "figure",
      {},
      el(
        "figcaption",
        {},
        all.length > 1 ? `${member}: ` : "",
        `${epochs.at(-1)} epochs in ${short(Number(seconds.toFixed(1)))} s.`,
      ),
      el(
        "ul",
        { class: "legend" },
        names.map((name, k) => el("li", { class: `series-${k}` }, titles[name])),
      ),
      place,
      el(
        "details",
        {},
        el("summary", {}, "As a table"),
        el(
          "div",
          { class: "scroll low" },
          table(
            "Learning curve",
            ["Epoch", ...names.map((name) => titles[name])],
            epochs.map((epoch, k) => [
              whole(epoch),
              ...names.map((name) => series[name][k]?.toFixed(4) ?? ""),
            ]),
            { numeric: [0, 1, 2, 3] },
          ),
        ),
      ),
    ),
  );
  drawn(place, (width) =>
    chart(width, {
      title: "Learning curve",
      about: `After ${epochs.at(-1)} epochs: ${last}.`,
      series: lines,
      x: [epochs[0], epochs.at(-1)],
      y: [low, high === low ? low + 1e-3 : high],
      xTitle: "Epoch",
      yTitle: accuracies ? "Accuracy" : titles === SERIES ? "Score" : "Share explained",
      xText: whole,
      leastX: 1,
      yText: (value) => (accuracies ? percent(value, high - low < 0.05 ? 1 : 0) : short(value)),
    }),
  );
}

// Importance --------------------------------------------------------------------------

/** What clauses look at, for a label that is chosen; of images as a picture. */
export function showImportance({ shape, of, outputs }, { classes, multilabel, quantities }) {
  const place = el("div", {});
  const choice = el(
    "select",
    { id: "importance-of", change: () => show(Number(choice.value)) },
    el("option", { value: 0 }, quantities ? "all targets" : multilabel ? "all labels" : "all classes"),
    classes.map((name, k) => el("option", { value: k + 1 }, name)),
  );
  const show = (k) =>
    place.replaceChildren(shape ? importanceImage(outputs[k], shape) : importanceTable(outputs[k], of));
  byId("importance").append(
    el(
      "p",
      { class: "note" },
      `How large a part of all votes that rules can give comes from each ${shape ? "pixel" : "column"}; no data are looked at.`,
    ),
    classes.length > 1 ? el("label", { for: choice.id }, "Votes for or against ", choice) : "",
    place,
  );
  show(0);
  if (shape) document.addEventListener("colours", () => show(Number(choice.value)));
}

function importanceTable(columns, of) {
  const span = columns[0]?.[1] ?? 1;
  const meter = (value) =>
    el("span", { class: "meter" }, el("span", { style: { width: `${(100 * value) / span}%` } }));
  return el(
    "div",
    { class: "scroll" },
    table(
      columns.length < of
        ? `The ${columns.length} most important of ${whole(of)} columns`
        : "All columns",
      ["Column", "Importance", ""],
      columns.map(([name, value]) => [name, percent(value), meter(value)]),
      { numeric: [1], kind: "importance" },
    ),
  );
}

function importanceImage(parts, [rows, columns]) {
  const size = Math.max(1, Math.floor(280 / Math.max(rows, columns)));
  const top = parts.indexOf(Math.max(...parts));
  const text = `The most important pixel is in row ${Math.floor(top / columns)}, column ${top % columns}.`;
  const canvas = el("canvas", {
    width: columns * size,
    height: rows * size,
    role: "img",
    "aria-label": text,
  });
  const context = canvas.getContext("2d");
  const style = getComputedStyle(document.documentElement);
  context.fillStyle = style.getPropertyValue("--panel");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = style.getPropertyValue("--heat-for");
  parts.forEach((part, k) => {
    context.globalAlpha = part / 1000;
    context.fillRect((k % columns) * size, Math.floor(k / columns) * size, size, size);
  });
  return el("figure", { class: "heat" }, canvas, el("figcaption", {}, text));
}
