// Graph, Node and Value: the graph in memory.
//
// Storage is chunked, so references and pointers to nodes and values stay valid for the life of the
// graph; erased ones are tombstones until compact(). Nodes are kept in an intrusive list in
// topological order. Edits that put a use before its definition mark the order as broken;
// restore_order() repairs it (run_passes calls it after each pass). Use lists make the cost of
// replace_all_uses the number of uses, and that of every other edit constant.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/ir/attribute.h"
#include "common/ir/memory.h"
#include "common/ir/op.h"
#include "common/ir/placement.h"
#include "common/ir/stable_vector.h"
#include "common/ir/type.h"

namespace sluice {

class Graph;
class Module;
class Node;

struct Use {
  Node* node = nullptr;
  uint32_t input = 0;  // index among the node's inputs
};

class Value {
 public:
  int32_t id() const { return id_; }  // dense after Graph::compact
  Graph& graph() const { return *graph_; }
  Node* producer() const { return producer_; }  // null: a graph input or a constant
  uint32_t result() const { return result_; }   // index among the outputs of its producer
  // Inputs of its graph; a constant parameter is both input and constant.
  bool is_input() const { return is_input_; }
  bool is_constant() const { return segment_ >= 0; }
  bool is_erased() const { return erased_; }
  TypeId type_id() const { return type_; }
  const Type& type() const;
  void set_type(TypeId type) { type_ = type; }
  void set_type(Type type);  // interns
  SegmentId segment() const { return segment_; }
  void set_segment(SegmentId segment) { segment_ = segment; }
  StorageId storage_id() const { return storage_; }
  const Storage* storage() const;  // null: dense
  void set_storage(StorageId storage) { storage_ = storage; }
  const MemoryPlace& place() const { return place_ == nullptr ? kNoPlace : *place_; }
  void set_place(const MemoryPlace& place) { place_ = std::make_unique<MemoryPlace>(place); }
  const std::string& name() const { return name_; }  // ONNX name; may be empty
  void set_name(std::string name) { name_ = std::move(name); }
  // Uses by nodes of this graph, in no significant order.
  const std::vector<Use>& uses() const { return uses_; }
  bool is_output() const { return output_uses_ > 0; }  // of its graph
  bool is_used() const { return !uses_.empty() || output_uses_ > 0; }

 private:
  friend class Graph;
  friend class Node;
  Graph* graph_ = nullptr;
  Node* producer_ = nullptr;
  std::vector<Use> uses_;
  std::string name_;
  int32_t id_ = -1;
  TypeId type_ = 0;
  SegmentId segment_ = -1;
  StorageId storage_ = -1;
  std::unique_ptr<MemoryPlace> place_;  // null before the level scheduled: most graphs
  uint32_t result_ = 0;
  uint32_t output_uses_ = 0;
  bool is_input_ = false;
  bool erased_ = false;
};

class Node {
 public:
  int32_t id() const { return id_; }  // dense, and in topological order, after Graph::compact
  Graph& graph() const { return *graph_; }
  Op op() const { return op_; }
  void set_op(Op op) { op_ = op; }
  bool is_erased() const { return erased_; }

  size_t input_count() const { return inputs_.size(); }
  // Returns null for an absent input.
  Value* input(size_t index) const {
    return index < inputs_.size() ? inputs_[index].value : nullptr;
  }
  void set_input(size_t index, Value* value);
  void add_input(Value* value);
  void remove_last_input();
  size_t output_count() const { return outputs_.size(); }
  Value& output(size_t index = 0) const { return *outputs_[index]; }
  Value& add_output(TypeId type = 0, std::string name = {});
  void remove_last_output();  // must be unused

