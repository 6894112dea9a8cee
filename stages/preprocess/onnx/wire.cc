#include "stages/preprocess/onnx/wire.h"

#include <climits>
#include <cstdint>
#include <optional>

#include "common/ir/segment.h"

namespace sluice {
namespace {

// The maximum depth of scanned messages; types and shapes are nested below.
constexpr int kMaxScanDepth = kMaxMessageDepth - 8;

enum class Message { kModel, kGraph, kNode, kAttribute, kTensor, kSparse, kFunction };

// Returns the message inside `field`, where the scanner has to descend into it.
std::optional<Message> nested(Message message, uint64_t field) {
  switch (message) {
    case Message::kModel:
      if (field == 7) return Message::kGraph;
      if (field == 25) return Message::kFunction;
      break;
    case Message::kGraph:
      if (field == 1) return Message::kNode;
      if (field == 5) return Message::kTensor;
      if (field == 15) return Message::kSparse;
      break;
    case Message::kNode:
      if (field == 5) return Message::kAttribute;
      break;
    case Message::kAttribute:
      if (field == 5 || field == 10) return Message::kTensor;
      if (field == 6 || field == 11) return Message::kGraph;
      if (field == 22 || field == 23) return Message::kSparse;
      break;
    case Message::kSparse:
      if (field == 1 || field == 2) return Message::kTensor;
      break;
    case Message::kFunction:
      if (field == 7) return Message::kNode;
      if (field == 11) return Message::kAttribute;
      break;
    case Message::kTensor:
      break;
  }
  return std::nullopt;
}

bool is_unread(Message message, uint64_t field) {
  return (message == Message::kModel && field == 20) || (message == Message::kNode && field == 6);
}

bool is_payload(Message message, uint64_t field) {
  return message == Message::kTensor && (field == 4 || field == 9 || field == 10);
}

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void put_bytes(std::string& out, uint64_t field, std::string_view bytes) {
  put_varint(out, field << 3 | 2);
  put_varint(out, bytes.size());
  out += bytes;
}

class Scanner {
 public:
  explicit Scanner(std::span<const std::byte> model) : model_(model) {}

  // Copies the message that ends at `end`.
  Result<void> copy(Message message, uint64_t end, int depth, std::string& out) {
    if (depth > kMaxScanDepth) return bad("messages are nested too deeply");
    bool has_payload = false;
    while (at_ < end) {
      const uint64_t start = at_;
      uint64_t tag = 0;
      if (!varint(end, tag) || tag >> 3 == 0) return bad("expected a field");
      uint64_t size = 0;
      if (!field_size(tag & 7, end, size)) return bad("a field reaches beyond its message");
      const uint64_t field = tag >> 3;
      const bool is_bytes = (tag & 7) == 2;
      if (message == Message::kTensor && field == 3)
        return bad("a tensor is stored in chunks, which nothing reads");
      if (is_bytes && is_payload(message, field) && size > kSmallSegmentBytes) {
        if (has_payload) return bad("a tensor has its elements twice");
        has_payload = true;
        put_marker(at_, at_ + size, out);
      } else if (const auto inner = nested(message, field); is_bytes && inner) {
        std::string copied;
        SLUICE_TRY(copy(*inner, at_ + size, depth + 1, copied));
        put_bytes(out, field, copied);
        continue;
      } else if (!is_unread(message, field)) {
        out.append(reinterpret_cast<const char*>(model_.data()) + start, at_ + size - start);
      }
      at_ += size;
      if (out.size() > INT_MAX)
        return make_error(ErrorCode::kLimit, "the model is larger than 2 GiB without its weights");
    }
    return {};
  }

 private:
  Error bad(const char* what) const {
    return make_error(ErrorCode::kBadModel, "not an ONNX model: {} at byte {}", what, at_);
  }

  bool varint(uint64_t end, uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 70 && at_ < end; shift += 7) {
      const auto byte = static_cast<uint64_t>(model_[at_++]);
      value |= shift < 64 ? (byte & 0x7f) << shift : 0;
      if (byte < 0x80) return true;
    }
    return false;
  }

  // Reads the number of bytes of the field's content, which starts at at_ afterwards.
  bool field_size(uint64_t wire, uint64_t end, uint64_t& size) {
    if (wire == 0) {
      const uint64_t start = at_;
      uint64_t value = 0;
      if (!varint(end, value)) return false;
      size = at_ - start;
      at_ = start;
      return true;
    }
    if (wire == 2 && !varint(end, size)) return false;
    if (wire == 1) size = 8;
    if (wire == 5) size = 4;
    return (wire == 1 || wire == 2 || wire == 5) && size <= end - at_;
  }

  static void put_marker(uint64_t begin, uint64_t end, std::string& out) {
    std::string marker;
    put_varint(marker, 1 << 3);
    put_varint(marker, begin);
    put_varint(marker, 2 << 3);
    put_varint(marker, end);
    put_bytes(out, 3, marker);
  }

  std::span<const std::byte> model_;
  uint64_t at_ = 0;
};

}  // namespace

Result<std::string> drop_payloads(std::span<const std::byte> model) {
  std::string reduced;
  SLUICE_TRY(Scanner(model).copy(Message::kModel, model.size(), 0, reduced));
  return reduced;
}

}  // namespace sluice
