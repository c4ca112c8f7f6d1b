// The DLPack exchange format, written from its specification (versions 0 and 1).
#pragma once
#include <cstdint>

namespace thixo::dlpack {

struct Device { int32_t type; int32_t id; };          // type 1 is the CPU
struct DataType { uint8_t code; uint8_t bits; uint16_t lanes; };
enum : uint8_t { Int = 0, UInt = 1, Float = 2, Bfloat = 4, Complex = 5, Bool = 6 };

struct TensorView {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null means contiguous
  uint64_t byte_offset;
};
struct Managed {  // version 0, capsule "dltensor"
  TensorView tensor;
  void* context;
  void (*deleter)(Managed*);
};
struct Version { uint32_t major, minor; };
struct ManagedVersioned {  // version 1, capsule "dltensor_versioned"
  Version version;
  void* context;
  void (*deleter)(ManagedVersioned*);
  uint64_t flags;  // bit 0: read-only
  TensorView tensor;
};

}  // namespace thixo::dlpack
