// The sound of one camera, once somebody wants to hear it.
import { bytesOf } from './feed.js';

// How far ahead sound is scheduled at first, and at most, in seconds. What comes beyond, as after a
// stall, is left out.
const LEAD = 0.08, LONGEST_LEAD = 0.4;

// What the browser or this page decodes.
export function canHear(format) {
  if (['pcmu', 'pcma', 'l16'].includes(format.codec)) return true;
  return ['opus', 'aac'].includes(format.codec) && Boolean(window.AudioDecoder);
}

export class Sound {
  // `failed` is told why nothing is heard.
  constructor({ failed }) {
    this.failed = failed;
    this.context = new AudioContext({ latencyHint: 'interactive' });
    this.context.resume();
    this.next = 0;
  }

  configure(format) {
    this.close(false);
    this.format = format;
    if (!['opus', 'aac'].includes(format.codec) || !window.AudioDecoder) return;
    const description = bytesOf(format.description ?? '');
    this.decoder = new AudioDecoder({
      output: (data) => this.play(data), error: (error) => this.failed(error.message),
    });
    try {
      this.decoder.configure({
        codec: format.codec === 'opus' ? 'opus' : `mp4a.40.${(description[0] ?? 0x10) >> 3}`,
        sampleRate: format.rate, numberOfChannels: format.channels,
        ...(description.length > 0 ? { description } : {}),
      });
    } catch (error) {
      this.failed(error.message);
    }
  }

  push(unit) {
    if (!this.format) return;
    if (this.decoder) {
      this.decoder.decode(
        new EncodedAudioChunk({ type: 'key', timestamp: unit.time, data: unit.data }));
      return;
    }
    const decode = { pcmu: fromMu, pcma: fromA, l16: fromBigEndian }[this.format.codec];
    if (!decode) return;
    const samples = decode(unit.data);
    const { channels, rate } = this.format;
    const buffer = this.context.createBuffer(
      channels, Math.max(1, Math.floor(samples.length / channels)), rate);
    for (let channel = 0; channel < channels; channel += 1) {
      const target = buffer.getChannelData(channel);
      for (let i = 0; i < target.length; i += 1) target[i] = samples[i * channels + channel] ?? 0;
    }
    this.schedule(buffer);
  }

  play(data) {
    const buffer = this.context.createBuffer(
      data.numberOfChannels, data.numberOfFrames, data.sampleRate);
    for (let channel = 0; channel < data.numberOfChannels; channel += 1) {
      data.copyTo(
        buffer.getChannelData(channel), { planeIndex: channel, format: 'f32-planar' });
    }
    data.close();
    this.schedule(buffer);
  }

  schedule(buffer) {
    const now = this.context.currentTime;
    if (this.next > now + LONGEST_LEAD) return;
    if (this.next < now) this.next = now + LEAD;
    const source = this.context.createBufferSource();
    source.buffer = buffer;
    source.connect(this.context.destination);
    source.start(this.next);
    this.next += buffer.duration;
    this.played = (this.played ?? 0) + buffer.duration;
  }

  close(isLast = true) {
    if (this.decoder && this.decoder.state !== 'closed') this.decoder.close();
    this.decoder = null;
    if (isLast) this.context.close();
  }
}

// ITU-T G.711, table 2a.
function fromMu(bytes) {
  return Float32Array.from(bytes, (byte) => {
    const code = ~byte & 255;
    const magnitude = (((code & 15) << 3) + 132 << (code >> 4 & 7)) - 132;
    return (code & 128 ? -magnitude : magnitude) / 32768;
  });
}

// ITU-T G.711, table 1a.
function fromA(bytes) {
  return Float32Array.from(bytes, (byte) => {
    const code = byte ^ 0x55;
    const exponent = code >> 4 & 7;
    const mantissa = (code & 15) << 4;
    const magnitude = exponent === 0 ? mantissa + 8 : mantissa + 264 << exponent - 1;
    return (code & 128 ? magnitude : -magnitude) / 32768;
  });
}

function fromBigEndian(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float32Array.from(
    { length: bytes.length >> 1 }, (_, index) => view.getInt16(2 * index) / 32768);
}
