#include "CPixels.h"

// All sums are in 1/64 of a level, in 16 bits, and products are rounded to that. Chroma is mixed of
// two samples, three parts of one and one of the other, so that it is in quarters before.
enum {
  fraction_bits = 6, unit = 1 << fraction_bits, luma_bits = 7, chroma_bits = 8, quarter_bits = 2,
  middle = 128
};

struct factors {
  int16_t luma, offset, luma_of_blue, luma_of_red;
  int16_t blue_of_blue, blue_of_red, red_of_blue, red_of_red;
};

static int16_t rounded(double value) { return (int16_t)(value < 0 ? value - 0.5 : value + 0.5); }

// What BT.601 makes of the red, green and blue that `matrix` makes.
static struct factors factors_of(const struct pixels_matrix *matrix) {
  const double luma = unit * (1 << (15 - luma_bits)), chroma = unit * (1 << (15 - chroma_bits));
  const double red = 0.299, green = 0.587, blue = 0.114;
  double of_blue = blue * matrix->blue_of_blue - green * matrix->green_of_blue;
  double of_red = red * matrix->red_of_red - green * matrix->green_of_red;
  double blue_unit = chroma / (2 * (1 - blue)), red_unit = chroma / (2 * (1 - red));
  struct factors factors = {
    .luma = rounded(matrix->luma * luma),
    .offset = rounded(unit / 2 - matrix->black * matrix->luma * unit),
    .luma_of_blue = rounded(of_blue * chroma),
    .luma_of_red = rounded(of_red * chroma),
    .blue_of_blue = rounded((matrix->blue_of_blue - of_blue) * blue_unit),
    .blue_of_red = rounded(-of_red * blue_unit),
    .red_of_blue = rounded(-of_blue * red_unit),
    .red_of_red = rounded((matrix->red_of_red - of_red) * red_unit),
  };
  return factors;
}

static inline int16_t product(int16_t a, int16_t b) { return (int16_t)((a * b + (1 << 14)) >> 15); }

static inline uint8_t level(int16_t sum) {
  int16_t value = (int16_t)(sum >> fraction_bits);
  return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static inline int16_t mixed(uint8_t near, uint8_t other) {
  return (int16_t)((3 * near + other - 4 * middle) * (1 << (chroma_bits - quarter_bits)));
}

// What chroma between two rows adds to the luma of its left pixels.
static void mix_rows(int16_t *restrict mixture, const uint8_t *restrict blue,
                     const uint8_t *restrict other_blue, const uint8_t *restrict red,
                     const uint8_t *restrict other_red, size_t width, struct factors factors) {
  for (size_t x = 0; x < width; x++)
    mixture[x] = (int16_t)(
      product(mixed(blue[x], other_blue[x]), factors.luma_of_blue)
      + product(mixed(red[x], other_red[x]), factors.luma_of_red));
  // The last pixel has nothing at its right.
  mixture[width] = mixture[width - 1];
}

// The same for all pixels, of which the right ones lie between two samples. Compilers make vector
// code of each of these loops, but not of one that does both.
static void spread(int16_t *restrict target, int16_t *restrict between,
                   const int16_t *restrict mixture, size_t width) {
  for (size_t x = 0; x < width; x++)
    between[x] = (int16_t)((mixture[x] + mixture[x + 1]) >> 1);
  for (size_t x = 0; x < width; x++) {
    target[2 * x] = mixture[x];
    target[2 * x + 1] = between[x];
  }
}

static void make_luma(uint8_t *restrict target, const uint8_t *restrict luma,
                      const int16_t *restrict sums, size_t width, struct factors factors) {
  for (size_t x = 0; x < width; x++)
    target[x] = level((int16_t)(
      factors.offset + product((int16_t)(luma[x] << luma_bits), factors.luma) + sums[x]));
}

// Chroma a quarter of a sample further right.
static void make_chroma(uint8_t *restrict target, const uint8_t *restrict blue,
                        const uint8_t *restrict red, size_t width, int16_t of_blue,
                        int16_t of_red) {
  const int16_t offset = middle * unit + unit / 2;
  for (size_t x = 0; x + 1 < width; x++)
    target[x] = level((int16_t)(
      offset + product(mixed(blue[x], blue[x + 1]), of_blue)
      + product(mixed(red[x], red[x + 1]), of_red)));
  size_t last = width - 1;
  target[last] = level((int16_t)(
    offset + product(mixed(blue[last], blue[last]), of_blue)
    + product(mixed(red[last], red[last]), of_red)));
}

void pixels_make_jfif(const struct pixels_targets *targets, const struct pixels_planes *planes,
                      const struct pixels_matrix *matrix, int16_t *room) {
  const struct factors factors = factors_of(matrix);
  const size_t chroma_width = (planes->width + 1) / 2;
  int16_t *sums = room, *between = sums + 2 * chroma_width, *mixture = between + chroma_width;
  const size_t chroma_height = (planes->height + planes->chroma_rows - 1) / planes->chroma_rows;
  for (size_t row = 0; row < planes->height; row++) {
    size_t near = row / planes->chroma_rows, other = near;
    // With two rows of luma for each, chroma lies between them.
    if (planes->chroma_rows == 2 && row % 2 == 0 && near > 0) other = near - 1;
    if (planes->chroma_rows == 2 && row % 2 == 1 && near + 1 < chroma_height) other = near + 1;
    const uint8_t *blue = planes->blue + (ptrdiff_t)near * planes->blue_stride;
    const uint8_t *red = planes->red + (ptrdiff_t)near * planes->red_stride;
    mix_rows(
      mixture, blue, planes->blue + (ptrdiff_t)other * planes->blue_stride, red,
      planes->red + (ptrdiff_t)other * planes->red_stride, chroma_width, factors);
    spread(sums, between, mixture, chroma_width);
    make_luma(
      targets->luma + (ptrdiff_t)row * targets->luma_stride,
      planes->luma + (ptrdiff_t)row * planes->luma_stride, sums, planes->width, factors);
    if (row % planes->chroma_rows != 0) continue;
    make_chroma(
      targets->blue + (ptrdiff_t)near * targets->blue_stride, blue, red, chroma_width,
      factors.blue_of_blue, factors.blue_of_red);
    make_chroma(
      targets->red + (ptrdiff_t)near * targets->red_stride, blue, red, chroma_width,
      factors.red_of_blue, factors.red_of_red);
  }
}
