// From the text of scripts/web to bytes: two of 91 letters are 13 bits, the lowest first. Before them
// stand the number of bytes and a blank.

const values = new Uint8Array(127);
let count = 0;
for (let code = 33; code < 127; ++code) if (!'"\\<'.includes(String.fromCharCode(code))) values[code] = count++;

export function bytesOf(text) {
  const blank = text.indexOf(" ");
  const bytes = new Uint8Array(Number(text.slice(0, blank)));
  let held = 0;
  let bits = 0;
  let done = 0;
  for (let at = blank + 1; at < text.length; at += 2) {
    held |= (values[text.charCodeAt(at)] * 91 + values[text.charCodeAt(at + 1)]) << bits;
    for (bits += 13; bits >= 8 && done < bytes.length; bits -= 8, held >>>= 8) bytes[done++] = held & 255;
  }
  return bytes;
}
