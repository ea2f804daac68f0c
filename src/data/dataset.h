// Data sets of measured kernels: memory-mapped shards with checksums, and the split of their programs.
//
// A data set is a folder of NNNN.shard files. A tile data set holds kernels with many options each; a fusion data set
// holds kernels with one option each (the default). Run times and features are not scaled.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/kernel_view.h"
#include "features/encoded.h"

namespace hone {

// Writes kernels to NNNN.shard files of at most `shard_bytes` (a larger kernel has its own) in a folder without
// shards, created if necessary; throws Error for a folder with shards. Each is written under another name and renamed when
// complete, so a killed writer leaves only complete shards.
class DatasetWriter {
 public:
  DatasetWriter(std::string folder, int64_t shard_bytes = int64_t{64} << 20);
  ~DatasetWriter();
  void add(const KernelView& kernel);  // throws Error for run times that are not positive and finite, or wrong widths
  void close();                        // writes the last shard

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Throws Error when the folder has no shards, or they have another feature version. Shards with a wrong checksum are
// skipped and counted.
class Dataset {
 public:
  static Dataset open(const std::string& folder);
  ~Dataset();
  Dataset(Dataset&&) noexcept;
  Dataset& operator=(Dataset&&) noexcept;

  int64_t size() const;  // kernels
  KernelView kernel(int64_t index) const;
  int64_t options() const;  // of all kernels
  int corrupt_shards() const;

 private:
  Dataset();
  struct State;
  std::unique_ptr<State> state_;
};

// The part of a split that each program belongs to: a text file with one "part<TAB>program" per line and '#' comments.
struct Split {
  std::vector<std::string> train, validation, test;
  static Split read(const std::string& path);  // throws Error with the line
  // Indices of the kernels of a part's programs.
  static std::vector<int64_t> kernels_of(const Dataset& dataset, const std::vector<std::string>& programs);
};

}  // namespace hone
