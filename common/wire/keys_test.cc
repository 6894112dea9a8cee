#include "common/wire/keys.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "common/base/files.h"
#include "common/base/testing/test_folder.h"
#include "common/wire/allowed_keys.h"
#include "common/wire/security.h"

namespace sluice {
namespace {

class KeysTest : public ::testing::Test {
 protected:
  std::string make(const std::string& name, const std::string& below = "") {
    const std::string folder = folder_.path() + below;
    std::filesystem::create_directories(folder);
    const auto made = make_key_files(folder, name);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return folder + "/" + name;
  }
  static void write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(write_text(path, text).ok());
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  }
  const TestFolder folder_;
};

TEST_F(KeysTest, WhatIsWrittenIsRead) {
  const std::string path = make("a");
  const auto pair = read_key_pair(path + ".key");
  ASSERT_TRUE(pair.ok()) << pair.error().message;
  EXPECT_EQ(pair->public_key, read_public_key(path + ".pub").value());
  EXPECT_NE(pair->public_key, pair->secret_key);
  EXPECT_NE(pair->public_key, read_public_key(make("b") + ".pub").value());
  struct stat status{};
  ASSERT_EQ(::stat((path + ".key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(read_text(path + ".pub").value().find("secret"), std::string::npos);
}

TEST_F(KeysTest, NothingIsOverwritten) {
  const std::string path = make("a");
  const std::string before = read_text(path + ".key").value();
  const auto again = make_key_files(folder_.path(), "a");
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().message.find("a.key' exists"), std::string::npos);
  EXPECT_EQ(read_text(path + ".key").value(), before);
  std::filesystem::remove(path + ".key");
  EXPECT_FALSE(make_key_files(folder_.path(), "a").ok());  // a.pub is that of somebody
  EXPECT_FALSE(std::filesystem::exists(path + ".key"));
  EXPECT_FALSE(make_key_files(folder_.file("nowhere"), "a").ok());
  const auto left = std::filesystem::directory_iterator(folder_.path());
  EXPECT_EQ(std::distance(begin(left), end(left)), 1);
}

TEST_F(KeysTest, NamesAreThoseOfFiles) {
  for (const char* name : {"a", "Alice@host-1.example.org", "0_0"}) EXPECT_TRUE(is_key_name(name));
  for (const std::string name : {"", ".", ".a", "-a", "a/b", "../a", "a b", "a\n", "ä"}) {
    EXPECT_FALSE(is_key_name(name)) << name;
    EXPECT_FALSE(make_key_files(folder_.path(), name).ok());
  }
  EXPECT_TRUE(is_key_name(std::string(100, 'x')));
  EXPECT_FALSE(is_key_name(std::string(101, 'x')));
}

TEST_F(KeysTest, ASecretThatOthersCanReadIsRefused) {
  const std::string path = make("a") + ".key";
  for (const mode_t mode : {0644, 0604, 0620, 0601, 0660}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    const auto pair = read_key_pair(path);
    ASSERT_FALSE(pair.ok()) << mode;
    EXPECT_EQ(pair.error().code, ErrorCode::kBadFile);
    EXPECT_NE(pair.error().hint.find("chmod 600"), std::string::npos);
  }
  ASSERT_EQ(::chmod(path.c_str(), 0400), 0);
  EXPECT_TRUE(read_key_pair(path).ok());
}

TEST_F(KeysTest, DamagedFilesAreRefused) {
  const std::string path = make("a");
  const std::string secret = read_text(path + ".key").value();
  const std::string open = read_text(path + ".pub").value();
  const std::string other = folder_.file("x");
  for (size_t i = 0; i < secret.size(); ++i) {
    write(other, secret.substr(0, i));
    EXPECT_FALSE(read_key_pair(other).ok()) << i;
    std::string changed = secret;
    changed[i] = changed[i] == '~' ? '"' : '~';  // neither is of a key
    write(other, changed);
    EXPECT_FALSE(read_key_pair(other).ok()) << i;
  }
  for (size_t i = 0; i < open.size(); ++i) {
    write(other, open.substr(0, i));
    EXPECT_FALSE(read_public_key(other).ok()) << i;
  }
  for (const std::string& text :
       {open + "x", open + open, open + std::string(2000, '\n'), std::string(),
        "sluice public key\npublic " + std::string(40, '#') + "\n"}) {  // more than 32 bits
    write(other, text);
    EXPECT_FALSE(read_public_key(other).ok()) << text;
  }
  EXPECT_FALSE(read_key_pair(path + ".pub").ok());
  EXPECT_FALSE(read_public_key(path + ".key").ok());
  const std::string foreign = read_text(make("b") + ".key").value();
  const size_t cut = secret.find("secret ", 10);
  write(other, secret.substr(0, cut) + foreign.substr(cut));
  const auto mixed = read_key_pair(other);
  ASSERT_FALSE(mixed.ok());
  EXPECT_NE(mixed.error().message.find("do not belong together"), std::string::npos);
  EXPECT_EQ(read_key_pair(folder_.file("none")).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(read_key_pair(folder_.path()).ok());
  ASSERT_EQ(::mkfifo(folder_.file("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(read_key_pair(folder_.file("pipe")).ok());  // and is not waited for
}

TEST_F(KeysTest, AFolderSaysWhoIsAllowedAndAsWhat) {
  const std::string any = read_public_key(make("any", "/allowed") + ".pub").value();
  const std::string client = read_public_key(make("c", "/allowed/clients") + ".pub").value();
  const std::string worker = make("w", "/allowed/workers") + ".pub";
  const std::string both = make("both", "/allowed/workers") + ".pub";
  std::filesystem::copy(both, folder_.file("allowed/clients/both.pub"));
  auto allowed = AllowedKeys::open(folder_.file("allowed"));
  ASSERT_TRUE(allowed.ok()) << allowed.error().message;
  const std::string worker_key = read_public_key(worker).value();
  EXPECT_EQ(allowed->find(any)->name, "any");
  EXPECT_EQ(allowed->find(any)->role, KeyRole::kAny);
  EXPECT_EQ(allowed->find(client)->role, KeyRole::kClient);
  EXPECT_EQ(allowed->find(worker_key)->role, KeyRole::kWorker);
  EXPECT_EQ(allowed->find(worker_key)->name, "w");
  EXPECT_EQ(allowed->find(read_public_key(both).value())->role, KeyRole::kAny);
  EXPECT_EQ(allowed->find(""), nullptr);
  std::filesystem::remove(worker);
  write(folder_.file("allowed/bad.pub"), "no key\n");
  allowed->refresh();
  EXPECT_EQ(allowed->find(worker_key), nullptr);
  EXPECT_NE(allowed->find(any), nullptr);
  EXPECT_FALSE(AllowedKeys::open(folder_.file("allowed")).ok());
  std::filesystem::remove_all(folder_.file("allowed"));
  allowed->refresh();
  EXPECT_EQ(allowed->find(any), nullptr);
  EXPECT_FALSE(AllowedKeys::open(folder_.file("allowed")).ok());
}

TEST(Security, WithoutKeysOnlyThisMachineIsReached) {
  const ListenerKeys none, insecure{.key = {}, .allowed = {}, .is_insecure = true},
      keys{.key = "k", .allowed = "a"};
  EXPECT_TRUE(listening_endpoint("ipc:///x", none).ok());
  const auto open = listening_endpoint("tcp://127.0.0.1:1", none);
  ASSERT_FALSE(open.ok());
  EXPECT_NE(open.error().hint.find("keygen"), std::string::npos);
  EXPECT_NE(open.error().hint.find("--insecure"), std::string::npos);
  EXPECT_TRUE(listening_endpoint("tcp://127.0.0.1:1", insecure).ok());
  EXPECT_FALSE(listening_endpoint("tcp://0.0.0.0:1", insecure).ok());
  EXPECT_TRUE(listening_endpoint("tcp://0.0.0.0:1", keys).ok());
  EXPECT_TRUE(connecting_endpoint("tcp://127.0.0.1:1", {}).ok());
  EXPECT_FALSE(connecting_endpoint("tcp://example.org:1", {}).ok());
  EXPECT_TRUE(connecting_endpoint("tcp://example.org:1", {.key = "k", .peer = "p"}).ok());
}

TEST(Security, AKeyAloneIsNoSecurity) {
  EXPECT_EQ(listening_endpoint("ipc:///x", {.key = "k", .allowed = {}}).error().code,
            ErrorCode::kUsage);
  EXPECT_EQ(listening_endpoint("ipc:///x", {.key = {}, .allowed = "a"}).error().code,
            ErrorCode::kUsage);
  EXPECT_EQ(listening_endpoint("ipc:///x", {.key = "k", .allowed = "a", .is_insecure = true})
                .error()
                .code,
            ErrorCode::kUsage);
  EXPECT_EQ(connecting_endpoint("ipc:///x", {.key = "k", .peer = {}}).error().code,
            ErrorCode::kUsage);
  EXPECT_EQ(connecting_endpoint("ipc:///x", {.key = {}, .peer = "p"}).error().code,
            ErrorCode::kUsage);
}

}  // namespace
}  // namespace sluice
