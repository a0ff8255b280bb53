# Run at build time (cmake -P): writes a C++ file whose FUNCTION, of namespace NAMESPACE, returns the bytes of INPUT.
file(READ ${INPUT} _hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," _bytes "${_hex}")
file(WRITE ${OUTPUT} "#include <string_view>\n\nnamespace ${NAMESPACE} {\n\nstd::string_view ${FUNCTION}();\n\nstd::string_view ${FUNCTION}() {\n  static constexpr unsigned char kBytes[] = {${_bytes}};\n  return {reinterpret_cast<const char*>(kBytes), sizeof kBytes};\n}\n\n}  // namespace ${NAMESPACE}\n")
