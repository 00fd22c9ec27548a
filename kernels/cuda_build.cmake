# cmake "-DHEADERS=..." -DVERSION=... -DOUTPUT=... -P cuda_build.cmake: writes the identity
# of what the program and offstage-cuda.so share (kernels/cuda_part.h).
set(all "${VERSION}")
foreach(header IN LISTS HEADERS)
  file(SHA256 "${header}" hash)
  string(APPEND all " ${hash}")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING "${hash}" 0 16 hash)
string(REGEX MATCH "^[^ ]+" version "${VERSION}")
file(WRITE "${OUTPUT}" "#include \"kernels/cuda_part.h\"\n
const char offstage::kernels::kCudaBuild[] = \"${version}-${hash}\";\n")
