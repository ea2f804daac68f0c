// Averages gradients over the processes of one machine with libtorch's Gloo backend.
#define USE_C10D_GLOO
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "base/error.h"
#include "learn/train/trainer.h"

namespace hone::learn {

namespace {

class GlooExchange : public GradientExchange {
 public:
  explicit GlooExchange(const options::TrainOptions& options) : processes_(options.processes) {
    const auto store = c10::make_intrusive<c10d::FileStore>(options.rendezvous, static_cast<int>(options.processes));
    const auto settings = c10d::ProcessGroupGloo::Options::create(std::chrono::seconds(600));
    settings->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
    settings->threads = 1;
    group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store, static_cast<int>(options.rank),
                                                         static_cast<int>(options.processes), settings);
  }

  void average(std::vector<torch::Tensor>& tensors) override {
    // One message instead of one per weight.
    std::vector<torch::Tensor> flat;
    for (const torch::Tensor& tensor : tensors) flat.push_back(tensor.reshape({-1}));
    std::vector<torch::Tensor> message = {torch::cat(flat)};
    try {
      group_->allreduce(message)->wait();
    } catch (const std::exception& e) {
      throw RunError("another process of the data-parallel run has exited", "", e.what());
    }
    message[0].div_(static_cast<double>(processes_));
    int64_t first = 0;
    for (torch::Tensor& tensor : tensors) {
      tensor.copy_(message[0].narrow(0, first, tensor.numel()).view_as(tensor));
      first += tensor.numel();
    }
  }

 private:
  int64_t processes_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

}  // namespace

std::unique_ptr<GradientExchange> make_gloo_exchange(const options::TrainOptions& options) {
  if (options.processes == 1) return nullptr;
  return std::make_unique<GlooExchange>(options);
}

}  // namespace hone::learn
