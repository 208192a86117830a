// How votes come about, step by step.

import { bar, el, signed, table, whole } from "./dom.js";

const MOST_REASONS = 12;

/**
 * From the votes of others on average to those of an example: the largest steps, and the rest. Bars
 * begin at 0, or at another `start`; `levelText` says votes, or what else is counted, and `what` that.
 */
export function waterfall({
  title,
  kind,
  base,
  values,
  total,
  nameOf,
  levelText,
  start = 0,
  what = "Votes",
}) {
  const order = values.map((_, k) => k).filter((k) => Math.abs(values[k]) > 1e-9);
  order.sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]));
  const others = order.splice(MOST_REASONS);
  const steps = [["On average", base - start], ...order.map((k) => [nameOf(k), values[k]])];
  if (others.length) {
    steps.push([`${whole(others.length)} others`, others.reduce((sum, k) => sum + values[k], 0)]);
  }
  const ends = [0];
  for (const [, value] of steps) ends.push(ends.at(-1) + value);
  const last = total - start;
  const [low, high] = [Math.min(...ends, last), Math.max(...ends, last)];
  const digits = Math.max(0, 2 - Math.floor(Math.log10(high - low || 1)));
  const precise = high - low < 10 ? Math.max(3, digits) : 1;
  const cells = steps.map(([name, value], k) => [
    name,
    k === 0 && start ? levelText(base) : signed(value, precise),
    bar(ends[k], ends[k + 1], low, high),
  ]);
  cells.push([el("b", {}, what), el("b", {}, levelText(total)), bar(0, last, low, high)]);
  return table(title, [kind, what, ""], cells, { numeric: [1], kind: "waterfall" });
}
