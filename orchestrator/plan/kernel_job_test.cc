#include "orchestrator/plan/kernel_job.h"

#include "common/base/testing/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

Record kernel_record() {
  Record record{kKernelKind, {}, {}};
  record.fields.add("build", "b1");
  record.fields.add("specification", sha256(std::string_view("text")));
  return record;
}

TEST(KernelJobTest, AJobHasTheKeyOfItsProduct) {
  Record job = kernel_record(), product = kernel_record();
  job.results.add("graph", sha256(std::string_view("graph")));
  product.results.add("object", sha256(std::string_view("object")));
  const auto read = kernel_job_of(job);
  ASSERT_TRUE(read.ok()) << error_text(read.error());
  EXPECT_EQ(read->key, product.key());
  EXPECT_EQ(read->graph, sha256(std::string_view("graph")));
  EXPECT_EQ(read->build, "b1");
}

TEST(KernelJobTest, AProductIsNoJob) {
  Record product = kernel_record();
  product.results.add("object", sha256(std::string_view("object")));
  EXPECT_FALSE(kernel_job_of(product).ok());
  Record other = kernel_record();
  other.kind = "compile";
  other.results.add("graph", sha256(std::string_view("graph")));
  EXPECT_FALSE(kernel_job_of(other).ok());
}

TEST(KernelJobTest, AKernelIsThereWithItsObject) {
  const TestFolder folder;
  Store store(folder.file("store"));
  Record product = kernel_record();
  const std::string_view object = "machine code";
  product.results.add("object", sha256(object));
  EXPECT_FALSE(has_kernel(product.key(), store));
  store.keep(product);
  EXPECT_FALSE(has_kernel(product.key(), store)) << "the object is missing";
  store.keep(std::as_bytes(std::span(object)));
  EXPECT_TRUE(has_kernel(product.key(), store));
}

TEST(KernelJobTest, ALineNamesTheGraphInTheStore) {
  const Store store("a store");
  const KernelJob job{
      .key = sha256(std::string_view("k")), .graph = sha256(std::string_view("g")), .build = {}};
  const std::string graph = digest_hex(job.graph);
  EXPECT_EQ(kernel_line(job, store),
            digest_hex(job.key) + " a store/" + graph.substr(0, 2) + "/" + graph + "\n");
}

TEST(KernelJobTest, AProgramThatFailsIsSaid) {
  const TestFolder folder;
  const auto keys = make_kernel_jobs("none.sg", {.partition = "/bin/false",
                                                 .subgraph_optimize = "/bin/false",
                                                 .options = {},
                                                 .folder = folder.path()});
  ASSERT_FALSE(keys.ok());
  EXPECT_THAT(error_text(keys.error()), HasSubstr("/bin/false ended with exit code 1"));
}

}  // namespace
}  // namespace sluice
