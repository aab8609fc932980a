// Pictures by Media Source Extensions, where there is no WebCodecs: over plain HTTP from another
// machine, and in older browsers.
import { bytesOf } from './feed.js';
import { TIMESCALE, fragment, header, lengthPrefixed } from './boxes.js';

// How far playback may lag behind, how far it jumps to, and what is kept, in seconds.
const LONGEST_LAG = 0.6, LAG = 0.12, KEPT = 10;
// A picture is shown until the next one, and waits for it for so long, in milliseconds. Where none
// has come, it may last so long: browsers drop what follows after more than twice that.
const PATIENCE = 500, LONG = 10 * TIMESCALE;

const Source = window.ManagedMediaSource ?? window.MediaSource;

const mediaType = (format) => `video/mp4; codecs="${format.codec}"`;

export function canPlay(format) {
  return Boolean(Source && format.codec && format.record && format.width
    && Source.isTypeSupported(mediaType(format)));
}

export class MSEPlayer {
  constructor({ video, painted, failed }) {
    this.element = video;
    this.painted = painted;
    this.failed = failed;
    this.arrivals = [];
    video.muted = true;
    video.disableRemotePlayback = true;
    video.onerror = () => this.failed(video.error?.message ?? 'the video element failed');
    this.watchFrames();
  }

  configure(format) {
    this.format = format;
    this.isAVC = format.codec.startsWith('avc1');
    this.queue = [header({ ...format, record: bytesOf(format.record) })];
    this.number = 0;
    this.base = this.last = null;
    clearTimeout(this.timer);
    this.held = null;
    this.newest = 0;
    this.buffer = null;
    if (this.address) URL.revokeObjectURL(this.address);
    const source = new Source();
    this.source = source;
    source.onsourceopen = () => {
      if (this.source !== source) return;
      this.buffer = source.addSourceBuffer(mediaType(format));
      this.buffer.mode = 'segments';
      this.buffer.onupdateend = () => this.proceed();
      this.proceed();
    };
    this.address = URL.createObjectURL(source);
    this.element.src = this.address;
    this.element.play().catch(() => {});
  }

  push(picture) {
    if (!this.format || (this.base === null && !picture.isKey)) return;
    this.base ??= picture.time;
    if (this.last !== null && picture.time <= this.last) {
      // Decoding times are not known here.
      if (picture.time > this.last - 1e6) this.failed('pictures are reordered');
      else this.configure(this.format);
      return;
    }
    const ticks = (time) => Math.round((time - this.base) * TIMESCALE / 1e6);
    this.release(ticks(picture.time));
    this.last = picture.time;
    this.held = { ticks: ticks(picture.time), picture };
    this.timer = setTimeout(() => this.release(null), PATIENCE);
  }

  // Gives the picture that waits to the browser; `next` is the time of the one after it, if known.
  release(next) {
    clearTimeout(this.timer);
    if (!this.held) return;
    const { ticks, picture } = this.held;
    this.held = null;
    const duration = next === null ? LONG : Math.min(next - ticks, LONG);
    this.newest = (ticks + (next === null ? 0 : duration)) / TIMESCALE;
    this.number += 1;
    const { arrival, captured } = picture;
    this.arrivals.push({ time: ticks / TIMESCALE, arrival, captured });
    if (this.arrivals.length > 300) this.arrivals.shift();
    this.queue.push(fragment(this.number, {
      time: ticks, duration, isKey: picture.isKey,
      sample: lengthPrefixed(picture.data, (head) => this.isSet(head)),
    }));
    if (this.queue.length > 600) this.configure(this.format);
    this.proceed();
  }

  // Parameter sets and delimiters are in the header, or not needed.
  isSet(head) {
    return this.isAVC ? [7, 8, 9].includes(head & 31) : [32, 33, 34, 35].includes(head >> 1 & 63);
  }

  proceed() {
    if (!this.buffer || this.buffer.updating || this.source.readyState !== 'open') return;
    try {
      const { buffered } = this.buffer;
      if (buffered.length > 0) {
        const video = this.element;
        const start = buffered.start(buffered.length - 1);
        // Not up to the end of a picture that lasts until another one comes.
        const end = Math.min(buffered.end(buffered.length - 1), this.newest);
        if (end - video.currentTime > LONGEST_LAG || video.currentTime < start) {
          video.currentTime = Math.max(start, end - LAG);
        }
        if (video.paused) video.play().catch(() => {});
        if (buffered.start(0) < video.currentTime - 2 * KEPT) {
          this.buffer.remove(0, video.currentTime - KEPT);
          return;
        }
      }
      const next = this.queue.shift();
      if (next) this.buffer.appendBuffer(next);
    } catch (error) {
      this.failed(error.message);
    }
  }

  watchFrames() {
    const video = this.element;
    const note = (_, { mediaTime, width, height }) => {
      if (!this.painted) return;
      while (this.arrivals.length > 1 && this.arrivals[1].time <= mediaTime + 0.001) {
        this.arrivals.shift();
      }
      this.painted({ width, height, ...this.arrivals[0] });
      video.requestVideoFrameCallback(note);
    };
    if (video.requestVideoFrameCallback) video.requestVideoFrameCallback(note);
    else video.ontimeupdate = () => this.painted?.({ width: video.videoWidth, height: video.videoHeight });
  }

  close() {
    this.painted = null;
    clearTimeout(this.timer);
    this.held = null;
    this.format = this.source = this.buffer = null;
    this.element.onerror = null;
    this.element.removeAttribute('src');
    this.element.load();
    if (this.address) URL.revokeObjectURL(this.address);
  }
}
