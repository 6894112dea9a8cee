// 1 / pi, for reductions of large angles (M. Payne and R. Hanek, Radian Reduction for Trigonometric
// Functions, 1983).
#pragma once

#include <cstdint>

namespace sluice {

// The bits of 1 / pi after the point, after one word of zeros.
inline constexpr uint64_t kInversePi[] = {
    0x0000000000000000, 0x517cc1b727220a94, 0xfe13abe8fa9a6ee0, 0x6db14acc9e21c820,
    0xff28b1d5ef5de2b0, 0xdb92371d2126e970, 0x0324977504e8c90e, 0x7f0ef58e5894d39f,
    0x74411afa975da242, 0x74ce38135a2fbf20, 0x9cc8eb1cc1a99cfa, 0x4e422fc5defc941d,
    0x8ffc4bffef02cc07, 0xf79788c5ad05368f, 0xb69b3f6793e584db, 0xa7a31fb34f2ff516,
    0xba93dd63f5f2f8bd, 0x9e839cfbc5294975, 0x35fdafd88fc6ae84, 0x2b0198237e3db5d5,
    0xf867de104d7a1b0e, 0xd4f1c8b0af730d84};

}  // namespace sluice
