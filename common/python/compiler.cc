// libsluice_compiler.so is made of the libraries of common that it links, whole.
