// Pictures by WebCodecs: decoded by the browser, and painted at once.

// More pictures than this wait only in a browser that does not keep up.
const CROWD = 60;

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
    this.arrivals = new Map();
    this.awaitsKey = true;
  }

  configure(format) {
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
    if (this.decoder.decodeQueueSize > CROWD) this.awaitsKey = true;
    if (this.awaitsKey && !picture.isKey) return;
    this.awaitsKey = false;
    if (this.arrivals.size > 4 * CROWD) this.arrivals.clear();
    this.arrivals.set(picture.time, picture.arrival);
    this.decoder.decode(new EncodedVideoChunk({
      type: picture.isKey ? 'key' : 'delta', timestamp: picture.time, data: picture.data,
    }));
  }

  // Only the newest picture is painted: those of a group with which a viewer begins go by unseen.
  show(frame) {
    const isDue = this.next !== undefined && this.next !== null;
    if (isDue) this.next.close();
    this.next = frame;
    if (!isDue) requestAnimationFrame(() => this.paint());
  }

  paint() {
    const frame = this.next;
    this.next = null;
    if (!frame || !this.context) return;
    const { displayWidth, displayHeight } = frame;
    if (this.element.width !== displayWidth || this.element.height !== displayHeight) {
      this.element.width = displayWidth;
      this.element.height = displayHeight;
    }
    this.context.drawImage(frame, 0, 0, displayWidth, displayHeight);
    const arrival = this.arrivals.get(frame.timestamp);
    this.arrivals.delete(frame.timestamp);
    frame.close();
    this.painted({ width: displayWidth, height: displayHeight, arrival });
  }

  close() {
    this.next?.close();
    this.next = null;
    this.context = null;
    if (this.decoder && this.decoder.state !== 'closed') this.decoder.close();
    this.decoder = null;
  }
}
