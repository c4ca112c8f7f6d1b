// Errors that the core raises. The binding turns each kind into its Python class (see errors.py).
#pragma once
#include <stdexcept>
#include <string>

namespace thixo {

enum class ErrorKind { Shape, DType, Device, Index, Argument, Autograd, Inplace, Memory, Internal, Value };

struct Error : std::runtime_error {
  ErrorKind kind;
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind(kind) {}
};

[[noreturn]] inline void fail(ErrorKind kind, const std::string& message) {
  throw Error(kind, message);
}

}  // namespace thixo
