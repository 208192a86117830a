// What the votes for an example are due to: columns beside a background, or pixels.

import { addHeat } from "./heat.js";
import { Games } from "./shapley.js";

/** Milliseconds of work between two looks at the page. */
const PATIENCE = 12;

/** Divides the votes of a model among its columns, or its pixels. */
export class Reasons {
  /**
   * @param model of the evaluator
   * @param players for each member the column of each bit, or, of one that reads images, a number:
   *   which column its first pixel is
   * @param count how many columns or pixels there are
   * @param background examples to compare with
   */
  constructor(model, players, count, background) {
    this.model = model;
    this.count = count;
    this.players = players;
    this.games = model.members.map((member, k) =>
      typeof players[k] === "number"
        ? null
        : new Games(
            member,
            players[k],
            background.map((example) => member.bits(example)),
          ),
    );
    this.needed = this.games.some((game) => game !== null);
    this.possible = !this.needed || background.length > 0;
    this.scales = model.members.map((_, k) => (model.divisors ? 1 / Number(model.divisors[k]) : 1));
  }

  /**
   * The contributions parts[column * m + label] to the votes for an example, or undefined where
   * `stale` says meanwhile that nobody waits for them any more.
   */
  async of(example, outputs, stale = () => false) {
    const { model, games, scales } = this;
    const parts = new Float64Array(this.count * model.classes.length);
    let since = performance.now();
    for (const [k, member] of model.members.entries()) {
      const bits = member.bits(example);
      if (games[k] === null) {
        addHeat(member, bits, outputs[k], parts, this.players[k], scales[k]);
        continue;
      }
      const mine = games[k].misses(bits);
      for (let number = 0; number < games[k].count; ++number) {
        games[k].add(mine, number, parts, scales[k] / games[k].count);
        if (performance.now() - since < PATIENCE) continue;
        await new Promise((resume) => setTimeout(resume));
        if (stale()) return undefined;
        since = performance.now();
      }
    }
    return parts;
  }
}

/** Votes as numbers in units of one vote. */
export const inVotes = (votes) =>
  Array.from(votes, (vote) => (typeof vote === "bigint" ? Number(vote) / 2 ** 32 : vote));
