// A reference to a function, for an argument that is called before the call returns and never kept.
#pragma once

#include <type_traits>
#include <utility>

namespace sluice {

template <typename>
class FunctionRef;

// Costs two words and a call by pointer. Unlike std::function it owns nothing and needs no
// <functional>, which headers that hundreds of files read do without.
template <typename Returned, typename... Args>
class FunctionRef<Returned(Args...)> {
 public:
  template <typename Function>
    requires(!std::is_same_v<Function, FunctionRef> &&
             std::is_invocable_r_v<Returned, const Function&, Args...>)
  FunctionRef(const Function& function)  // NOLINT: implicit on purpose
      : object_(&function), call_([](const void* object, Args... args) -> Returned {
          return (*static_cast<const Function*>(object))(std::forward<Args>(args)...);
        }) {}

  Returned operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  const void* object_;
  Returned (*call_)(const void*, Args...);
};

}  // namespace sluice
