# SPDX-License-Identifier: Apache-2.0
# Install rules, pkg-config file and the Debian package.
include(GNUInstallDirs)
install(TARGETS polygraphy LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET polygraphy_cli)
  install(TARGETS polygraphy_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY include/polygraphy DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
