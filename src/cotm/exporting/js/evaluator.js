// Evaluates models that cotm exported as JSON. No other code is needed.

const VERSION = 1;

/** A classifier or regressor made of rules. */
export class Model {
  /** @param data what the JSON export holds, parsed */
  constructor(data) {
    if (data?.format !== "cotm-export") throw new TypeError("this is no JSON export of cotm");
    if (data.version > VERSION) {
      throw new RangeError(`the export has version ${data.version}, but this reads ${VERSION}`);
    }
    this.data = data;
    this.classes = data.classes;
    this.multilabel = data.multilabel;
    this.quantities = data.quantities ?? null;
    this.members = data.members.map((member) => new Member(member, data.classes.length));
    this.divisors = data.divisors && data.divisors.map(BigInt);
  }

  /**
   * The votes for each output; of joined models, whose votes are divided, as BigInt in units of
   * 2**-32.
   */
  votes(example) {
    return this.votesOf(this.outputs(example));
  }

  /** How often the weights of each clause count on an example, a list for each member. */
  outputs(example) {
    return this.members.map((member) => member.outputs(member.bits(example)));
  }

  /** The votes that such outputs make. */
  votesOf(outputs) {
    const parts = this.members.map((member, k) => member.votesOf(outputs[k]));
    if (!this.divisors) return sums(parts, 0);
    const divided = parts.map((part, k) => part.map((vote) => floorDivided(vote, this.divisors[k])));
    return sums(divided, 0n);
  }

  /**
   * The label with the most votes, the first of equals; with several labels those of 0 or more; of
   * regressors the quantity, or a list of them.
   */
  predict(example) {
    return this.labelOf(this.votes(example));
  }

  /** What such votes predict. */
  labelOf(votes) {
    if (this.quantities) {
      const { unit, offset, one } = this.quantities;
      const values = Array.from(votes, (vote, i) => Number(vote) / unit[i] + offset[i]);
      return one ? values[0] : values;
    }
    if (this.multilabel) return this.classes.filter((_, i) => votes[i] >= 0);
    let best = 0;
    for (let i = 1; i < votes.length; ++i) if (votes[i] > votes[best]) best = i;
    return this.classes[best];
  }

  /** A probability for each output: in all 1, or with several labels each of its own. */
  probabilities(example) {
    return this.probabilitiesOf(this.votes(example));
  }

  /** The probabilities that such votes mean. */
  probabilitiesOf(votes) {
    if (this.quantities) throw new TypeError("quantities have no probabilities; see predict");
    const { margin, sharpness } = this.data;
    const shift = this.multilabel ? 0.5 : 0;
    const logits = Array.from(votes, (vote) => ((Number(vote) + shift) / margin) * sharpness);
    if (this.multilabel) return logits.map((x) => 1 / (1 + Math.exp(-x)));
    const largest = Math.max(...logits);
    const odds = logits.map((x) => Math.exp(x - largest));
    const total = odds.reduce((a, b) => a + b);
    return odds.map((x) => x / total);
  }

  /**
   * The clauses that vote on an example: the member they are of, their number in it, and how often
   * their weights count.
   */
  firing(example) {
    return this.outputs(example).flatMap((outputs, member) =>
      Array.from(outputs, (output, clause) => ({ member, clause, output })).filter(
        ({ output }) => output > 0,
      ),
    );
  }
}

/** Clauses that read an example in one way. */
class Member {
  constructor(data, nOutputs) {
    this.data = data;
    this.nOutputs = nOutputs;
    const p = data.patches;
    this.rows = Math.floor((p.height - p.patch_height) / p.stride_rows) + 1;
    this.columns = Math.floor((p.width - p.patch_width) / p.stride_columns) + 1;
    this.above = this.rows - 1 + this.columns - 1;
    this.features = this.above + p.patch_height * p.patch_width * p.channels;
    this.clauses = data.clauses.map(([literals, weights]) => this.placed(literals, weights));
  }

  /**
   * Literals of position, and others as places in the image's bits from the patch's first on, each
   * with the bit that it is not. What only lets some patches through is a window of them.
   */
  placed(literals, weights) {
    const { patch_width, channels, width } = this.data.patches;
    const positions = [];
    const places = [];
    const window = [0, this.rows - 1, 0, this.columns - 1];
    for (const literal of literals) {
      const negated = literal >= this.features ? 1 : 0;
      const feature = literal - negated * this.features;
      if (feature >= this.above) {
        const inside = feature - this.above;
        const row = Math.floor(inside / (patch_width * channels));
        const rest = inside % (patch_width * channels);
        places.push(row * width * channels + rest, negated);
      } else if (this.data.tolerance > 1) {
        positions.push([feature, negated]);
      } else {
        const axis = feature < this.rows - 1 ? 0 : 2;
        const t = feature - (axis ? this.rows - 1 : 0);
        if (negated) window[axis + 1] = Math.min(window[axis + 1], t);
        else window[axis] = Math.max(window[axis], t + 1);
      }
    }
    const most = Math.min(this.data.tolerance, literals.length);
    return { positions, places: Int32Array.from(places), window, weights, most };
  }