  const std::vector<Attribute>& attributes() const { return attributes_; }  // sorted by name
  const AttributeValue* find_attribute(std::string_view name) const;
  void set_attribute(std::string_view name, AttributeValue value);
  void remove_attribute(std::string_view name);
  template <typename T>
  void set(const AttributeName<T>& attribute, T value) {
    set_attribute(attribute.name, std::move(value));
  }
  template <typename T>
  void remove(const AttributeName<T>& attribute) {
    remove_attribute(attribute.name);
  }
  template <typename T>
  bool has(const AttributeName<T>& attribute) const {
    return find_attribute(attribute.name) != nullptr;
  }
  // Returns the value, or the default when the attribute is absent or of another kind. Lists are
  // then empty; the form with `otherwise` returns that.
  int64_t get(const IntAttribute& attribute) const { return get(attribute, attribute.value); }
  int64_t get(const IntAttribute& attribute, int64_t otherwise) const;
  float get(const FloatAttribute& attribute) const;
  std::string get(const StringAttribute& attribute) const;
  std::vector<int64_t> get(const IntsAttribute& attribute) const;
  // Returns the list, or the default `count` times when it is absent or empty.
  std::vector<int64_t> get(const IntsAttribute& attribute, size_t count) const;
  std::vector<float> get(const FloatsAttribute& attribute) const;
  std::vector<std::string> get(const StringsAttribute& attribute) const;
  Graph* get(const BodyAttribute& attribute) const;       // null when absent
  SegmentId get(const TensorAttribute& attribute) const;  // -1 when absent
  std::vector<GraphId> bodies() const;  // graphs named by its attributes, in attribute order

  // Control edges: this node runs after these.
  const std::vector<Node*>& after() const { return after_; }
  void add_after(Node& node);
  void clear_after() { after_.clear(); }

  const std::string& name() const { return name_; }  // ONNX node name; may be empty
  void set_name(std::string name) { name_ = std::move(name); }
  // Indices into Module::onnx_nodes, sorted.
  const std::vector<uint32_t>& origins() const { return origins_; }
  void add_origins(const std::vector<uint32_t>& origins);
  void set_origins(std::vector<uint32_t> origins);
  // Returns "node 'conv1' (Conv)", for messages; a node without name uses the name of its first
  // result. Of nodes that stand for one of the model: "node 'gelu' (its Mul)".
  std::string label() const;

  Node* next() const { return next_; }
  Node* previous() const { return previous_; }
  bool is_before(const Node& other) const { return order_ < other.order_; }  // in the list

 private:
  friend class Graph;
  struct Operand {
    Value* value = nullptr;
    uint32_t use = 0;  // index in value->uses_
  };
  void drop_use(size_t index);
  void take_use(size_t index, Value* value);

  // The fields that every traversal reads come first, so that they share a cache line.
  Node* next_ = nullptr;
  int32_t id_ = -1;
  Op op_{};
  bool erased_ = false;
  Graph* graph_ = nullptr;
  std::vector<Operand> inputs_;
  std::vector<Value*> outputs_;
  std::vector<Attribute> attributes_;
  std::vector<Node*> after_;
  std::vector<uint32_t> origins_;
  std::string name_;
  Node* previous_ = nullptr;
  uint64_t order_ = 0;

 public:
  Placement placement;
};

// The graph that a Call runs. Null for other nodes, and for a Call whose graph lies in another
// file.
Graph* called_graph(const Node& node);

// Iterates live nodes in list order. The current node may be erased, and nodes inserted, while
// iterating.
class NodeIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = Node;
  using difference_type = std::ptrdiff_t;
  using pointer = Node*;
  using reference = Node&;
  explicit NodeIterator(Node* node = nullptr) : node_(node) {}
  Node& operator*() const { return *node_; }
  Node* operator->() const { return node_; }
  NodeIterator& operator++() {
    do node_ = node_->next();
    while (node_ != nullptr && node_->is_erased());
    return *this;
  }
  NodeIterator operator++(int) {
    NodeIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const NodeIterator& other) const { return node_ == other.node_; }

 private:
  Node* node_;
};

struct NodeRange {
  Node* first;
  NodeIterator begin() const { return NodeIterator(first); }
  NodeIterator end() const { return NodeIterator(); }
};

