# What cpack makes of the installed tree: `cpack -G DEB` a package of each component, `cpack -G TGZ`
# one relocatable archive.
set(CPACK_PACKAGE_VENDOR "Sluice")
set(CPACK_PACKAGE_CONTACT ${SLUICE_MAINTAINER})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGE_FILE_NAME sluice-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL compiler runtime)
set(CPACK_GENERATOR DEB TGZ)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# The compiler runs `sluice` and the loader of the very same release. What it opens only when asked:
# protoc for the text of compiled models, ZeroMQ for services, libcurl for a remote store, Leptonica
# for images.
set(CPACK_DEBIAN_COMPILER_PACKAGE_NAME sluice-compiler)
set(CPACK_DEBIAN_COMPILER_PACKAGE_SECTION science)
set(CPACK_DEBIAN_COMPILER_PACKAGE_DEPENDS "sluice-runtime (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_COMPILER_PACKAGE_RECOMMENDS "protobuf-compiler, libzmq5, libcurl4, libseccomp2")
set(CPACK_DEBIAN_COMPILER_PACKAGE_SUGGESTS "liblept5, graphviz, python3, python3-numpy")
file(MAKE_DIRECTORY ${made}/compiler)
file(WRITE ${made}/compiler/shlibs "libsluice_compiler 0 sluice-compiler (= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_COMPILER_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/prerm
    ${CMAKE_CURRENT_LIST_DIR}/triggers ${made}/compiler/shlibs)
set(CPACK_COMPONENT_COMPILER_DESCRIPTION "deep-learning graph compiler: from ONNX to machine code
Compiles a neural network, given as an ONNX file, into one file of machine
code, weights and a plan, which sluice-runtime runs. The compiler is five
small programs in a pipe; others show, check, compare and evaluate the
graphs between them.")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME sluice-runtime)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION science)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "sluice-compiler, python3, python3-numpy, liblept5")
# What dpkg-shlibdeps reads when other packages link the library.
file(WRITE ${made}/shlibs "libsluice 0 sluice-runtime (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/prerm
    ${CMAKE_CURRENT_LIST_DIR}/triggers ${made}/shlibs)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "runs neural networks that sluice-compiler compiled
The loader of compiled models as a program and as a library, with
interfaces for C, C++ and Python. It needs no compiler: a compiled model
holds its machine code.")

include(CPack)
