# Compiles several tests as one file and links them as one program. Each test file spends
# two to three seconds of its compilation on templates of Qt's and our own headers: a
# precompiled header does not contain them, and each file instantiates them again.
#
# Each test's file is included within a separate namespace, after the headers of all
# tests, so names of two tests never collide. The program takes the test's name from the
# name that it is started by: each test has a link to the program under the test's name,
# and both users and ctest run it like a separate program.
set(OFFSTAGE_TESTS_TOGETHER 1 CACHE STRING "Tests that are compiled as one file (1: each by itself)")

# These tests are compiled separately: they are linked with other libraries or start
# themselves again. The lines below find tests with their own operator new, or with names
# that must be in a namespace of Qt's or ours.
set(alone_tests engine_peer_steps engine_peer_faults engine_node_links engine_node_faults engine_node_wire ui_machines_joined ui_history_crash ui_file_faults
  ui_settings_file ui_engine_text ui_downloads)
set(alone_lines "^(namespace [a-z_:]+ {|int main|extern |template <>|void\\* operator|#define|#undef|Q_DECLARE_METATYPE)")

# Divides `tests` of a floor into `groups`: lists of units that are compiled together,
# each as "a:b:c"; a separate unit is "a".
function(offstage_group_tests floor tests groups)
  set(result)
  foreach(kind common values)
    set(group)
    foreach(test IN LISTS tests)
      get_filename_component(unit "${test}" NAME_WE)
      string(REPLACE "tst_" "" unit "${unit}")
      if(OFFSTAGE_SANITIZE AND "${floor}.${unit}" IN_LIST value_tests)
        set(kind_of_test values)
      else()
        set(kind_of_test common)
      endif()
      if(NOT kind STREQUAL kind_of_test)
        continue()
      endif()
      set(outside)
      if(OFFSTAGE_TESTS_TOGETHER GREATER 1)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${test}")  # the group copies its headers
        file(STRINGS "${test}" outside REGEX "${alone_lines}" LIMIT_COUNT 1)
      endif()
      if(OFFSTAGE_TESTS_TOGETHER LESS_EQUAL 1 OR outside OR "${floor}_${unit}" IN_LIST alone_tests)
        list(APPEND result "${unit}")
        continue()
      endif()
      list(APPEND group "${unit}")
      list(LENGTH group n)
      if(n GREATER_EQUAL OFFSTAGE_TESTS_TOGETHER)
        list(JOIN group ":" joined)
        list(APPEND result "${joined}")
        set(group)
      endif()
    endforeach()
    if(group)
      list(JOIN group ":" joined)
      list(APPEND result "${joined}")
    endif()
  endforeach()
  set(${groups} "${result}" PARENT_SCOPE)
endfunction()

# Writes the file that is compiled for the tests `units` of a floor.
function(offstage_write_tests_together floor units file)
  set(headers)
  set(bodies "")
  set(choices "")
  foreach(unit IN LISTS units)
    set(test "${CMAKE_CURRENT_SOURCE_DIR}/${floor}/tst_${unit}.cpp")
    file(STRINGS "${test}" lines REGEX "^#include [<\"]")
    list(FILTER lines EXCLUDE REGEX "\\.moc\"")
    list(APPEND headers ${lines})
    string(APPEND bodies "namespace tst_${unit} {\n#include \"${test}\"\n}\n")
    string(APPEND choices "    if (name == \"${floor}_${unit}\") return tst_${unit}::main(argc, argv);\n")
  endforeach()
  list(REMOVE_DUPLICATES headers)
  list(JOIN headers "\n" headers)
  file(CONFIGURE OUTPUT "${file}" @ONLY CONTENT "// Written by tests/together.cmake.
#include <cstdio>
#include <string_view>
@headers@

@bodies@
int main(int argc, char** argv) {
    std::string_view name = argc > 0 ? argv[0] : \"\";
    name.remove_prefix(name.rfind('/') + 1);
@choices@    std::fputs(\"Started by the name of none of the tests that are in it.\\n\", stderr);
    return 1;
}
")
endfunction()
