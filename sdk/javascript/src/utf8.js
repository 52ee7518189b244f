/**
 * @file Text to UTF-8 bytes and back, which the engine inside of a component has no functions for.
 * Reads any bytes: what is not UTF-8 becomes U+FFFD.
 */

/** The bytes of a text; half of a surrogate pair becomes U+FFFD. */
export function encode(text) {
  // Nearly all states are ASCII, and a host asks for them often.
  const { length } = text;
  const bytes = new Uint8Array(length);
  for (let place = 0; place < length; place++) {
    const code = text.charCodeAt(place);
    if (code > 0x7f) return encodeAny(text);
    bytes[place] = code;
  }
  return bytes;
}

function encodeAny(text) {
  const bytes = [];
  for (const character of text.toWellFormed()) {
    const code = character.codePointAt(0);
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), tail(code));
    else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), tail(code >> 6), tail(code));
    else bytes.push(0xf0 | (code >> 18), tail(code >> 12), tail(code >> 6), tail(code));
  }
  return Uint8Array.from(bytes);
}

function tail(bits) {
  return 0x80 | (bits & 0x3f);
}

/** The smallest code that takes so many bytes: a longer form of a smaller one is not UTF-8. */
const SMALLEST = [0, 0, 0x80, 0x800, 0x10000];

/** The text of some bytes. */
export function decode(bytes) {
  const parts = [];
  for (let place = 0; place < bytes.length;) {
    const first = bytes[place++];
    if (first < 0x80) {
      parts.push(String.fromCharCode(first));
      continue;
    }
    const length = first >= 0xf8 ? 0 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
    let code = first & (0x7f >> length);
    let taken = 1;
    for (; taken < length && (bytes[place] & 0xc0) === 0x80; taken++) code = (code << 6) | (bytes[place++] & 0x3f);
    const isGood = length > 0 && taken === length && code >= SMALLEST[length] && code <= 0x10ffff;
    parts.push(isGood && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : "\ufffd");
  }
  return parts.join("");
}
