// Numbers in words.

const NONE = '–';

export const rate = (bits) => bits == null ? NONE
  : bits >= 1e6 ? `${(bits / 1e6).toFixed(2)} Mbit/s` : `${Math.round(bits / 1e3)} kbit/s`;
export const percent = (ratio) => ratio == null ? NONE
  : `${(100 * ratio).toFixed(ratio >= 0.1 || ratio === 0 ? 0 : 2)} %`;
export const milliseconds = (seconds) => seconds == null ? NONE
  : `${(1000 * seconds).toFixed(seconds < 0.01 ? 1 : 0)} ms`;
export const perSecond = (number) => number == null ? NONE : `${number.toFixed(1)} fps`;
export const count = (number) => number == null ? NONE : Math.round(number).toLocaleString('en');
export const clock = (time) => new Date(time).toLocaleTimeString([], { hour12: false });
