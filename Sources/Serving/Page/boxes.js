// Fragmented MP4 (ISO/IEC 14496-12) of single pictures, for Media Source Extensions.

export const TIMESCALE = 90_000;

const text = (word) => Uint8Array.from(word, (letter) => letter.charCodeAt(0));
const u16 = (...numbers) => numbers.flatMap((n) => [n >> 8 & 255, n & 255]);
const u32 = (...numbers) => numbers.flatMap((n) => [n >>> 24, n >>> 16 & 255, n >>> 8 & 255, n & 255]);
const zeros = (count) => new Uint8Array(count);

export function joined(parts) {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

function box(name, ...parts) {
  const length = 8 + parts.reduce((sum, part) => sum + part.length, 0);
  return joined([u32(length), text(name), ...parts]);
}

const full = (name, version, flags, ...parts) =>
  box(name, [version, ...u32(flags).slice(1)], ...parts);

const UNITY = u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000);

// The header: one track of pictures, whose parameter sets are in `record` (`avcC` or `hvcC`).
export function header({ codec, width, height, record }) {
  const isAVC = codec.startsWith('avc1');
  const entry = box(
    isAVC ? 'avc1' : 'hvc1', zeros(6), u16(1), zeros(16), u16(width, height),
    u32(0x480000, 0x480000, 0), u16(1), zeros(32), u16(24, 0xFFFF),
    box(isAVC ? 'avcC' : 'hvcC', record));
  const table = box(
    'stbl', full('stsd', 0, 0, u32(1), entry), full('stts', 0, 0, u32(0)),
    full('stsc', 0, 0, u32(0)), full('stsz', 0, 0, u32(0, 0)), full('stco', 0, 0, u32(0)));
  const media = box(
    'mdia', full('mdhd', 0, 0, u32(0, 0, TIMESCALE, 0), u16(0x55C4, 0)),
    full('hdlr', 0, 0, u32(0), text('vide'), zeros(13)),
    box(
      'minf', full('vmhd', 0, 1, zeros(8)),
      box('dinf', full('dref', 0, 0, u32(1), full('url ', 0, 1))), table));
  const track = box(
    'trak',
    full(
      'tkhd', 0, 3, u32(0, 0, 1, 0, 0), zeros(16), UNITY, u32(width << 16, height << 16)),
    media);
  return joined([
    box('ftyp', text('iso5'), u32(0), text('iso5iso6mp41')),
    box(
      'moov',
      full(
        'mvhd', 0, 0, u32(0, 0, TIMESCALE, 0, 0x10000), u16(0x100, 0), zeros(8), UNITY, zeros(24),
        u32(2)),
      track, box('mvex', full('trex', 0, 0, u32(1, 1, 0, 0, 0)))),
  ]);
}

// A fragment of one picture, whose NAL units are behind their lengths in `sample`.
export function fragment(number, { time, duration, isKey, sample }) {
  const run = (offset) => box(
    'moof', full('mfhd', 0, 0, u32(number)),
    box(
      'traf', full('tfhd', 0, 0x20000, u32(1)),
      full('tfdt', 1, 0, u32(Math.floor(time / 2 ** 32), time >>> 0)),
      full(
        'trun', 0, 0x701, u32(1, offset, duration, sample.length, isKey ? 0x2000000 : 0x1010000))));
  const length = run(0).length;
  return joined([run(length + 8), u32(sample.length + 8), text('mdat'), sample]);
}

// The NAL units of a picture in Annex B, without those of `left` types, each behind its length.
export function lengthPrefixed(bytes, isLeftOut) {
  const parts = [];
  const starts = [];
  for (let place = bytes.indexOf(1, 2); place >= 0; place = bytes.indexOf(1, place + 1)) {
    if (bytes[place - 1] === 0 && bytes[place - 2] === 0) starts.push(place + 1);
  }
  starts.forEach((start, index) => {
    let end = index + 1 < starts.length ? starts[index + 1] - 3 : bytes.length;
    while (end > start && bytes[end - 1] === 0) end -= 1;
    const unit = bytes.subarray(start, end);
    if (unit.length > 0 && !isLeftOut(unit[0])) parts.push(u32(unit.length), unit);
  });
  return joined(parts);
}
