// What libhone_learn.so exports. Texts it returns are freed by hone_learn_free; an error is {"kind": "error" | "run" |
// "internal", "message", "where", "hint"}.
#pragma once

#include "cost/learned_model.h"

namespace hone::cost {

// What a command inside the library may ask of the program around it.
struct LearnHost {
  bool (*interrupted)() = nullptr;
  int verbosity = 1;  // 0 errors only, 1 information, 2 everything
};

}  // namespace hone::cost

extern "C" {
// Changes with any of the declarations below, or the abstract classes that cross.
inline constexpr int kHoneLearnAbi = 1;
int hone_learn_abi();
// 0 and the response, or 1 and an error.
int hone_learn_run(const char* command, const char* request, const hone::cost::LearnHost* host, char** response);
// A new object, or null and an error. Deleting the object is the caller's, through its virtual destructor.
hone::cost::LearnedModel* hone_learn_open(const char* weights_path, int threads, char** error);
void hone_learn_free(char* text);
}
