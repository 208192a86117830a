// Lines in a frame with axes.

import { svg } from "./dom.js";

const MARGIN = { top: 12, right: 24, bottom: 42, left: 66 };

/** Round numbers that divide a range into about so many parts. */
export function ticks(low, high, count, least = 0) {
  const rough = (high - low || 1) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * 0.999) * power;
  if (step < least) return ticks(low, high, (high - low) / least);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; ++k) {
    found.push(Number((k * step).toPrecision(12)));
  }
  return found;
}

/**
 * A chart of series {name, points: [[x, y], ...], dots?, dashed?}, the first ones in other colours.
 * Those that are scattered have dots and no line. `title` and `about` say to those who do not see it what it shows.
 */
export function chart(
  width,
  { series, x, y, xTitle, yTitle, xText, yText, leastX, title, about, height = 300 },
) {
  const inner = {
    width: width - MARGIN.left - MARGIN.right,
    height: height - MARGIN.top - MARGIN.bottom,
  };
  const atX = (value) => MARGIN.left + ((value - x[0]) / (x[1] - x[0] || 1)) * inner.width;
  const atY = (value) => MARGIN.top + (1 - (value - y[0]) / (y[1] - y[0] || 1)) * inner.height;
  const bottom = MARGIN.top + inner.height;
  const label = (text, attributes) => svg("text", attributes, text);
  return svg(
    "svg",
    {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": `${title}. ${about}`,
    },
    ticks(y[0], y[1], 5).map((value) => [
      svg("line", {
        class: "grid",
        x1: MARGIN.left,
        x2: width - MARGIN.right,
        y1: atY(value),
        y2: atY(value),
      }),
      label(yText(value), { class: "tick end", x: MARGIN.left - 8, y: atY(value) + 4 }),
    ]),
    ticks(x[0], x[1], Math.max(2, Math.floor(inner.width / 80)), leastX).map((value) =>
      label(xText(value), { class: "tick middle", x: atX(value), y: bottom + 18 }),
    ),
    svg("line", { class: "axis", x1: MARGIN.left, x2: width - MARGIN.right, y1: bottom, y2: bottom }),
    label(xTitle, { class: "axis-title middle", x: MARGIN.left + inner.width / 2, y: height - 4 }),
    label(yTitle, {
      class: "axis-title middle",
      transform: `translate(12 ${MARGIN.top + inner.height / 2}) rotate(-90)`,
    }),
    series.map(({ points, dots, dashed, scattered }, k) => {
      const path = points.map(
        (point, i) => `${i ? "L" : "M"}${atX(point[0]).toFixed(1)} ${atY(point[1]).toFixed(1)}`,
      );
      const kind = `series series-${k}${dashed ? " dashed" : ""}`;
      return [
        scattered ? null : svg("path", { class: kind, d: path.join("") }),
        dots &&
          points.map((point, i) =>
            svg("circle", { class: kind, cx: atX(point[0]), cy: atY(point[1]), r: dots[i] ?? 4 }),
          ),
      ];
    }),
  );
}