  /** How often the weights of each clause count. */
  outputs(bits) {
    return Int32Array.from(this.clauses, (_, clause) => this.output(bits, clause));
  }

  votesOf(outputs) {
    const votes = new Array(this.nOutputs).fill(0);
    this.clauses.forEach(({ weights }, clause) => {
      const output = outputs[clause];
      if (output) weights.forEach((weight, i) => (votes[i] += output * weight));
    });
    return votes;
  }

  /** How often a clause's weights count: its most, less the misses of the best patch. */
  output(bits, clause) {
    const { window, most } = this.clauses[clause];
    let least = most;
    for (let row = window[0]; row <= window[1]; ++row) {
      for (let column = window[2]; column <= window[3]; ++column) {
        least = Math.min(least, this.misses(bits, clause, row, column, least));
        if (least === 0) return most;
      }
    }
    return most - least;
  }

  /** How many literals of a clause fail in a patch, counted up to a limit. */
  misses(bits, clause, row, column, limit) {
    const { positions, places } = this.clauses[clause];
    const { stride_rows, stride_columns, width, channels } = this.data.patches;
    let misses = 0;
    for (const [t, negated] of positions) {
      const above = t < this.rows - 1 ? row > t : column > t - (this.rows - 1);
      misses += above === (negated === 1) ? 1 : 0;
    }
    const first = (row * stride_rows * width + column * stride_columns) * channels;
    for (let i = 0; i < places.length && misses < limit; i += 2) {
      misses += bits[first + places[i]] === places[i + 1] ? 1 : 0;
    }
    return misses;
  }

  /** The bits of an example, 0 and 1. */
  bits(example) {
    const { input } = this.data;
    if (input.kind === "table") return tableBits(input, example);
    const size = input.shape[0] * input.shape[1] * input.shape[2];
    if (example?.length !== size) {
      throw new RangeError(`an image needs ${size} values, not ${example?.length}`);
    }
    const made = { levels, adaptive, edges, gradients }[input.bits];
    if (!made) throw new TypeError(`bits of the kind ${input.bits} are unknown`);
    return made(input, example);
  }
}

function sums(parts, zero) {
  return parts[0].map((_, i) => parts.reduce((total, part) => total + part[i], zero));
}

function floorDivided(vote, divisor) {
  const parts = BigInt(vote) << 32n;
  const quotient = parts / divisor;
  return quotient * divisor > parts ? quotient - 1n : quotient;
}

// Tables ------------------------------------------------------------------------------

/** Cells in the order of the columns, or by their names. Missing: null, undefined or NaN. */
function tableBits({ columns, bits }, example) {
  const isList = Array.isArray(example) || ArrayBuffer.isView(example);
  if (isList && example.length !== columns.length) {
    throw new RangeError(`a row needs ${columns.length} cells, not ${example.length}`);
  }
  const cells = columns.map(({ name }, k) => {
    if (!isList && !Object.hasOwn(example, name)) {
      throw new RangeError(`the row has no column ${JSON.stringify(name)}`);
    }
    const cell = isList ? example[k] : example[name];
    return cell instanceof Date ? cell.getTime() / 1000 : cell;
  });
  return Uint8Array.from(bits, ([k, op, value]) => Number(holds(columns[k], cells[k], op, value)));
}

function holds(column, cell, op, value) {
  const missing = cell === null || cell === undefined || Number.isNaN(cell);
  if (missing || op === "missing") return missing && op === "missing";
  if (op === "=") {
    if (typeof cell === "string" || typeof value === "string") return cell === value;
    if (column.tells_booleans) return cell === value;
    return Number(cell) === Number(value);
  }
  if (typeof cell !== "number" && typeof cell !== "boolean") {
    throw new TypeError(
      `column ${JSON.stringify(column.name)} held numbers in training, but holds ` +
        `${JSON.stringify(String(cell))}`,
    );
  }
  return op === ">" ? Number(cell) > value : Number(cell) <= value;
}

// Images ------------------------------------------------------------------------------

function levels({ shape, thresholds }, image) {
  const [height, width, channels] = shape;
  const bits = [];
  for (let k = 0; k < height * width * channels; ++k) {
    for (const threshold of thresholds[k % channels]) bits.push(image[k] > threshold ? 1 : 0);
  }
  return Uint8Array.from(bits);
}

/** A weighted sum in float32, from one index on with one rounding for a product and its sum. */
function weightedSum(terms, weights, fusedFrom) {
  let total = Math.fround(terms[0] * weights[0]);
  for (let k = 1; k < terms.length; ++k) {
    const product = terms[k] * weights[k]; // of two float32, so it is exact
    total = Math.fround(total + (k >= fusedFrom ? product : Math.fround(product)));
  }
  return total;
}

