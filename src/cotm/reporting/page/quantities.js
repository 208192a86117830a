// What is different where a model predicts quantities: how good it is, and what it says.

import { chart } from "./charts.js";
import { byId, drawn, el, short, signed, table, votesBar, whole } from "./dom.js";

/** How near predictions come to what is true, as figures and as dots beside the diagonal. */
export function showQuantityScores({ scores: { rows, targets } }) {
  const several = targets.length > 1;
  const figures = [
    ...(several ? [] : figuresOf(targets[0])),
    [whole(rows), "examples"],
  ];
  byId("scores-title").textContent = "Accuracy";
  byId("scores").append(
    el(
      "ul",
      { class: "figures" },
      figures.map(([value, name]) => el("li", {}, el("b", {}, value), name)),
    ),
    several
      ? el(
          "div",
          { class: "scroll" },
          table(
            "By target",
            ["Target", ...figuresOf(targets[0]).map(([, name]) => name)],
            targets.map((target) => [target.target, ...figuresOf(target).map(([value]) => value)]),
            { numeric: [1, 2, 3] },
          ),
        )
      : "",
    el("div", { class: "pair" }, targets.map(predictions)),
  );
}

const figuresOf = ({ r2, mean_absolute_error: mean, root_mean_squared_error: root }) => [
  [r2 === null ? "–" : r2.toFixed(3), "R²"],
  [near(mean), "mean absolute error"],
  [near(root), "root mean squared error"],
];

/** A number in four digits. */
export const near = (value) => short(Number(value.toPrecision(4)));

function predictions({ target: name, points, r2 }) {
  const place = el("div", { class: "chart" });
  const all = points.flat();
  const range = [Math.min(...all), Math.max(...all)];
  if (range[0] === range[1]) range[1] = range[0] + 1;
  drawn(place, (width) =>
    chart(width, {
      title: `Predictions of ${name}`,
      about: `R² is ${r2 === null ? "not known" : r2.toFixed(3)}; ${whole(points.length)} examples are drawn.`,
      series: [
        { points, dots: points.map(() => 3), scattered: true },
        { points: range.map((value) => [value, value]), dashed: true },
      ],
      x: range,
      y: range,
      xTitle: "True",
      yTitle: "Predicted",
      xText: short,
      yText: short,
    }),
  );
  return el(
    "figure",
    {},
    el(
      "figcaption",
      {},
      `Predicted ${name === "prediction" ? "" : `${name} `}beside what is true, on ${whole(points.length)} examples. On the dashed line a prediction is right.`,
    ),
    place,
  );
}

/** The outputs of an example and what they are due to, counted in the units of what is predicted. */
export class Units {
  constructor({ unit, offset }) {
    Object.assign(this, { unit, offset });
  }

  /** What votes for an output predict. */
  value(votes, output) {
    return votes / this.unit[output] + this.offset[output];
  }

  /** By how much votes raise it. */
  step(votes, output) {
    return votes / this.unit[output];
  }
}

/** A row for each target: its prediction, that from before the example was changed, its votes. */
export function predictionTable({ names, units, votes, before, edited, choice }) {
  const span = Math.max(...votes.map(Math.abs), ...before.map(Math.abs)) || 1;
  return table(
    names.length > 1 ? "Predictions. Choose a target to see why." : "Prediction",
    ["Target", "Prediction", ...(edited ? ["Before"] : []), "Votes", ""],
    names.map((name, i) => [
      names.length > 1 ? choice(i) : name,
      near(units.value(votes[i], i)),
      ...(edited ? [near(units.value(before[i], i))] : []),
      signed(votes[i]),
      votesBar(votes[i], span),
    ]),
    { numeric: edited ? [1, 2, 3] : [1, 2], kind: "votes" },
  );
}
