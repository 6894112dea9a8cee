#include "orchestrator/compile/sent_stage.h"

#include <stdlib.h>

#include "common/base/files.h"
#include "common/base/store.h"
#include "common/base/testing/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A client and a worker with a store each; what is in one is copied to the other by its digest, as
// their messages do.
class SentStageTest : public ::testing::Test {
 protected:
  SentStageTest() {
    ::setenv("PATH", SLUICE_PROGRAMS, 1);
    sent_.run = {.name = "optimize", .program = "", .options = {"--opt-level=O3"}, .input = "-"};
    sent_.input = file("in.sg", "a graph");
    sent_.output = folder_.file("out.sg");
    places_.folder = folder_.file("worker");
  }

  std::string file(const std::string& name, std::string_view text) {
    const std::string path = folder_.file(name);
    EXPECT_TRUE(write_text(path, text).ok());
    return path;
  }
  static void copy(const Digest& digest, Store& from, Store& to) {
    const auto artifact = from.find_artifact(digest);
    ASSERT_TRUE(artifact);
    to.keep(artifact->bytes());
  }
  Record record() {
    auto made =
        record_of(sent_, places_.names_files ? FileNaming::kAbsolute : FileNaming::kSent, client_);
    EXPECT_TRUE(made.ok()) << error_text(made.error());
    return *made;
  }
  Result<SentStage> received(const Record& record) {
    for (const Digest& digest : artifacts_read(record)) copy(digest, client_, worker_);
    return sent_stage_of(record, places_, worker_);
  }
  std::string unsupported_reason(const std::string& name, const std::string& value) {
    Record changed = record();
    changed.fields.add(name, value);
    const auto received = this->received(changed);
    return received ? "taken" : error_text(received.error());
  }
  std::string sent_digest() { return digest_hex(client_.keep(std::as_bytes(std::span("x")))); }
  // Returns what the client says of a product of this path.
  std::string reply(const std::string& path) {
    Record made = record();
    made.results.add("made.0", client_.keep(std::as_bytes(std::span(path))));
    made.results.add("path.0", path);
    const auto taken = take_made(sent_, made, client_);
    return taken ? "taken" : error_text(taken.error());
  }

  const TestFolder folder_;
  Store client_{folder_.file("client-store")}, worker_{folder_.file("worker-store")};
  SentStage sent_;
  SentPlaces places_;
};

TEST_F(SentStageTest, FilesAreNamedWhereBothSeeThem) {
  places_.names_files = true;
  places_.limits = Sandbox{.memory_bytes = 7};
  sent_.run.sandbox = Sandbox{.readable = {"/models"}, .writable = {"/dumps"}};
  sent_.run.options.push_back("--dump-dir=/dumps/2-optimize");
  const auto got = received(record());
  ASSERT_TRUE(got.ok()) << error_text(got.error());
  EXPECT_EQ(got->input, sent_.input);
  EXPECT_EQ(got->output, sent_.output);
  EXPECT_EQ(got->run.options, sent_.run.options);
  EXPECT_THAT(got->run.program, HasSubstr("sluice-optimize"));
  EXPECT_THAT(got->run.sandbox->readable, ElementsAre("/models"));
  EXPECT_THAT(got->run.sandbox->writable, ElementsAre("/dumps"));
  EXPECT_EQ(got->run.sandbox->memory_bytes, 7u);
}

TEST_F(SentStageTest, FilesAreSentAndComeBack) {
  sent_.run.options.push_back("--annotate=" + file("notes.txt", "notes"));
  sent_.run.options.push_back("--dump-dir=" + folder_.file("dumps"));
  sent_.run.options.push_back("--weights-beside=" + folder_.file("m.om"));
  Record sent = record();
  const auto got = received(sent);
  ASSERT_TRUE(got.ok()) << error_text(got.error());
  EXPECT_EQ(read_text(got->input).value(), "a graph");
  ASSERT_EQ(got->run.options.size(), 4u);
  const std::string notes = got->run.options[1].substr(sizeof("--annotate=") - 1);
  EXPECT_EQ(read_text(notes).value(), "notes");
  EXPECT_THAT(notes, HasSubstr("/notes.txt"));
  const std::string dumps = got->run.options[2].substr(sizeof("--dump-dir=") - 1);
  ASSERT_TRUE(write_text(dumps + "/01-start.txt", "dump").ok());
  ASSERT_TRUE(write_text(got->output, "made").ok());
  const std::string model = got->run.options[3].substr(sizeof("--weights-beside=") - 1);
  const std::string weights = model.substr(0, model.rfind('/')) + "/weight";
  ASSERT_TRUE(make_directories(weights).ok());
  ASSERT_TRUE(write_text(weights + "/weight_1", "1").ok());
  ASSERT_TRUE(keep_made(sent, places_, worker_, sent.results).ok());
  for (const Digest& artifact : sent.artifacts()) copy(artifact, worker_, client_);
  const auto taken = take_made(sent_, sent, client_);
  ASSERT_TRUE(taken.ok()) << error_text(taken.error());
  EXPECT_EQ(read_text(sent_.output).value(), "made");
  EXPECT_EQ(read_text(folder_.file("dumps/01-start.txt")).value(), "dump");
  EXPECT_EQ(read_text(folder_.file("weight/weight_1")).value(), "1");
}

