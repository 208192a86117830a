// Where in an image votes come from: its patches, and their pixels.

/**
 * The patches of an image in which a clause's output is as large as it gets, as rows and columns of
 * patches.
 */
export function bestPatches(member, bits, clause, output) {
  const { window, most } = member.clauses[clause];
  const found = [];
  for (let row = window[0]; row <= window[1]; ++row) {
    for (let column = window[2]; column <= window[3]; ++column) {
      if (most - member.misses(bits, clause, row, column, most) === output) found.push([row, column]);
    }
  }
  return found;
}

/**
 * Adds the votes of a member's clauses to the pixels they are due to, parts[(first + pixel) * m + label].
 *
 * A clause's votes are shared evenly by its best patches, and there by its literals of pixels that
 * hold; where none does, by all pixels of the patch.
 */
export function addHeat(member, bits, outputs, parts, first, scale) {
  const { height, width, channels, patch_height, patch_width } = member.data.patches;
  const m = member.nOutputs;
  member.clauses.forEach((clause, j) => {
    const patches = outputs[j] ? bestPatches(member, bits, j, outputs[j]) : [];
    for (const [row, column] of patches) {
      const pixels = heldPixels(member, bits, clause, row, column);
      const share = (outputs[j] * scale) / (patches.length * pixels.length);
      for (const pixel of pixels) {
        for (let i = 0; i < m; ++i) parts[(first + pixel) * m + i] += share * clause.weights[i];
      }
    }
  });

  function heldPixels(member, bits, { places }, row, column) {
    const { stride_rows, stride_columns } = member.data.patches;
    const corner = row * stride_rows * width + column * stride_columns;
    const held = [];
    for (let i = 0; i < places.length; i += 2) {
      const place = corner * channels + places[i];
      if (bits[place] !== places[i + 1]) held.push(Math.floor(place / channels));
    }
    if (held.length) return held;
    return Array.from(
      { length: patch_height * patch_width },
      (_, k) => corner + Math.floor(k / patch_width) * width + (k % patch_width),
    ).filter((pixel) => pixel < height * width);
  }
}
