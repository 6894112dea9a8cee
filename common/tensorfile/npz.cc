// NumPy's .npz: a ZIP archive of .npy files (PKWARE APPNOTE 6.3), stored or deflated, with or
// without the zip64 fields. Everything is read from the central directory at the end of the file;
// the local headers only determine where the bytes start.
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "common/base/files.h"
#include "common/tensorfile/bad_file.h"
#include "common/tensorfile/tensorfile.h"
#include "common/tensorfile/zip_records.h"

namespace sluice {
namespace {

using Bytes = std::span<const std::byte>;

constexpr uint64_t kEndBytes = 22, kMaxComment = 65535,
                   kMaxDeflateRatio = 1032;  // deflate's own bound

template <typename T>
T number_at(Bytes bytes, uint64_t at) {
  T number{};
  if (at <= bytes.size() && bytes.size() - at >= sizeof(T))
    std::memcpy(&number, bytes.data() + at, sizeof(T));
  return number;
}

struct Directory {
  uint64_t count = 0, bytes = 0, offset = 0;
};

struct Member {
  std::string name;
  uint16_t flags = 0, method = 0;
  uint32_t crc = 0;
  uint64_t packed = 0, size = 0, local = 0;
};

Result<Directory> find_directory(Bytes file, const std::string& path) {
  if (file.size() < kEndBytes) return bad_file(path, "the file is too short for an archive");
  const uint64_t lowest =
      file.size() - kEndBytes - std::min<uint64_t>(kMaxComment, file.size() - kEndBytes);
  for (uint64_t at = file.size() - kEndBytes + 1; at-- > lowest;) {
    if (number_at<uint32_t>(file, at) != kZipEnd) continue;
    Directory directory{number_at<uint16_t>(file, at + 10), number_at<uint32_t>(file, at + 12),
                        number_at<uint32_t>(file, at + 16)};
    if (at >= 20 && number_at<uint32_t>(file, at - 20) == kZipLocator64) {
      const uint64_t end64 = number_at<uint64_t>(file, at - 20 + 8);
      if (number_at<uint32_t>(file, end64) != kZipEnd64)
        return bad_file(path, "the archive's zip64 end record is missing");
      directory = {number_at<uint64_t>(file, end64 + 32), number_at<uint64_t>(file, end64 + 40),
                   number_at<uint64_t>(file, end64 + 48)};
    }
    if (directory.offset > file.size() || directory.bytes > file.size() - directory.offset) {
      return bad_file(path, "the archive's directory lies outside the file");
    }
    return directory;
  }
  return bad_file(path, "the file is no ZIP archive: its end record is missing");
}

// Reads the 64-bit values of field 1 of the extra fields: in this order, those of size, packed size
// and offset that did not fit into 32 bits.
void widen(Member& member, Bytes extra) {
  while (extra.size() >= 4) {
    const uint64_t length = std::min<uint64_t>(number_at<uint16_t>(extra, 2), extra.size() - 4);
    if (number_at<uint16_t>(extra, 0) == 1) {
      Bytes field = extra.subspan(4, length);
      for (uint64_t* number : {&member.size, &member.packed, &member.local}) {
        if (*number != 0xffffffff || field.size() < 8) continue;
        *number = number_at<uint64_t>(field, 0);
        field = field.subspan(8);
      }
    }
    extra = extra.subspan(4 + length);
  }
}

Result<Member> take_member(Bytes& directory, const std::string& path) {
  constexpr uint64_t kFixed = 46;
  const uint64_t name = number_at<uint16_t>(directory, 28),
                 extra = number_at<uint16_t>(directory, 30);
  const uint64_t whole = kFixed + name + extra + number_at<uint16_t>(directory, 32);
  if (number_at<uint32_t>(directory, 0) != kZipCentralHeader || whole > directory.size()) {
    return bad_file(path, "the archive's directory is damaged");
  }
  Member member;
  member.flags = number_at<uint16_t>(directory, 8);
  member.method = number_at<uint16_t>(directory, 10);
  member.crc = number_at<uint32_t>(directory, 16);
  member.packed = number_at<uint32_t>(directory, 20);
  member.size = number_at<uint32_t>(directory, 24);
  member.local = number_at<uint32_t>(directory, 42);
  member.name.assign(reinterpret_cast<const char*>(directory.data()) + kFixed, name);
  widen(member, directory.subspan(kFixed + name, extra));
  directory = directory.subspan(whole);
  return member;
}

bool inflate_all(Bytes packed, std::vector<std::byte>& out) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
  uint64_t read = 0, written = 0;
  int code = Z_OK;
  std::byte none{};  // zlib rejects a null output even when there are no bytes
  constexpr uint64_t kChunk = uint64_t{1} << 30;
  while (code == Z_OK) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + read));
    stream.avail_in = static_cast<uInt>(std::min(packed.size() - read, kChunk));
    stream.next_out = reinterpret_cast<Bytef*>(out.empty() ? &none : out.data() + written);
    stream.avail_out = static_cast<uInt>(std::min(out.size() - written, kChunk));
    const uInt in = stream.avail_in, available = stream.avail_out;
    code = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += available - stream.avail_out;
    if (in == stream.avail_in && available == stream.avail_out && code != Z_STREAM_END) break;
  }
  inflateEnd(&stream);
  return code == Z_STREAM_END && written == out.size();
}

