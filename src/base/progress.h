// A progress line on standard error.
#pragma once

#include <functional>
#include <string>

namespace hone {

struct ProgressOptions {
  double total = 0;     // units of work; 0 = unknown
  double known = 0;     // of the units done, those of an earlier run, which took no time in this one
  double budget_s = 0;  // the work ends after this time even if it is incomplete; 0 = none
  bool quiet = false;   // print nothing
  int fd = 2;
  std::function<double()> now_s;  // clock in seconds; empty = the steady clock
};

// On a terminal rewrites one line about ten times a second; otherwise prints a line about every five seconds.
class Progress {
 public:
  Progress(std::string label, ProgressOptions options);
  ~Progress();  // as finish()
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void set_total(double total) { options_.total = total; }
  void set_known(double known) { options_.known = known; }
  // `done` units so far; the note ends the line ("best 1.24x"). Cheap when it is too early to print.
  void update(double done, const std::string& note = "");
  void finish();  // removes the line from a terminal

 private:
  std::string label_;
  ProgressOptions options_;
  bool terminal_ = false, shown_ = false;
  double start_s_ = 0, next_s_ = 0;
};

// "label 12/40 · 3.1/s · 9 s left · note"; parts that are unknown are left out.
std::string progress_text(const std::string& label, double done, const ProgressOptions& options, double elapsed_s,
                          const std::string& note);

}  // namespace hone
