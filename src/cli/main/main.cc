#include <string>
#include <vector>

#include "cli/cli.h"

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  hone::cli::hide_passwords(argc, argv);
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  return hone::cli::run(argc, pointers.data());
}
