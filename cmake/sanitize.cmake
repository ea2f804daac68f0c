# The main process and its tests under the sanitizers of HONE_SANITIZE. XLA's library is not compiled with them, so the worker and the runtime,
# which are made of it, are those of an ordinary build: HONE_PLAIN; so is the tests' worker that exhausts its memory and raises signals, which
# sanitizers would answer for it. Assertions are on, those of the standard library, too.
string(REPLACE ";" "," sanitizers "${HONE_SANITIZE}")
if(sanitizers MATCHES "undefined")
  string(APPEND sanitizers ",float-cast-overflow")  # as the fuzz targets have it
endif()
if(sanitizers MATCHES "thread")
  add_compile_options("-Dtarget_clones(...)=unused")  # what chooses a clone runs before ThreadSanitizer, which it calls
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O1")
add_compile_definitions(_GLIBCXX_ASSERTIONS)
add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
# Sanitizers open libraries in the program's place, where its RUNPATH is not searched, but its RPATH is: oneDNN's.
add_link_options(-fsanitize=${sanitizers} -Wl,--disable-new-dtags)
foreach(file hone-xla fake_worker libhone_runtime.so libhone_gym.so libhone_ffi.so libhone_learn.so)
  if(EXISTS ${HONE_PLAIN}/${file})
    file(CREATE_LINK ${HONE_PLAIN}/${file} ${CMAKE_BINARY_DIR}/${file} SYMBOLIC)
  endif()
endforeach()
