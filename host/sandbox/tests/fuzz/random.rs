//! A seeded generator and what the subjects choose with it. It knows nothing of WebAssembly. Main type: [`Random`].

/// Numbers that programs stumble over.
const ODD: [u32; 12] = [0, 1, 2, 7, 0x7f, 0x80, 0xff, 0xffff, 0x1_0000, 0x7fff_ffff, 0x8000_0000, u32::MAX];

/// SplitMix64: the same numbers on every platform and in every release.
pub(crate) struct Random(u64);

impl Random {
    /// The numbers of one case of a subject.
    pub(crate) fn of(subject: &str, case: u64) -> Self {
        let seed = subject.bytes().fold(case, |seed, byte| Self(seed ^ u64::from(byte)).next());
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// A range within `length`, mostly a short one.
    pub(crate) fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        let longest = if self.once_in(4) { length - start } else { 64.min(length - start) };
        start..start + self.below(longest + 1)
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        std::iter::repeat_with(|| self.next().to_le_bytes()).flatten().take(count).collect()
    }

    pub(crate) fn odd(&mut self) -> u32 {
        *self.pick(&ODD)
    }

    /// A number of any kind, NaN and the infinities among them.
    pub(crate) fn float(&mut self) -> f64 {
        let odd = [0.0, -0.0, 1.0, 0.5, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE];
        if self.once_in(4) { f64::from_bits(self.next()) } else { *self.pick(&odd) }
    }
}
