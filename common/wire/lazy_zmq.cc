// The functions of zmq.h that zmq.hpp calls, each forwarding to the library's function of that
// name. When the folder needs another one, the linker fails until a line is added here.
#include "common/wire/lazy_zmq.h"

#include <zmq.h>

#include "common/base/library_symbol.h"

namespace sluice::wire {
namespace {

constexpr const char* kLibrary = "libzmq.so.5";

void* library() {
  static void* const handle = open_library(kLibrary);
  return handle;
}

}  // namespace

Result<void> load_zmq() {
  if (library() != nullptr) return {};
  return make_error(ErrorCode::kIo, "services need {}, which cannot be loaded", kLibrary)
      .with_hint("install the package libzmq5");
}

}  // namespace sluice::wire

#define SLUICE_ZMQ(type, name, parameters, arguments)                                           \
  extern "C" type name parameters {                                                             \
    static const auto function = sluice::library_symbol(sluice::wire::library(), #name, &name); \
    return function arguments;                                                                  \
  }

SLUICE_ZMQ(int, zmq_errno, (), ())
SLUICE_ZMQ(const char*, zmq_strerror, (int number), (number))
SLUICE_ZMQ(void*, zmq_ctx_new, (), ())
SLUICE_ZMQ(int, zmq_ctx_term, (void* context), (context))
SLUICE_ZMQ(int, zmq_msg_init, (zmq_msg_t * message), (message))
SLUICE_ZMQ(int, zmq_msg_init_size, (zmq_msg_t * message, size_t size), (message, size))
SLUICE_ZMQ(int, zmq_msg_init_data,
           (zmq_msg_t * message, void* data, size_t size, zmq_free_fn* release, void* hint),
           (message, data, size, release, hint))
SLUICE_ZMQ(int, zmq_msg_send, (zmq_msg_t * message, void* socket, int flags),
           (message, socket, flags))
SLUICE_ZMQ(int, zmq_msg_recv, (zmq_msg_t * message, void* socket, int flags),
           (message, socket, flags))
SLUICE_ZMQ(int, zmq_msg_close, (zmq_msg_t * message), (message))
SLUICE_ZMQ(int, zmq_msg_move, (zmq_msg_t * to, zmq_msg_t* from), (to, from))
SLUICE_ZMQ(void*, zmq_msg_data, (zmq_msg_t * message), (message))
SLUICE_ZMQ(size_t, zmq_msg_size, (const zmq_msg_t* message), (message))
SLUICE_ZMQ(int, zmq_msg_more, (const zmq_msg_t* message), (message))
SLUICE_ZMQ(const char*, zmq_msg_gets, (const zmq_msg_t* message, const char* property),
           (message, property))
SLUICE_ZMQ(int, zmq_curve_keypair, (char* public_key, char* secret_key), (public_key, secret_key))
SLUICE_ZMQ(int, zmq_curve_public, (char* public_key, const char* secret_key),
           (public_key, secret_key))
SLUICE_ZMQ(char*, zmq_z85_encode, (char* text, const uint8_t* bytes, size_t size),
           (text, bytes, size))
SLUICE_ZMQ(uint8_t*, zmq_z85_decode, (uint8_t* bytes, const char* text), (bytes, text))
SLUICE_ZMQ(void*, zmq_socket, (void* context, int type), (context, type))
SLUICE_ZMQ(int, zmq_close, (void* socket), (socket))
SLUICE_ZMQ(int, zmq_setsockopt, (void* socket, int option, const void* value, size_t bytes),
           (socket, option, value, bytes))
SLUICE_ZMQ(int, zmq_getsockopt, (void* socket, int option, void* value, size_t* bytes),
           (socket, option, value, bytes))
SLUICE_ZMQ(int, zmq_bind, (void* socket, const char* endpoint), (socket, endpoint))
SLUICE_ZMQ(int, zmq_connect, (void* socket, const char* endpoint), (socket, endpoint))
SLUICE_ZMQ(int, zmq_disconnect, (void* socket, const char* endpoint), (socket, endpoint))
SLUICE_ZMQ(int, zmq_socket_monitor, (void* socket, const char* endpoint, int events),
           (socket, endpoint, events))
SLUICE_ZMQ(int, zmq_poll, (zmq_pollitem_t * items, int count, long milliseconds),
           (items, count, milliseconds))