function adaptive({ shape, kernel, constant }, image) {
  const [height, width, channels] = shape;
  const half = Math.floor(kernel.length / 2);
  const inside = (place, size) => Math.min(Math.max(place, 0), size - 1);
  const bits = new Uint8Array(height * width * channels);
  for (let channel = 0; channel < channels; ++channel) {
    const plane = Float32Array.from({ length: height * width }, (_, k) => image[k * channels + channel]);
    const across = plane.slice();
    if (width > 1) {
      for (let k = 0; k < plane.length; ++k) {
        const x = k % width;
        const terms = kernel.map((_, tap) => plane[k - x + inside(x + tap - half, width)]);
        const vector = x < width - (width % 4);
        const unrolled = kernel.length - (kernel.length % 4) + 1;
        across[k] = weightedSum(terms, kernel, vector ? 1 : unrolled);
      }
    }
    for (let k = 0; k < plane.length; ++k) {
      let blurred = across[k];
      const [x, y] = [k % width, Math.floor(k / width)];
      if (height > 1) {
        const at = (row) => across[inside(row, height) * width + x];
        const terms = [across[k]];
        for (let tap = 1; tap <= half; ++tap) terms.push(Math.fround(at(y + tap) + at(y - tap)));
        const vector = x < width - (width % 8);
        blurred = weightedSum(terms, kernel.slice(half), vector ? 1 : kernel.length);
      }
      bits[k * channels + channel] = plane[k] > Math.min(toEven(blurred), 255) - constant ? 1 : 0;
    }
  }
  return bits;
}

/** The nearest whole number, of two the even one. */
function toEven(value) {
  const whole = Math.floor(value);
  const rest = value - whole;
  return rest > 0.5 || (rest === 0.5 && whole % 2) ? whole + 1 : whole;
}

/** Quantiles, in parts of 10,000, of the positive values. */
function quantiles(values, parts) {
  const positive = values.filter((value) => value > 0).sort((a, b) => a - b);
  return parts.map((part) =>
    part && positive.length ? positive[Math.floor((part * (positive.length - 1)) / 10000)] : 0,
  );
}

function edges({ shape, kernels, levels: parts, positive, negative }, image) {
  const [height, width, channels] = shape;
  const planes = [];
  const add = (values, list) => {
    for (const threshold of quantiles(values, list)) planes.push(values.map((v) => v > threshold));
  };
  for (let channel = 0; channel < channels; ++channel) {
    const plane = Int32Array.from({ length: height * width }, (_, k) => image[k * channels + channel]);
    add(plane, parts);
    for (const kernel of kernels) {
      const response = plane.map((_, k) => {
        const [x, y] = [k % width, Math.floor(k / width)];
        let total = 0;
        for (let row = Math.max(0, y - 3); row <= Math.min(height - 1, y + 3); ++row) {
          for (let column = Math.max(0, x - 3); column <= Math.min(width - 1, x + 3); ++column) {
            total += kernel[row - y + 3][column - x + 3] * plane[row * width + column];
          }
        }
        return total;
      });
      add(response, positive);
      add(response.map((value) => -value), negative);
    }
  }
  return Uint8Array.from({ length: height * width * planes.length }, (_, k) =>
    planes[k % planes.length][Math.floor(k / planes.length)],
  );
}

function gradients(input, image) {
  const { shape, cell, step, directions, each, table } = input;
  const [height, width, channels] = shape;
  const direction = new Uint8Array(511 * 511);
  let end = 0;
  for (const [value, count] of table) direction.fill(value, end, (end += count));
  const rows = Math.floor((height - cell[0]) / step[0]) + 1;
  const columns = Math.floor((width - cell[1]) / step[1]) + 1;
  const groups = each ? channels : 1;
  const perGroup = directions * input.quantiles.length;
  const bits = new Uint8Array(rows * columns * groups * perGroup);
  const at = (y, x, channel) => {
    const [row, column] = [Math.min(Math.max(y, 0), height - 1), Math.min(Math.max(x, 0), width - 1)];
    return image[(row * width + column) * channels + channel];
  };
  for (let group = 0; group < groups; ++group) {
    const sums = new Int32Array(rows * columns * directions);
    for (let y = 0; y < height; ++y) {
      for (let x = 0; x < width; ++x) {
        let best = [-1, 0, 0];
        for (let channel = each ? group : 0; channel < (each ? group + 1 : channels); ++channel) {
          const up = at(y - 1, x, channel) - at(y + 1, x, channel);
          const right = at(y, x + 1, channel) - at(y, x - 1, channel);
          const strength = Math.abs(up) + Math.abs(right);
          if (strength > best[0]) best = [strength, up, right];
        }
        const k = direction[(best[1] + 255) * 511 + best[2] + 255];
        for (let row = 0; row < rows; ++row) {
          for (let column = 0; column < columns; ++column) {
            const [top, left] = [y - row * step[0], x - column * step[1]];
            if (top < 0 || top >= cell[0] || left < 0 || left >= cell[1]) continue;
            sums[(row * columns + column) * directions + k] += best[0];
          }
        }
      }
    }
    const thresholds = quantiles(sums, input.quantiles);
    for (let place = 0; place < rows * columns; ++place) {
      for (let k = 0; k < perGroup; ++k) {
        const sum = sums[place * directions + Math.floor(k / thresholds.length)];
        bits[place * groups * perGroup + group * perGroup + k] =
          sum > thresholds[k % thresholds.length] ? 1 : 0;
      }
    }
  }
  return bits;
}
