# Makes an installation in the package `hone` of a wheel independent of this machine. Libraries of the system that Hone
# links, and those that it opens by name (HONE_OPENED: oneDNN, Highway), are copied into lib; what is found at run time is
# found from the file's own folder: lib, and the packages tensorflow and torch beside `hone`.
find_program(PATCHELF patchelf REQUIRED)
find_program(STRIP strip REQUIRED)
set(prefix $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX})

file(GLOB programs ${prefix}/bin/*)
file(GLOB libraries ${prefix}/lib/libhone_*.so)
# Excluded: XLA, and what every Linux has (the list of manylinux, PEP 600). libhone_learn.so needs nothing else but torch,
# whose wheel brings its own libgomp.
set(product ${libraries})
list(FILTER product EXCLUDE REGEX "libhone_learn")
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${programs} LIBRARIES ${product} ${HONE_OPENED}
  RESOLVED_DEPENDENCIES_VAR needed
  PRE_EXCLUDE_REGEXES "^libtensorflow" "^lib(c|m|dl|rt|pthread|stdc\\+\\+|gcc_s|z)[.]so" "^ld-linux")
foreach(library ${HONE_OPENED} ${needed})
  get_filename_component(name ${library} NAME)
  file(REAL_PATH ${library} file)
  configure_file(${file} ${prefix}/lib/${name} COPYONLY)
  execute_process(COMMAND ${STRIP} --strip-unneeded ${prefix}/lib/${name} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${PATCHELF} --set-rpath "$ORIGIN" ${prefix}/lib/${name} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
foreach(file ${programs} ${libraries})
  set(path "$ORIGIN/../lib:$ORIGIN/../../tensorflow")
  if(file MATCHES "libhone_learn")
    set(path "$ORIGIN/../../torch/lib:$ORIGIN")
  endif()
  execute_process(COMMAND ${PATCHELF} --set-rpath ${path} ${file} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
