#include "kernels/lapack_call.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <complex>
#include <filesystem>
#include <set>

#include "base/error.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

// NumPy's library, whose integers have 64 bits, and SciPy's, whose have 32, as far as they are installed.
std::vector<LapackLibrary> libraries() {
  std::vector<LapackLibrary> found;
  std::error_code none;
  const fs::path root = fs::path(HONE_SOURCE_DIR) / ".venv" / "lib" / "python3.11" / "site-packages";
  for (const char* folder : {"numpy.libs", "scipy.libs"})
    for (const auto& file : fs::directory_iterator(root / folder, none))
      if (file.path().filename().string().starts_with("libscipy_openblas")) found.emplace_back(file.path().string());
  if (found.empty()) WARN("skipped: neither NumPy nor SciPy is installed");
  return found;
}

const LapackRoutine& routine(const std::string& target) {
  for (const LapackRoutine& r : lapack_routines())
    if (r.target == target) return r;
  throw InternalError("no routine " + target);
}

template <class T>
LapackArray array(std::vector<T>& values, std::vector<int64_t> dims) {
  return {values.data(), kLapackType<T>, std::move(dims)};
}

LapackCall call_of(const LapackLibrary& library, std::vector<LapackArray> arguments, std::vector<LapackArray> results,
                   char letter = 'L') {
  LapackCall call;
  call.arguments = std::move(arguments);
  call.results = std::move(results);
  call.attribute = [letter](std::string_view) { return letter; };
  call.library = &library;
  return call;
}

}  // namespace

TEST_CASE("there is one routine for each of jaxlib's targets", "[kernels]") {
  std::set<std::string> targets;
  for (const LapackRoutine& r : lapack_routines()) targets.insert(r.target);
  CHECK(targets.size() == lapack_routines().size());
  CHECK(targets.size() == 61);
}

TEST_CASE("libraries of both widths factor a stack and say which matrix is refused", "[kernels]") {
  for (const LapackLibrary& library : libraries()) {
    INFO(library.path());
    CHECK(library.wide_integers() == (library.path().find("numpy.libs") != std::string::npos));
    CHECK(library.version_text().starts_with("OpenBLAS "));
    std::vector<double> a = {4, 2, 2, 5, 1, 2, 2, 1}, factors(8);
    std::vector<int32_t> info(2, 7);
    routine("lapack_dpotrf_ffi")
        .run(call_of(library, {array(a, {2, 2, 2})}, {array(factors, {2, 2, 2}), array(info, {2})}));
    CHECK(info == std::vector<int32_t>{0, 2});
    CHECK(factors[0] == Approx(2));
    CHECK(factors[1] == Approx(1));
    CHECK(factors[3] == Approx(2));
  }
}

TEST_CASE("pivots of either width are taken over", "[kernels]") {
  for (const LapackLibrary& library : libraries()) {
    INFO(library.path());
    std::vector<std::complex<float>> a = {1, 2, 3, 5, 1, 1, 0, 0, 9}, factors(9);  // column by column
    std::vector<int32_t> pivots(3), info(1);
    routine("lapack_cgetrf_ffi")
        .run(call_of(library, {array(a, {3, 3})}, {array(factors, {3, 3}), array(pivots, {3}), array(info, {})}));
    CHECK(info[0] == 0);
    CHECK(pivots == std::vector<int32_t>{3, 3, 3});
    CHECK(factors[0].real() == Approx(3));
  }
}

TEST_CASE("a product by reflectors writes nothing where the factors lie", "[kernels]") {
  const size_t page = sysconf(_SC_PAGESIZE);
  for (const LapackLibrary& library : libraries()) {
    INFO(library.path());
    // 34 reflectors, so that the blocked form is taken too, and a factor whose diagonal is not the one that LAPACK puts there.
    for (const int64_t n : {2, 34}) {
      void* memory = mmap(nullptr, page * 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      REQUIRE(memory != MAP_FAILED);
      auto* factors = static_cast<double*>(memory);
      std::fill_n(factors, n * n, 0.0);
      for (int64_t i = 0; i < n; ++i) factors[i * n + i] = 7;
      REQUIRE(mprotect(memory, page * 4, PROT_READ) == 0);
      std::vector<double> taus(n, 2.0), c(n * n, 3.0), product(n * n);
      LapackCall call = call_of(library, {{factors, LapackType::F64, {n, n}}, array(taus, {n}), array(c, {n, n})},
                                {array(product, {n, n})});
      call.attribute = [](std::string_view name) { return name == "left" ? 1 : 0; };
      routine("lapack_dormqr_ffi").run(call);
      munmap(memory, page * 4);
      for (const double value : product) CHECK(value == Approx(-3));  // I - 2 e e^T for each row
    }
  }
}

TEST_CASE("the library's number of threads is as before when nothing computes", "[kernels]") {
  for (const LapackLibrary& library : libraries()) {
    const int before = library.threads();
    REQUIRE(before >= 1);
    {
      const LapackThreads many(library, before + 1);
      CHECK(library.threads() == before);
      const LapackThreads one(library, 1);
      CHECK(library.threads() == 1);
    }
    CHECK(library.threads() == before);
  }
}

TEST_CASE("arrays that do not fit a routine are refused", "[kernels]") {
  for (const LapackLibrary& library : libraries()) {
    std::vector<float> a(6), factors(4);
    std::vector<int32_t> info(1);
    const auto run = [&](LapackArray in) {
      routine("lapack_spotrf_ffi").run(call_of(library, {in}, {array(factors, {2, 2}), array(info, {})}));
    };
    CHECK_THROWS_AS(run(array(a, {2, 3})), Error);
    CHECK_THROWS_AS(run(array(a, {6})), Error);
    CHECK_THROWS_AS(routine("lapack_ssyevd_ffi").run(call_of(library, {array(a, {2, 3})}, {})), Error);
    CHECK_THROWS_AS(LapackFunction(library, "sno_such"), Error);
  }
  CHECK_THROWS_AS(LapackLibrary("/no/such/library.so"), Error);
}

TEST_CASE("a singular system of three diagonals has a finite solution", "[kernels]") {
  std::vector<double> below = {0, 1, 1}, middle = {1, 1, 0}, above = {1, 0, 0}, b = {1, 2, 3}, x(3);
  LapackCall call;
  call.arguments = {array(below, {3}), array(middle, {3}), array(above, {3}), array(b, {3, 1})};
  call.results = {array(x, {3, 1})};
  routine("tridiagonal_solve_perturbed_ffi").run(call);
  for (const double value : x) CHECK(std::isfinite(value));
  middle = {4, 5, 6};
  routine("tridiagonal_solve_perturbed_ffi").run(call);
  CHECK(4 * x[0] + x[1] == Approx(1));
  CHECK(x[0] + 5 * x[1] == Approx(2));
  CHECK(x[1] + 6 * x[2] == Approx(3));
}

}  // namespace hone
