#pragma once
// What both programs do first, before anything opens a file.

namespace offstage {

// - Opens /dev/null for each of the descriptors 0, 1 and 2 that is closed. Otherwise the next file that is opened gets
//   that number, and is read as standard input or written to as standard output. Done before the libraries begin, but
//   where sanitizers are.
// - Ignores SIGXFSZ and SIGPIPE: a write beyond `ulimit -f`, or to a pipe that nobody reads, then fails with an error
//   that can be reported.
// - Has the C library load its part of stack unwinding. It does so at the first need otherwise, and ends the program
//   when it has no memory left for it.
// One call, at the beginning of main(). Returns false where a descriptor stays closed because there is no /dev/null;
// errno then tells why.
bool set_up_process();

}  // namespace offstage
