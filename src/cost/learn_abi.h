// The exported functions of libhone_learn.so. Free returned texts with hone_learn_free; an error is {"kind": "error" | "run" |
// "internal", "message", "where", "hint"}.
#pragma once

#include "cost/learned_model.h"

namespace hone::cost {

// The services of the program for a command of the library.
struct LearnHost {
  bool (*interrupted)() = nullptr;
  int verbosity = 1;  // 0 errors only, 1 information, 2 everything
};

}  // namespace hone::cost

extern "C" {
// Changes with the declarations below and with the abstract classes in the interface.
inline constexpr int kHoneLearnAbi = 3;
int hone_learn_abi();
// 0 and the response, or 1 and an error.
int hone_learn_run(const char* command, const char* request, const hone::cost::LearnHost* host, char** response);
// A new object, or null and an error. The caller deletes the object, through its virtual destructor.
hone::cost::LearnedModel* hone_learn_open(const char* weights_path, int threads, char** error);
void hone_learn_free(char* text);
}
