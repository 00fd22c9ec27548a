#pragma once

namespace offstage::test {

// Sanitizers slow arithmetic tenfold; they find errors in shorter runs as well. Tests
// that would take too long use this.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// ThreadSanitizer, with which computing a layer of the smallest model takes milliseconds.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitized = true;
#else
inline constexpr bool kThreadSanitized = false;
#endif

}  // namespace offstage::test
