# cmake --install BUILD --prefix PREFIX: programs, demo model, hardware and popularity
# profiles, manual, icon, menu entry. A component is what one package has
# (installer/packages.cmake).
include(GNUInstallDirs)
set(share "${CMAKE_INSTALL_DATADIR}")
set(linux_files "${CMAKE_SOURCE_DIR}/installer/linux")
foreach(program offstage offstage-cli offstage-node)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT ${program})
  endif()
endforeach()
if(TARGET offstage_cuda)
  install(TARGETS offstage_cuda LIBRARY DESTINATION "lib/offstage" COMPONENT offstage-cuda)  # kernels/cuda_part.cpp
endif()
install(DIRECTORY "${CMAKE_SOURCE_DIR}/resources/demo-model" DESTINATION "${share}/offstage"
  COMPONENT offstage-demo-model
  FILES_MATCHING PATTERN "*.json" PATTERN "*.safetensors" PATTERN "tokenizer.model" PATTERN "*.jinja" PATTERN "README.md"
  PATTERN "heldout.json" EXCLUDE PATTERN "corpus" EXCLUDE PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY "${CMAKE_SOURCE_DIR}/resources/hardware" "${CMAKE_SOURCE_DIR}/resources/profiles"
  "${CMAKE_SOURCE_DIR}/resources/help" DESTINATION "${share}/offstage" COMPONENT offstage-cli
  FILES_MATCHING PATTERN "*.json" PATTERN "*.md")
if(TARGET offstage)
  install(FILES "${linux_files}/offstage.desktop" DESTINATION "${share}/applications" COMPONENT offstage)
  install(FILES "${linux_files}/offstage-mime.xml" DESTINATION "${share}/mime/packages" RENAME offstage.xml
    COMPONENT offstage)
  install(FILES "${linux_files}/org.offstage.offstage.metainfo.xml" DESTINATION "${share}/metainfo" COMPONENT offstage)
  install(FILES "${CMAKE_SOURCE_DIR}/resources/icons/offstage.svg" DESTINATION "${share}/icons/hicolor/scalable/apps"
    COMPONENT offstage)
endif()
if(TARGET offstage-node)
  set(OFFSTAGE_NODE_PATH "${CMAKE_INSTALL_FULL_BINDIR}/offstage-node")
  configure_file("${linux_files}/offstage-node.service" "${CMAKE_BINARY_DIR}/offstage-node.service" @ONLY)
  install(FILES "${CMAKE_BINARY_DIR}/offstage-node.service" DESTINATION "lib/systemd/system" COMPONENT offstage-node)
endif()
if(NOT OFFSTAGE_INSTRUCTION_SETS STREQUAL "all")
  install(CODE "message(STATUS \"Offstage was compiled for this processor (OFFSTAGE_INSTRUCTION_SETS=\
${OFFSTAGE_INSTRUCTION_SETS}). Packages for other computers need a build by installer/package.\")"
    COMPONENT offstage-cli)
endif()
if(OFFSTAGE_PACKAGES)
  include("${CMAKE_CURRENT_LIST_DIR}/packages.cmake")
endif()
