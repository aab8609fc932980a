// RGB, and the colours of JPEG, of planes of 8 bits: in a fraction of libswscale's time, and
// rounded rightly.
#ifndef CPIXELS_H
#define CPIXELS_H

#include <stddef.h>
#include <stdint.h>

struct pixels_planes {
  // Luma, Cb and Cr; each chroma sample is that of two pixels across.
  const uint8_t *luma, *blue, *red;
  ptrdiff_t luma_stride, blue_stride, red_stride;
  size_t width, height;
  // For how many rows a row of chroma is: 1 or 2.
  size_t chroma_rows;
};

struct pixels_targets {
  uint8_t *luma, *blue, *red;
  ptrdiff_t luma_stride, blue_stride, red_stride;
};

// Levels of RGB for each level of luma and chroma, 0 to 4; those of green are subtracted.
struct pixels_matrix {
  // The luma of black.
  double black;
  double luma, red_of_red, green_of_blue, green_of_red, blue_of_blue;
};

// Whether this processor can make RGB.
int pixels_can_make_rgb(void);

// Makes rows of three bytes for each pixel: red, green and blue, or the other way round.
void pixels_make_rgb(uint8_t *target, ptrdiff_t stride, const struct pixels_planes *planes,
                     const struct pixels_matrix *matrix, int begins_with_blue);

// Makes planes as JPEG files have them (JFIF 1.02): BT.601 in full range, with chroma in the middle
// of its pixels. In `planes` it is that of the left one, and between two rows if it is for both.
// There is `room` for four numbers for each pair of columns, and one more.
void pixels_make_jfif(const struct pixels_targets *targets, const struct pixels_planes *planes,
                      const struct pixels_matrix *matrix, int16_t *room);

#endif
