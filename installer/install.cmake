# cmake --install build/release --prefix PREFIX: programs, demo model, hardware and popularity profiles, manual, icon, menu entry.
include(GNUInstallDirs)
foreach(program offstage offstage-cli offstage-node)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
endforeach()
install(DIRECTORY "${CMAKE_SOURCE_DIR}/resources/demo-model" DESTINATION "${CMAKE_INSTALL_DATADIR}/offstage"
  FILES_MATCHING PATTERN "*.json" PATTERN "*.safetensors" PATTERN "tokenizer.model" PATTERN "*.jinja" PATTERN "README.md"
  PATTERN "heldout.json" EXCLUDE PATTERN "corpus" EXCLUDE PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY "${CMAKE_SOURCE_DIR}/resources/hardware" "${CMAKE_SOURCE_DIR}/resources/profiles" DESTINATION "${CMAKE_INSTALL_DATADIR}/offstage"
  FILES_MATCHING PATTERN "*.json")
install(DIRECTORY "${CMAKE_SOURCE_DIR}/resources/help" DESTINATION "${CMAKE_INSTALL_DATADIR}/offstage"
  FILES_MATCHING PATTERN "*.md")
if(TARGET offstage)
  install(FILES "${CMAKE_SOURCE_DIR}/installer/offstage.desktop" DESTINATION "${CMAKE_INSTALL_DATADIR}/applications")
  install(FILES "${CMAKE_SOURCE_DIR}/resources/icons/offstage.svg"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps" OPTIONAL)
endif()
if(TARGET offstage-node)
  set(OFFSTAGE_NODE_PATH "${CMAKE_INSTALL_FULL_BINDIR}/offstage-node")
  configure_file("${CMAKE_SOURCE_DIR}/installer/offstage-node.service" "${CMAKE_BINARY_DIR}/offstage-node.service" @ONLY)
  install(FILES "${CMAKE_BINARY_DIR}/offstage-node.service" DESTINATION "lib/systemd/system")
endif()
if(NOT OFFSTAGE_INSTRUCTION_SETS STREQUAL "all")
  install(CODE "message(STATUS \"Offstage was compiled for this processor (OFFSTAGE_INSTRUCTION_SETS=\
${OFFSTAGE_INSTRUCTION_SETS}). Packages for other computers need a build by cmake --preset release.\")")
endif()
