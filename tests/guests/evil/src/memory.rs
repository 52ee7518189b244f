//! Takes memory until there is no more.
//! Touches every page, so that a host which only reserves would have to pay.

pub(crate) fn grow() -> ! {
    loop {
        std::mem::forget(vec![1_u8; 1 << 20]);
    }
}