TEST_F(SentStageTest, EachRunHasAKeyOfItsOwn) { EXPECT_NE(record().key(), record().key()); }

TEST_F(SentStageTest, JobsAreRefused) {
  EXPECT_THAT(unsupported_reason("names", "<stdin> /etc/passwd"), HasSubstr("names files"));
  EXPECT_THAT(unsupported_reason("readable", "/etc"), HasSubstr("names files"));
  EXPECT_THAT(unsupported_reason("option", "--model=/etc/passwd"), HasSubstr("names files"));
  EXPECT_THAT(unsupported_reason("option", "--profile=/etc/x.json"), HasSubstr("names files"));
  EXPECT_THAT(unsupported_reason("option", "--serve=ipc:///x"), HasSubstr("cannot be asked"));
  EXPECT_THAT(unsupported_reason("option", "-o"), HasSubstr("which no stage has"));
  EXPECT_THAT(unsupported_reason("option", "--no-such=1"), HasSubstr("which no stage has"));
  EXPECT_THAT(unsupported_reason("option", ""), HasSubstr("which no stage has"));
  EXPECT_THAT(unsupported_reason("store", "yes"), HasSubstr("needs a store"));
  EXPECT_THAT(unsupported_reason("makes", "--dump-dir ../x"), HasSubstr("makes"));
  EXPECT_THAT(unsupported_reason("makes", "--annotate x"), HasSubstr("makes"));
  EXPECT_THAT(unsupported_reason("reads", "<stdin> 12 x"), HasSubstr("damaged"));
  EXPECT_THAT(unsupported_reason("reads", "<stdin> " + std::string(64, '0') + " ../x"),
              HasSubstr("damaged"));
  EXPECT_THAT(unsupported_reason("makes", "--dump-dir .."), HasSubstr("makes"));
  EXPECT_THAT(unsupported_reason("reads", "--kernel " + sent_digest() + " k"),
              HasSubstr("cannot be asked"));
  EXPECT_THAT(unsupported_reason("reads", "--stats=/x# " + sent_digest() + " k"),
              HasSubstr("which no stage has"));
  EXPECT_THAT(unsupported_reason("reads", "--dump-dir " + sent_digest() + " k"),
              HasSubstr("reads"));
  places_.stage = "build";
  EXPECT_THAT(unsupported_reason("more", ""),
              HasSubstr("is for 'optimize' and this is a service of 'build'"));
  Record other = record();
  other.kind = "kernel";
  EXPECT_FALSE(received(other).ok());
}

TEST_F(SentStageTest, OnlyStagesRun) {
  sent_.run.name = "worker";
  EXPECT_THAT(unsupported_reason("more", ""), HasSubstr("is for 'worker', which is no stage"));
}

TEST_F(SentStageTest, NothingIsSentToWhoSeesTheFiles) {
  const std::string digest = sent_digest();
  places_.names_files = true;
  EXPECT_THAT(unsupported_reason("makes", "<stdout> output"), HasSubstr("they are to be named"));
  EXPECT_THAT(unsupported_reason("reads", "<stdin> " + digest + " k"),
              HasSubstr("they are to be named"));
}

TEST_F(SentStageTest, ARunOfAnotherReleaseIsRefused) {
  Record changed{.kind = kStageKind, .fields = {}, .results = {}};
  changed.fields.add("stage", "optimize");
  changed.fields.add("release", "0.0.1");
  const auto got = received(changed);
  ASSERT_FALSE(got.ok());
  EXPECT_THAT(got.error().message, HasSubstr("is of release 0.0.1"));
}

TEST_F(SentStageTest, RepliesThatNobodyAskedForAreRefused) {
  sent_.run.options.push_back("--dump-dir=" + folder_.file("dumps"));
  sent_.run.options.push_back("--weights-beside=" + folder_.file("m.om"));
  EXPECT_EQ(reply("<stdout> output"), "taken");
  EXPECT_EQ(reply("--dump-dir dumps/a/b.txt"), "taken");
  EXPECT_EQ(reply("--weights-beside weight/w"), "taken");
  for (const char* path :
       {"<stdout> other", "--dump-dir x.txt", "--dump-dir dumps/../x.txt", "--dump-dir /etc/x",
        "--dump-dir dumps2/x", "--weights-beside m.om", "--weights-beside weight/../x",
        "--stats stats", "--annotate x", "", "--dump-dir", "--dump-dir ../dumps/x"})
    EXPECT_THAT(reply(path), HasSubstr("which nobody asked for")) << path;
}

TEST_F(SentStageTest, AFolderIsNotSent) {
  sent_.run.options.push_back("--external-dir=" + folder_.path());
  const auto made = record_of(sent_, FileNaming::kSent, client_);
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(error_text(made.error()), HasSubstr("names a folder"));
}

}  // namespace
}  // namespace sluice
