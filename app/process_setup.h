#pragma once
// The first steps of all programs, before any file is opened.

namespace offstage {

// - Opens /dev/null for each of the descriptors 0, 1 and 2 that is closed. Otherwise the
//   next opened file would get
//   that number, and would be used as standard input or output. Done before the
//   libraries' constructors, except
//   with sanitizers.
// - Ignores SIGXFSZ and SIGPIPE: a write beyond `ulimit -f`, or to a pipe without a
//   reader, then fails with an error
//   that can be reported.
// - Lets the C library load its part of stack unwinding now. It would otherwise do so at
//   the first need, and end the
//   program if it has no memory left for it.
// - Keeps 4 MiB that the first `new` without memory gives back before it throws. What is
//   destroyed on the way to the handler may allocate: nlohmann::json does, and a
//   destructor that throws would end the program.
// One call, at the beginning of main(). Returns false if a descriptor stays closed
// because there is no /dev/null; errno then has the reason.
bool set_up_process();

}  // namespace offstage
