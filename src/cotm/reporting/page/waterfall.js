// How votes come about, step by step.

import { bar, el, signed, table, whole } from "./dom.js";

const MOST_REASONS = 12;

/** From the votes of others on average to those of an example: the largest steps, and the rest. */
export function waterfall({ title, kind, base, values, total, digits, nameOf }) {
  const order = values.map((_, k) => k).filter((k) => Math.abs(values[k]) > 1e-9);
  order.sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]));
  const others = order.splice(MOST_REASONS);
  const steps = [["On average", base], ...order.map((k) => [nameOf(k), values[k]])];
  if (others.length) {
    steps.push([`${whole(others.length)} others`, others.reduce((sum, k) => sum + values[k], 0)]);
  }
  const ends = [0];
  for (const [, value] of steps) ends.push(ends.at(-1) + value);
  const [low, high] = [Math.min(...ends, total), Math.max(...ends, total)];
  const precise = high - low < 10 ? 3 : 1;
  const cells = steps.map(([name, value], k) => [
    name,
    signed(value, precise),
    bar(ends[k], ends[k + 1], low, high),
  ]);
  cells.push([el("b", {}, "Votes"), el("b", {}, signed(total, digits)), bar(0, total, low, high)]);
  return table(title, [kind, "Votes", ""], cells, { numeric: [1], kind: "waterfall" });
}
