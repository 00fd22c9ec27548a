#pragma once

namespace offstage::test {

// Sanitizers slow arithmetic tenfold; what they look for shows in shorter plays as well. Tests that take long otherwise
// ask this.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace offstage::test
