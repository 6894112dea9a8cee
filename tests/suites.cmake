# Read by ctest, once for each test program: adds a test for each suite of `program`, with the
# labels `label`. A suite is one process: the program itself, with the same --gtest_filter,
# shows its cases. A program that is not there is a test that fails.
get_filename_component(name ${program} NAME)
if(NOT EXISTS ${program})
  add_test(${name} ${program})
  set_tests_properties(${name} PROPERTIES LABELS ${label})
  return()
endif()

set(list ${program}.suites)  # what the program says, kept until it is built again
if(NOT EXISTS ${list} OR ${program} IS_NEWER_THAN ${list})
  execute_process(COMMAND ${program} --gtest_list_tests OUTPUT_FILE ${list} RESULT_VARIABLE failed)
  if(failed)
    file(REMOVE ${list})
    message(FATAL_ERROR "${program} --gtest_list_tests fails: ${failed}")
  endif()
endif()

file(STRINGS ${list} suites REGEX "^[^ ].*\\.( |$)")
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "\\.( .*)?$" "" suite "${suite}")
  add_test(${name}/${suite} ${program} --gtest_brief=1 "--gtest_filter=${suite}.*")
  set_tests_properties(${name}/${suite} PROPERTIES LABELS ${label} TIMEOUT 600)
endforeach()
