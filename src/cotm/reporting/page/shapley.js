// What each column contributes to the votes for an example, beside those for others: its Shapley
// value, in closed form. src/cotm/explaining/shapley.py is the definition.

const nodesOf = new Map();

/** Nodes and weights of Gauss's quadrature on [0, 1]. */
function quadrature(count) {
  if (nodesOf.has(count)) return nodesOf.get(count);
  const found = [];
  for (let k = 0; k < count; ++k) {
    let x = Math.cos((Math.PI * (k + 0.75)) / (count + 0.5));
    let slope = 1;
    for (let round = 0; round < 100; ++round) {
      let [now, before] = [x, 1];
      for (let n = 2; n <= count; ++n)
        [now, before] = [((2 * n - 1) * x * now - (n - 1) * before) / n, now];
      slope = (count * (x * now - before)) / (x * x - 1);
      const step = now / slope;
      x -= step;
      if (Math.abs(step) < 1e-15) break;
    }
    found.push([(x + 1) / 2, 1 / ((1 - x * x) * slope * slope)]);
  }
  nodesOf.set(count, found);
  return found;
}

function choose(n, k) {
  let value = 1;
  for (let i = 1; i <= k; ++i) value = (value * (n - k + i)) / i;
  return value;
}

/**
 * What a player of each gap contributes to a clause that says max(0, left - misses). A gap is by
 * how many misses a player's other value is worse than the example's: [[gap, players], ...].
 */
export function shares(left, gaps) {
  const found = new Map();
  if (left === 1) {
    // Such a clause is a conjunction: it needs some from the example, and others not.
    const count = (above) => gaps.reduce((sum, [gap, n]) => sum + (gap > 0 === above ? n : 0), 0);
    const [needed, spoiling] = [count(true), count(false)];
    for (const [gap] of gaps) {
      const mine = gap > 0 ? needed : spoiling;
      found.set(gap, Math.sign(gap) / (mine * choose(needed + spoiling, mine)));
    }
    return found;
  }
  const players = gaps.reduce((sum, [, n]) => sum + n, 0);
  for (const [gap] of gaps) {
    let total = 0;
    for (const [time, weight] of quadrature(Math.ceil(players / 2))) {
      // How likely so many misses are, of the others, where each is in with this probability.
      let likely = new Float64Array(left);
      likely[0] = 1;
      for (const [other, n] of gaps) {
        const failing = other > 0 ? 1 - time : time;
        const size = Math.abs(other);
        for (let k = other === gap ? 1 : 0; k < n; ++k) {
          for (let misses = left - 1; misses >= 0; --misses) {
            const more = misses >= size ? likely[misses - size] * failing : 0;
            likely[misses] = likely[misses] * (1 - failing) + more;
          }
        }
      }
      likely.forEach((chance, misses) => {
        total += weight * chance * Math.min(left - misses, Math.abs(gap));
      });
    }
    found.set(gap, Math.sign(gap) * total);
  }
  return found;
}

/** The columns that one member's clauses ask for, and how they fail for some background. */
export class Games {
  /**
   * @param member of the model
   * @param players the column of each bit
   * @param background bits of the examples to compare with
   */
  constructor(member, players, background) {
    this.member = member;
    this.count = background.length;
    this.known = new Map();
    this.gaps = []; // of the clause at work
    const [columns, starts, literals, ends] = [[], [0], [], [0]];
    for (const { places } of member.clauses) {
      const asked = new Map();
      for (let i = 0; i < places.length; i += 2) {
        const player = players[places[i]];
        if (!asked.has(player)) asked.set(player, []);
        asked.get(player).push(places[i], places[i + 1]);
      }
      for (const [player, pairs] of asked) {
        columns.push(player);
        literals.push(...pairs);
        ends.push(literals.length);
      }
      starts.push(columns.length);
    }
    this.columns = Int32Array.from(columns);
    this.starts = Int32Array.from(starts);
    this.literals = Int32Array.from(literals);
    this.ends = Int32Array.from(ends);
    this.background = background.map((bits) => this.misses(bits));
  }

  /** How many literals of each column of each clause fail. */
  misses(bits) {
    const { columns, literals, ends } = this;
    const misses = new Int32Array(columns.length);
    for (let k = 0; k < columns.length; ++k) {
      for (let i = ends[k]; i < ends[k + 1]; i += 2) {
        if (bits[literals[i]] === literals[i + 1]) ++misses[k];
      }
    }
    return misses;
  }

  /** Adds the contributions of an example's columns beside one of the background, times scale. */
  add(mine, number, parts, scale) {
    const theirs = this.background[number];
    const { clauses } = this.member;
    for (let j = 0; j < clauses.length; ++j) {
      const [from, to] = [this.starts[j], this.starts[j + 1]];
      let left = clauses[j].most;
      let differ = false;
      for (let k = from; k < to && left > 0; ++k) {
        left -= Math.min(mine[k], theirs[k]);
        differ ||= mine[k] !== theirs[k];
      }
      if (left <= 0 || !differ) continue;
      this.gaps.length = 0;
      for (let k = from; k < to; ++k) {
        this.gaps.push(Math.max(-left, Math.min(left, theirs[k] - mine[k])));
      }
      this.share(clauses[j].weights, left, from, parts, scale);
    }
  }

  /** Adds what the players with these gaps contribute to a clause. */
  share(weights, left, from, parts, scale) {
    const { columns, gaps } = this;
    const values = left === 1 ? this.valuesOfStrict(gaps) : this.valuesOf(left, gaps);
    for (let k = 0; k < gaps.length; ++k) {
      if (!gaps[k]) continue;
      const value = values.get(gaps[k]) * scale;
      const first = columns[from + k] * weights.length;
      for (let i = 0; i < weights.length; ++i) parts[first + i] += value * weights[i];
    }
  }

  /** Where all gaps are 1 or -1 they need only be counted. */
  valuesOfStrict(gaps) {
    let [needed, spoiling] = [0, 0];
    for (const gap of gaps) {
      if (gap > 0) ++needed;
      else if (gap < 0) ++spoiling;
    }
    const key = needed * 65536 + spoiling;
    if (!this.known.has(key)) {
      const counted = [
        [-1, spoiling],
        [1, needed],
      ].filter(([, n]) => n);
      this.known.set(key, shares(1, counted));
    }
    return this.known.get(key);
  }

  valuesOf(left, gaps) {
    const counts = new Map();
    for (const gap of gaps) if (gap) counts.set(gap, (counts.get(gap) ?? 0) + 1);
    const sorted = [...counts].sort((a, b) => a[0] - b[0]);
    const key = `${left}:${sorted}`;
    if (!this.known.has(key)) this.known.set(key, shares(left, sorted));
    return this.known.get(key);
  }
}
