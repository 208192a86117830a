// What table_bindings.cpp adds to the module.
#pragma once

#include <nanobind/nanobind.h>

void bind_tables(nanobind::module_& module);
