"""Libraries for C and C++ projects: their CMake package and examples."""
