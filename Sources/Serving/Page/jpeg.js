// Pictures as JPEG, for browsers that cannot decode the stream: rtp-recv decodes it.

export class JPEGPlayer {
  constructor({ canvas, painted }) {
    this.element = canvas;
    this.context = canvas.getContext('2d', { alpha: false });
    this.painted = painted;
    this.isBusy = false;
  }

  async push(picture) {
    if (this.isBusy) return;
    this.isBusy = true;
    try {
      const image = await createImageBitmap(new Blob([picture.data], { type: 'image/jpeg' }));
      if (!this.context) return;
      this.element.width = image.width;
      this.element.height = image.height;
      this.context.drawImage(image, 0, 0);
      this.painted({ width: image.width, height: image.height, ...picture });
      image.close();
    } finally {
      this.isBusy = false;
    }
  }

  close() { this.context = null; }
}