class Graph {
 public:
  Graph(Module& module, GraphId id, std::string name)
      : module_(&module), id_(id), name_(std::move(name)) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Module& module() const { return *module_; }
  GraphId id() const { return id_; }
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  NodeRange nodes() const { return {first_}; }
  size_t node_count() const { return node_count_; }
  Node* first_node() const { return first_; }
  Node* last_node() const { return last_; }
  // Includes tombstones: callers check is_erased().
  const StableVector<Value>& values() const { return values_; }
  StableVector<Value>& values() { return values_; }
  size_t value_limit() const { return values_.size(); }  // every id is lower
  size_t node_limit() const { return nodes_.size(); }

  const std::vector<Value*>& inputs() const { return inputs_; }
  Value& add_input(TypeId type, std::string name = {});
  void remove_input(size_t index);  // must be unused
  void move_input_last(size_t index);
  const std::vector<Value*>& outputs() const { return outputs_; }
  void add_output(Value& value);
  void set_output(size_t index, Value& value);
  void remove_output(size_t index);

  // Adds a node before `before` (null: at the end), with `outputs` results of unknown type.
  Node& add_node(Op op, const std::vector<Value*>& inputs, size_t outputs = 1,
                 Node* before = nullptr);
  Value& add_constant(SegmentId segment, std::string name = {});  // its type is that of the segment
  // Replaces every use of `from`, graph outputs included, by `to`, which must be of this graph.
  void replace_all_uses(Value& from, Value& to);
  // The node's results must be unused; its bodies stay and lose their owner: see
  // Module::erase_unowned.
  void erase_node(Node& node);
  void erase_value(Value& value);              // an unused constant
  void move_before(Node& node, Node* before);  // null: to the end

  // False means that no node has one or ever had one, so a search for them can be skipped.
  bool may_have_bodies() const { return may_have_bodies_; }
  bool may_have_control_edges() const { return may_have_control_edges_; }

  bool order_is_broken() const { return order_broken_; }
  // Makes the list a topological order again and keeps the present order wherever possible (Kahn's
  // algorithm over a heap of list positions). A cycle is kCycle, which names its nodes.
  Result<void> restore_order();
  // Removes tombstones and unused constants; renumbers nodes in list order, and values in the order
  // inputs, constants, results. Pointers become invalid. Returns the new id of each value by its
  // old one, -1 for removed values.
  std::vector<int32_t> compact();

  // The node whose body this is; null for roots and expression graphs.
  Node* owner() const { return owner_; }
  GraphRole role = GraphRole::kRoot;
  uint32_t captures = 0;  // the number of trailing inputs that are captured outer values
  EngineId engine = EngineId::kNone;
  ShapeClass shapes = ShapeClass::kFixed;
  // Facts of the schedule (docs/schedule.md): the streams that nodes run in, by name, whether each
  // record of an event is a notify, for which exactly one task waits, the classes of memory (none:
  // the device has one, which is allocated at once), the buffers that values lie in, the bytes of
  // the arena (0 also where the loader computes them), and those of scratch that a worker needs.
  std::vector<std::string> streams = {};
  bool has_notifies = false;
  // What passes say of their decisions, for people: it is in no digest, and nothing reads it.
  std::vector<std::string> notes = {};
  std::vector<DeviceMemory> memories = {};
  std::vector<MemoryBuffer> buffers = {};
  uint64_t arena_bytes = 0;
  uint64_t scratch_bytes = 0;

 private:
  friend class Module;
  friend class Node;
  void link(Node& node, Node* before);
  void unlink(Node& node);
  void renumber();
  Value& new_value(TypeId type, std::string name);

  Module* module_;
  GraphId id_;
  std::string name_;
  StableVector<Node> nodes_;
  StableVector<Value> values_;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
  Node* owner_ = nullptr;
  Node* first_ = nullptr;
  Node* last_ = nullptr;
  size_t node_count_ = 0;
  bool order_broken_ = false;
  bool may_have_bodies_ = false;
  bool may_have_control_edges_ = false;
};

}  // namespace sluice
