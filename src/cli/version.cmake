# Writes build_version.h: cmake -DSOURCE=FOLDER -DVERSION=1.2.3 -DHEADER=FILE -P version.cmake
# The file is touched only when its content changes, so that most builds compile nothing again.
set(commit "")
find_package(Git QUIET)
if(GIT_FOUND AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} describe --always --abbrev=12 --exclude=* --dirty
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT ${HEADER} CONTENT "#pragma once
inline constexpr char kHoneVersion[] = \"@VERSION@\";
inline constexpr char kHoneCommit[] = \"@commit@\";
" @ONLY)
