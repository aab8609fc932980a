#include "CPixels.h"

#if defined(__x86_64__)

#include <immintrin.h>

// All sums are in 1/64 of a level, in 16 bits: (a * b + 2^14) >> 15 is what _mm256_mulhrs_epi16 makes of
// two numbers.
enum { fraction_bits = 6, unit = 1 << fraction_bits, luma_bits = 7, chroma_bits = 8, middle = 128 };

struct factors {
  int16_t luma, offset, red_of_red, green_of_blue, green_of_red, blue_of_blue;
};

static int16_t rounded(double value) { return (int16_t)(value < 0 ? value - 0.5 : value + 0.5); }

static struct factors factors_of(const struct pixels_matrix *matrix) {
  const double luma = unit * (1 << (15 - luma_bits)), chroma = unit * (1 << (15 - chroma_bits));
  struct factors factors = {
    .luma = rounded(matrix->luma * luma),
    .offset = rounded(unit / 2 - matrix->black * matrix->luma * unit),
    .red_of_red = rounded(matrix->red_of_red * chroma),
    .green_of_blue = rounded(-matrix->green_of_blue * chroma),
    .green_of_red = rounded(-matrix->green_of_red * chroma),
    .blue_of_blue = rounded(matrix->blue_of_blue * chroma),
  };
  return factors;
}

static int product(int a, int b) { return (a * b + (1 << 14)) >> 15; }

static uint8_t level(int sum) {
  int value = sum >> fraction_bits;
  return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
}

// The pixels from `start`, one by one.
static void make_rest(uint8_t *target, const uint8_t *luma, const uint8_t *blue, const uint8_t *red,
                      size_t start, size_t width, const struct factors *factors,
                      int begins_with_blue) {
  for (size_t x = start; x < width; x++) {
    int light = product(luma[x] << luma_bits, factors->luma) + factors->offset;
    int b = (blue[x / 2] - middle) * (1 << chroma_bits);
    int r = (red[x / 2] - middle) * (1 << chroma_bits);
    uint8_t *pixel = target + 3 * x;
    pixel[begins_with_blue ? 2 : 0] = level(light + product(r, factors->red_of_red));
    pixel[1] =
      level(light + product(b, factors->green_of_blue) + product(r, factors->green_of_red));
    pixel[begins_with_blue ? 0 : 2] = level(light + product(b, factors->blue_of_blue));
  }
}

// Levels of 32 pixels in order, from the sums of the even and the odd ones.
__attribute__((target("avx2"))) static inline __m256i levels(__m256i even, __m256i odd) {
  const __m256i by_turns = _mm256_setr_epi8(
    0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15,
    0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
  __m256i both = _mm256_packus_epi16(
    _mm256_srai_epi16(even, fraction_bits), _mm256_srai_epi16(odd, fraction_bits));
  return _mm256_shuffle_epi8(both, by_turns);
}

// Writes 96 bytes: by turns one of `a`, of `b` and of `c`.
__attribute__((target("avx2"))) static inline void interleave(
  uint8_t *target, __m256i a, __m256i b, __m256i c) {
  const __m256i order_a = _mm256_setr_epi8(
    0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10, 5,
    0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10, 5);
  const __m256i order_b = _mm256_setr_epi8(
    5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10,
    5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10);
  const __m256i order_c = _mm256_setr_epi8(
    10, 5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15,
    10, 5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15);
  // Every third byte, from the second one and from the third one.
  const __m256i second = _mm256_setr_epi8(
    0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0,
    0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0);
  const __m256i third = _mm256_setr_epi8(
    0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0,
    0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0);
  a = _mm256_shuffle_epi8(a, order_a);
  b = _mm256_shuffle_epi8(b, order_b);
  c = _mm256_shuffle_epi8(c, order_c);
  __m256i first_part = _mm256_blendv_epi8(_mm256_blendv_epi8(a, b, second), c, third);
  __m256i second_part = _mm256_blendv_epi8(_mm256_blendv_epi8(b, c, second), a, third);
  __m256i third_part = _mm256_blendv_epi8(_mm256_blendv_epi8(c, a, second), b, third);
  // Each has a sixth of the pixels in its lower half, and another one in its upper half.
  __m256i *place = (__m256i *)target;
  _mm256_storeu_si256(place, _mm256_permute2x128_si256(first_part, second_part, 0x20));
  _mm256_storeu_si256(place + 1, _mm256_permute2x128_si256(third_part, first_part, 0x30));
  _mm256_storeu_si256(place + 2, _mm256_permute2x128_si256(second_part, third_part, 0x31));
}

__attribute__((target("avx2"))) static inline __m256i chroma(const uint8_t *samples) {
  __m256i wide = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)samples));
  return _mm256_slli_epi16(_mm256_sub_epi16(wide, _mm256_set1_epi16(middle)), chroma_bits);
}

