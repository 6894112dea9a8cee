#include "common/wire/endpoint.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "common/base/files.h"
#include "common/base/testing/test_folder.h"

namespace sluice {
namespace {

TEST(Endpoint, OfThisMachineAreTaken) {
  for (const char* text : {"ipc:///tmp/x", "ipc://relative", "tcp://127.0.0.1:5555",
                           "tcp://127.3.2.1:1", "tcp://[::1]:65535", "tcp://127.0.0.1:*"}) {
    const auto endpoint = parse_endpoint(text);
    ASSERT_TRUE(endpoint.ok()) << text;
    EXPECT_EQ(*endpoint, text);
  }
  EXPECT_EQ(parse_endpoint("tcp://localhost:80").value(), "tcp://127.0.0.1:80");
  EXPECT_EQ(parse_endpoint("tcp://[::ffff:127.0.0.1]:80").value(), "tcp://127.0.0.1:80");
}

TEST(Endpoint, OthersAreRefused) {
  for (const char* text :
       {"tcp://0.0.0.0:5555", "tcp://*:5555", "tcp://192.168.0.1:5555", "tcp://example.org:5555",
        "tcp://[::]:5555", "tcp://127.0.0.1.example.org:1", "inproc://x", "udp://127.0.0.1:1", "",
        "ipc://", "ipc://@abstract", "tcp://127.0.0.1", "tcp://127.0.0.1:0",
        "tcp://127.0.0.1:65536", "tcp://127.0.0.1:x", "tcp://:1", "tcp://[::ffff:10.0.0.1]:1",
        "tcp://[::ffff:127.0.0.1:1", "tcp://128.0.0.1:1"}) {
    const auto endpoint = parse_endpoint(text);
    ASSERT_FALSE(endpoint.ok()) << text;
    EXPECT_EQ(endpoint.error().code, ErrorCode::kBadOption);
  }
  EXPECT_FALSE(parse_endpoint("ipc:///" + std::string(107, 'x')).ok());
  EXPECT_TRUE(parse_endpoint("ipc:///" + std::string(106, 'x')).ok());
}

TEST(Endpoint, WithKeysOtherMachinesAreReached) {
  for (const char* text : {"tcp://10.0.0.1:5", "tcp://example.org:5", "tcp://node_7:5",
                           "tcp://[2001:db8::1]:5", "tcp://127.0.0.1:5", "ipc:///x"})
    EXPECT_TRUE(parse_endpoint(text, Reach::kConnect).ok()) << text;
  for (const char* text : {"tcp://*:5", "tcp://0.0.0.0:5", "tcp://[::]:5", "tcp://10.0.0.1:*",
                           "tcp://256.0.0.1:5", "tcp://a b:5", "tcp://-a:5", "tcp://:5",
                           "tcp://a;b:5", "tcp://a:0", "tcp://1.2.3.4;5.6.7.8:5"})
    EXPECT_FALSE(parse_endpoint(text, Reach::kConnect).ok()) << text;
  for (const char* text : {"tcp://*:5", "tcp://*:*", "tcp://0.0.0.0:5", "tcp://[::]:*",
                           "tcp://10.0.0.1:5", "tcp://eth0:5"})
    EXPECT_TRUE(parse_endpoint(text, Reach::kListen).ok()) << text;
  for (const char* text : {"tcp://256.0.0.1:5", "tcp://[::1:5", "tcp://a/b:5", "udp://*:5"})
    EXPECT_FALSE(parse_endpoint(text, Reach::kListen).ok()) << text;
}

TEST(Endpoint, WhatZeroMqSaysIsReadable) {
  EXPECT_EQ(readable_endpoint("tcp://[::ffff:10.0.0.1]:5"), "tcp://10.0.0.1:5");
  EXPECT_EQ(readable_endpoint("tcp://[::]:5"), "tcp://[::]:5");
  EXPECT_EQ(readable_endpoint("tcp://[fe80::1%eth0]:5"), "tcp://[fe80::1%eth0]:5");
  EXPECT_EQ(readable_endpoint("ipc:///x:5"), "ipc:///x:5");
}

TEST(Endpoint, AFileOfAnotherKindIsNotTakenOver) {
  const TestFolder folder;
  const std::string path = folder.file("socket");
  ASSERT_TRUE(write_text(path, "precious").ok());
  EXPECT_FALSE(check_unused("ipc://" + path).ok());
  std::remove(path.c_str());
  EXPECT_TRUE(check_unused("ipc://" + path).ok());
}

}  // namespace
}  // namespace sluice
