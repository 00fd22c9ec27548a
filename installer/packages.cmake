# What only packages have: manual pages, icons as pictures, the papers of a Debian package;
# and what CPack needs to know to make the packages (installer/package).
find_program(OFFSTAGE_GZIP gzip REQUIRED)
set(made "${CMAKE_BINARY_DIR}/packaged")
file(MAKE_DIRECTORY "${made}")
set(made_files)

foreach(program offstage offstage-cli offstage-node)
  if(TARGET ${program})
    add_custom_command(OUTPUT "${made}/${program}.1.gz" DEPENDS ${program} "${linux_files}/man_page" VERBATIM
      COMMAND "${linux_files}/man_page" "$<TARGET_FILE:${program}>" "${PROJECT_VERSION}" > "${made}/${program}.1"
      COMMAND "${OFFSTAGE_GZIP}" -9nf "${made}/${program}.1")
    list(APPEND made_files "${made}/${program}.1.gz")
    install(FILES "${made}/${program}.1.gz" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT ${program})
  endif()
endforeach()

if(TARGET offstage)
  add_executable(render_icon "${linux_files}/render_icon.cpp")
  target_link_libraries(render_icon PRIVATE offstage_flags Qt6::Gui Qt6::Svg)
  foreach(size 16 22 24 32 48 64 128 256 512)
    add_custom_command(OUTPUT "${made}/${size}.png" DEPENDS render_icon "${CMAKE_SOURCE_DIR}/resources/icons/offstage.svg"
      VERBATIM COMMAND render_icon "${CMAKE_SOURCE_DIR}/resources/icons/offstage.svg" ${size} "${made}/${size}.png")
    list(APPEND made_files "${made}/${size}.png")
    install(FILES "${made}/${size}.png" DESTINATION "${share}/icons/hicolor/${size}x${size}/apps" RENAME offstage.png
      COMPONENT offstage)
  endforeach()
endif()

add_custom_command(OUTPUT "${made}/changelog.gz" DEPENDS "${linux_files}/changelog" VERBATIM
  COMMAND "${OFFSTAGE_GZIP}" -9nc "${linux_files}/changelog" > "${made}/changelog.gz")
add_custom_target(offstage_packaged ALL DEPENDS ${made_files} "${made}/changelog.gz")

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_CONTACT "The Offstage maintainers <maintainers@example.org>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
  WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_COMPONENTS_ALL)

# A package of the component of that name: its first line, its text, and further fields as
# pairs of name and value.
function(offstage_add_package name summary text)
  string(TOUPPER "${name}" key)
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_DESCRIPTION "${summary}\n${text}" PARENT_SCOPE)
  while(ARGN)
    list(POP_FRONT ARGN field value)
    set(CPACK_DEBIAN_${key}_PACKAGE_${field} "${value}" PARENT_SCOPE)
  endwhile()
  install(FILES "${linux_files}/copyright" "${made}/changelog.gz" DESTINATION "share/doc/${name}" COMPONENT ${name})
endfunction()

set(about "Offstage runs Mixture-of-Experts language models that are larger than the\nGPU's memory, on this machine.\n")
if(TARGET offstage)
  offstage_add_package(offstage "desktop chat for Mixture-of-Experts language models"
    "${about}The window shows every call of an expert while the answer is being written."
    DEPENDS "offstage-cli (= ${PROJECT_VERSION}), libqt6sql6-sqlite"
    RECOMMENDS "offstage-demo-model, qt6-qpa-plugins, qt6-wayland, qt6-translations-l10n, fonts-dejavu-core | fonts-freefont-ttf"
    SUGGESTS "offstage-cuda")
endif()
offstage_add_package(offstage-cli "Mixture-of-Experts language models on the command line"
  "${about}This is the program for terminals: it answers, plans and measures, and serves\nother programs by a part of OpenAI's API."
  RECOMMENDS "offstage-demo-model" SUGGESTS "offstage-cuda, offstage")
offstage_add_package(offstage-demo-model "small model that shows how Offstage works"
  "A Mixture-of-Experts model of 20 MB, so that the first prompt can be typed at\nonce. It shows the machinery, not what large models can do."
  ARCHITECTURE all SECTION misc)
if(TARGET offstage-node)
  offstage_add_package(offstage-node "experts of a language model for other machines"
    "${about}A node holds experts of such a model in its memory and computes them for\ndesktops that are paired with it. It does not start by itself:\n/usr/lib/systemd/system/offstage-node.service says how.")
  set(CPACK_DEBIAN_OFFSTAGE-NODE_PACKAGE_CONTROL_EXTRA
    "${linux_files}/node/postinst" "${linux_files}/node/prerm" "${linux_files}/node/postrm")
endif()
if(TARGET offstage_cuda)
  offstage_add_package(offstage-cuda "NVIDIA GPUs for Offstage"
    "${about}This part computes on NVIDIA GPUs from compute capability 7.5 on. It needs\nNVIDIA's driver, and uses cuBLAS where that is installed."
    ENHANCES "offstage, offstage-cli")
endif()
include(CPack)
