#include "learn/train/train_commands.h"

#include "base/error.h"
#include "base/progress.h"
#include "learn/train/trainer.h"

namespace hone::learn {

namespace {

std::vector<KernelView> views_of(const Dataset& dataset, const std::vector<std::string>& programs) {
  std::vector<KernelView> views;
  for (int64_t index : Split::kernels_of(dataset, programs)) views.push_back(dataset.kernel(index));
  return views;
}

std::string text(const nlohmann::json& request, const char* name) { return request.value(name, std::string()); }

}  // namespace

nlohmann::json run_train(const nlohmann::json& request, const cost::LearnHost& host) {
  options::TrainOptions options = options::train_options_from_json(request.at("options"));
  options.settle();
  const Dataset dataset = Dataset::open(text(request, "dataset"));
  const Split split = Split::read(text(request, "split"));
  const std::vector<KernelView> training = views_of(dataset, split.train),
                                validation = views_of(dataset, split.validation);
  if (training.empty()) throw Error("no kernel of the data set is in the train part", text(request, "split"));
  if (validation.empty()) throw Error("no kernel of the data set is in the validation part", text(request, "split"));
  const TrainFiles files{text(request, "checkpoint"), request.value("checkpoint_every", int64_t{1000}),
                         request.value("resume", false), text(request, "log_dir"), text(request, "command")};
  ProgressOptions shown;
  shown.total = static_cast<double>(options.steps);
  shown.quiet = request.value("quiet", false) || options.rank != 0;
  hone::Progress line("train " + options.model.name, shown);
  const TrainReport report = train(
      training, validation, options, files, [&] { return host.interrupted && host.interrupted(); },
      [&](int64_t step, double loss, double best) {
        char note[80];
        std::snprintf(note, sizeof(note), "loss %.4f, best %.3f %%", loss, best);
        line.update(static_cast<double>(step), note);
      });
  line.finish();
  const std::string out = text(request, "out");
  if (options.rank == 0 && !out.empty()) save_weights(out, report.best);
  return {{"model", options.model.name},
          {"task", options.task},
          {"loss", options.loss},
          {"seed", options.seed},
          {"kernels", {{"train", training.size()}, {"validation", validation.size()}}},
          {"corrupt_shards", dataset.corrupt_shards()},
          {"steps", report.steps},
          {"best_step", report.best_step},
          {"stopped_early", report.stopped_early},
          {"interrupted", report.interrupted},
          {"seconds", report.seconds},
          {"samples_per_second", report.samples_per_s},
          {"validation", to_json(report.validation)},
          {"log", report.event_file},
          {"output", out}};
}

}  // namespace hone::learn
