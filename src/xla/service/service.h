// Handles the worker's requests; keeps programs, kernels and executables between requests.
#pragma once
#include <memory>

#include "wire/hone_generated.h"

namespace hone::xla_side {

struct Handlers;  // handlers.h

class Service {
 public:
  Service();
  ~Service();
  // Never throws: failures are returned in the reply. XLA may still abort the process.
  wire::ReplyT handle(const wire::RequestT& request);

 private:
  std::unique_ptr<Handlers> handlers_;
};

}  // namespace hone::xla_side
