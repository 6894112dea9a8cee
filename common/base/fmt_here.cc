// The few functions of fmt that are not templates in its headers are compiled here, so that no
// program needs the shared library at its start.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template thousands_sep_result<char> thousands_sep_impl<char>(locale_ref);
template char decimal_point_impl<char>(locale_ref);

}  // namespace detail
FMT_END_NAMESPACE
