//! The function with which the host asks for memory before it passes a list or a text.
//! Honest until the configuration has said otherwise, which itself has to be passed.

use std::alloc::{Layout, alloc, realloc};

use crate::bindings::train_host::callback::host;

use crate::{Attack, attack};

#[unsafe(no_mangle)]
unsafe extern "C" fn cabi_realloc(old: *mut u8, old_length: usize, align: usize, length: usize) -> *mut u8 {
    match attack() {
        // The host forbids a guest to call out while it is being passed values.
        Attack::ReallocCalls => host::log(host::Level::Info, "called from realloc"),
        Attack::ReallocOutside => return std::ptr::without_provenance_mut(0xffff_0000),
        _ => {}
    }
    let layout = |length| Layout::from_size_align(length, align).unwrap_or(Layout::new::<u8>());
    // SAFETY: the host calls as the binary interface says: `old` came from here with `old_length` and `align`.
    unsafe {
        match (old_length, length) {
            (0, 0) => std::ptr::without_provenance_mut(align),
            (0, _) => alloc(layout(length)),
            _ => realloc(old, layout(old_length), length),
        }
    }
}
