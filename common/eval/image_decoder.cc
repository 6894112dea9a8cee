// Decodes image files to pixels with Leptonica, which reads BMP, JPEG, JPEG 2000, PNG, PNM, TIFF
// and WebP, among others. Leptonica depends on twenty libraries and few models contain an image
// decoder, so it is loaded when the first image is decoded, and is not needed for building.
#include <cstddef>
#include <memory>

#include "common/base/library_symbol.h"
#include "common/eval/kernels.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

constexpr const char* kLibrary = "liblept.so.5";

// The functions of allheaders.h; the version in the library's name fixes their types.
struct Pix;
struct Leptonica {
  Pix* (*read)(const uint8_t* bytes, size_t size) = nullptr;
  Pix* (*to_32_bits)(Pix* image) = nullptr;
  int32_t (*width)(Pix* image) = nullptr;
  int32_t (*height)(Pix* image) = nullptr;
  int32_t (*words_in_row)(Pix* image) = nullptr;
  uint32_t* (*words)(Pix* image) = nullptr;
  void (*destroy)(Pix** image) = nullptr;
  int32_t (*set_severity)(int32_t level) = nullptr;
};

// Returns null when the library is not installed.
const Leptonica* load() {
  static Leptonica functions;
  static const bool is_there = [] {
    constexpr int32_t kSilent = 6;
    void* const library = open_library(kLibrary);
    if (library == nullptr) return false;
    const auto find = [&](const char* name, auto& function) {
      function = library_symbol(library, name, function);
      return function != nullptr;
    };
    const bool found =
        find("pixReadMem", functions.read) && find("pixConvertTo32", functions.to_32_bits) &&
        find("pixGetWidth", functions.width) && find("pixGetHeight", functions.height) &&
        find("pixGetWpl", functions.words_in_row) && find("pixGetData", functions.words) &&
        find("pixDestroy", functions.destroy) && find("setMsgSeverity", functions.set_severity);
    if (found) functions.set_severity(kSilent);
    return found;
  }();
  return is_there ? &functions : nullptr;
}

struct Destroy {
  const Leptonica* library;
  void operator()(Pix* image) const { library->destroy(&image); }
};
using Image = std::unique_ptr<Pix, Destroy>;

struct Pixel {
  uint32_t red, green, blue;
};

Pixel pixel_of(uint32_t word) { return {word >> 24, word >> 16 & 255, word >> 8 & 255}; }

// Computes ITU-R BT.601 with 16 fractional bits, rounded.
uint8_t grey_of(const Pixel& pixel) {
  return static_cast<uint8_t>(
      (pixel.red * 19595 + pixel.green * 38470 + pixel.blue * 7471 + 32768) >> 16);
}

uint8_t* write_pixel(uint8_t* to, const Pixel& pixel, const std::string& format) {
  if (format == "Grayscale") {
    *to++ = grey_of(pixel);
    return to;
  }
  const bool red_first = format == "RGB";
  *to++ = static_cast<uint8_t>(red_first ? pixel.red : pixel.blue);
  *to++ = static_cast<uint8_t>(pixel.green);
  *to++ = static_cast<uint8_t>(red_first ? pixel.blue : pixel.red);
  return to;
}

}  // namespace

Result<void> eval_image_decoder(EvalCall& call) {
  const Input& file = call.input(0);
  const std::string format = call.node.get(attributes::ImageDecoder::pixel_format);
  if (format != "RGB" && format != "BGR" && format != "Grayscale") {
    return call.bad_value("attribute 'pixel_format' is '{}', expected RGB, BGR or Grayscale",
                          format);
  }
  const Leptonica* library = load();
  if (library == nullptr) {
    return make_error(ErrorCode::kNotEvaluable,
                      "{}: decoding images needs {}, which cannot be loaded", call.node.label(),
                      kLibrary)
        .with_hint("install the package liblept5");
  }
  const Image read(library->read(file.as<uint8_t>(), static_cast<size_t>(file.count)), {library});
  const Image image(read == nullptr ? nullptr : library->to_32_bits(read.get()), {library});
  if (image == nullptr) {
    return call.bad_value(
        "the input's {} bytes are no image that can be read, expected a BMP, JPEG, JPEG 2000, PNG, "
        "PNM, TIFF or WebP file",
        file.count);
  }
  const int64_t height = library->height(image.get()), width = library->width(image.get()),
                channels = format == "Grayscale" ? 1 : 3;
  SLUICE_ASSIGN(const Output y, call.output(0, DType::kU8, {height, width, channels}));
  auto* to = y.as<uint8_t>();
  for (int64_t row = 0; row < height; ++row) {
    const uint32_t* words = library->words(image.get()) + row * library->words_in_row(image.get());
    for (int64_t x = 0; x < width; ++x) to = write_pixel(to, pixel_of(words[x]), format);
  }
  return {};
}

}  // namespace sluice::eval