Result<std::vector<std::byte>> member_bytes(Bytes file, const Member& member,
                                            const std::string& path) {
  constexpr uint64_t kFixed = 30;
  if ((member.flags & 1) != 0) return bad_file(path, "member '{}' is encrypted", member.name);
  if (member.method != 0 && member.method != 8) {
    return bad_file(path, "member '{}' is packed by method {}, expected 0 (stored) or 8 (deflated)",
                    member.name, member.method);
  }
  if (number_at<uint32_t>(file, member.local) != kZipLocalHeader)
    return bad_file(path, "the header of member '{}' is missing", member.name);
  const uint64_t begin = member.local + kFixed + number_at<uint16_t>(file, member.local + 26) +
                         number_at<uint16_t>(file, member.local + 28);
  if (begin > file.size() || member.packed > file.size() - begin)
    return bad_file(path, "member '{}' ends outside the file", member.name);
  const Bytes packed = file.subspan(begin, member.packed);
  const bool possible = member.method == 0 ? member.size == member.packed
                                           : member.size / kMaxDeflateRatio <= member.packed;
  if (!possible)
    return bad_file(path, "member '{}' cannot have {} bytes in {}", member.name, member.size,
                    member.packed);
  std::vector<std::byte> bytes(member.size);
  if (member.method == 0) {
    std::copy(packed.begin(), packed.end(), bytes.begin());
  } else if (!inflate_all(packed, bytes)) {
    return bad_file(path, "member '{}' cannot be unpacked", member.name);
  }
  if (crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()) != member.crc) {
    return bad_file(path, "member '{}' has a wrong checksum", member.name);
  }
  return bytes;
}

}  // namespace

Result<std::vector<Tensor>> read_npz(const std::string& path) {
  SLUICE_ASSIGN(const MappedFile mapped, MappedFile::open(path));
  const Bytes file = mapped.bytes();
  SLUICE_ASSIGN(const Directory where, find_directory(file, path));
  Bytes directory = file.subspan(where.offset, where.bytes);
  std::vector<Tensor> tensors;
  for (uint64_t i = 0; i < where.count; ++i) {
    SLUICE_ASSIGN(const Member member, take_member(directory, path));
    if (!member.name.ends_with(".npy"))
      return bad_file(path, "member '{}' is no .npy file", member.name);
    SLUICE_ASSIGN(const std::vector<std::byte> bytes, member_bytes(file, member, path));
    SLUICE_ASSIGN(Tensor tensor, parse_npy(bytes, path + ":" + member.name));
    tensor.name = member.name.substr(0, member.name.size() - 4);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace sluice
