# The flags of the fuzz targets and of all that they link. A report of a sanitizer ends the program.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "HONE_FUZZ needs clang: run `make setup-fuzz`, and configure with -DCMAKE_CXX_COMPILER=clang++-19")
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O1 -gline-tables-only -fno-omit-frame-pointer")
add_compile_options(-fsanitize=fuzzer-no-link,address,undefined,float-cast-overflow -fno-sanitize-recover=all
  -fsanitize-ignorelist=${CMAKE_SOURCE_DIR}/tests/fuzz/ignored.txt -Wno-everything)
add_link_options(-fsanitize=address,undefined)
