# SPDX-License-Identifier: Apache-2.0
# Install rules, pkg-config file, man page, completion, and packages: a .deb, and a tarball that works in any folder.
include(GNUInstallDirs)
install(TARGETS polygraphy LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/polygraphy DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN "__pycache__" EXCLUDE)
# The .pc file finds its prefix from its own place: as many ".." as the library folder is deep.
string(REGEX REPLACE "[^/]+" ".." PGY_PC_UP ${CMAKE_INSTALL_LIBDIR})
configure_file(cmake/polygraphy.pc.in polygraphy.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/polygraphy.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET polygraphy_cli)
  install(TARGETS polygraphy_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # Made by the program itself, from the tables that it parses with.
  add_custom_command(OUTPUT polygraphy.1 polygraphy.bash polygraphy.fish _polygraphy
    COMMAND polygraphy_cli --completion man > polygraphy.1
    COMMAND polygraphy_cli --completion bash > polygraphy.bash
    COMMAND polygraphy_cli --completion fish > polygraphy.fish
    COMMAND polygraphy_cli --completion zsh > _polygraphy
    DEPENDS polygraphy_cli WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
  add_custom_target(pgy_pages ALL DEPENDS polygraphy.1 polygraphy.bash polygraphy.fish _polygraphy)
  install(FILES ${CMAKE_BINARY_DIR}/polygraphy.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${CMAKE_BINARY_DIR}/polygraphy.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME polygraphy)
  install(FILES ${CMAKE_BINARY_DIR}/polygraphy.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  # Debian's zsh looks into the first folder under /usr, every zsh into the second under /usr/local.
  foreach(folder vendor-completions site-functions)
    install(FILES ${CMAKE_BINARY_DIR}/_polygraphy DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${folder})
  endforeach()
endif()

if(TARGET trtexec_cli)
  install(TARGETS trtexec_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  add_custom_command(OUTPUT trtexec.1 trtexec.bash trtexec.fish _trtexec
    COMMAND trtexec_cli --completion man > trtexec.1
    COMMAND trtexec_cli --completion bash > trtexec.bash
    COMMAND trtexec_cli --completion fish > trtexec.fish
    COMMAND trtexec_cli --completion zsh > _trtexec
    DEPENDS trtexec_cli WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
  add_custom_target(pgy_trtexec_pages ALL DEPENDS trtexec.1 trtexec.bash trtexec.fish _trtexec)
  install(FILES ${CMAKE_BINARY_DIR}/trtexec.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${CMAKE_BINARY_DIR}/trtexec.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME trtexec)
  install(FILES ${CMAKE_BINARY_DIR}/trtexec.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  foreach(folder vendor-completions site-functions)
    install(FILES ${CMAKE_BINARY_DIR}/_trtexec DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${folder})
  endforeach()
endif()

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_FILE_NAME "polygraphy-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_PACKAGE_NAME polygraphy-c)
set(CPACK_PACKAGE_CONTACT "the polygraphy-c maintainers <maintainers@users.noreply.a-seed-8ad1a1e6.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "find out where and why the results of a neural network differ")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_STRIP_FILES ON)
include(CPack)
