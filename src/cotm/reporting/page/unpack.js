// What is packed in a page: JSON, compressed by gzip, in base64.

/** The value that an element's text holds. */
export async function unpacked(text) {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return JSON.parse(await gunzipped(bytes));
}

async function gunzipped(bytes) {
  if (typeof DecompressionStream === "undefined") return inflated(bytes);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

const LENGTHS = { base: [], extra: [] };
const DISTANCES = { base: [], extra: [] };
for (let code = 0, base = 3; code < 28; ++code) {
  const extra = code < 8 ? 0 : (code >> 2) - 1;
  LENGTHS.base.push(base);
  LENGTHS.extra.push(extra);
  base += 1 << extra;
}
LENGTHS.base.push(258);
LENGTHS.extra.push(0);
for (let code = 0, base = 1; code < 30; ++code) {
  const extra = code < 4 ? 0 : (code >> 1) - 1;
  DISTANCES.base.push(base);
  DISTANCES.extra.push(extra);
  base += 1 << extra;
}
const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/** RFC 1951 and 1952, for browsers that have no DecompressionStream. */
export function inflated(bytes) {
  if (bytes[0] !== 31 || bytes[1] !== 139 || bytes[3] !== 0) throw new TypeError("this is no gzip");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const out = new Uint8Array(view.getUint32(bytes.length - 4, true));
  let [place, held, count, end] = [10, 0, 0, 0];
  const bits = (wanted) => {
    while (count < wanted) {
      held |= bytes[place++] << count;
      count += 8;
    }
    const value = held & ((1 << wanted) - 1);
    held >>>= wanted;
    count -= wanted;
    return value;
  };
  const symbol = ({ counts, symbols }) => {
    let [code, first, index] = [0, 0, 0];
    for (let length = 1; length < 16; ++length) {
      code |= bits(1);
      if (code - first < counts[length]) return symbols[index + code - first];
      index += counts[length];
      first = (first + counts[length]) << 1;
      code <<= 1;
    }
    throw new TypeError("the data are damaged");
  };
  for (let last = 0; !last;) {
    last = bits(1);
    const kind = bits(2);
    if (kind === 0) {
      [held, count] = [0, 0];
      const size = view.getUint16(place, true);
      out.set(bytes.subarray(place + 4, place + 4 + size), end);
      place += 4 + size;
      end += size;
      continue;
    }
    const [literals, distances] = kind === 1 ? FIXED : trees(bits, symbol);
    for (let code = symbol(literals); code !== 256; code = symbol(literals)) {
      if (code < 256) {
        out[end++] = code;
        continue;
      }
      const length = LENGTHS.base[code - 257] + bits(LENGTHS.extra[code - 257]);
      const far = symbol(distances);
      const from = end - DISTANCES.base[far] - bits(DISTANCES.extra[far]);
      for (let i = 0; i < length; ++i) out[end++] = out[from + i];
    }
  }
  return new TextDecoder().decode(out);
}

function tree(lengths) {
  const counts = new Array(16).fill(0);
  for (const length of lengths) if (length) ++counts[length];
  const starts = [0, 0];
  for (let length = 1; length < 15; ++length) starts.push(starts[length] + counts[length]);
  const symbols = [];
  lengths.forEach((length, code) => {
    if (length) symbols[starts[length]++] = code;
  });
  return { counts, symbols };
}

const FIXED = [
  tree(Array.from({ length: 288 }, (_, k) => (k < 144 ? 8 : k < 256 ? 9 : k < 280 ? 7 : 8))),
  tree(new Array(30).fill(5)),
];

function trees(bits, symbol) {
  const [literals, distances, codes] = [bits(5) + 257, bits(5) + 1, bits(4) + 4];
  const first = new Array(19).fill(0);
  for (let i = 0; i < codes; ++i) first[ORDER[i]] = bits(3);
  const known = tree(first);
  const lengths = [];
  while (lengths.length < literals + distances) {
    const code = symbol(known);
    if (code < 16) lengths.push(code);
    else {
      const value = code === 16 ? lengths.at(-1) : 0;
      const times = code === 16 ? 3 + bits(2) : code === 17 ? 3 + bits(3) : 11 + bits(7);
      for (let i = 0; i < times; ++i) lengths.push(value);
    }
  }
  return [tree(lengths.slice(0, literals)), tree(lengths.slice(literals))];
}