__attribute__((target("avx2"))) static void make_row(
  uint8_t *target, const uint8_t *luma, const uint8_t *blue, const uint8_t *red, size_t width,
  const struct factors *factors, int begins_with_blue) {
  const __m256i of_luma = _mm256_set1_epi16(factors->luma);
  const __m256i offset = _mm256_set1_epi16(factors->offset);
  const __m256i red_of_red = _mm256_set1_epi16(factors->red_of_red);
  const __m256i green_of_blue = _mm256_set1_epi16(factors->green_of_blue);
  const __m256i green_of_red = _mm256_set1_epi16(factors->green_of_red);
  const __m256i blue_of_blue = _mm256_set1_epi16(factors->blue_of_blue);
  const __m256i low_byte = _mm256_set1_epi16(255);
  size_t x = 0;
  for (; x + 32 <= width; x += 32) {
    __m256i light = _mm256_loadu_si256((const __m256i *)(luma + x));
    __m256i even = _mm256_slli_epi16(_mm256_and_si256(light, low_byte), luma_bits);
    __m256i odd = _mm256_slli_epi16(_mm256_srli_epi16(light, 8), luma_bits);
    even = _mm256_add_epi16(_mm256_mulhrs_epi16(even, of_luma), offset);
    odd = _mm256_add_epi16(_mm256_mulhrs_epi16(odd, of_luma), offset);
    __m256i u = chroma(blue + x / 2), v = chroma(red + x / 2);
    __m256i r = _mm256_mulhrs_epi16(v, red_of_red);
    __m256i b = _mm256_mulhrs_epi16(u, blue_of_blue);
    __m256i g = _mm256_add_epi16(
      _mm256_mulhrs_epi16(u, green_of_blue), _mm256_mulhrs_epi16(v, green_of_red));
    r = levels(_mm256_adds_epi16(even, r), _mm256_adds_epi16(odd, r));
    g = levels(_mm256_adds_epi16(even, g), _mm256_adds_epi16(odd, g));
    b = levels(_mm256_adds_epi16(even, b), _mm256_adds_epi16(odd, b));
    if (begins_with_blue)
      interleave(target + 3 * x, b, g, r);
    else
      interleave(target + 3 * x, r, g, b);
  }
  make_rest(target, luma, blue, red, x, width, factors, begins_with_blue);
}

int pixels_can_make_rgb(void) { return __builtin_cpu_supports("avx2") != 0; }

void pixels_make_rgb(uint8_t *target, ptrdiff_t stride, const struct pixels_planes *planes,
                     const struct pixels_matrix *matrix, int begins_with_blue) {
  const struct factors factors = factors_of(matrix);
  for (size_t row = 0; row < planes->height; row++) {
    ptrdiff_t own = (ptrdiff_t)row, shared = (ptrdiff_t)(row / planes->chroma_rows);
    make_row(
      target + own * stride, planes->luma + own * planes->luma_stride,
      planes->blue + shared * planes->blue_stride, planes->red + shared * planes->red_stride,
      planes->width, &factors, begins_with_blue);
  }
}

#else

int pixels_can_make_rgb(void) { return 0; }

void pixels_make_rgb(uint8_t *target, ptrdiff_t stride, const struct pixels_planes *planes,
                     const struct pixels_matrix *matrix, int begins_with_blue) {
  (void)target, (void)stride, (void)planes, (void)matrix, (void)begins_with_blue;
}

#endif
