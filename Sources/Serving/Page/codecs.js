// Pictures by WebCodecs: decoded by the browser, and painted at once.

// A decoder that lags behind by more, in milliseconds, goes on with the next key picture.
const LONGEST_LAG = 1000;

const known = new Map();

// Whether the browser decodes `format`.
export function canDecode(format) {
  if (!window.VideoDecoder || !format.codec) return Promise.resolve(false);
  if (!known.has(format.codec)) {
    known.set(format.codec, VideoDecoder.isConfigSupported(configuration(format))
      .then(({ supported }) => supported, () => false));
  }
  return known.get(format.codec);
}

function configuration(format) {
  // Without a description, pictures are in Annex B.
  return { codec: format.codec, optimizeForLatency: true };
}

export class CodecsPlayer {
  // `painted` is told when each picture is on its way to the screen, and `failed` why there are none.
  constructor({ canvas, painted, failed }) {
    this.element = canvas;
    this.context = canvas.getContext('2d', { alpha: false });
    this.painted = painted;
    this.failed = failed;
    // What has not come out yet, by its time.
    this.pending = new Map();
    this.awaitsKey = true;
  }

  configure(format) {
    this.format = format;
    this.decoder ??= new VideoDecoder({
      output: (frame) => this.show(frame),
      error: (error) => {
        this.decoder = null;
        this.failed(error.message);
      },
    });
    this.decoder.configure(configuration(format));
    this.awaitsKey = true;
  }

  push(picture) {
    if (!this.decoder) return;
    const now = performance.now();
    const [oldest] = this.pending.values();
    if (oldest && now - oldest.pushed > LONGEST_LAG) this.awaitsKey = true;
    if (this.awaitsKey) {
      if (!picture.isKey) return;
      this.restart();
    }
    picture.pushed = now;
    this.pending.set(picture.time, picture);
    try {
      this.decoder.decode(new EncodedVideoChunk({
        type: picture.isKey ? 'key' : 'delta', timestamp: picture.time, data: picture.data,
      }));
      picture.data = null;
    } catch (error) {
      // Chrome takes no picture for a key picture that is none by its NAL units, such as the
      // recovery point of a stream without IDR pictures.
      this.failed(error.message);
    }
  }

  // Drops what waits to be decoded.
  restart() {
    this.awaitsKey = false;
    if (this.pending.size === 0) return;
    this.pending.clear();
    this.decoder.reset();
    this.decoder.configure(configuration(this.format));
  }

  // Only the newest picture is painted: those of a group with which a viewer begins go by unseen.
  show(frame) {
    const picture = this.pending.get(frame.timestamp);
    // Some of those before it, such as pictures that a key picture leaves out, never come out.
    for (const time of picture ? this.pending.keys() : []) {
      this.pending.delete(time);
      if (time === frame.timestamp) break;
    }
    const isDue = Boolean(this.next);
    this.next?.frame.close();
    this.next = { frame, picture };
    if (!isDue) requestAnimationFrame(() => this.paint());
  }

  paint() {
    if (!this.next || !this.context) return;
    const { frame, picture } = this.next;
    this.next = null;
    const { displayWidth, displayHeight } = frame;
    if (this.element.width !== displayWidth || this.element.height !== displayHeight) {
      this.element.width = displayWidth;
      this.element.height = displayHeight;
    }
    this.context.drawImage(frame, 0, 0, displayWidth, displayHeight);
    frame.close();
    this.painted({ width: displayWidth, height: displayHeight, ...picture });
  }

  close() {
    this.next?.frame.close();
    this.next = null;
    this.context = null;
    if (this.decoder && this.decoder.state !== 'closed') this.decoder.close();
    this.decoder = null;
  }
}
