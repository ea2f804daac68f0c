# `cmake --install build --prefix DIR`: programs in bin, libraries in lib, and what is read at run time in share/hone. XLA
# and oneDNN stay where they are, in HONE_VENV. Of data/ only models, winners, topologies and sets of programs are read at run time; the
# rest is for training and tests.
set_target_properties(${HONE_PROGRAMS} ${HONE_LIBRARIES} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib;${TF};${HONE_VENV}/lib")
install(TARGETS ${HONE_PROGRAMS} ${HONE_LIBRARIES}
  RUNTIME DESTINATION bin COMPONENT product
  LIBRARY DESTINATION lib COMPONENT product)
install(DIRECTORY data/models data/topologies data/benchmarks DESTINATION share/hone COMPONENT product)
install(DIRECTORY ${HONE_SHARE}/ DESTINATION share COMPONENT product)  # completion scripts and manual pages
# The set examples-v1 names its programs from where it lies, as in the repository.
install(DIRECTORY examples/ DESTINATION share/examples COMPONENT wheel EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.mlir")
install(FILES data/known.db data/machine-kernels.db LICENSE NOTICE DESTINATION share/hone COMPONENT product)

# The component `wheel` turns the installation into one that can be moved: pyproject.toml asks for it, `cmake --install`
# leaves it out.
find_library(HIGHWAY_SORT libhwy_contrib.so.1)
set(opened "")  # by src/kernels, by name, so that no program lists them; nothing fails where they are missing
foreach(library ${HIGHWAY_SORT} ${HONE_VENV}/lib/libdnnl.so.3)
  if(EXISTS ${library})
    list(APPEND opened ${library})
  endif()
endforeach()
install(CODE "set(HONE_OPENED \"${opened}\")" COMPONENT wheel EXCLUDE_FROM_ALL)
install(SCRIPT cmake/bundle.cmake COMPONENT wheel EXCLUDE_FROM_ALL)
