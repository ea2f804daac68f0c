#include "data/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

namespace hone {

MappedFile::MappedFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status{};
  if (file < 0 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    if (file >= 0) close(file);
    throw Error("cannot read the file", path);
  }
  size_ = static_cast<size_t>(status.st_size);
  if (size_ > 0) data_ = mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (data_ == MAP_FAILED) throw Error("cannot map the file", path);
}

MappedFile::~MappedFile() {
  if (size_ > 0) munmap(data_, size_);
}

}  // namespace hone
