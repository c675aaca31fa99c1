/**
 * SHA-1 of a text, at once: a browser's own answers only later, and not on pages without https.
 *
 * Used to compare copies of data, where nobody has an interest in cheating. (FIPS 180-4.)
 */

const BLOCK_BYTES = 64;
const ROUNDS = 80;
const START = Object.freeze([0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0]);
const words = new Int32Array(ROUNDS); // of the block at hand

/**
 * Return the digest of a text's UTF-8, in base64.
 *
 * @param {string} text
 */
export function sha1(text) {
  const bytes = padded(new TextEncoder().encode(text));
  const state = Int32Array.from(START);
  for (let start = 0; start < bytes.byteLength; start += BLOCK_BYTES) mixIn(bytes, start, state);
  const digest = new DataView(new ArrayBuffer(4 * state.length));
  state.forEach((word, index) => digest.setInt32(4 * index, word));
  return btoa(String.fromCharCode(...new Uint8Array(digest.buffer)));
}

/** The text, a one bit, zeros, and the number of bits: whole blocks. */
function padded(text) {
  const blocks = Math.ceil((text.length + 9) / BLOCK_BYTES);
  const bytes = new Uint8Array(blocks * BLOCK_BYTES);
  bytes.set(text);
  bytes[text.length] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setBigUint64(bytes.length - 8, BigInt(text.length) * 8n);
  return view;
}

function mixIn(bytes, start, state) {
  for (let index = 0; index < 16; index += 1) words[index] = bytes.getInt32(start + 4 * index);
  for (let index = 16; index < ROUNDS; index += 1) {
    const mixed = words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16];
    words[index] = rotated(mixed, 1);
  }
  let [a, b, c, d, e] = state;
  for (let index = 0; index < ROUNDS; index += 1) {
    const next = (rotated(a, 5) + chosen(index, b, c, d) + e + words[index]) | 0;
    [a, b, c, d, e] = [next, a, rotated(b, 30), c, d];
  }
  [a, b, c, d, e].forEach((word, index) => {
    state[index] = (state[index] + word) | 0;
  });
}

/** The function and the constant of a round. */
function chosen(index, b, c, d) {
  if (index < 20) return ((b & c) | (~b & d)) + 0x5a827999;
  if (index < 40) return (b ^ c ^ d) + 0x6ed9eba1;
  if (index < 60) return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
  return (b ^ c ^ d) + 0xca62c1d6;
}

function rotated(word, bits) {
  return (word << bits) | (word >>> (32 - bits));
}
